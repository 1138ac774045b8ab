/** The requests of all accounts, for operators. */
import type { SQL } from 'bun';
import { ApiError } from '../../errors.ts';
import { type Column, id as idColumn, text as textColumn } from '../../exports/columns.ts';
import { attributionColumn } from '../../generations/attribution.ts';
import { findDrawsOfGeneration } from '../../grants/grant-store.ts';
import { sendDownload } from '../../http/download.ts';
import { lookUp } from '../../http/lookup.ts';
import { parseLimit, readQuery } from '../../http/query.ts';
import { uuidFromRequestId } from '../../lib/ids.ts';
import type { Log } from '../../lib/log.ts';
import type { RequestFilter } from '../../requests/filter.ts';
import {
  type FoundRequests,
  findRequests,
  firstProviderColumn,
  type Scan,
  scanQuery,
} from '../../requests/list-query.ts';
import { type Found, type OperatorReader, operatorOnly, rowsForOperator } from '../access.ts';
import { boundedList, boundedRead } from '../bounded-read.ts';
import { presentDraw } from '../draws.ts';
import type { ConsoleHandler, Routes } from '../guard.ts';
import { type NamedRefusal, type NamedRequest, presentRefusal, presentRequests } from '../present-request.ts';
import type { RequestDetail, RequestPage } from '../request-contract.ts';
import { parseAccount, parseListFilter, requestParameters } from '../request-filter.ts';
import { cursorsOf, defaultRequestLimit, requestFields, scopeOfRequests } from '../requests.ts';
import { columns, type FindPiece, fileOf, rowsPerPiece } from '../requests-csv.ts';
import { findAnyGeneration, presentAny } from './generations.ts';

const failure = 'generation_lookup_failed';

type AnyRequestServices = Readonly<{ sql: SQL; reads: () => SQL; cursorKey: Uint8Array }>;

const anyRequestParameters = [...requestParameters, 'account'] as const;

export function anyRequestPage({ sql, reads, cursorKey }: AnyRequestServices): Routes<ConsoleHandler> {
  return {
    '/requests': {
      GET: async (request, { signedIn }) => {
        const query = readQuery(request.url, [...anyRequestParameters, 'limit', 'cursor']);
        const limit = parseLimit(query.get('limit'), defaultRequestLimit);
        const filter = parseListFilter(query, parseAccount(query));
        const cursors = cursorsOf(scopeOfRequests('operator', filter), cursorKey);
        const before = cursors.read(query.get('cursor'), filter.end);
        const found = await lookUp(failure, () =>
          boundedList(reads(), (read) => findOfAnyone(read, signedIn, filter, before, limit + 1)),
        );
        return Response.json(presentRequests(found, limit, cursors.at) satisfies RequestPage);
      },
    },
    '/requests/:request': {
      GET: async (request, { params, signedIn }) => {
        readQuery(request.url, []);
        const id = uuidFromRequestId(params.request ?? '');
        const detail =
          id === null
            ? null
            : ((await lookUp(failure, () =>
                boundedRead(sql, (read) => findGenerationOfAnyone(read, signedIn, id)),
              )) ??
              (await lookUp(failure, () =>
                boundedRead(sql, (read) => findRefusalOfAnyone(read, signedIn, id)),
              )));
        if (detail === null)
          throw new ApiError('generation_not_found', { message: 'No account has a request with this ID.' });
        return Response.json(detail satisfies RequestDetail);
      },
    },
  };
}

type AnyDownloadServices = Readonly<{ reads: () => SQL; log: Log }>;

/** Takes the filters of the list. */
export function anyRequestDownload({ reads, log }: AnyDownloadServices): Routes<ConsoleHandler> {
  return {
    '/requests.csv': {
      GET: async (request, context) => {
        const query = readQuery(request.url, anyRequestParameters);
        const filter = parseListFilter(query, parseAccount(query));
        const find: FindPiece = (before) =>
          boundedList(reads(), (read) => findOfAnyone(read, context.signedIn, filter, before, rowsPerPiece));
        return await sendDownload(fileOf(anyColumns, filter, context, find), request, context.base, log);
      },
    },
  };
}

const anyColumns: readonly Column<NamedRequest>[] = [
  idColumn('account_id', (row) => row.account_id),
  textColumn('account_name', (row) => row.account_name ?? null),
  ...columns,
];

/** The newest `rowCount` before a position. */
async function findOfAnyone(
  sql: SQL,
  reader: OperatorReader,
  filter: RequestFilter,
  before: string,
  rowCount: number,
): Promise<FoundRequests<NamedRequest>> {
  return await findRequests<NamedRequest & Scan>(
    async (position, scanCount, wanted) => {
      const rows = await sql<(Found<NamedRequest & Scan, 'id'> & Scan)[]>`
        select page.*, (select name from accounts where id = page.account_id) as account_name,
               (select name from api_keys where id = page.key_id) as key_name, ${firstProviderColumn(sql)},
               ${attributionColumn(sql, 'page')}
        from ${operatorOnly(sql, reader)} as allowed
        cross join lateral (${scanQuery(sql, filter, position, scanCount, wanted)}) as page
        order by page.id desc`;
      if (rows.length === 0) throw new ApiError('permission_denied');
      return rows;
    },
    before,
    rowCount,
  );
}

async function findGenerationOfAnyone(
  sql: SQL,
  reader: OperatorReader,
  id: string,
): Promise<RequestDetail | null> {
  const generation = await findAnyGeneration(sql, reader, id);
  if (generation === null) return null;
  const draws = await findDrawsOfGeneration(sql, { id, accountId: generation.account_id });
  return {
    kind: 'generation',
    request: { ...presentAny(generation), ...requestFields(generation), draws: draws.map(presentDraw) },
  };
}

async function findRefusalOfAnyone(
  sql: SQL,
  reader: OperatorReader,
  id: string,
): Promise<RequestDetail | null> {
  const rows = await sql<Found<NamedRefusal, 'id'>[]>`
    select page.*, accounts.name as account_name, api_keys.name as key_name, api_keys.hint as key_hint,
           ${attributionColumn(sql, 'page')}
    from ${operatorOnly(sql, reader)} as allowed
    left join refusals as page on page.id = ${id}
    left join accounts on accounts.id = page.account_id
    left join api_keys on api_keys.id = page.key_id`;
  const [refusal] = rowsForOperator(rows, 'id');
  return refusal === undefined ? null : { kind: 'refusal', request: presentRefusal(refusal) };
}
