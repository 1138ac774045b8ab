/** The settings of a key, for a new one and for one that is changed. */
import { Field } from '../../kit/field.tsx';
import { Input, Select } from '../../kit/input.tsx';
import type { ExpiryChoice, KeyFormProblems, KeyFormState } from './key-form-state.ts';
import { expiryChoices } from './key-form-state.ts';
import { ModelPicker } from './model-picker.tsx';

const expiryLabels: Readonly<Record<ExpiryChoice, string>> = {
  never: 'Never',
  '7': 'In 7 days',
  '30': 'In 30 days',
  '90': 'In 90 days',
  '365': 'In a year',
  time: 'At a time of your choice',
};

/** Why requests can be refused although something is left of the limit. */
export const refusalNearLimit =
  'A request is refused when the most it may cost does not fit into what is left.';

type KeyFieldsProps = Readonly<{
  form: KeyFormState;
  onChange: (form: KeyFormState) => void;
  problems: KeyFormProblems;
}>;

export function KeyFields({ form, onChange, problems }: KeyFieldsProps) {
  const change = (part: Partial<KeyFormState>) => onChange({ ...form, ...part });
  return (
    <>
      <Field label="Name" hint="What the key is for, such as a program or a team." error={problems.name}>
        <Input
          value={form.name}
          autoFocus
          autoComplete="off"
          onChange={(event) => change({ name: event.target.value })}
        />
      </Field>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Requests per minute" error={problems.requests_per_minute}>
          <Input
            inputMode="numeric"
            value={form.requestsPerMinute}
            onChange={(event) => change({ requestsPerMinute: event.target.value })}
          />
        </Field>
        <Field label="Requests at once" error={problems.max_concurrent}>
          <Input
            inputMode="numeric"
            value={form.maxConcurrent}
            onChange={(event) => change({ maxConcurrent: event.target.value })}
          />
        </Field>
      </div>
      <Field
        label="Monthly limit in USD"
        isOptional
        hint={`Starts again on the first of each month (UTC). ${refusalNearLimit}`}
        error={problems.monthly_limit}
      >
        <Input
          inputMode="decimal"
          placeholder="No limit"
          value={form.monthlyLimit}
          onChange={(event) => change({ monthlyLimit: event.target.value })}
        />
      </Field>
      <ModelPicker
        chosen={form.allowedModels}
        onChange={(allowedModels) => change({ allowedModels })}
        error={problems.allowed_models}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Expires" error={form.expiry === 'time' ? undefined : problems.expires_at}>
          <Select
            value={form.expiry}
            onChange={(event) => {
              const expiry = expiryChoices.find((choice) => choice === event.target.value);
              if (expiry !== undefined) change({ expiry });
            }}
          >
            {expiryChoices.map((choice) => (
              <option key={choice} value={choice}>
                {expiryLabels[choice]}
              </option>
            ))}
          </Select>
        </Field>
        {form.expiry === 'time' && (
          <Field label="Time" hint="In your own time zone." error={problems.expires_at}>
            <Input
              type="datetime-local"
              value={form.expiryTime}
              onChange={(event) => change({ expiryTime: event.target.value })}
            />
          </Field>
        )}
      </div>
    </>
  );
}
