/** What became of the events that were sent to a webhook. */
import { Ellipsis, FileText, RefreshCw, Send } from 'lucide-react';
import { useState } from 'react';
import type { Webhook, WebhookDelivery } from '../../../src/console/event-contract.ts';
import { problemOf } from '../../api/client.ts';
import { Badge } from '../../kit/badge.tsx';
import { Button, IconButton } from '../../kit/button.tsx';
import { Card, Fact, Facts } from '../../kit/card.tsx';
import { nameLinkClass } from '../../kit/class-names.ts';
import { CodeBlock } from '../../kit/code-block.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { Dash, Duration, Time } from '../../kit/figures.tsx';
import { Menu, MenuItem } from '../../kit/menu.tsx';
import { QueryTable, useAddressCursors } from '../../kit/query-table.tsx';
import { EmptyState } from '../../kit/states.tsx';
import { actionsColumn, BreakableCode, type Column } from '../../kit/table.tsx';
import { showToast } from '../../kit/toast.tsx';
import { useDeliveries, useDoor, useReplay } from './queries.ts';

const pageSize = 20;

const problemWords = new Map([
  ['unreachable', 'It could not be reached, or its address may not be called.'],
  ['timeout', 'It did not answer within 15 seconds.'],
  ['tls', 'Its certificate is not valid, or not for this name.'],
  ['no_response', 'It ended the connection without an answer.'],
  ['secret_unreadable', 'Its secret cannot be read, because that of the gateway was changed. Replace it.'],
]);

const states = {
  pending: { tone: 'accent', label: 'On its way' },
  delivered: { tone: 'good', label: 'Delivered' },
  failed: { tone: 'bad', label: 'Given up' },
} as const;

function stateOf({ state, attempts }: WebhookDelivery) {
  return state === 'pending' && attempts > 0 ? ({ tone: 'warn', label: 'Retrying' } as const) : states[state];
}

/** `No response` */
function sentence(problem: string): string {
  const words = problem.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

export function DeliveriesCard({ webhook }: Readonly<{ webhook: Webhook }>) {
  const cursors = useAddressCursors();
  const deliveries = useDeliveries(webhook.id, pageSize, cursors.cursor);
  const [shown, show] = useState<WebhookDelivery | null>(null);
  const replaying = useReplay(webhook.id);
  const { mayChange } = useDoor();
  const sendAgain = ({ id }: WebhookDelivery) =>
    replaying.mutate(
      { delivery_id: id },
      {
        onSuccess: () => showToast('good', 'It is being sent again.'),
        onError: (error) => showToast('bad', problemOf(error).message),
      },
    );
  return (
    <Card
      title={<span className="wrap-anywhere">Deliveries to {webhook.url.replace(/^https?:\/\//, '')}</span>}
      description="Newest first, of the last 30 days."
      isFlush
    >
      <QueryTable
        query={deliveries}
        caption="Deliveries"
        columns={deliveryColumns(show, mayChange && webhook.is_enabled ? sendAgain : null)}
        rows={deliveries.data?.data}
        rowKey={({ id }) => id}
        expectedRows={4}
        empty={
          <EmptyState icon={Send} title="No deliveries yet">
            {webhook.is_enabled
              ? 'They appear here with the next event, or with a test.'
              : 'Nothing is sent to it while it is disabled.'}
          </EmptyState>
        }
        cursors={cursors}
        nextCursor={deliveries.data?.next_cursor}
      />
      {shown !== null && (
        <DeliveryDialog
          delivery={deliveries.data?.data.find(({ id }) => id === shown.id) ?? shown}
          onClose={() => show(null)}
        />
      )}
    </Card>
  );
}

function deliveryColumns(
  onShow: (delivery: WebhookDelivery) => void,
  onSendAgain: ((delivery: WebhookDelivery) => void) | null,
): readonly Column<WebhookDelivery>[] {
  return [
    {
      key: 'event',
      header: 'Event',
      isBare: true,
      cell: (delivery) => (
        <button type="button" className={nameLinkClass} onClick={() => onShow(delivery)}>
          {delivery.type}
        </button>
      ),
    },
    {
      key: 'state',
      header: 'Status',
      cell: (delivery) => {
        const { tone, label } = stateOf(delivery);
        return (
          <Badge tone={tone} hasDot>
            {label}
          </Badge>
        );
      },
    },
    {
      key: 'answer',
      header: 'Answer',
      cell: ({ status, problem }) => status ?? (problem === null ? <Dash /> : sentence(problem)),
    },
    { key: 'attempts', header: 'Attempts', align: 'right', cell: ({ attempts }) => attempts },
    {
      key: 'at',
      header: 'Last attempt',
      cell: ({ attempted_at: at }) => <Time at={at} style="distance" otherwise="None yet" />,
    },
    {
      key: 'next',
      header: 'Next',
      isOptional: true,
      cell: ({ next_attempt_at: at }) => <Time at={at} style="moment" />,
    },
    actionsColumn((delivery) => (
      <Menu trigger={<IconButton icon={Ellipsis} label={`Actions for ${delivery.type}`} />}>
        <MenuItem icon={FileText} onSelect={() => onShow(delivery)}>
          Show details
        </MenuItem>
        <MenuItem icon={RefreshCw} isDisabled={onSendAgain === null} onSelect={() => onSendAgain?.(delivery)}>
          Send again
        </MenuItem>
      </Menu>
    )),
  ];
}

type DeliveryDialogProps = Readonly<{ delivery: WebhookDelivery; onClose: () => void }>;

function DeliveryDialog({ delivery, onClose }: DeliveryDialogProps) {
  const { request_head: request, response_head: response, problem } = delivery;
  return (
    <Dialog
      title={delivery.type}
      width="wide"
      onClose={onClose}
      footer={<Button onClick={onClose}>Close</Button>}
    >
      <Facts>
        <Fact name="Event">
          <BreakableCode>{delivery.event_id}</BreakableCode>
        </Fact>
        <Fact name="Status">{stateOf(delivery).label}</Fact>
        <Fact name="Attempts">{delivery.attempts}</Fact>
        <Fact name="Last attempt">
          <Time at={delivery.attempted_at} style="exact" otherwise="None yet" />
        </Fact>
        <Fact name="Duration">
          <Duration ms={delivery.took_ms} />
        </Fact>
        <Fact name="Next attempt">
          <Time at={delivery.next_attempt_at} style="exact" otherwise="None" />
        </Fact>
      </Facts>
      {problem !== null && <p className="text-bad">{problemWords.get(problem) ?? problem}</p>}
      {request !== null && request !== '' && (
        <CodeBlock label="Request" samples={[{ label: 'Request', code: request }]} height="max-h-56" />
      )}
      {response !== null && (
        <CodeBlock label="Response" samples={[{ label: 'Response', code: response }]} height="max-h-56" />
      )}
    </Dialog>
  );
}
