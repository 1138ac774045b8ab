/** The terms of grants, and allowances, as clients send them. */
import { z } from 'zod';
import { ApiError } from '../errors.ts';
import { amountFrom, bodyOf, converted, line } from '../json/fields.ts';
import { defaultPriority, type GrantTerms, grantCategories } from '../ledger/movements.ts';
import { parseTime } from '../lib/calendar.ts';
import { allowancePeriods } from './allowances.ts';

const categoryWords = `one of ${grantCategories.join(', ')}`;
const priorityWords = 'a whole number from 0 to 100';

const category = z.enum(grantCategories, categoryWords);
const priority = z.int(priorityWords).min(0, priorityWords).max(100, priorityWords);
const expiry = converted('a time such as "2027-01-31T12:00:00Z", or null', parseTime).nullable();

/** Of a credit. Without any of them it is a plain one. */
export const termsFields = {
  category: z.enum(grantCategories, `${categoryWords}, or null`).nullable().default(null),
  priority: priority.nullable().default(null),
  expires_at: expiry.default(null),
};

type WireTerms = z.output<z.ZodObject<typeof termsFields>>;

export function termsOf({ category, priority: given, expires_at: expiresAt }: WireTerms): GrantTerms | null {
  if (category === null && given === null && expiresAt === null) return null;
  return { category: category ?? 'paid', priority: given ?? defaultPriority, expiresAt };
}

/** The same as one object, with all of them. */
export const termsSchema = z
  .strictObject(
    { category, priority, expires_at: expiry },
    'an object with category, priority and expires_at, or null',
  )
  .transform(({ expires_at: expiresAt, ...terms }): GrantTerms => ({ ...terms, expiresAt }));

/** `param` is where the client has sent it. */
export function requireFuture(terms: GrantTerms | null, now: Date, param = 'expires_at'): void {
  if (!terms?.expiresAt || terms.expiresAt > now) return;
  throw new ApiError('invalid_parameter', { param, message: 'expires_at must be in the future.' });
}

export const voidSchema = bodyOf({ reason: line(500) });

export const allowanceDraftSchema = bodyOf({
  amount: amountFrom(1n),
  every: z.enum(allowancePeriods, `one of ${allowancePeriods.join(', ')}`),
  priority: priority.default(defaultPriority),
  note: line(500).nullable().default(null),
});
