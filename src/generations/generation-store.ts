/** Reads Generations: one by its ID, or a page of a list. */
import type { SQL } from 'bun';
import type { Attempt } from '../ledger/operations.ts';
import { attributionColumn, type StoredAttribution } from './attribution.ts';

export const generationStatuses = ['in_progress', 'completed', 'failed', 'cancelled'] as const;
export type GenerationStatus = (typeof generationStatuses)[number];

/** Null matches everything. */
export type GenerationFilter = Readonly<{ status: GenerationStatus | null; model: string | null }>;

type GenerationOwner = Readonly<{ keyId: string }> | Readonly<{ accountId: string }>;

/** A Generation in a list, open or finished, as the views have it. Costs are decimal strings with 12 digits. */
export type GenerationSummary = Readonly<{
  id: string;
  created_at: Date;
  status: GenerationStatus;
  workload: string;
  model: string;
  provider: string;
  latency_ms: number;
  input_tokens: bigint | null;
  output_tokens: bigint | null;
  units: bigint | null;
  unit: string | null;
  cost_input: string | null;
  cost_output: string | null;
  cost_total: string | null;
  /** Parts of the input and of its cost. All are null when no cache was involved, as in old records. */
  cache_read_tokens: bigint | null;
  cache_write_tokens: bigint | null;
  cache_write_long_tokens: bigint | null;
  cost_cache_read: string | null;
  cost_cache_write: string | null;
  cost_cache_write_long: string | null;
  fallback: boolean;
  completed_at: Date | null;
  attribution: StoredAttribution;
}>;

/** A row of generation_details. */
export type GenerationRecord = GenerationSummary &
  Readonly<{
    streaming: boolean;
    time_to_first_token_ms: number | null;
    error_code: string | null;
    /** Null for those from before it was recorded. */
    api: string | null;
    finish_reason: string | null;
    attempts: readonly Attempt[] | null;
  }>;

/** No ID is greater, so a list starts here. */
export const newestPosition = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

export const finishedStatuses = generationStatuses.filter((status) => status !== 'in_progress');

/** The newest `rowCount` Generations of this key before a position, in one snapshot of the open and the finished ones. */
export async function findPage(
  sql: SQL,
  keyId: string,
  filter: GenerationFilter,
  before: string,
  rowCount: number,
): Promise<GenerationSummary[]> {
  return await sql<GenerationSummary[]>`
    select page.*, ${attributionColumn(sql, 'page')}
    from (${pageQuery(sql, { keyId }, filter, before, rowCount)}) as page order by page.id desc`;
}

/** The query of such a page, for other queries to include. Its rows, at most 101, also have account_id and key_id. */
export function pageQuery(
  sql: SQL,
  owner: GenerationOwner,
  filter: GenerationFilter,
  before: string,
  rowCount: number,
) {
  const { status, model } = filter;
  const open = openQuery(sql, owner, model, before, rowCount);
  if (status === 'in_progress') return open;
  const finished = finishedQuery(sql, owner, filter, before, rowCount);
  return status === null
    ? sql`${finished} union all (${open}) order by id desc limit ${rowCount}::int`
    : sql`${finished} order by id desc limit ${rowCount}::int`;
}

/**
 * Reads one range of an index per status, backwards from the position of the page and no further than the page is long:
 * that costs the same at any depth, with any filter, and whatever other keys have done. Table statistics say nothing about
 * a single key, so the planner is left no choice:
 * - The last column of the filter is compared together with the ID, and the range is sorted by both: only the right index
 *   has that order. With `status = $2 and id < $3 order by id` another one, such as the primary key, may look cheaper and
 *   lead past millions of other rows. The plain comparison of the ID excludes partitions.
 * - The filters come from `one`, so there is one plan for all their values.
 * - The planner assumes a tenth of the table for an unknown limit. Hence the constant one, which no page exceeds.
 */
function finishedQuery(
  sql: SQL,
  owner: GenerationOwner,
  { status, model }: GenerationFilter,
  before: string,
  rowCount: number,
) {
  const isOwned = ownedBy(sql, owner);
  const range =
    model === null
      ? sql`
          select * from finished_generations
          where ${isOwned} and status >= one.status and (status, id) < (one.status, ${before}::uuid) and id < ${before}::uuid
          order by status desc, id desc limit 101`
      : sql`
          select * from finished_generations
          where ${isOwned} and status = one.status and model >= one.model and (model, id) < (one.model, ${before}::uuid)
            and id < ${before}::uuid
          order by model desc, id desc limit 101`;
  const statuses = status === null ? finishedStatuses : [status];
  const models = statuses.map(() => model);
  return sql`
    select page.* from unnest(${sql.array(statuses, 'text')}, ${sql.array(models, 'text')}) as one (status, model)
    cross join lateral (select * from (${range}) as longest limit ${rowCount}::int) as page`;
}

/** Few are open at a time, and they are indexed by key only: those of an account are found by a scan. */
function openQuery(sql: SQL, owner: GenerationOwner, model: string | null, before: string, rowCount: number) {
  return sql`
    select * from unfinished_generations
    where ${ownedBy(sql, owner)} and (${model}::text is null or model = ${model}::text) and id < ${before}::uuid
    order by id desc limit ${rowCount}::int`;
}

function ownedBy(sql: SQL, owner: GenerationOwner) {
  return 'keyId' in owner ? sql`key_id = ${owner.keyId}::uuid` : sql`account_id = ${owner.accountId}::uuid`;
}

/**
 * The query of the newest 10,000 Generations of an account that ended in the last hours, for other queries to include.
 * No request runs for a day, so older IDs need not be read. Sorting by the account too, and comparing it with an array,
 * keeps the planner from using the primary key.
 */
export function recentQuery(sql: SQL, accountId: string, hours: number) {
  return sql`
    select * from (
      select page.* from unnest(${sql.array(finishedStatuses, 'text')}) as one (status)
      cross join lateral (
        select * from finished_generations
        where account_id = any (array[${accountId}::uuid]) and status = one.status
          and id >= first_id_at(now() - make_interval(days => 1, hours => ${hours}::int))
        order by account_id desc, id desc limit 10000
      ) as page
      order by id desc limit 10000
    ) as newest
    where completed_at >= now() - make_interval(hours => ${hours}::int)`;
}

/** Finds only what this key itself created. */
export async function findGeneration(sql: SQL, id: string, keyId: string): Promise<GenerationRecord | null> {
  const [row] = await sql<GenerationRecord[]>`
    select generation.*, ${attributionColumn(sql, 'generation')}
    from generation_details as generation where id = ${id} and key_id = ${keyId}`;
  return row ?? null;
}
