/** The settings of a key. */
import { useState } from 'react';
import { Checkbox, Segmented } from '../../kit/choice.tsx';
import { Field, FieldGroup, Input, Select } from '../../kit/field.tsx';
import { SearchInput } from '../../kit/search-input.tsx';
import { Loaded, SkeletonLines } from '../../kit/states.tsx';
import { useModels } from '../models/models.ts';
import type { ExpiryChoice, KeyFormProblems, KeyFormState } from './key-form-state.ts';

const expiryOptions: readonly Readonly<{ value: ExpiryChoice; label: string }>[] = [
  { value: 'never', label: 'Never' },
  { value: '7', label: 'In 7 days' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In 1 year' },
  { value: 'time', label: 'At a specific time' },
];

/** Why a request can be rejected although the limit is not used up. */
export const nearLimitHint = 'A request is refused if its maximum cost exceeds what is left of the limit.';

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
        <Field label="Concurrent requests" error={problems.max_concurrent}>
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
        hint={`Resets on the first day of each month (UTC). ${nearLimitHint}`}
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
          <Select value={form.expiry} options={expiryOptions} onChange={(expiry) => change({ expiry })} />
        </Field>
        {form.expiry === 'time' && (
          <Field label="Time" hint="In your time zone." error={problems.expires_at}>
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

type ModelPickerProps = Readonly<{
  /** Null allows every model. */
  chosen: readonly string[] | null;
  onChange: (chosen: readonly string[] | null) => void;
  error?: string | undefined;
}>;

/** Which models a key may call: all of them, or the selected ones. */
function ModelPicker({ chosen, onChange, error }: ModelPickerProps) {
  return (
    <FieldGroup label="Allowed models" error={error}>
      <Segmented
        label="Allowed models"
        value={chosen === null ? 'all' : 'some'}
        options={[
          { value: 'all', label: 'All models' },
          { value: 'some', label: 'Selected models' },
        ]}
        onChange={(value) => onChange(value === 'all' ? null : [])}
      />
      {chosen !== null && <ModelChecklist chosen={chosen} onChange={onChange} />}
    </FieldGroup>
  );
}

type ModelChecklistProps = Readonly<{
  chosen: readonly string[];
  onChange: (chosen: readonly string[]) => void;
}>;

function ModelChecklist({ chosen, onChange }: ModelChecklistProps) {
  const [words, setWords] = useState('');
  const models = useModels();
  const tick = (model: string, isChecked: boolean) =>
    onChange(isChecked ? [...chosen, model] : chosen.filter((other) => other !== model));
  return (
    <div className="mt-2 rounded-md border border-line">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2 border-b border-line p-2">
        <SearchInput
          label="Search models"
          value={words}
          onSearch={setWords}
          className="min-w-0 flex-1 basis-40"
        />
        <span className="text-xs text-ink-faint" role="status">
          {chosen.length} selected
        </span>
      </div>
      <div className="h-44 overflow-y-auto p-3">
        <Loaded query={models} skeleton={<SkeletonLines count={5} />}>
          {({ data }) => <Choices all={namesOf(data, chosen)} words={words} chosen={chosen} onTick={tick} />}
        </Loaded>
      </div>
    </div>
  );
}

/** A key may allow models that are no longer available. They stay in the list, so that they can be removed. */
function namesOf(models: readonly Readonly<{ id: string }>[], chosen: readonly string[]): readonly string[] {
  return [...new Set([...models.map(({ id }) => id), ...chosen])].toSorted();
}

type ChoicesProps = Readonly<{
  all: readonly string[];
  words: string;
  chosen: readonly string[];
  onTick: (model: string, isChecked: boolean) => void;
}>;

function Choices({ all, words, chosen, onTick }: ChoicesProps) {
  const found = all.filter((model) => model.toLowerCase().includes(words.toLowerCase()));
  if (found.length === 0) return <p className="text-ink-soft">No model ID contains this text.</p>;
  return (
    <ul className="space-y-2">
      {found.map((model) => (
        <li key={model}>
          <Checkbox
            label={<span className="font-mono text-[0.8125rem] wrap-anywhere">{model}</span>}
            isChecked={chosen.includes(model)}
            onChange={(isChecked) => onTick(model, isChecked)}
          />
        </li>
      ))}
    </ul>
  );
}
