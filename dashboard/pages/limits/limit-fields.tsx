import type { Limit } from '../../../src/console/contract.ts';
import { Checkbox } from '../../kit/choice.tsx';
import { Field, Input, Select } from '../../kit/field.tsx';
import { Picker } from '../../kit/picker.tsx';
import { useKeys } from '../keys/queries.ts';
import { type LimitFormProblems, type LimitFormState, withScope } from './limit-form.ts';
import { isSpend, kindNames, kindsFor } from './limit-words.ts';

const scopes: readonly Readonly<{ value: Limit['scope']; label: string }>[] = [
  { value: 'account', label: 'The whole account' },
  { value: 'key', label: 'One key' },
  { value: 'each_end_user', label: 'Each end user' },
  { value: 'end_user', label: 'One end user' },
];

const scopeHints: Readonly<Record<Limit['scope'], string>> = {
  account: 'All requests of the account count together.',
  key: 'A key has its own settings for spend per month, requests per minute and concurrent requests.',
  each_end_user: 'Counted for each end user that requests name. Requests without one do not count.',
  end_user: 'In place of the limit for each end user.',
};

type FieldsProps = Readonly<{
  form: LimitFormState;
  onChange: (form: LimitFormState) => void;
  problems: LimitFormProblems;
}>;

type SubjectFieldsProps = FieldsProps &
  Readonly<{
    /** Operators name a key by its ID. */
    isOperator: boolean;
  }>;

/** What a new limit is about. It cannot be changed later. */
export function SubjectFields({ form, onChange, problems, isOperator }: SubjectFieldsProps) {
  const change = (part: Partial<LimitFormState>) => onChange({ ...form, ...part });
  return (
    <>
      <Field label="For" hint={scopeHints[form.scope]}>
        <Select value={form.scope} options={scopes} onChange={(scope) => onChange(withScope(form, scope))} />
      </Field>
      {form.scope === 'key' && (
        <Field label={isOperator ? 'ID of the key' : 'Key'} error={problems.key_id}>
          {isOperator ? (
            <Input
              value={form.keyId}
              autoComplete="off"
              spellCheck={false}
              onChange={(event) => change({ keyId: event.target.value })}
            />
          ) : (
            <KeyPicker value={form.keyId} onChange={(keyId) => change({ keyId })} />
          )}
        </Field>
      )}
      {form.scope === 'end_user' && (
        <Field label="End user" hint="As your requests name them." error={problems.end_user}>
          <Input
            value={form.endUser}
            autoComplete="off"
            spellCheck={false}
            onChange={(event) => change({ endUser: event.target.value })}
          />
        </Field>
      )}
      <Field label="Kind" error={problems.kind}>
        <Select
          value={form.kind}
          options={kindsFor(form.scope).map((kind) => ({ value: kind, label: kindNames[kind] }))}
          onChange={(kind) => change({ kind })}
        />
      </Field>
    </>
  );
}

function KeyPicker({ value, onChange }: Readonly<{ value: string; onChange: (id: string) => void }>) {
  const keys = useKeys().data?.data.filter(({ state }) => state !== 'revoked');
  return (
    <Picker
      value={value}
      options={[
        { value: '', label: keys === undefined ? 'Loading …' : 'Choose a key' },
        ...(keys ?? []).map(({ id, name, hint }) => ({ value: id, label: `${name} (${hint})` })),
      ]}
      onChange={onChange}
    />
  );
}

export function AmountFields({ form, onChange, problems }: FieldsProps) {
  const change = (part: Partial<LimitFormState>) => onChange({ ...form, ...part });
  const unit = isSpend(form.kind) ? ' in USD' : '';
  const inputMode = isSpend(form.kind) ? 'decimal' : 'numeric';
  return (
    <>
      <Field label={`Most${unit}`} error={problems.amount}>
        <Input
          inputMode={inputMode}
          value={form.amount}
          autoComplete="off"
          onChange={(event) => change({ amount: event.target.value })}
        />
      </Field>
      <Checkbox
        label="Allow more for a while"
        isChecked={form.hasIncrease}
        onChange={(hasIncrease) => change({ hasIncrease })}
      />
      {form.hasIncrease && (
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label={`More${unit}`} error={problems['increase.amount']}>
            <Input
              inputMode={inputMode}
              value={form.increase}
              autoComplete="off"
              onChange={(event) => change({ increase: event.target.value })}
            />
          </Field>
          <Field label="Until" hint="In your time zone." error={problems['increase.until']}>
            <Input
              type="datetime-local"
              value={form.until}
              onChange={(event) => change({ until: event.target.value })}
            />
          </Field>
        </div>
      )}
    </>
  );
}
