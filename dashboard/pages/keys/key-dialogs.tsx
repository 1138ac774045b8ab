import { useState } from 'react';
import type { Key, NewKey } from '../../../src/console/contract.ts';
import { problemOf } from '../../api/client.ts';
import { FormDialog } from '../../kit/dialog.tsx';
import { Field, Input, Select } from '../../kit/field.tsx';
import { fieldProblem } from '../../kit/states.tsx';
import { showToast } from '../../kit/toast.tsx';
import { KeyFields } from './key-fields.tsx';
import {
  changesOf,
  draftOf,
  emptyKeyForm,
  formOfKey,
  type KeyFormField,
  type KeyFormProblems,
  type KeyFormState,
  keyFormFields,
  problemsOf,
  timeOf,
} from './key-form-state.ts';
import { useChangeKey, useCreateKey, useReplaceKey, useRevokeKey } from './queries.ts';

type CreateKeyDialogProps = Readonly<{ onCreated: (newKey: NewKey) => void; onClose: () => void }>;

export function CreateKeyDialog({ onCreated, onClose }: CreateKeyDialogProps) {
  const creating = useCreateKey();
  const { form, setForm, shownProblems, otherError, submit } = useKeyForm(emptyKeyForm, creating.error);
  const create = () => creating.mutate(draftOf(form, new Date()), { onSuccess: onCreated });
  return (
    <FormDialog
      title="Create key"
      description="Programs use a key to call the API. Their requests are charged to this account."
      submitLabel="Create key"
      isBusy={creating.isPending}
      error={otherError}
      onClose={onClose}
      onSubmit={() => submit(create)}
    >
      <KeyFields form={form} onChange={setForm} problems={shownProblems} />
    </FormDialog>
  );
}

type EditKeyDialogProps = Readonly<{ subject: Key; onClose: () => void }>;

export function EditKeyDialog({ subject, onClose }: EditKeyDialogProps) {
  // The key as it was when the dialog opened, whatever is fetched in the meantime.
  const [before] = useState(() => formOfKey(subject));
  const changing = useChangeKey(subject.id);
  const { form, setForm, shownProblems, otherError, submit } = useKeyForm(before, changing.error);
  const save = () =>
    changing.mutate(changesOf(before, form, new Date()), {
      onSuccess: ({ name }) => {
        showToast('good', `The key “${name}” was changed.`);
        onClose();
      },
    });
  return (
    <FormDialog
      title={`Edit ${subject.name}`}
      description="Changes take effect within seconds. The secret stays the same."
      submitLabel="Save"
      isBusy={changing.isPending}
      error={otherError}
      onClose={onClose}
      onSubmit={() => submit(save)}
    >
      <KeyFields form={form} onChange={setForm} problems={shownProblems} />
    </FormDialog>
  );
}

/** The field that an error is about, such as `allowed_models` for `allowed_models[2]`. */
function invalidField(error: unknown): KeyFormField | null {
  if (error === null || error === undefined) return null;
  const [name] = (problemOf(error).param ?? '').split('[');
  return keyFormFields.find((field) => field === name) ?? null;
}

function useKeyForm(start: KeyFormState, serverError: unknown) {
  const [form, setForm] = useState(start);
  const [isTried, setTried] = useState(false);
  const invalid = invalidField(serverError);
  const ownProblems = problemsOf(start, form, new Date());
  const shownProblems: KeyFormProblems = {
    ...(invalid === null ? {} : { [invalid]: problemOf(serverError).message }),
    // Mistakes are not shown before the first attempt to submit.
    ...(isTried ? ownProblems : {}),
  };
  return {
    form,
    setForm,
    shownProblems,
    /** The error of the server, unless a field shows it. */
    otherError: invalid === null ? serverError : null,
    submit: (send: () => void) => {
      setTried(true);
      if (Object.keys(ownProblems).length === 0) send();
    },
  };
}

