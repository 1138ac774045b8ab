/** The limits of LiteLLM's keys, teams, users and end users, which all have the same columns. */
import { formatMoneyShort, type Money } from '../lib/money.ts';
import { asObject } from './json-export.ts';
import type { Carried, PlannedLimit } from './plan.ts';
import type { Row } from './rows.ts';
import { countLimit, describeLimit, spendLimit } from './settings.ts';
import { amountIn, amountOf, countIn, isSet, jsonIn, lineOf, textIn, timeIn } from './values.ts';

export type Period = 'day' | 'week' | 'month';

type Increase = Readonly<{ amount: Money; until: Date }>;

export type FoundLimits = Readonly<{
  spend: ReadonlyMap<Period, Money>;
  increase: Increase | null;
  /** What may be spent in total, and what is left of that. */
  lifetime: Readonly<{ budget: Money; remaining: Money }> | null;
  requestsPerMinute: bigint | null;
  tokensPerMinute: bigint | null;
  concurrent: bigint | null;
  /** Restrictions without a counterpart: without them, more would be allowed than before. */
  lost: readonly string[];
  /** What is left out and restricts nothing. */
  notes: readonly string[];
  /** Values that make no sense. */
  problems: readonly string[];
  carried: readonly Carried[];
}>;

type Budget = Readonly<{ amount: Money; duration: string | null }>;

/** Those of a row and of the budget that it shares, if any: the strictest counts. */
export function limitsIn(row: Row, shared: Row | null, now: Date): FoundLimits {
  const rows = shared === null ? [row] : [row, shared];
  const problems: string[] = [];
  const budgets = rows.flatMap((from) => budgetsIn(from, problems));
  const spent = readAmount(row, 'spend', problems) ?? 0n;
  const spend = new Map<Period, Money>();
  const lost = rows.flatMap(lostIn);
  const carried: Carried[] = [];
  let lifetime: Money | null = null;
  for (const budget of budgets) {
    const found = periodOf(budget);
    const before = `budget ${formatMoneyShort(budget.amount)} ${budget.duration === null ? 'for life' : `per ${lineOf(budget.duration, 20) ?? ''}`}`;
    if (found === 'lifetime') lifetime = least(lifetime, budget.amount);
    else if (found === null) lost.push(`its ${before}: there is no such period`);
    else {
      spend.set(found.period, least(spend.get(found.period) ?? null, found.amount));
      carried.push({ before, after: `${formatMoneyShort(found.amount)} USD a ${found.period}` });
    }
  }
  const count = (name: string) => strictest(rows, name, problems);
  return {
    spend,
    increase: increaseIn(rows, now),
    lifetime:
      lifetime === null ? null : { budget: lifetime, remaining: lifetime > spent ? lifetime - spent : 0n },
    requestsPerMinute: count('rpm_limit'),
    tokensPerMinute: count('tpm_limit'),
    concurrent: count('max_parallel_requests'),
    lost,
    notes: rows.flatMap((from) => (isSet(from, 'soft_budget') ? ['its soft budget, which only warns'] : [])),
    problems,
    carried,
  };
}

function least(one: Money | null, other: Money): Money {
  return one === null || other < one ? other : one;
}

function budgetsIn(row: Row, problems: string[]): Budget[] {
  const own = readAmount(row, 'max_budget', problems);
  const budgets = own === null ? [] : [{ amount: own, duration: textIn(row, 'budget_duration') }];
  if (!isSet(row, 'budget_limits')) return budgets;
  const windows = jsonIn(row, 'budget_limits');
  for (const item of Array.isArray(windows) ? windows : [null]) {
    const window = asObject(item);
    const amount = amountOf(String(window?.get('max_budget')));
    const duration = window?.get('budget_duration');
    if (amount === null || amount < 0n || typeof duration !== 'string')
      problems.push('its budget_limits cannot be read');
    else budgets.push({ amount, duration });
  }
  return budgets;
}

function readAmount(row: Row, name: string, problems: string[]): Money | null {
  const amount = amountIn(row, name);
  if (amount !== 'unreadable' && (amount === null || amount >= 0n || name === 'spend')) return amount;
  problems.push(`its ${name} cannot be read`);
  return null;
}

