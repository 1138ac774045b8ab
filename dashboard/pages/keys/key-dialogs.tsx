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
      title="Create a key"
      description="A program calls the API with it, and its requests are charged to your account."
      submitLabel="Create the key"
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
  // As it was when the dialog opened, whatever is fetched meanwhile.
  const [before] = useState(() => formOfKey(subject));
  const changing = useChangeKey(subject.id);
  const { form, setForm, shownProblems, otherError, submit } = useKeyForm(before, changing.error);
  const save = () =>
    changing.mutate(changesOf(before, form, new Date()), {
      onSuccess: ({ name }) => {
        showToast('good', `The key “${name}” is changed.`);
        onClose();
      },
    });
  return (
    <FormDialog
      title={`Change ${subject.name}`}
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

const fields: readonly KeyFormField[] = [
  'name',
  'requests_per_minute',
  'max_concurrent',
  'monthly_limit',
  'allowed_models',
  'expires_at',
];

/** The field that a refusal is about, such as `allowed_models` for `allowed_models[2]`. */
function blamedField(error: unknown): KeyFormField | null {
  if (error === null || error === undefined) return null;
  const [name] = (problemOf(error).param ?? '').split('[');
  return fields.find((field) => field === name) ?? null;
}

/** A form of a key: what is written, what is wrong with it, and who said so. */
export function useKeyForm(start: KeyFormState, serverError: unknown) {
  const [form, setForm] = useState(start);
  const [isTried, setTried] = useState(false);
  const blamed = blamedField(serverError);
  const ownProblems = problemsOf(start, form, new Date());
  const shownProblems: KeyFormProblems = {
    ...(blamed === null ? {} : { [blamed]: problemOf(serverError).message }),
    // Nobody is told of mistakes in what they have not finished writing.
    ...(isTried ? ownProblems : {}),
  };
  return {
    form,
    setForm,
    shownProblems,
    /** What the fields do not show by themselves. */
    otherError: blamed === null ? serverError : null,
    submit: (send: () => void) => {
      setTried(true);
      if (Object.keys(ownProblems).length === 0) send();
    },
  };
}

const hourMs = 3_600_000;
const endings = [
  { value: 'now', label: 'Now', aheadMs: null },
  { value: 'hour', label: 'In an hour', aheadMs: hourMs },
  { value: 'day', label: 'In a day', aheadMs: 24 * hourMs },
  { value: 'time', label: 'At a time of your choice', aheadMs: null },
] as const;
type Ending = (typeof endings)[number]['value'];

type ReplaceKeyDialogProps = Readonly<{
  subject: Key;
  onReplaced: (newKey: NewKey) => void;
  onClose: () => void;
}>;

/** A new key with the settings of the old one, which ends when its programs have moved on. */
export function ReplaceKeyDialog({ subject, onReplaced, onClose }: ReplaceKeyDialogProps) {
  const [ending, setEnding] = useState<Ending>('hour');
  const [localTime, setLocalTime] = useState('');
  const [isTried, setTried] = useState(false);
  const replacing = useReplaceKey(subject.id);
  const chosenTime = timeOf(localTime);
  const timeProblem = ending === 'time' && chosenTime === null ? 'Choose a day and a time.' : null;
  const replace = () => {
    setTried(true);
    if (timeProblem !== null) return;
    const aheadMs = endings.find(({ value }) => value === ending)?.aheadMs ?? null;
    const revokeAt =
      ending === 'time' ? chosenTime : aheadMs === null ? null : new Date(Date.now() + aheadMs);
    replacing.mutate({ revoke_at: revokeAt?.toISOString() ?? null }, { onSuccess: onReplaced });
  };
  const refusal = fieldProblem(replacing.error, 'revoke_at');
  return (
    <FormDialog
      title={`Replace ${subject.name}`}
      submitLabel="Replace the key"
      isBusy={replacing.isPending}
      error={replacing.error}
      ownFields={['revoke_at']}
      onClose={onClose}
      onSubmit={replace}
    >
      <p className="text-ink-soft">
        A new key is made with the same name, limits, models and expiry. Give it to your programs before the
        old key ends: from then on the old one is refused.
      </p>
      <Field label="The old key ends" error={ending === 'time' ? undefined : refusal}>
        <Select
          value={ending}
          onChange={(event) => {
            const chosen = endings.find(({ value }) => value === event.target.value);
            if (chosen !== undefined) setEnding(chosen.value);
          }}
        >
          {endings.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </Select>
      </Field>
      {ending === 'time' && (
        <Field
          label="Time"
          hint="In your own time zone, at most 30 days ahead."
          error={(isTried ? timeProblem : null) ?? refusal}
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

/** Ends a key at once. Its name has to be written, because a wrong key would stop a program that works. */
export function RevokeKeyDialog({ subject, onClose }: RevokeKeyDialogProps) {
  const [written, setWritten] = useState('');
  const revoking = useRevokeKey(subject.id);
  const isConfirmed = written.trim() === subject.name;
  const revoke = () => {
    if (!isConfirmed) return;
    revoking.mutate(
      {},
      {
        onSuccess: () => {
          showToast('good', `The key “${subject.name}” is revoked.`);
          onClose();
        },
      },
    );
  };
  return (
    <FormDialog
      title={`Revoke ${subject.name}?`}
      submitLabel="Revoke the key"
      isDangerous
      width="narrow"
      isReady={isConfirmed}
      isBusy={revoking.isPending}
      error={revoking.error}
      onSubmit={revoke}
      onClose={onClose}
    >
      <p className="text-ink-soft">
        Programs that use the key <code className="font-mono wrap-anywhere">{subject.hint}</code> are refused
        from now on. This cannot be undone. To move to a new key without a gap, replace it instead.
      </p>
      <Field
        label={
          <>
            Write <strong className="font-semibold wrap-anywhere">{subject.name}</strong> to confirm
          </>
        }
      >
        <Input
          value={written}
          autoFocus
          autoComplete="off"
          onChange={(event) => setWritten(event.target.value)}
        />
      </Field>
    </FormDialog>
  );
}
