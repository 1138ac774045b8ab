import { useState } from 'react';
import type { Webhook } from '../../../src/console/event-contract.ts';
import { FormDialog } from '../../kit/dialog.tsx';
import { Field, Input } from '../../kit/field.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { fieldProblem } from '../../kit/states.tsx';
import { showToast } from '../../kit/toast.tsx';
import { useReplay } from './queries.ts';

const dayMs = 24 * 60 * 60 * 1000;

/** As the browser's input has it: without a zone, in the viewer's. */
function localTime(at: Date): string {
  const shifted = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}

export function ReplayDialog({ webhook, onClose }: Readonly<{ webhook: Webhook; onClose: () => void }>) {
  const [from, setFrom] = useState(() => localTime(new Date(Date.now() - dayMs)));
  const [to, setTo] = useState(() => localTime(new Date(Date.now() + 60_000)));
  const replaying = useReplay(webhook.id);
  const isReady = from !== '' && to !== '' && from < to;
  const replay = () =>
    replaying.mutate(
      { from: new Date(from).toISOString(), to: new Date(to).toISOString() },
      {
        onSuccess: ({ deliveries: count }) => {
          showToast(
            'good',
            count === 1
              ? '1 event is being sent again.'
              : `${formatCount(count)} events are being sent again.`,
          );
          onClose();
        },
      },
    );
  return (
    <FormDialog
      title={`Replay events to ${new URL(webhook.url).host}`}
      description="All events of this time that the webhook gets are sent again, whether they arrived or not. They keep their IDs."
      submitLabel="Replay"
      isReady={isReady}
      isBusy={replaying.isPending}
      error={replaying.error}
      ownFields={['from']}
      onClose={onClose}
      onSubmit={replay}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="From" error={fieldProblem(replaying.error, 'from')}>
          <Input type="datetime-local" value={from} onChange={(event) => setFrom(event.target.value)} />
        </Field>
        <Field label="To">
          <Input type="datetime-local" value={to} onChange={(event) => setTo(event.target.value)} />
        </Field>
      </div>
    </FormDialog>
  );
}