function strictest(rows: readonly Row[], name: string, problems: string[]): bigint | null {
  let least: bigint | null = null;
  for (const row of rows) {
    const count = countIn(row, name);
    if (count === null) continue;
    if (count === 'unreadable' || count < 0n) problems.push(`its ${name} cannot be read`);
    else if (count === 0n) problems.push(`its ${name} is 0, which allows no request`);
    else if (least === null || count < least) least = count;
  }
  return least;
}

const daySeconds = 86_400n;
const unitSeconds: ReadonlyMap<string, bigint> = new Map([
  ['s', 1n],
  ['m', 60n],
  ['h', 3_600n],
]);

/**
 * The period of ours that allows no more. Budgets per part of a day become one per day, and those of several months are divided.
 * LiteLLM's 30 days end with the calendar month. Null when there is none.
 */
export function periodOf({
  amount,
  duration,
}: Budget): Readonly<{ period: Period; amount: Money }> | 'lifetime' | null {
  if (duration === null) return 'lifetime';
  if (duration === '1d') return { period: 'day', amount };
  if (duration === '7d' || duration === '1w') return { period: 'week', amount };
  if (duration === '30d') return { period: 'month', amount };
  const [, digits = '', unit = ''] = /^([1-9]\d{0,8})(s|m|h|mo)$/.exec(duration) ?? [];
  if (digits === '') return null;
  const count = BigInt(digits);
  if (unit === 'mo') return { period: 'month', amount: amount / count };
  const seconds = count * (unitSeconds.get(unit) ?? 1n);
  return seconds <= daySeconds && daySeconds % seconds === 0n ? { period: 'day', amount } : null;
}

function increaseIn(rows: readonly Row[], now: Date): Increase | null {
  for (const row of rows) {
    const metadata = asObject(jsonIn(row, 'metadata'));
    const from = metadata?.has('temp_budget_increase') === true ? metadata : row;
    const amount = amountIn(from, 'temp_budget_increase');
    const until = timeIn(from, 'temp_budget_expiry');
    if (typeof amount === 'bigint' && amount > 0n && until instanceof Date && until > now)
      return { amount, until };
  }
  return null;
}

const restrictingMetadata = ['model_rpm_limit', 'model_tpm_limit', 'guardrails', 'enforced_params'] as const;

function lostIn(row: Row): string[] {
  const metadata = asObject(jsonIn(row, 'metadata')) ?? new Map();
  return [
    ...(isSet(row, 'tpd_limit') ? ['its limit of tokens a day'] : []),
    ...(isSet(row, 'model_max_budget') ? ['its budgets per model'] : []),
    ...(isSet(row, 'policies') ? ['its policies'] : []),
    ...restrictingMetadata.flatMap((name) => (isSet(metadata, name) ? [`its ${name}`] : [])),
  ];
}

const kinds = { day: 'spend_per_day', week: 'spend_per_week', month: 'spend_per_month' } as const;
const order = ['day', 'week', 'month'] as const;

/** As rows of limits: for an account or an end user all of them, for a key those that are no setting of it. */
export function plannedLimits(found: FoundLimits, of: 'account' | 'key'): PlannedLimit[] {
  const periods = of === 'key' ? order.slice(0, 2) : order;
  return [
    ...periods.flatMap((period) => {
      const amount = found.spend.get(period);
      return amount === undefined ? [] : [spendLimit(kinds[period], amount, found.increase)];
    }),
    ...(of === 'account' && found.requestsPerMinute !== null
      ? [countLimit('requests_per_minute', found.requestsPerMinute)]
      : []),
    ...(found.tokensPerMinute === null ? [] : [countLimit('tokens_per_minute', found.tokensPerMinute)]),
    ...(of === 'account' && found.concurrent !== null
      ? [countLimit('concurrent_requests', found.concurrent)]
      : []),
  ];
}

/** The counts, in both systems' words; the budgets have theirs already. */
export function carriedCounts(limits: readonly PlannedLimit[]): Carried[] {
  return limits
    .filter(({ kind }) => !kind.startsWith('spend_'))
    .map((limit) => ({
      before: `${limit.kind} ${formatMoneyShort(limit.amount)}`,
      after: describeLimit(limit),
    }));
}

/** Whether anything is limited at all. */
export function restricts(found: FoundLimits): boolean {
  const counts = [found.requestsPerMinute, found.tokensPerMinute, found.concurrent, found.lifetime];
  return found.spend.size > 0 || found.lost.length > 0 || counts.some((limit) => limit !== null);
}
