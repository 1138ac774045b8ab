/** What both systems have in common when their settings become ours. */
import {
  defaultMaxConcurrent,
  defaultRequestsPerMinute,
  maxConcurrentLimit,
  maxRequestsPerMinute,
} from '../keys/key-store.ts';
import type { LimitKind } from '../ledger/operations.ts';
import { formatMoneyShort, type Money, moneyScaleDigits } from '../lib/money.ts';
import type { Carried, Choices, Dropped, Here, PlannedLimit } from './plan.ts';

const maxModels = 200;
const maxModelLength = 200;
const maxNamed = 5;

/** Null allows every model. */
export type Models = readonly string[] | null;

/** What all of the lists allow. */
export function commonModels(lists: readonly Models[]): Models {
  return lists.reduce<Models>((common, list) => {
    if (common === null || list === null) return common ?? list;
    return common.filter((model) => list.includes(model));
  }, null);
}

/** Why a key with this list cannot be imported; null if it can. */
export function modelProblem(models: Models, here: Here, { allowUnknownModels }: Choices): string | null {
  if (models === null) return null;
  if (models.length === 0) return 'it allows no model';
  if (models.length > maxModels) return `its list of models is too long: a key may have ${maxModels}`;
  if (models.some((model) => model.length > maxModelLength || /\p{C}/u.test(model)))
    return 'the name of one of its models cannot be used';
  const unknown = unknownModels(models, here);
  if (unknown.length === 0 || allowUnknownModels) return null;
  return `the catalogue does not have these models: ${named(unknown)} (--allow-unknown-models keeps them on the list)`;
}

export function unknownModels(models: Models, { isInCatalog }: Here): string[] {
  return (models ?? []).filter((model) => !isInCatalog(model));
}

export function named(names: readonly string[]): string {
  const more = names.length - maxNamed;
  return `${names.slice(0, maxNamed).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** A key's own rate and concurrency; null for what the other system does not limit. */
export function keyRates(requestsPerMinute: bigint | null, concurrent: bigint | null) {
  const rate = bounded(requestsPerMinute, defaultRequestsPerMinute, maxRequestsPerMinute);
  const maxConcurrent = bounded(concurrent, defaultMaxConcurrent, maxConcurrentLimit);
  const carried: Carried[] = [
    {
      before: `requests per minute: ${requestsPerMinute ?? 'no limit'}`,
      after: `${rate} requests per minute`,
    },
    {
      before: `concurrent requests: ${concurrent ?? 'no limit'}`,
      after: `${maxConcurrent} concurrent requests`,
    },
  ];
  return { requestsPerMinute: rate, maxConcurrent, carried };
}

function bounded(count: bigint | null, otherwise: number, max: number): number {
  return count === null ? otherwise : Number(count > BigInt(max) ? BigInt(max) : count);
}

const words: Readonly<Record<LimitKind, string>> = {
  spend_per_day: 'USD a day',
  spend_per_week: 'USD a week',
  spend_per_month: 'USD a month',
  requests_per_minute: 'requests per minute',
  tokens_per_minute: 'tokens per minute',
  concurrent_requests: 'concurrent requests',
};

export function describeLimit({ kind, amount, increase, endUser }: PlannedLimit): string {
  const until =
    increase === null
      ? ''
      : `, ${formatMoneyShort(increase.amount)} more until ${increase.until.toISOString()}`;
  return `${endUser === null ? '' : `end user ${endUser}: `}${formatMoneyShort(amount)} ${words[kind]}${until}`;
}

export function spendLimit(kind: LimitKind, amount: Money, increase: PlannedLimit['increase']): PlannedLimit {
  return { endUser: null, kind, amount, increase };
}

const scale = 10n ** BigInt(moneyScaleDigits);

export function countLimit(kind: LimitKind, count: bigint): PlannedLimit {
  return { endUser: null, kind, amount: count * scale, increase: null };
}

/** Collects what is left out, and why. */
export class DroppedList {
  readonly all: Dropped[] = [];

  key(subject: string, reasons: readonly string[]): void {
    this.all.push({ what: 'key', subject, reason: reasons.join('; ') });
  }

  detail(subject: string, reason: string): void {
    this.all.push({ what: 'detail', subject, reason });
  }
}

export function isExternalId(text: string): boolean {
  return /^\P{Cc}{1,200}$/u.test(text);
}
