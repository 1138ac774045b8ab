/** Generations as the database has them: one by its ID, or a page of a list. */
import type { SQL } from 'bun';
import type { Attempt } from '../ledger/operations.ts';

/** What a list says of a Generation, open or finished. */
export type GenerationSummary = Readonly<{
  id: string;
  createdAt: Date;
  status: GenerationStatus;
  workload: string;
  model: string;
  provider: string;
  latencyMs: number;
  usage: Readonly<{ inputTokens: bigint; outputTokens: bigint; units: bigint; unit: string }> | null;
  /** Decimal texts with 12 digits, as they were stored. */
  cost: Readonly<{ input: string; output: string; total: string }> | null;
  fallback: boolean;
  completedAt: Date | null;
}>;

/** What is told of one that is looked up. */
export type GenerationRecord = GenerationSummary &
  Readonly<{
    streaming: boolean;
    timeToFirstTokenMs: number | null;
    errorCode: string | null;
    attempts: readonly Attempt[];
  }>;

export const generationStatuses = ['in_progress', 'completed', 'failed', 'cancelled'] as const;
export type GenerationStatus = (typeof generationStatuses)[number];

/** Which Generations a list is about; null stands for all. */
export type GenerationFilter = Readonly<{ status: GenerationStatus | null; model: string | null }>;

/** Whose Generations they are. */
type GenerationOwner = Readonly<{ keyId: string }> | Readonly<{ accountId: string }>;

/** A row of a list. */
export type SummaryRow = {
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
  fallback: boolean;
  completed_at: Date | null;
};

/** A row of generation_details. */
export type RecordRow = SummaryRow & {
  streaming: boolean;
  time_to_first_token_ms: number | null;
  error_code: string | null;
  attempts: Attempt[] | null;
};

/** No ID is greater, so this is where a list begins. */
export const newestPosition = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

const finishedStatuses = generationStatuses.filter((status) => status !== 'in_progress');

/** The newest `rowCount` Generations of this key before a position, in one snapshot of the open and the finished ones. */
export async function findPage(
  sql: SQL,
  keyId: string,
  filter: GenerationFilter,
  before: string,
  rowCount: number,
): Promise<GenerationSummary[]> {
  const rows = await sql<SummaryRow[]>`${pageQuery(sql, { keyId }, filter, before, rowCount)}`;
  return rows.map(toSummary);
}

/** The query of such a page, for other queries to include: rows of SummaryRow with account_id and key_id, at most 101. */
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
 * For each status one range of an index, read from the position of the page backwards and no further than the page is
 * long: that costs the same at any depth, with any filter, and whatever other keys have done. What the planner knows of a
 * table says nothing about a single key, so it is left no choice:
 * - The last column of the filter is compared together with the ID, and the range is sorted by both: only the right index
 *   has that order. With `status = $2 and id < $3 order by id` another one, such as the primary key, may look shorter and
 *   lead past millions of rows of others. The bare comparison of the ID excludes partitions.
 * - The filters come from `one`, so there is one plan for all their values.
 * - A limit that is not known counts as a tenth of the table. Hence the constant one, which no page exceeds.
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

/** Few are open at a time, and they are indexed by key alone: those of an account are found among all. */
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
 * What began a whole day before that has ended before it too. Each range is sorted by the account as well, which it is
 * compared with as with a list: that keeps the planner from the primary key here.
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

/** Only what this key itself created is found: the key is part of the question. */
export async function findGeneration(sql: SQL, id: string, keyId: string): Promise<GenerationRecord | null> {
  const [row] = await sql<RecordRow[]>`
    select * from generation_details where id = ${id} and key_id = ${keyId}`;
  return row ? toRecord(row) : null;
}

export function toRecord(row: RecordRow): GenerationRecord {
  return {
    ...toSummary(row),
    streaming: row.streaming,
    timeToFirstTokenMs: row.time_to_first_token_ms,
    errorCode: row.error_code,
    attempts: row.attempts ?? [],
  };
}

export function toSummary(row: SummaryRow): GenerationSummary {
  const { input_tokens: inputTokens, output_tokens: outputTokens, units, unit } = row;
  const { cost_input: input, cost_output: output, cost_total: total } = row;
  return {
    id: row.id,
    createdAt: row.created_at,
    status: row.status,
    workload: row.workload,
    model: row.model,
    provider: row.provider,
    latencyMs: row.latency_ms,
    usage:
      inputTokens === null || outputTokens === null || units === null || unit === null
        ? null
        : { inputTokens, outputTokens, units, unit },
    cost: input === null || output === null || total === null ? null : { input, output, total },
    fallback: row.fallback,
    completedAt: row.completed_at,
  };
}
