/** The state of the key form, its validation, and what is sent to the API. */
import type { Key, KeyDraft } from '../../../src/console/contract.ts';

/** Never, in so many days, or at a specific time. */
export type ExpiryChoice = 'never' | '7' | '30' | '90' | '365' | 'time';

export type KeyFormState = Readonly<{
  name: string;
  requestsPerMinute: string;
  maxConcurrent: string;
  /** Empty for no limit. */
  monthlyLimit: string;
  /** Null allows every model. */
  allowedModels: readonly string[] | null;
  expiry: ExpiryChoice;
  /** Used if the choice is `time`: the value of a `datetime-local` input, in the viewer's time zone. */
  expiryTime: string;
}>;

export const keyFormFields = [
  'name',
  'requests_per_minute',
  'max_concurrent',
  'monthly_limit',
  'allowed_models',
  'expires_at',
] as const;
export type KeyFormField = (typeof keyFormFields)[number];
export type KeyFormProblems = Readonly<Partial<Record<KeyFormField, string>>>;

export const emptyKeyForm: KeyFormState = {
  name: '',
  requestsPerMinute: '600',
  maxConcurrent: '200',
  monthlyLimit: '',
  allowedModels: null,
  expiry: 'never',
  expiryTime: '',
};

const dayMs = 86_400_000;
const maxPerMinute = 1_000_000;
const maxConcurrent = 100_000;
const amountPattern = /^\d{1,12}(?:\.\d{1,12})?$/;

export function formOfKey(key: Key): KeyFormState {
  return {
    name: key.name,
    requestsPerMinute: `${key.requests_per_minute}`,
    maxConcurrent: `${key.max_concurrent}`,
    monthlyLimit: key.monthly_limit === null ? '' : withoutTrailingZeros(key.monthly_limit),
    allowedModels: key.allowed_models,
    expiry: key.expires_at === null ? 'never' : 'time',
    expiryTime: key.expires_at === null ? '' : localTimeOf(new Date(key.expires_at)),
  };
}

/**
 * What is wrong with each field. An unchanged expiry is not sent, so it may be in the past: an expired key can still be
 * renamed.
 */
export function problemsOf(before: KeyFormState, form: KeyFormState, now: Date): KeyFormProblems {
  const limit = form.monthlyLimit.trim();
  const expiresAt = hasOther(before, form, 'expiry', 'expiryTime') ? expiryOf(form, now) : null;
  return {
    ...(form.name.trim() === '' ? { name: 'Enter a name.' } : {}),
    ...(form.name.trim().length > 200 ? { name: 'Use at most 200 characters.' } : {}),
    ...(isCount(form.requestsPerMinute, maxPerMinute)
      ? {}
      : { requests_per_minute: 'Enter a whole number from 1 to 1,000,000.' }),
    ...(isCount(form.maxConcurrent, maxConcurrent)
      ? {}
      : { max_concurrent: 'Enter a whole number from 1 to 100,000.' }),
    ...(limit === '' || amountPattern.test(limit)
      ? {}
      : { monthly_limit: 'Enter an amount such as 20 or 0.50.' }),
    ...(form.allowedModels?.length === 0 ? { allowed_models: 'Choose at least one model.' } : {}),
    ...(expiresAt === 'invalid' ? { expires_at: 'Choose a date and time.' } : {}),
    ...(expiresAt instanceof Date && expiresAt <= now ? { expires_at: 'Choose a time in the future.' } : {}),
  };
}

function isCount(text: string, max: number): boolean {
  const count = Number(text);
  return /^\d{1,7}$/.test(text.trim()) && count >= 1 && count <= max;
}

/** For a valid form only. */
export function draftOf(form: KeyFormState, now: Date): Required<KeyDraft> {
  const expiresAt = expiryOf(form, now);
  return {
    name: form.name.trim(),
    requests_per_minute: Number(form.requestsPerMinute),
    max_concurrent: Number(form.maxConcurrent),
    monthly_limit: form.monthlyLimit.trim() === '' ? null : form.monthlyLimit.trim(),
    allowed_models: form.allowedModels === null ? null : [...form.allowedModels],
    expires_at: expiresAt instanceof Date ? expiresAt.toISOString() : null,
  };
}

/** Only what was changed, so that another owner's changes in the meantime are kept. */
export function changesOf(before: KeyFormState, after: KeyFormState, now: Date): Partial<KeyDraft> {
  const draft = draftOf(after, now);
  const isOther = (...fields: (keyof KeyFormState)[]) => hasOther(before, after, ...fields);
  return {
    ...(isOther('name') ? { name: draft.name } : {}),
    ...(isOther('requestsPerMinute') ? { requests_per_minute: draft.requests_per_minute } : {}),
    ...(isOther('maxConcurrent') ? { max_concurrent: draft.max_concurrent } : {}),
    ...(isOther('monthlyLimit') ? { monthly_limit: draft.monthly_limit } : {}),
    ...(isOther('allowedModels') ? { allowed_models: draft.allowed_models } : {}),
    ...(isOther('expiry', 'expiryTime') ? { expires_at: draft.expires_at } : {}),
  };
}

function hasOther(before: KeyFormState, after: KeyFormState, ...fields: (keyof KeyFormState)[]): boolean {
  return fields.some((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]));
}

function expiryOf(form: KeyFormState, now: Date): Date | null | 'invalid' {
  if (form.expiry === 'never') return null;
  if (form.expiry !== 'time') return new Date(now.getTime() + Number(form.expiry) * dayMs);
  return timeOf(form.expiryTime) ?? 'invalid';
}

/** Null if the date or the time is missing. */
export function timeOf(localTime: string): Date | null {
  const time = new Date(localTime);
  return localTime === '' || Number.isNaN(time.getTime()) ? null : time;
}

/** `2027-01-31T12:00` in the viewer's time zone, as a `datetime-local` input expects it. */
export function localTimeOf(time: Date): string {
  const two = (count: number) => `${count}`.padStart(2, '0');
  const day = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return `${day}T${two(time.getHours())}:${two(time.getMinutes())}`;
}

function withoutTrailingZeros(amount: string): string {
  return amount.includes('.') ? amount.replace(/\.?0+$/, '') : amount;
}
