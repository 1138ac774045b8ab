/** Any request of any account, for an operator who is asked about it, or about an end user. */
import type { SQL } from 'bun';
import { ApiError } from '../../errors.ts';
import {
  type Column,
  headerOf,
  id as idColumn,
  text as textColumn,
  writeLine,
} from '../../exports/columns.ts';
import { listedColumns } from '../../exports/generations.ts';
import {
  type AttributedFilter,
  attributedQuery,
  type FoundList,
  findMatching,
  maxScanned,
  type ScannedRow,
} from '../../generations/attributed-query.ts';
import { attributionColumn, attributionParameters, parseLabels } from '../../generations/attribution.ts';
import { parseListQuery } from '../../generations/parse-list.ts';
import { presentSummary } from '../../generations/present.ts';
import { findDrawsOfGeneration } from '../../grants/grant-store.ts';
import { csvType } from '../../http/download.ts';
import { lookUp } from '../../http/lookup.ts';
import { invalidQuery, type Query, readQuery } from '../../http/query.ts';
import { isUuid, uuidFromRequestId } from '../../lib/ids.ts';
import { dayOf } from '../../usage/days.ts';
import { type Found, type OperatorReader, operatorOnly, rowsForOperator } from '../access.ts';
import type { Page } from '../contract.ts';
import { presentDraw } from '../draws.ts';
import {
  type DetailedGeneration,
  type ListedGeneration,
  presentDetail,
  presentList,
  refundsQuery,
} from '../generations.ts';
import { idsOf } from '../generations-csv.ts';
import type { ConsoleHandler, Routes } from '../guard.ts';
import type { OperatorGeneration, OperatorGenerationRow } from '../operator-contract.ts';
import { parseRange } from '../usage.ts';
import { parseCursor } from './list.ts';

const failure = 'generation_lookup_failed';
const defaultLimit = 50;

type AnyGenerationServices = Readonly<{ sql: SQL; reads: () => SQL }>;

export function anyGenerationPage({ sql, reads }: AnyGenerationServices): Routes<ConsoleHandler> {
  return {
    '/generations': {
      GET: async (request, { signedIn }) => {
        const query = readQuery(request.url, [...filterParameters, 'limit', 'cursor']);
        const { limit } = parseListQuery(query, defaultLimit);
        const filter = parseFilter(query);
        const before = parseCursor(query.get('cursor'));
        const found = await lookUp(failure, () =>
          findAttributed(reads(), signedIn, filter, before, limit + 1),
        );
        const page = presentList(found, limit, presentRow, (id) => id);
        return Response.json(page satisfies Page<OperatorGenerationRow>);
      },
    },
    '/generations.csv': {
      GET: async (request, { signedIn }) => {
        const query = readQuery(request.url, [...filterParameters, 'from', 'to']);
        const range = parseRange(query, dayOf(new Date()));
        const filter = parseFilter(query);
        const { first, end } = idsOf(range);
        const { rows } = await lookUp(failure, () =>
          findAttributed(reads(), signedIn, filter, end, maxScanned),
        );
        const lines = rows
          .filter(({ id: found }) => found >= first)
          .map((row) => writeLine('csv', anyColumns, row));
        const headers = {
          'content-type': csvType,
          'content-disposition': `attachment; filename="generations-${range.from}-to-${range.to}.csv"`,
        };
        return new Response(headerOf('csv', anyColumns) + lines.join(''), { headers });
      },
    },
    '/generations/:generation': {
      GET: async (request, { params, signedIn }) => {
        readQuery(request.url, []);
        const id = uuidFromRequestId(params.generation ?? '');
        const find = (known: string) => findAnyGeneration(sql, signedIn, known);
        const generation = id === null ? null : await lookUp(failure, () => find(id));
        if (generation === null)
          throw new ApiError('generation_not_found', { message: 'No account has a request with this ID.' });
        // Whoever may see the Generation may see this.
        const draws = await lookUp(failure, () =>
          findDrawsOfGeneration(sql, { id: generation.id, accountId: generation.account_id }),
        );
        return Response.json({
          ...presentAny(generation),
          draws: draws.map(presentDraw),
        } satisfies OperatorGeneration);
      },
    },
  };
}

