/** Limits as clients send them, to the dashboard's API and to the admin API. */
import { z } from 'zod';
import { ApiError } from '../errors.ts';
import { invalidQuery, type Query } from '../http/query.ts';
import { bodyOf, converted, uuid } from '../json/fields.ts';
import { countUnit, isSpend } from '../ledger/decide-limits.ts';
import { type LimitKind, limitKinds } from '../ledger/operations.ts';
import { parseTime } from '../lib/calendar.ts';
import { isUuid } from '../lib/ids.ts';
import { isLabel, maxEndUserCharacters } from '../lib/labels.ts';
import { formatMoneyShort, largestAmount, type Money, parseMoney } from '../lib/money.ts';
import { type Increase, kindsOfKeys, type LimitChange, type LimitDraft } from './limit-store.ts';

/** The most requests or tokens that a limit can be about. */
const largestCount = 1_000_000_000_000n;

export const endUserWords = `an end user of 1 to ${maxEndUserCharacters} printable characters`;
const quantityWords = 'a decimal text such as "10"';
const scopes = ['account', 'key', 'end_user', 'each_end_user'] as const;

const quantity = z.union(
  [z.string(quantityWords).max(40, quantityWords), z.int(quantityWords)],
  quantityWords,
);
const increase = z
  .strictObject(
    { amount: quantity, until: converted('a time such as "2027-01-31T12:00:00Z"', parseTime) },
    'an object with amount and until, or null',
  )
  .nullable();

export const limitDraftSchema = bodyOf({
  scope: z.enum(scopes, oneOf(scopes)),
  key_id: uuid('the ID of a key').nullable().default(null),
  end_user: converted(endUserWords, readEndUser).nullable().default(null),
  kind: z.enum(limitKinds, oneOf(limitKinds)),
  amount: quantity,
  increase: increase.default(null),
});
export const limitChangeSchema = bodyOf({ amount: quantity.optional(), increase: increase.optional() });

type WireDraft = z.output<typeof limitDraftSchema>;
type WireIncrease = z.output<typeof increase>;

export const limitFilterParameters = ['key_id', 'end_user'] as const;

/** Which limits a list is about. */
export function readLimitFilter(query: Query) {
  const keyId = query.get('key_id');
  if (keyId !== null && !isUuid(keyId)) throw invalidQuery('key_id', 'the ID of a key');
  const text = query.get('end_user');
  const endUser = text === null ? null : readEndUser(text);
  if (text !== null && endUser === null) throw invalidQuery('end_user', endUserWords);
  return { keyId: keyId?.toLowerCase() ?? null, endUser };
}

/** Null when it cannot be the name of an end user. */
export function readEndUser(text: string): string | null {
  const name = text.trim();
  return isLabel(name, maxEndUserCharacters) ? name : null;
}

export function limitDraftOf(
  wire: WireDraft,
  { accountId, setBy, now }: Pick<LimitDraft, 'accountId' | 'setBy'> & Readonly<{ now: Date }>,
): LimitDraft {
  const { scope, key_id: keyId, end_user: endUser, kind } = wire;
  requireName('key_id', 'key', keyId, scope);
  requireName('end_user', 'end_user', endUser, scope);
  if (scope === 'key') requireKindOfKeys(kind);
  return {
    accountId,
    scope,
    keyId,
    endUser,
    kind,
    amount: amountIn(wire.amount, kind, 'amount', leastAmount(kind)),
    increase: increaseIn(wire.increase, kind, now),
    setBy,
  };
}

/** `kind` is that of the limit, which cannot be changed. */
export function limitChangeOf(
  wire: z.output<typeof limitChangeSchema>,
  kind: LimitKind,
  now: Date,
): LimitChange {
  return {
    amount: wire.amount === undefined ? undefined : amountIn(wire.amount, kind, 'amount', leastAmount(kind)),
    increase: wire.increase === undefined ? undefined : increaseIn(wire.increase, kind, now),
  };
}

function requireName(param: string, ofScope: string, name: string | null, scope: string): void {
  if (name === null && scope === ofScope)
    throw new ApiError('missing_required_parameter', {
      param,
      message: `The scope "${scope}" needs the parameter ${param}.`,
    });
  if (name !== null && scope !== ofScope)
    throw invalid(param, `${param} is only for the scope "${ofScope}", not for "${scope}".`);
}

/** What a key limits by its own settings. */
const settingsOfKeys = new Map<LimitKind, string>([
  ['spend_per_month', 'monthly_limit'],
  ['requests_per_minute', 'requests_per_minute'],
  ['concurrent_requests', 'max_concurrent'],
]);

function requireKindOfKeys(kind: LimitKind): void {
  if (kindsOfKeys.includes(kind)) return;
  const setting = settingsOfKeys.get(kind);
  throw invalid(
    'kind',
    `A key has its own setting for this: ${setting}. Change the key. Its limits can be of the kinds ${kindsOfKeys.join(', ')}.`,
  );
}

function increaseIn(wire: WireIncrease, kind: LimitKind, now: Date): Increase | null {
  if (wire === null) return null;
  if (wire.until <= now) throw invalid('increase.until', 'An increase can only end in the future.');
  const amount = amountIn(wire.amount, kind, 'increase.amount', leastIncrease(kind));
  return { amount, until: wire.until };
}

function amountIn(given: string | number, kind: LimitKind, param: string, min: Money): Money {
  const amount = parseAmount(given, kind, min);
  if (amount !== null) return amount;
  throw invalid(param, `${param} is invalid: expected ${amountWords(kind, min)}.`);
}

/** The least that a limit of this kind can have. */
export function leastAmount(kind: LimitKind): Money {
  return isSpend(kind) ? 0n : countUnit;
}

export function leastIncrease(kind: LimitKind): Money {
  return isSpend(kind) ? 1n : countUnit;
}

/** Null when it cannot be the amount of a limit. A JSON number is no exact amount of money. */
export function parseAmount(given: string | number, kind: LimitKind, min: Money): Money | null {
  const text = isSpend(kind) && typeof given === 'number' ? '' : `${given}`;
  const amount = isSpend(kind) || /^\d+$/.test(text) ? parseMoney(text) : null;
  const max = isSpend(kind) ? largestAmount : largestCount * countUnit;
  return amount !== null && amount >= min && amount <= max ? amount : null;
}

/** What it may be, after "expected" or "must be". */
export function amountWords(kind: LimitKind, min: Money): string {
  if (!isSpend(kind)) return `a whole number from 1 to ${largestCount}`;
  const least = min === 0n ? 'not negative' : 'more than 0';
  return `USD as a decimal text with at most 12 decimals, ${least} and at most ${formatMoneyShort(largestAmount)}`;
}

function oneOf(words: readonly string[]): string {
  return `one of ${words.map((word) => `"${word}"`).join(', ')}`;
}

function invalid(param: string, message: string): ApiError {
  return new ApiError('invalid_parameter', { param, message });
}
