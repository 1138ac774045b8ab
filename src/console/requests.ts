/** The requests of an account: its Generations, and what was refused. */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { attributionColumn } from '../generations/attribution.ts';
import { type CursorScope, decodeCursor, encodeCursor } from '../generations/cursor.ts';
import { findDrawsOfGeneration } from '../grants/grant-store.ts';
import { lookUp } from '../http/lookup.ts';
import { parseLimit, readQuery } from '../http/query.ts';
import { nilId, timeOfId, uuidFromRequestId } from '../lib/ids.ts';
import type { RequestFilter } from '../requests/filter.ts';
import {
  type FoundRequests,
  findRequests,
  firstProviderColumn,
  type Scan,
  scanQuery,
} from '../requests/list-query.ts';
import { type AccountReader, type Found, readableAccount, rowsForReader } from './access.ts';
import { boundedList, boundedRead } from './bounded-read.ts';
import { presentDraw } from './draws.ts';
import { type DetailedGeneration, findDetail, presentDetail } from './generations.ts';
import type { AccountHandler, Routes } from './guard.ts';
import {
  fallbackFrom,
  type NamedRefusal,
  type NamedRequest,
  presentRefusal,
  presentRequests,
} from './present-request.ts';
import type { RequestApi, RequestDetail, RequestPage, RequestRow } from './request-contract.ts';
import { parseListFilter, requestParameters } from './request-filter.ts';

const failure = 'generation_lookup_failed';
export const defaultRequestLimit = 50;

/** `cursorKey` signs the cursors. */
type RequestsServices = Readonly<{ sql: SQL; reads: () => SQL; cursorKey: Uint8Array }>;

export function requestsPage({ sql, reads, cursorKey }: RequestsServices): Routes<AccountHandler> {
  return {
    '/requests': {
      GET: async (request, { caller }) => {
        const query = readQuery(request.url, [...requestParameters, 'limit', 'cursor']);
        const limit = parseLimit(query.get('limit'), defaultRequestLimit);
        const filter = parseListFilter(query, caller.accountId);
        const cursors = cursorsOf(scopeOfRequests('account', filter), cursorKey);
        const before = cursors.read(query.get('cursor'), filter.end);
        // One more than requested shows whether there is another page.
        const found = await lookUp(failure, () =>
          boundedList(reads(), (read) => findOfAccount(read, caller, filter, before, limit + 1)),
        );
        return Response.json(presentRequests(found, limit, cursors.at) satisfies RequestPage);
      },
    },
    '/requests/:request': {
      GET: async (request, { caller, params }) => {
        readQuery(request.url, []);
        // Also looked for if the text is not an ID, so that only members learn that there is no such request.
        const id = uuidFromRequestId(params.request ?? '') ?? nilId;
        const detail =
          (await lookUp(failure, () => boundedRead(sql, (read) => findGenerationOf(read, caller, id)))) ??
          (await lookUp(failure, () => boundedRead(sql, (read) => findRefusalOf(read, caller, id))));
        if (detail === null)
          throw new ApiError('generation_not_found', {
            message: 'This account has no request with this ID.',
          });
        return Response.json(detail satisfies RequestDetail);
      },
    },
  };
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

/** Reads and makes the cursors of a list. */
export function cursorsOf(scope: CursorScope, key: Uint8Array) {
  return {
    read: (text: string | null, end: string): string => {
      if (text === null) return end;
      const position = decodeCursor(text, scope, key, Date.now());
      if (position === null) throw new ApiError('invalid_cursor', { param: 'cursor' });
      return position;
    },
    at: (position: string) => encodeCursor(position, scope, key, Date.now()),
  };
}

/** The newest `rowCount` before a position. */
export async function findOfAccount(
  sql: SQL,
  reader: AccountReader,
  filter: RequestFilter,
  before: string,
  rowCount: number,
): Promise<FoundRequests<NamedRequest>> {
  const { keyId } = filter;
  return await findRequests<NamedRequest & Scan>(
    async (position, scanCount, wanted) => {
      const rows = await sql<(Found<NamedRequest & Scan, 'id'> & Scan & { is_key_known: boolean })[]>`
        select page.*, (select name from api_keys where id = page.key_id) as key_name, ${firstProviderColumn(sql)},
               ${attributionColumn(sql, 'page')},
               ${keyId}::uuid is null or exists (
                 select 1 from api_keys where id = ${keyId}::uuid and account_id = readable.account_id) as is_key_known
        from ${readableAccount(sql, reader)} as readable
        cross join lateral (${scanQuery(sql, filter, position, scanCount, wanted)}) as page
        order by page.id desc`;
      // Without any row the caller may not read the account.
      if (rows.length === 0) throw new ApiError('account_not_found');
      // An empty list would look as if the key had never been used.
      if (rows.some(({ is_key_known: isKnown }) => !isKnown))
        throw new ApiError('key_not_found', { param: 'key' });
      return rows;
    },
    before,
    rowCount,
  );
}

async function findGenerationOf(sql: SQL, reader: AccountReader, id: string): Promise<RequestDetail | null> {
  const generation = await findDetail(sql, reader, id);
  if (generation === null) return null;
  // Whoever may see the Generation may see this.
  const draws = await findDrawsOfGeneration(sql, { id, accountId: reader.accountId });
  return {
    kind: 'generation',
    request: { ...presentDetail(generation), ...requestFields(generation), draws: draws.map(presentDraw) },
  };
}

/** What a row of the list has besides. */
export function requestFields(
  generation: DetailedGeneration,
): Pick<
  RequestRow,
  'at' | 'api' | 'fallback_from' | 'streamed' | 'error_code' | 'finish_reason' | 'duration_ms'
> {
  const { id, attempts, provider } = generation;
  return {
    at: timeOfId(id).toISOString(),
    api: generation.api as RequestApi | null,
    fallback_from: fallbackFrom(attempts?.[0]?.provider ?? null, attempts?.length ? provider : null),
    streamed: generation.streaming,
    error_code: generation.error_code,
    finish_reason: generation.finish_reason,
    duration_ms: generation.latency_ms,
  };
}

async function findRefusalOf(sql: SQL, reader: AccountReader, id: string): Promise<RequestDetail | null> {
  const rows = await sql<Found<NamedRefusal, 'id'>[]>`
    select page.*, api_keys.name as key_name, api_keys.hint as key_hint, ${attributionColumn(sql, 'page')}
    from ${readableAccount(sql, reader)} as readable
    left join refusals as page on page.id = ${id} and page.account_id = readable.account_id
    left join api_keys on api_keys.id = page.key_id`;
  const [refusal] = rowsForReader(rows, 'id');
  return refusal === undefined ? null : { kind: 'refusal', request: presentRefusal(refusal) };
}
