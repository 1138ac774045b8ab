/** Requests as the dashboard shows them. */
import { type ErrorCode, errorTable } from '../errors.ts';
import { presentAttribution, type StoredAttribution } from '../generations/attribution.ts';
import { requestIdFromUuid, timeOfId } from '../lib/ids.ts';
import type { FoundRequests, ListedRequest } from '../requests/list-query.ts';
import type { StoredRefusal } from '../requests/refusal-store.ts';
import type { Refusal, RequestApi, RequestPage, RequestRow } from './request-contract.ts';

/** A row of a list with the names of what it refers to. */
export type NamedRequest = ListedRequest &
  Readonly<{
    key_name: string;
    first_provider: string | null;
    attribution: StoredAttribution;
    /** For operators only. */
    account_name?: string;
  }>;

function presentRequest(row: NamedRequest): RequestRow {
  const { id, attribution, account_name: accountName } = row;
  return {
    id: requestIdFromUuid(id),
    at: timeOfId(id).toISOString(),
    status: row.status,
    api: row.api as RequestApi | null,
    model: row.model,
    key: { id: row.key_id, name: row.key_name },
    ...(accountName === undefined ? {} : { account: { id: row.account_id, name: accountName } }),
    provider: row.provider,
    fallback_from: fallbackFrom(row.first_provider, row.provider),
    streamed: row.streaming,
    error_code: row.error_code,
    finish_reason: row.finish_reason,
    usage: presentUsage(row),
    cost: row.cost_total,
    duration_ms: row.latency_ms,
    time_to_first_token_ms: row.time_to_first_token_ms,
    attribution: attribution === null ? null : presentAttribution(attribution),
  };
}

/** Who was called first, if that was someone else than the last. */
export function fallbackFrom(first: string | null, last: string | null): string | null {
  return first === last ? null : first;
}

function presentUsage(row: ListedRequest): RequestRow['usage'] {
  const { input_tokens: input, output_tokens: output, units, unit } = row;
  if (input === null || output === null || units === null || unit === null) return null;
  return {
    input_tokens: Number(input),
    output_tokens: Number(output),
    cache_read_tokens: Number(row.cache_read_tokens ?? 0n),
    units: Number(units),
    unit,
  };
}

/** There may be more even if `rows` has none. */
export function presentRequests(
  { rows, scannedTo }: FoundRequests<NamedRequest>,
  limit: number,
  cursorAt: (id: string) => string,
): RequestPage {
  const data = rows.slice(0, limit).map(presentRequest);
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  const next = last?.id ?? scannedTo;
  return {
    data,
    has_more: next !== null,
    next_cursor: next === null ? null : cursorAt(next),
    scanned_to: last === undefined && scannedTo !== null ? timeOfId(scannedTo).toISOString() : null,
  };
}

export type NamedRefusal = StoredRefusal &
  Readonly<{ key_name: string; key_hint: string; attribution: StoredAttribution; account_name?: string }>;

export function presentRefusal(row: NamedRefusal): Refusal {
  const { short_of: of, needed, available, fitting_max_tokens: fitting } = row;
  const listed: NamedRequest = { ...row, ...notServed, error_code: row.code };
  return {
    ...presentRequest(listed),
    status: 'refused',
    key: { id: row.key_id, name: row.key_name, hint: row.key_hint },
    http_status: row.http_status,
    error_code: row.code,
    message: messageOf(row.code),
    param: row.param,
    shortage:
      of === null || needed === null || available === null
        ? null
        : { of, needed, available, fitting_max_tokens: fitting === null ? null : Number(fitting) },
    retry_after_seconds: row.retry_after_seconds,
  };
}

const notServed = {
  status: 'refused',
  provider: null,
  first_provider: null,
  streaming: null,
  fallback: null,
  finish_reason: null,
  input_tokens: null,
  output_tokens: null,
  cache_read_tokens: null,
  units: null,
  unit: null,
  cost_total: null,
  latency_ms: null,
  time_to_first_token_ms: null,
} as const;

/** A later version may have written a code that this one does not know. */
function messageOf(code: string): string {
  return Object.hasOwn(errorTable, code) ? errorTable[code as ErrorCode].message : code;
}
