import { useState } from 'react';
import type { NewWebhook, Webhook } from '../../../src/console/event-contract.ts';
import { Callout } from '../../kit/callout.tsx';
import { Checkbox } from '../../kit/choice.tsx';
import { ConfirmDialog, FormDialog } from '../../kit/dialog.tsx';
import { Field, FieldGroup, Input } from '../../kit/field.tsx';
import { OneTimeDialog } from '../../kit/one-time-dialog.tsx';
import { fieldProblem } from '../../kit/states.tsx';
import { showToast } from '../../kit/toast.tsx';
import {
  useChangeWebhook,
  useCreateWebhook,
  useDoor,
  useRemoveWebhook,
  useRotateSecret,
  useWebhooks,
} from './queries.ts';

const ownFields = ['url', 'description', 'types'];

type WebhookFormProps = Readonly<{
  /** Left out for a new one. */
  webhook?: Webhook;
  onCreated: (created: NewWebhook) => void;
  onClose: () => void;
}>;

export function WebhookFormDialog({ webhook, onCreated, onClose }: WebhookFormProps) {
  const { isOperators } = useDoor();
  const [url, setUrl] = useState(webhook?.url ?? '');
  const [description, setDescription] = useState(webhook?.description ?? '');
  const [types, setTypes] = useState<readonly string[] | null>(webhook?.types ?? null);
  const [isTried, setTried] = useState(false);
  const creating = useCreateWebhook();
  const changing = useChangeWebhook(webhook?.id ?? '');
  const { isPending, error } = webhook === undefined ? creating : changing;
  const urlProblem = url.trim() === '' ? 'Enter an address.' : null;
  const typesProblem = types?.length === 0 ? 'Choose at least one.' : null;
  const save = () => {
    setTried(true);
    if (urlProblem !== null || typesProblem !== null) return;
    const draft = { url: url.trim(), description: description.trim(), types: types && [...types] };
    if (webhook === undefined) creating.mutate(draft, { onSuccess: onCreated });
    else changing.mutate(draft, { onSuccess: onClose });
  };
  return (
    <FormDialog
      title={webhook === undefined ? 'Add webhook' : 'Change webhook'}
      submitLabel={webhook === undefined ? 'Add webhook' : 'Save'}
      isBusy={isPending}
      error={error}
      ownFields={ownFields}
      onClose={onClose}
      onSubmit={save}
    >
      <Field
        label="Address"
        hint={
          isOperators
            ? 'Events are posted to it.'
            : 'Events are posted to it. It begins with https:// and is on the public internet.'
        }
        error={(isTried ? urlProblem : null) ?? fieldProblem(error, 'url')}
      >
        <Input
          value={url}
          type="url"
          inputMode="url"
          autoComplete="off"
          placeholder="https://example.com/events"
          maxLength={2000}
          onChange={(event) => setUrl(event.target.value)}
        />
      </Field>
      <Field label="Description" isOptional error={fieldProblem(error, 'description')}>
        <Input
          value={description}
          autoComplete="off"
          maxLength={200}
          onChange={(event) => setDescription(event.target.value)}
        />
      </Field>
      <TypesField
        types={types}
        onChange={setTypes}
        error={(isTried ? typesProblem : null) ?? fieldProblem(error, 'types')}
      />
    </FormDialog>
  );
}

type TypesFieldProps = Readonly<{
  types: readonly string[] | null;
  onChange: (types: readonly string[] | null) => void;
  error: string | null | undefined;
}>;

function TypesField({ types, onChange, error }: TypesFieldProps) {
  const all = useWebhooks().data?.types ?? [];
  const choose = (type: string, isChosen: boolean) =>
    onChange(all.filter((one) => (one === type ? isChosen : types?.includes(one))));
  return (
    <FieldGroup label="Events" error={error}>
      <div className="space-y-2">
        <Checkbox
          label="All events, including those added later"
          isChecked={types === null}
          onChange={(isAll) => onChange(isAll ? null : [])}
        />
        {types !== null && (
          <div className="grid gap-2 pl-6.5 sm:grid-cols-2">
            {all.map((type) => (
              <Checkbox
                key={type}
                label={<code className="font-mono text-[0.8125rem]">{type}</code>}
                isChecked={types.includes(type)}
                onChange={(isChecked) => choose(type, isChecked)}
              />
            ))}
          </div>
        )}
      </div>
    </FieldGroup>
  );
}

type SecretDialogProps = Readonly<{ created: NewWebhook; onClose: () => void }>;

export function SecretDialog({ created: { webhook, secret }, onClose }: SecretDialogProps) {
  return (
    <OneTimeDialog
      title={`Secret of ${new URL(webhook.url).host}`}
      secret={secret}
      copyLabel="Copy secret"
      testId="webhook-secret"
      doneLabel="I have saved it"
      onClose={onClose}
      introduction={
        <Callout tone="warn" title="Copy this secret now">
          It is shown only once. Your server needs it to tell our events from anyone else’s.
        </Callout>
      }
    >
      <p className="text-ink-soft">
        Deliveries follow Standard Webhooks, for which there are libraries in most languages: verify{' '}
        <code>webhook-signature</code> over <code>webhook-id</code>, <code>webhook-timestamp</code> and the
        body.
      </p>
    </OneTimeDialog>
  );
}

type WebhookDialogProps = Readonly<{ webhook: Webhook; onClose: () => void }>;

export function RotateDialog({
  webhook,
  onRotated,
  onClose,
}: WebhookDialogProps & Readonly<{ onRotated: (created: NewWebhook) => void }>) {
  const rotating = useRotateSecret(webhook.id);
  return (
    <FormDialog
      title={`Replace the secret of ${new URL(webhook.url).host}?`}
      submitLabel="Replace secret"
      width="narrow"
      isBusy={rotating.isPending}
      error={rotating.error}
      onSubmit={() => rotating.mutate(undefined, { onSuccess: onRotated })}
      onClose={onClose}
    >
      <p className="text-ink-soft">
        You get a new one. For a day, deliveries are signed with both, so that nothing is rejected while your
        server learns it.
      </p>
    </FormDialog>
  );
}

export function DisableDialog({ webhook, onClose }: WebhookDialogProps) {
  const { mutateAsync } = useChangeWebhook(webhook.id);
  const { is_enabled: isEnabled, url } = webhook;
  return (
    <ConfirmDialog
      title={`${isEnabled ? 'Disable' : 'Enable'} ${new URL(url).host}?`}
      confirmLabel={isEnabled ? 'Disable' : 'Enable'}
      onConfirm={() => mutateAsync({ is_enabled: !isEnabled })}
      onClose={onClose}
    >
      {isEnabled
        ? 'It gets no more events. What happens meanwhile can be replayed for 30 days.'
        : 'It gets events again, first those that were still on their way. What it has missed can be replayed.'}
    </ConfirmDialog>
  );
}

export function RemoveDialog({ webhook, onClose }: WebhookDialogProps) {
  const { mutateAsync } = useRemoveWebhook(webhook.id);
  return (
    <ConfirmDialog
      title={`Remove ${new URL(webhook.url).host}?`}
      confirmLabel="Remove webhook"
      isDangerous
      onConfirm={async () => {
        await mutateAsync();
        showToast('good', 'The webhook is removed.');
      }}
      onClose={onClose}
    >
      It gets no more events, and its deliveries are no longer shown. This cannot be undone.
    </ConfirmDialog>
  );
}