const filterParameters = ['account', 'status', 'model', ...attributionParameters] as const;

/** Not for browsing what customers do: an operator has to know whom to look for. */
function parseFilter(query: Query): AttributedFilter {
  const { filter } = parseListQuery(query);
  const labels = parseLabels(query);
  const accountId = query.get('account');
  if (accountId !== null && !isUuid(accountId)) throw invalidQuery('account', 'the ID of an account');
  if (labels.length === 0) throw invalidQuery('end_user', 'an end user, or a tag or session instead');
  return { ...filter, accountId, keyId: null, labels };
}

type AnyListed = ListedGeneration & Readonly<{ account_id: string; account_name: string }>;

function presentRow(row: AnyListed): OperatorGenerationRow {
  return {
    ...presentSummary(row),
    key: { id: row.key_id, name: row.key_name },
    account: { id: row.account_id, name: row.account_name },
  };
}

const anyColumns: readonly Column<AnyListed>[] = [
  idColumn('account_id', (row) => row.account_id),
  textColumn('account_name', (row) => row.account_name),
  ...listedColumns,
];

async function findAttributed(
  sql: SQL,
  reader: OperatorReader,
  filter: AttributedFilter,
  before: string,
  rowCount: number,
): Promise<FoundList<AnyListed>> {
  const ask = async (position: string, scanCount: number) => {
    const rows = await sql<Found<ScannedAny, 'scanned_id'>[]>`
      select page.*, accounts.name as account_name, api_keys.name as key_name, ${attributionColumn(sql, 'page')}
      from ${operatorOnly(sql, reader)} as allowed
      left join lateral (${attributedQuery(sql, filter, position, scanCount)}) as page on true
      left join accounts on accounts.id = page.account_id
      left join api_keys on api_keys.id = page.key_id
      order by page.scanned_id desc`;
    return rowsForOperator(rows, 'scanned_id');
  };
  return await findMatching(ask, before, rowCount);
}

type ScannedAny = Omit<AnyListed, 'id'> & ScannedRow;

type AnyGeneration = DetailedGeneration &
  Readonly<{
    account_id: string;
    account_name: string;
    reported_input_tokens: bigint | null;
    reported_output_tokens: bigint | null;
    reported: Readonly<Record<string, number | null>> | null;
  }>;

export function presentAny(generation: AnyGeneration): Omit<OperatorGeneration, 'draws'> {
  return {
    ...presentDetail(generation),
    account: { id: generation.account_id, name: generation.account_name },
    reported_usage: presentReported(generation),
  };
}

function presentReported(generation: AnyGeneration): OperatorGeneration['reported_usage'] {
  const { reported_input_tokens: input, reported_output_tokens: output, reported } = generation;
  if (input === null || output === null) return null;
  return {
    input_tokens: Number(input),
    output_tokens: Number(output),
    counts: reported && Object.entries(reported).map(([name, count]) => ({ name, count })),
  };
}

export async function findAnyGeneration(
  sql: SQL,
  reader: OperatorReader,
  id: string,
): Promise<AnyGeneration | null> {
  const rows = await sql<Found<AnyGeneration, 'id'>[]>`
    select generation.*, accounts.name as account_name, api_keys.name as key_name, api_keys.hint as key_hint,
           -charge.amount as charged, refunds.*, coalesce(charge.is_estimated, false) as is_estimated,
           write_offs.amount as written_off, write_offs.reason as write_off_reason, reported_input_tokens,
           reported_output_tokens, reported, ${attributionColumn(sql, 'generation')}
    from ${operatorOnly(sql, reader)} as allowed
    left join generation_details as generation on generation.id = ${id}
    left join accounts on accounts.id = generation.account_id
    left join api_keys on api_keys.id = generation.key_id
    left join ledger_entries as charge on charge.generation_id = generation.id and charge.kind = 'charge'
    left join lateral (${refundsQuery(sql)}) as refunds on true
    left join write_offs on write_offs.generation_id = generation.id`;
  return rowsForOperator(rows, 'id')[0] ?? null;
}
