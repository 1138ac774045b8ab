/** The terms of grants, and allowances, as clients send them. */
import { z } from 'zod';
import { ApiError } from '../errors.ts';
import { amountFrom, bodyOf, converted, line } from '../json/fields.ts';
import { defaultPriority, type GrantTerms, grantCategories } from '../ledger/movements.ts';
import { parseTime } from '../lib/calendar.ts';
import { allowancePeriods } from './allowances.ts';

const categoryWords = `one of ${grantCategories.join(', ')}, or null`;
const priorityWords = 'a whole number from 0 to 100';

const priority = z.int(priorityWords).min(0, priorityWords).max(100, priorityWords);

/** Of a credit. Without any of them it is a plain one. */
export const termsFields = {
  category: z.enum(grantCategories, categoryWords).nullable().default(null),
  priority: priority.nullable().default(null),
  expires_at: converted('a time such as "2027-01-31T12:00:00Z", or null', parseTime).nullable().default(null),
};

type WireTerms = z.output<z.ZodObject<typeof termsFields>>;

export function termsOf({ category, priority: given, expires_at: expiresAt }: WireTerms): GrantTerms | null {
  if (category === null && given === null && expiresAt === null) return null;
  return { category: category ?? 'paid', priority: given ?? defaultPriority, expiresAt };
}

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