const hourMs = 3_600_000;
const endings = [
  { value: 'now', label: 'Immediately', aheadMs: null },
  { value: 'hour', label: 'In 1 hour', aheadMs: hourMs },
  { value: 'day', label: 'In 1 day', aheadMs: 24 * hourMs },
  { value: 'time', label: 'At a specific time', aheadMs: null },
] as const;
type Ending = (typeof endings)[number]['value'];

type ReplaceKeyDialogProps = Readonly<{
  subject: Key;
  onReplaced: (newKey: NewKey) => void;
  onClose: () => void;
}>;

/** Creates a key with the settings of the old one, which keeps working until the programs have switched. */
export function ReplaceKeyDialog({ subject, onReplaced, onClose }: ReplaceKeyDialogProps) {
  const [ending, setEnding] = useState<Ending>('hour');
  const [localTime, setLocalTime] = useState('');
  const [isTried, setTried] = useState(false);
  const replacing = useReplaceKey(subject.id);
  const chosenTime = timeOf(localTime);
  const timeProblem = ending === 'time' && chosenTime === null ? 'Choose a date and time.' : null;
  const replace = () => {
    setTried(true);
    if (timeProblem !== null) return;
    const aheadMs = endings.find(({ value }) => value === ending)?.aheadMs ?? null;
    const revokeAt =
      ending === 'time' ? chosenTime : aheadMs === null ? null : new Date(Date.now() + aheadMs);
    replacing.mutate({ revoke_at: revokeAt?.toISOString() ?? null }, { onSuccess: onReplaced });
  };
  const serverProblem = fieldProblem(replacing.error, 'revoke_at');
  return (
    <FormDialog
      title={`Replace ${subject.name}`}
      submitLabel="Replace key"
      isBusy={replacing.isPending}
      error={replacing.error}
      ownFields={['revoke_at']}
      onClose={onClose}
      onSubmit={replace}
    >
      <p className="text-ink-soft">
        A new key with the same name, limits, models and expiry is created. Switch your programs to it before
        the old key is revoked.
      </p>
      <Field label="Revoke the old key" error={ending === 'time' ? undefined : serverProblem}>
        <Select value={ending} options={endings} onChange={setEnding} />
      </Field>
      {ending === 'time' && (
        <Field
          label="Time"
          hint="In your time zone, at most 30 days from now."
          error={(isTried ? timeProblem : null) ?? serverProblem}
        >
          <Input
            type="datetime-local"
            value={localTime}
            onChange={(event) => setLocalTime(event.target.value)}
          />
        </Field>
      )}
    </FormDialog>
  );
}

type RevokeKeyDialogProps = Readonly<{ subject: Key; onClose: () => void }>;

/** Revokes a key immediately. Its name has to be typed, because revoking the wrong key breaks a working program. */
export function RevokeKeyDialog({ subject, onClose }: RevokeKeyDialogProps) {
  const [typed, setTyped] = useState('');
  const revoking = useRevokeKey(subject.id);
  const isConfirmed = typed.trim() === subject.name;
  const revoke = () => {
    if (!isConfirmed) return;
    revoking.mutate(undefined, {
      onSuccess: () => {
        showToast('good', `The key “${subject.name}” was revoked.`);
        onClose();
      },
    });
  };
  return (
    <FormDialog
      title={`Revoke ${subject.name}?`}
      submitLabel="Revoke key"
      isDangerous
      width="narrow"
      isReady={isConfirmed}
      isBusy={revoking.isPending}
      error={revoking.error}
      onSubmit={revoke}
      onClose={onClose}
    >
      <p className="text-ink-soft">
        The key <code className="font-mono wrap-anywhere">{subject.hint}</code> stops working immediately.
        This cannot be undone. To switch to a new key without interruption, replace it instead.
      </p>
      <Field
        label={
          <>
            Type <strong className="font-semibold wrap-anywhere">{subject.name}</strong> to confirm
          </>
        }
      >
        <Input value={typed} autoComplete="off" onChange={(event) => setTyped(event.target.value)} />
      </Field>
    </FormDialog>
  );
}
