/** Reads which requests are to be listed. */
import { parseLabels } from '../generations/attribution.ts';
import type { CursorScope } from '../generations/cursor.ts';
import { newestPosition } from '../generations/generation-store.ts';
import { invalidQuery, type Query } from '../http/query.ts';
import { firstIdAt } from '../lib/ids.ts';
import type { RequestFilter } from '../requests/filter.ts';
import { requestApis, requestStatuses } from './request-contract.ts';
import {
  parseChoice,
  parseCode,
  parseCost,
  parseDuration,
  parseId,
  parseMoment,
  parseName,
  parseYes,
} from './request-filter.ts';

export function parseRequestFilter(query: Query, accountId: string | null): RequestFilter {
  const fromMs = parseMoment(query, 'from');
  const toMs = parseMoment(query, 'to');
  if (fromMs !== null && toMs !== null && fromMs >= toMs) throw invalidQuery('from', 'a time before to');
  return {
    first: firstIdAt(fromMs ?? 0),
    end: toMs === null ? newestPosition : firstIdAt(toMs),
    accountId,
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

/** The account that an operator asks for; null for all of them. */
export function parseAccount(query: Query): string | null {
  return parseId(query, 'account');
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
    minCost,
    text(minDurationMs),
    ...labels.flat(),
  ];
}
