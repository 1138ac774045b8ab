/** The state of the form of a limit, its validation, and what is sent to the API. */
import type { Limit, LimitChange, LimitDraft, LimitKind } from '../../../src/console/contract.ts';
import { localTimeOf, timeOf } from '../keys/key-form-state.ts';
import { isSpend, kindsFor } from './limit-words.ts';

export type LimitFormState = Readonly<{
  scope: Limit['scope'];
  /** For the scope `key`: its ID. */
  keyId: string;
  /** For the scope `end_user`. */
  endUser: string;
  kind: LimitKind;
  amount: string;
  hasIncrease: boolean;
  increase: string;
  /** The value of a `datetime-local` input, in the viewer's time zone. */
  until: string;
}>;

/** By their names on the wire. */
export const limitFormFields = [
  'key_id',
  'end_user',
  'kind',
  'amount',
  'increase.amount',
  'increase.until',
] as const;
export type LimitFormField = (typeof limitFormFields)[number];
export type LimitFormProblems = Readonly<Partial<Record<LimitFormField, string>>>;

export const emptyLimitForm: LimitFormState = {
  scope: 'account',
  keyId: '',
  endUser: '',
  kind: 'spend_per_day',
  amount: '',
  hasIncrease: false,
  increase: '',
  until: '',
};

export function formOfLimit(limit: Limit): LimitFormState {
  const { scope, key_id: keyId, end_user: endUser, kind, amount, increase } = limit;
  return {
    scope,
    keyId: keyId ?? '',
    endUser: endUser ?? '',
    kind,
    amount,
    hasIncrease: increase !== null,
    increase: increase?.amount ?? '',
    until: increase === null ? '' : localTimeOf(new Date(increase.until)),
  };
}

/** A key has fewer kinds of limits. */
export function withScope(form: LimitFormState, scope: Limit['scope']): LimitFormState {
  const kinds = kindsFor(scope);
  return { ...form, scope, kind: kinds.includes(form.kind) ? form.kind : 'spend_per_day' };
}

const moneyPattern = /^\d{1,12}(?:\.\d{1,12})?$/;
const countPattern = /^[1-9]\d{0,11}$/;
const maxEndUser = 256;

export function problemsOf(form: LimitFormState, now: Date): LimitFormProblems {
  const endUser = form.endUser.trim();
  const until = timeOf(form.until);
  return {
    ...(form.scope === 'key' && form.keyId.trim() === '' ? { key_id: 'Choose a key.' } : {}),
    ...(form.scope === 'end_user' && (endUser === '' || endUser.length > maxEndUser)
      ? { end_user: `Enter a name of at most ${maxEndUser} characters.` }
      : {}),
    ...amountProblem('amount', form.kind, form.amount),
    ...(form.hasIncrease
      ? {
          ...amountProblem('increase.amount', form.kind, form.increase),
          ...(until === null || until <= now ? { 'increase.until': 'Choose a time in the future.' } : {}),
        }
      : {}),
  };
}

function amountProblem(
  field: 'amount' | 'increase.amount',
  kind: LimitKind,
  text: string,
): LimitFormProblems {
  const trimmed = text.trim();
  if (isSpend(kind))
    return moneyPattern.test(trimmed) && (field === 'amount' || /[1-9]/.test(trimmed))
      ? {}
      : { [field]: 'Enter an amount such as 20 or 0.50.' };
  return countPattern.test(trimmed) ? {} : { [field]: 'Enter a whole number from 1.' };
}

/** For a valid form only. */
export function draftOf(form: LimitFormState): LimitDraft {
  const { scope, kind } = form;
  return {
    scope,
    kind,
    ...(scope === 'key' ? { key_id: form.keyId.trim() } : {}),
    ...(scope === 'end_user' ? { end_user: form.endUser.trim() } : {}),
    amount: form.amount.trim(),
    increase: increaseOf(form),
  };
}

/** Only what was changed, so that another's changes in the meantime are kept. */
export function changeOf(before: LimitFormState, after: LimitFormState): LimitChange {
  const isOther = (...fields: (keyof LimitFormState)[]) =>
    fields.some((field) => before[field] !== after[field]);
  return {
    ...(isOther('amount') ? { amount: after.amount.trim() } : {}),
    ...(isOther('hasIncrease', 'increase', 'until') ? { increase: increaseOf(after) } : {}),
  };
}

function increaseOf(form: LimitFormState): Limit['increase'] {
  const until = timeOf(form.until);
  if (!form.hasIncrease || until === null) return null;
  return { amount: form.increase.trim(), until: until.toISOString() };
}
