import {
  Ellipsis,
  History,
  KeyRound,
  Pencil,
  Plus,
  Power,
  Send,
  Trash2,
  Webhook as WebhookIcon,
} from 'lucide-react';
import { type ReactNode, useState } from 'react';
import type { NewWebhook, Webhook } from '../../../src/console/event-contract.ts';
import { problemOf } from '../../api/client.ts';
import { Badge } from '../../kit/badge.tsx';
import { Button, IconButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { nameLinkClass } from '../../kit/class-names.ts';
import { Time } from '../../kit/figures.tsx';
import { Menu, MenuItem, MenuSeparator } from '../../kit/menu.tsx';
import { NameWithNote } from '../../kit/name-with-note.tsx';
import { Page } from '../../kit/page.tsx';
import { QueryTable } from '../../kit/query-table.tsx';
import { EmptyState } from '../../kit/states.tsx';
import { actionsColumn, type Column } from '../../kit/table.tsx';
import { showToast } from '../../kit/toast.tsx';
import { DeliveriesCard } from './deliveries-card.tsx';
import { useDoor, useSendTest, useWebhooks } from './queries.ts';
import { ReplayDialog } from './replay-dialog.tsx';
import {
  DisableDialog,
  RemoveDialog,
  RotateDialog,
  SecretDialog,
  WebhookFormDialog,
} from './webhook-dialogs.tsx';

type WebhookAction = 'deliveries' | 'test' | 'change' | 'toggle' | 'rotate' | 'replay' | 'remove';

type OpenDialog =
  | Readonly<{ kind: 'create' }>
  | Readonly<{ kind: 'created'; created: NewWebhook }>
  | Readonly<{ kind: Exclude<WebhookAction, 'deliveries' | 'test'>; webhook: Webhook }>;

type WebhooksViewProps = Readonly<{ description: string; children?: ReactNode }>;

export function WebhooksView({ description, children }: WebhooksViewProps) {
  const webhooks = useWebhooks();
  const { mayChange } = useDoor();
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const [chosenId, choose] = useState<string | null>(null);
  const testing = useSendTest();
  const list = webhooks.data?.data;
  const chosen = list?.find(({ id }) => id === chosenId) ?? list?.[0];
  const sendTest = (webhook: Webhook) => {
    choose(webhook.id);
    testing.mutate(webhook.id, {
      onSuccess: () => showToast('good', 'A test is on its way.'),
      onError: (error) => showToast('bad', problemOf(error).message),
    });
  };
  const act = (action: WebhookAction, webhook: Webhook) => {
    if (action === 'deliveries') choose(webhook.id);
    else if (action === 'test') sendTest(webhook);
    else setDialog({ kind: action, webhook });
  };
  const add = mayChange && (
    <Button
      variant="primary"
      icon={Plus}
      disabled={list !== undefined && list.length >= (webhooks.data?.max ?? 0)}
      onClick={() => setDialog({ kind: 'create' })}
    >
      Add webhook
    </Button>
  );
  return (
    <Page title="Webhooks" description={description} actions={list?.length === 0 ? undefined : add}>
      <Card isFlush>
        <QueryTable
          query={webhooks}
          caption="Webhooks"
          columns={webhookColumns(act, mayChange)}
          rows={list}
          rowKey={({ id }) => id}
          expectedRows={2}
          empty={
            <EmptyState icon={WebhookIcon} title="No webhooks yet" action={add}>
              Events are signed, sent within seconds, and tried again for three days if your server is away.
            </EmptyState>
          }
        />
      </Card>
      {chosen !== undefined && <DeliveriesCard key={chosen.id} webhook={chosen} />}
      {children}
      {dialog !== null && <WebhookDialog dialog={dialog} onChange={setDialog} />}
    </Page>
  );
}

type WebhookDialogProps = Readonly<{ dialog: OpenDialog; onChange: (dialog: OpenDialog | null) => void }>;

function WebhookDialog({ dialog, onChange }: WebhookDialogProps) {
  const close = () => onChange(null);
  const show = (created: NewWebhook) => onChange({ kind: 'created', created });
  switch (dialog.kind) {
    case 'create':
      return <WebhookFormDialog onCreated={show} onClose={close} />;
    case 'created':
      return <SecretDialog created={dialog.created} onClose={close} />;
    case 'change':
      return <WebhookFormDialog webhook={dialog.webhook} onCreated={show} onClose={close} />;
    case 'rotate':
      return <RotateDialog webhook={dialog.webhook} onRotated={show} onClose={close} />;
    case 'toggle':
      return <DisableDialog webhook={dialog.webhook} onClose={close} />;
    case 'replay':
      return <ReplayDialog webhook={dialog.webhook} onClose={close} />;
    case 'remove':
      return <RemoveDialog webhook={dialog.webhook} onClose={close} />;
  }
}

function webhookColumns(
  act: (action: WebhookAction, webhook: Webhook) => void,
  mayChange: boolean,
): readonly Column<Webhook>[] {
  return [
    {
      key: 'url',
      header: 'Address',
      isBare: true,
      cell: (webhook) => (
        <NameWithNote
          isLong
          name={
            <button
              type="button"
              title={webhook.url}
              aria-label={`Deliveries to ${webhook.url}`}
              className={`${nameLinkClass} block max-w-full text-left md:truncate`}
              onClick={() => act('deliveries', webhook)}
            >
              {webhook.url}
            </button>
          }
          note={webhook.description}
        />
      ),
    },
    { key: 'state', header: 'Status', cell: (webhook) => <WebhookState webhook={webhook} /> },
    {
      key: 'types',
      header: 'Events',
      cell: ({ types }) =>
        types === null ? (
          'All'
        ) : (
          <span title={types.join(', ')}>{types.length === 1 ? types[0] : `${types.length} types`}</span>
        ),
    },
    { key: 'added', header: 'Added', cell: ({ created_at: at }) => <Time at={at} style="distance" /> },
    actionsColumn((webhook) => (
      <WebhookMenu webhook={webhook} mayChange={mayChange} onAction={(action) => act(action, webhook)} />
    )),
  ];
}

const disabledWords = {
  owner: 'Disabled',
  operator: 'Disabled by the operator',
  gone: 'Disabled: it answered 410',
  failing: 'Disabled: nothing reached it for three days',
} as const;

function WebhookState({ webhook }: Readonly<{ webhook: Webhook }>) {
  const { disabled_because: because, failing_since: failingSince, previous_secret_until: until } = webhook;
  return (
    <span className="inline-flex items-baseline gap-1.5">
      {because !== null ? (
        <Badge tone={because === 'owner' ? 'plain' : 'bad'} hasDot>
          {disabledWords[because]}
        </Badge>
      ) : (
        <Badge tone={failingSince === null ? 'good' : 'warn'} hasDot>
          {failingSince === null ? 'Active' : 'Failing'}
        </Badge>
      )}
      {because === null && failingSince !== null && (
        <span className="text-xs text-ink-faint">
          since <Time at={failingSince} style="minute" />
        </span>
      )}
      {until !== null && <span className="text-xs text-ink-faint">two secrets sign</span>}
    </span>
  );
}

type WebhookMenuProps = Readonly<{
  webhook: Webhook;
  mayChange: boolean;
  onAction: (action: WebhookAction) => void;
}>;

function WebhookMenu({ webhook, mayChange, onAction }: WebhookMenuProps) {
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label={`Actions for ${new URL(webhook.url).host}`} />}>
      <MenuItem icon={History} onSelect={() => onAction('deliveries')}>
        Show deliveries
      </MenuItem>
      {mayChange && <ChangeItems webhook={webhook} onAction={onAction} />}
    </Menu>
  );
}

function ChangeItems({ webhook, onAction }: Pick<WebhookMenuProps, 'webhook' | 'onAction'>) {
  const { is_enabled: isEnabled, disabled_because: because } = webhook;
  return (
    <>
      <MenuItem icon={Send} isDisabled={!isEnabled} onSelect={() => onAction('test')}>
        Send a test
      </MenuItem>
      <MenuItem icon={History} isDisabled={!isEnabled} onSelect={() => onAction('replay')}>
        Replay events
      </MenuItem>
      <MenuSeparator />
      <MenuItem icon={Pencil} onSelect={() => onAction('change')}>
        Change
      </MenuItem>
      <MenuItem icon={KeyRound} onSelect={() => onAction('rotate')}>
        Replace the secret
      </MenuItem>
      <MenuItem icon={Power} isDisabled={because === 'operator'} onSelect={() => onAction('toggle')}>
        {isEnabled ? 'Disable' : 'Enable'}
      </MenuItem>
      <MenuSeparator />
      <MenuItem icon={Trash2} isDangerous onSelect={() => onAction('remove')}>
        Remove
      </MenuItem>
    </>
  );
}
