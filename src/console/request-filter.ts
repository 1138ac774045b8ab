/** Reads what requests must be like to be listed, and to be counted. */
import { type ErrorCode, errorTable } from '../errors.ts';
import { attributionParameters, parseLabels } from '../generations/attribution.ts';
import { newestPosition } from '../generations/generation-store.ts';
import { invalidQuery, type Query } from '../http/query.ts';
import { parseTime } from '../lib/calendar.ts';
import { firstIdAt, isUuid } from '../lib/ids.ts';
import { parseMoney } from '../lib/money.ts';
import { dayMs, hourMs } from '../lib/time-units.ts';
import type { RequestFilter } from '../requests/filter.ts';
import type { SumFilter } from '../rollups/figures.ts';
import type { RowFilter } from '../rollups/one-by-one.ts';
import { hoursKeptMs, type Span } from '../rollups/range.ts';
import { requestApis, requestStatuses } from './request-contract.ts';

/** What sums are kept by, and the time. */
export const sumParameters = ['from', 'to', 'status', 'error_code', 'model', 'key', 'provider'] as const;
const rowParameters = [
  'api',
  'streamed',
  'fallback',
  'min_cost',
  'min_duration_ms',
  ...attributionParameters,
] as const;
export const requestParameters = [...sumParameters, ...rowParameters] as const;

export type CountFilter = Readonly<{
  span: Span;
  accountId: string | null;
  keyId: string | null;
  sums: SumFilter;
  rows: RowFilter;
  /** Sums do not suffice. */
  needsRows: boolean;
}>;

/** Which requests are to be listed. */
export function parseListFilter(query: Query, accountId: string | null): RequestFilter {
  const fromMs = parseMoment(query, 'from');
  const toMs = parseMoment(query, 'to');
  if (fromMs !== null && toMs !== null && fromMs >= toMs) throw invalidQuery('from', 'a time before to');
  return {
    ...parseProperties(query),
    first: firstIdAt(fromMs ?? 0),
    end: toMs === null ? newestPosition : firstIdAt(toMs),
    accountId,
  };
}

/** The account that an operator asks for; null for all of them. */
export function parseAccount(query: Query): string | null {
  return parseId(query, 'account');
}

function parseProperties(query: Query): Omit<RequestFilter, 'first' | 'end' | 'accountId'> {
  return {
    keyId: parseId(query, 'key'),
    status: parseChoice(query, 'status', requestStatuses),
    errorCode: parseCode(query),
    model: parseName(query, 'model'),
    provider: parseName(query, 'provider'),
    api: parseChoice(query, 'api', requestApis),
    labels: parseLabels(query),
    isStreamed: parseYes(query, 'streamed'),
    isFallback: parseYes(query, 'fallback'),
    minCost: parseCost(query),
    minDurationMs: parseDuration(query),
  };
}

/** Sums have no refusals by models that are not in the catalogue. */
export function parseSeriesFilter(
  query: Query,
  nowMs: number,
  models: Readonly<{ has: (name: string) => boolean }>,
): CountFilter {
  const filter = parseCountFilter(query, nowMs);
  const { model } = filter.sums;
  return { ...filter, needsRows: filter.needsRows || (model !== null && !models.has(model)) };
}

export function parseCountFilter(query: Query, nowMs: number): CountFilter {
  const properties = parseProperties(query);
  return {
    span: parseSpan(query, nowMs),
    accountId: parseAccount(query),
    keyId: properties.keyId,
    sums: properties,
    rows: properties,
    needsRows: rowParameters.some((name) => query.has(name)),
  };
}

/** The last 24 hours, unless the query says otherwise. What is yet to come is left out, but for what clocks may differ by. */
export function parseSpan(query: Query, nowMs: number): Span {
  const lastMs = nowMs + hourMs;
  const wantedToMs = parseMoment(query, 'to') ?? nowMs;
  const toMs = Math.min(wantedToMs, lastMs);
  const wantedFromMs = parseMoment(query, 'from') ?? toMs - dayMs;
  if (wantedFromMs >= wantedToMs) throw invalidQuery('from', 'a time before to');
  const fromMs = Math.min(wantedFromMs, toMs - 1);
  if (toMs - fromMs > hoursKeptMs) throw invalidQuery('from', 'a time at most 400 days before to');
  return { fromMs, toMs };
}

function parseMoment(query: Query, name: string): number | null {
  const text = query.get(name);
  if (text === null) return null;
  const time = parseTime(text);
  // Within what an ID can hold, and the database.
  if (time === null || time.getTime() < 0 || time.getUTCFullYear() > 9000)
    throw invalidQuery(name, 'a time such as 2026-01-31T12:00:00Z');
  return time.getTime();
}

function parseId(query: Query, name: string): string | null {
  const text = query.get(name);
  if (text !== null && !isUuid(text)) throw invalidQuery(name, 'an ID');
  return text?.toLowerCase() ?? null;
}

function parseChoice<Choice extends string>(
  query: Query,
  name: string,
  choices: readonly Choice[],
): Choice | null {
  const text = query.get(name);
  if (text === null) return null;
  const choice = choices.find((candidate) => candidate === text);
  if (choice === undefined) throw invalidQuery(name, choices.join(', '));
  return choice;
}

function parseYes(query: Query, name: string): boolean | null {
  const answer = parseChoice(query, name, ['yes', 'no']);
  return answer === null ? null : answer === 'yes';
}

const maxNameLength = 200;

function parseCode(query: Query): ErrorCode | null {
  const text = query.get('error_code');
  if (text === null) return null;
  if (!Object.hasOwn(errorTable, text)) throw invalidQuery('error_code', 'a code of the table of errors');
  return text as ErrorCode;
}

/** Any name is valid: there may be requests for models, and from providers, that have left the catalogue. */
function parseName(query: Query, name: string): string | null {
  const text = query.get(name);
  // PostgreSQL cannot store a NUL.
  if (text === '' || text?.includes('\0') || (text?.length ?? 0) > maxNameLength)
    throw invalidQuery(name, `a name of at most ${maxNameLength} characters`);
  return text;
}

function parseCost(query: Query): string | null {
  const text = query.get('min_cost');
  if (text === null) return null;
  const cost = parseMoney(text);
  if (cost === null || cost < 0n) throw invalidQuery('min_cost', 'an amount in USD such as 0.01');
  return text;
}

const durationPattern = /^[0-9]{1,9}$/;

function parseDuration(query: Query): number | null {
  const text = query.get('min_duration_ms');
  if (text === null) return null;
  if (!durationPattern.test(text)) throw invalidQuery('min_duration_ms', 'a number of milliseconds');
  return Number(text);
}
