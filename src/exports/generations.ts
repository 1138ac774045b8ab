/** Generations, by the time at which they began: their IDs are that time. Those in progress are among them, as they are now. */
import type { SQL } from 'bun';
import { attributionColumn, presentAttribution } from '../generations/attribution.ts';
import { finishedStatuses, type GenerationSummary } from '../generations/generation-store.ts';
import { requestIdFromUuid, uuidFromRequestId } from '../lib/ids.ts';
import { type Column, id, nested, plain, text } from './columns.ts';
import { idsOf, isIdWithin, pageOfIds } from './id-range.ts';
import type { ExportOrder, ExportSource } from './source.ts';
import { requireNotExpired } from './stored-range.ts';

type NamedGeneration = GenerationSummary & Readonly<{ key_id: string; key_name: string }>;

const attributionOf = ({ attribution }: NamedGeneration) => presentAttribution(attribution ?? []);

const createdAt = plain<NamedGeneration>('created_at', (row) => row.created_at);
const requestId = plain<NamedGeneration>('request_id', (row) => requestIdFromUuid(row.id));

/** Columns are empty where nothing is known. */
const shared: readonly Column<NamedGeneration>[] = [
  id('key_id', (row) => row.key_id),
  text('key_name', (row) => row.key_name),
  plain('workload', (row) => row.workload),
  text('model', (row) => row.model),
  plain('status', (row) => row.status),
  text('provider', (row) => row.provider),
  plain('input_tokens', (row) => row.input_tokens),
  plain('output_tokens', (row) => row.output_tokens),
  plain('units', (row) => row.units),
  plain('unit', (row) => row.unit),
  plain('cost_usd', (row) => row.cost_total),
  plain('latency_ms', (row) => row.latency_ms),
  text('end_user', (row) => attributionOf(row).end_user),
  text('session', (row) => attributionOf(row).session),
  nested('tags', (row) => {
    const { tags } = attributionOf(row);
    return Object.keys(tags).length === 0 ? null : tags;
  }),
];

type ExportedGeneration = NamedGeneration &
  Readonly<{
    account_id: string;
    account_name: string;
    streaming: boolean;
    time_to_first_token_ms: number | null;
    error_code: string | null;
  }>;

const columns = [
  requestId,
  createdAt,
  plain('completed_at', (row) => row.completed_at),
  id('account_id', (row) => row.account_id),
  text('account_name', (row) => row.account_name),
  ...shared,
  plain('cache_read_tokens', (row) => row.cache_read_tokens),
  plain('cache_write_tokens', (row) =>
    row.cache_write_tokens === null ? null : row.cache_write_tokens + (row.cache_write_long_tokens ?? 0n),
  ),
  plain('cost_input_usd', (row) => row.cost_input),
  plain('cost_output_usd', (row) => row.cost_output),
  plain('streaming', (row) => row.streaming),
  plain('fallback', (row) => row.fallback),
  plain('time_to_first_token_ms', (row) => row.time_to_first_token_ms),
  plain('error_code', (row) => row.error_code),
] as const satisfies readonly [Column<ExportedGeneration>, ...Column<ExportedGeneration>[]];

export const generationsExport: ExportSource<ExportedGeneration> = {
  columns: () => columns,
  isCursor: (given, order) => isIdWithin(uuidFromRequestId(given), order),
  find: async (sql, order, after, rowCount) => {
    const position = after === null ? null : uuidFromRequestId(after);
    const rows = await sql<ExportedGeneration[]>`
      select page.*, (select name from accounts where accounts.id = page.account_id) as account_name,
             (select name from api_keys where api_keys.id = page.key_id) as key_name, ${attributionColumn(sql, 'page')}
      from (${pageQuery(sql, order, position, rowCount)}) as page
      order by page.id`;
    return pageOfIds(rows, rowCount, ({ id: last }) => requestIdFromUuid(last));
  },
  requireStored: requireNotExpired,
};

/** In one snapshot of the open and the finished ones, so that one that ends meanwhile is there once. */
function pageQuery(sql: SQL, order: ExportOrder, after: string | null, rowCount: number) {
  const { accountId } = order;
  const { first, end } = idsOf(order);
  const isAfter = after === null ? sql`id >= ${first}::uuid` : sql`id > ${after}::uuid`;
  const isWanted = sql`${isAfter} and id < ${end}::uuid`;
  const finished =
    accountId === null
      ? sql`select * from finished_generations where ${isWanted} order by id limit ${rowCount}::int`
      : finishedOf(sql, accountId, after ?? first, end, rowCount);
  return sql`
    (${finished}) union all (
      select * from unfinished_generations
      where ${isWanted} and (${accountId}::uuid is null or account_id = ${accountId}::uuid)
      order by id limit ${rowCount}::int
    ) order by id limit ${rowCount}::int`;
}

/**
 * One range of an index per status. Both ends are compared as rows in the order of that index, and the range is sorted by
 * it, so the planner has no other choice (`pageQuery` in generations/generation-store.ts).
 */
function finishedOf(sql: SQL, accountId: string, after: string, end: string, rowCount: number) {
  return sql`
    select page.* from unnest(${sql.array(finishedStatuses, 'text')}) as one (status)
    cross join lateral (
      select * from finished_generations
      where account_id = ${accountId}::uuid and (status, id) > (one.status, ${after}::uuid)
        and (status, id) < (one.status, ${end}::uuid) and id > ${after}::uuid and id < ${end}::uuid
      order by status, id limit ${rowCount}::int
    ) as page
    order by id limit ${rowCount}::int`;
}
