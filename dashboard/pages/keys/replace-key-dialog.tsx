/** A new key with the settings of the old one, which ends when its programs have moved on. */
import { useState } from 'react';
import type { Key, NewKey } from '../../../src/console/contract.ts';
import { Field } from '../../kit/field.tsx';
import { FormDialog } from '../../kit/form-dialog.tsx';
import { fieldProblem } from '../../kit/form-problem.tsx';
import { Input, Select } from '../../kit/input.tsx';
import { timeOf } from './key-form-state.ts';
import { useReplaceKey } from './queries.ts';

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
