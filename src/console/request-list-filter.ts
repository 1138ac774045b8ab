/** Reads which requests are asked for. */
import { type ErrorCode, errorTable } from '../errors.ts';
import { attributionParameters, parseLabels } from '../generations/attribution.ts';
import type { CursorScope } from '../generations/cursor.ts';
import { newestPosition } from '../generations/generation-store.ts';
import { invalidQuery, type Query } from '../http/query.ts';
import { firstIdAt, isUuid } from '../lib/ids.ts';
import { formatMoney, type Money, parseMoney } from '../lib/money.ts';
import type { RequestFilter } from '../requests/filter.ts';
import { requestApis, requestStatuses } from './request-contract.ts';

export const requestParameters = [
  'from',
  'to',
  'status',
  'error_code',
  'model',
  'key',
  'provider',
  'api',
  ...attributionParameters,
  'streamed',
  'fallback',
  'min_cost',
  'min_duration_ms',
] as const;

export function parseRequestFilter(query: Query, accountId: string | null): RequestFilter {
  const first = parseTime(query, 'from');
  const end = parseTime(query, 'to');
  if (first !== null && end !== null && end <= first) throw invalidQuery('to', 'a time after from');
  return {
    first: first ?? firstIdAt(0),
    end: end ?? newestPosition,
    accountId,
    keyId: parseId(query, 'key', 'the ID of a key'),
    status: oneOf(query, 'status', requestStatuses),
    errorCode: parseCode(query.get('error_code')),
    model: parseName(query, 'model', 'the ID of a model'),
    provider: parseName(query, 'provider', 'the name of a provider'),
    api: oneOf(query, 'api', requestApis),
    labels: parseLabels(query),
    isStreamed: parseYes(query, 'streamed'),
    isFallback: parseYes(query, 'fallback'),
    minCost: parseCost(query.get('min_cost')),
    minDurationMs: parseDuration(query.get('min_duration_ms')),
  };
}

/** The account that an operator asks for; null for all of them. */
export function parseAccount(query: Query): string | null {
  return parseId(query, 'account', 'the ID of an account');
}

/** A cursor belongs to whoever got it, and to these filters. */
export function scopeOfRequests(owner: string, filter: RequestFilter): CursorScope {
  const { first, end, accountId, keyId, status, errorCode, model, provider, api } = filter;
  const { isStreamed, isFallback, minCost, minDurationMs, labels } = filter;
  const text = (value: boolean | number | null) => (value === null ? null : String(value));
  return [
    `requests ${owner}`,
    first,
    end,
    accountId,
    keyId,
    status,
    errorCode,
    model,
    provider,
    api,
    text(isStreamed),
    text(isFallback),
    minCost === null ? null : formatMoney(minCost),
    text(minDurationMs),
    ...labels.flat(),
  ];
}

const timePattern = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/** The first ID of that time. */
function parseTime(query: Query, name: 'from' | 'to'): string | null {
  const text = query.get(name);
  if (text === null) return null;
  const timeMs = timePattern.test(text) ? Date.parse(text) : Number.NaN;
  if (!(timeMs >= 0)) throw invalidQuery(name, 'a time, such as 2026-01-31T12:00:00Z');
  return firstIdAt(timeMs);
}

function oneOf<Value extends string>(query: Query, name: string, values: readonly Value[]): Value | null {
  const text = query.get(name);
  if (text === null) return null;
  const value = values.find((candidate) => candidate === text);
  if (value === undefined) throw invalidQuery(name, values.join(', '));
  return value;
}

function parseYes(query: Query, name: string): boolean | null {
  const answer = oneOf(query, name, ['yes', 'no'] as const);
  return answer === null ? null : answer === 'yes';
}

function parseId(query: Query, name: string, expected: string): string | null {
  const text = query.get(name);
  if (text === null) return null;
  if (!isUuid(text)) throw invalidQuery(name, expected);
  return text.toLowerCase();
}

function parseCode(text: string | null): ErrorCode | null {
  if (text === null) return null;
  if (!Object.hasOwn(errorTable, text)) throw invalidQuery('error_code', 'a code of the table of errors');
  return text as ErrorCode;
}

const maxNameCharacters = 200;

/** Any name is valid, because there may be requests of models and providers that have left the catalogue. */
function parseName(query: Query, name: string, expected: string): string | null {
  const text = query.get(name);
  // PostgreSQL cannot store a NUL.
  if (text === '' || text?.includes('\0') || (text?.length ?? 0) > maxNameCharacters)
    throw invalidQuery(name, expected);
  return text;
}

function parseCost(text: string | null): Money | null {
  if (text === null) return null;
  const money = parseMoney(text);
  if (money === null || money < 0n) throw invalidQuery('min_cost', 'an amount in USD, such as 0.05');
  return money;
}

function parseDuration(text: string | null): number | null {
  if (text === null) return null;
  if (!/^\d{1,9}$/.test(text)) throw invalidQuery('min_duration_ms', 'a number of milliseconds');
  return Number(text);
}
