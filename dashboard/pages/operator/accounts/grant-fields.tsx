/** What makes a credit a grant. Without it, the credit is paid for and stays until it is spent. */
import type { GrantCategory } from '../../../../src/console/contract.ts';
import type { GrantTerms } from '../../../../src/console/operator-contract.ts';
import { Checkbox } from '../../../kit/choice.tsx';
import { Field, Input, Select } from '../../../kit/field.tsx';
import { categories, defaultPriority } from '../../grants/grant-words.ts';
import { timeOf } from '../../keys/key-form-state.ts';
import { PriorityField, priorityProblem } from './priority-field.tsx';

export type GrantForm = Readonly<{
  isGrant: boolean;
  category: GrantCategory;
  /** The value of a `datetime-local` input, in the viewer's time zone. Empty for never. */
  expires: string;
  priority: string;
}>;

export const emptyGrantForm: GrantForm = {
  isGrant: false,
  category: 'promotional',
  expires: '',
  priority: `${defaultPriority}`,
};

/** By their names on the wire. */
export const grantFormFields = ['grant.expires_at', 'grant.priority'] as const;
export type GrantFormProblems = Readonly<Record<(typeof grantFormFields)[number], string | null>>;

export function grantProblems({ isGrant, expires, priority }: GrantForm, now: Date): GrantFormProblems {
  const time = timeOf(expires);
  const isPast = expires !== '' && (time === null || time <= now);
  return {
    'grant.expires_at': isGrant && isPast ? 'Choose a time in the future.' : null,
    'grant.priority': isGrant ? priorityProblem(priority) : null,
  };
}

/** For a valid form only. */
export function termsOf({ isGrant, category, expires, priority }: GrantForm): GrantTerms | null {
  if (!isGrant) return null;
  return { category, priority: Number(priority), expires_at: timeOf(expires)?.toISOString() ?? null };
}

const categoryOptions = (['promotional', 'paid', 'allowance'] as const).map((value) => ({
  value,
  label: categories[value].label,
}));

type GrantFieldsProps = Readonly<{
  form: GrantForm;
  onChange: (form: GrantForm) => void;
  problems: GrantFormProblems;
}>;

export function GrantFields({ form, onChange, problems }: GrantFieldsProps) {
  const change = (part: Partial<GrantForm>) => onChange({ ...form, ...part });
  return (
    <>
      <Checkbox
        label="Make it a grant"
        hint="Told apart from other credit by a category, and with an expiry and a priority."
        isChecked={form.isGrant}
        onChange={(isGrant) => change({ isGrant })}
      />
      {form.isGrant && (
        <>
          <div className="grid gap-4 sm:grid-cols-2">
            <Field label="Category">
              <Select
                value={form.category}
                options={categoryOptions}
                onChange={(category) => change({ category })}
              />
            </Field>
            <Field label="Expires" isOptional hint="In your time zone." error={problems['grant.expires_at']}>
              <Input
                type="datetime-local"
                value={form.expires}
                onChange={(event) => change({ expires: event.target.value })}
              />
            </Field>
          </div>
          <PriorityField
            value={form.priority}
            onChange={(priority) => change({ priority })}
            error={problems['grant.priority']}
          />
        </>
      )}
    </>
  );
}
