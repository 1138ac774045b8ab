/** Figures of requests by what they are not added up by: these are looked at one by one. */
import type { SQL } from 'bun';
import { ownBucketsOf } from './bucket-columns.ts';
import { figureSums, matches, ownedBy, type Scope, type Wanted } from './figures.ts';
import type { Span, Steps } from './range.ts';

/** What requests must be like that are looked at one by one. Null for all. */
export type RowFilter = Readonly<{
  api: string | null;
  isStreamed: boolean | null;
  isFallback: boolean | null;
  /** As a decimal number, in USD. */
  minCost: string | null;
  minDurationMs: number | null;
  /** The kind and text of each label. */
  labels: readonly (readonly [string, string])[];
}>;

type RowsWanted = Wanted & Readonly<{ rows: RowFilter }>;

/** As many as can be looked at while a user waits, and as many again of the period before. */
export const maxLookedAt = 30_000;

/**
 * The same figures as figuresQuery has, of the newest requests. `looked_from_ms` is the time from which on all were looked at, in
 * every row; null if that is the whole range. Of refusals these are the stored ones, as in the list.
 */
export function lookedAtQuery(sql: SQL, wanted: RowsWanted, steps: Steps) {
  const { scope, filter, rows } = wanted;
  const [label] = rows.labels;
  const lookedAt =
    label === undefined
      ? sql`looked_at as materialized (${newestQuery(sql, wanted, steps)}), scanned as (select id from looked_at)`
      : sql`scanned as materialized (${labelledQuery(sql, scope, label, steps)}),
            looked_at as materialized (
              -- Each is looked up: because of the limit the planner cannot read a whole range to join it instead.
              select counted.* from scanned
              cross join lateral (${countedQuery(sql, wanted, sql`id = scanned.id`)} limit 1) as counted)`;
  return sql`
    with ${lookedAt},
    bound as (
      select case when count(*) >= ${maxLookedAt} then min(id_ms(id))::float8 end as looked_from_ms from scanned
    ), alike as (
      -- Forty columns of buckets are for these, not for each request.
      select floor((id_ms(id) - ${steps.fromMs}::float8) / ${steps.stepMs}::float8)::int as step, status, duration_bucket,
             first_token_bucket, count(*) as count, sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
             sum(cost) as cost
      from looked_at
      where ${ownedBy(sql, scope)} and ${matches(sql, filter)} and ${rowMatches(sql, rows)}
      group by 1, 2, 3, 4
    ), figures as (
      select step, '' as value, ${sql.unsafe(figureSums)} from (
        select *, ${sql.unsafe(`${ownBucketsOf('duration', 'count')}, ${ownBucketsOf('first_token', 'count')}`)} from alike
      ) as counted
      group by step
    )
    select figures.*, looked_from_ms from bound left join figures on true`;
}

function inRange(sql: SQL, column: 'id' | 'generation_id', { fromMs, toMs }: Span) {
  const id = sql.unsafe(column);
  return sql`${id} >= first_id_at(to_timestamp(${fromMs}::float8 / 1000))
    and ${id} < first_id_at(to_timestamp(${toMs}::float8 / 1000))`;
}

/** Nobody was called for a refused one. */
function mayBeRefused({ filter, rows }: RowsWanted): boolean {
  const { isStreamed, isFallback, minCost, minDurationMs } = rows;
  const aboutCall = [filter.provider, isStreamed, isFallback, minCost, minDurationMs];
  return (filter.status ?? 'refused') === 'refused' && aboutCall.every((wanted) => wanted === null);
}

/** Finished Generations, and refusals. */
function countedQuery(sql: SQL, wanted: RowsWanted, condition: SQL.Query<unknown>) {
  const finished = sql`select * from counted_generations where ${condition}`;
  return mayBeRefused(wanted)
    ? sql`${finished} union all select * from counted_refusals where ${condition}`
    : finished;
}

function labelledQuery(sql: SQL, scope: Scope, [kind, text]: readonly [string, string], span: Span) {
  const ofAccount = scope.accountId === null ? sql`true` : sql`account_id = ${scope.accountId}`;
  return sql`
    select generation_id as id from generation_attributions
    where ${ofAccount} and kind = ${kind} and label = ${text} and ${inRange(sql, 'generation_id', span)}
    order by generation_id desc limit ${maxLookedAt}`;
}

/** One index range for each status, unless they are of everybody. */
function newestQuery(sql: SQL, wanted: RowsWanted, span: Span) {
  const { scope, filter } = wanted;
  const isOfEverybody = scope.accountId === null && scope.keyId === null;
  const newest = (view: 'generations' | 'refusals', condition: SQL.Query<unknown>) => sql`
    (select * from ${sql.unsafe(`counted_${view}`)} where ${condition} and ${inRange(sql, 'id', span)}
     order by id desc limit ${maxLookedAt})`;
  const owned = ownedBy(sql, scope);
  const ofStatus = (status: string) => newest('generations', sql`${owned} and status = ${status}`);
  let finished = sql`${ofStatus('completed')} union all ${ofStatus('failed')} union all ${ofStatus('cancelled')}`;
  if (filter.status !== null) finished = ofStatus(filter.status);
  else if (isOfEverybody) finished = newest('generations', owned);
  const refused = mayBeRefused(wanted) ? sql`union all ${newest('refusals', owned)}` : sql``;
  return sql`select * from (${finished} ${refused}) as each order by id desc limit ${maxLookedAt}`;
}

function rowMatches(sql: SQL, { api, isStreamed, isFallback, minCost, minDurationMs, labels }: RowFilter) {
  return sql`(${api}::text is null or api = ${api})
    and (${isStreamed}::boolean is null or streaming = ${isStreamed}::boolean)
    and (${isFallback}::boolean is null or fallback = ${isFallback}::boolean)
    and (${minCost}::text is null or cost_total >= ${minCost}::text::numeric)
    and (${minDurationMs}::float8 is null or latency_ms >= ${minDurationMs}::float8)
    and ${hasLabels(sql, labels)}`;
}

function hasLabels(sql: SQL, labels: RowFilter['labels']) {
  const kinds = sql.array(
    labels.map(([kind]) => kind),
    'TEXT',
  );
  const texts = sql.array(
    labels.map(([, text]) => text),
    'TEXT',
  );
  return sql`not exists (
    select from unnest(${kinds}::text[], ${texts}::text[]) as wanted (kind, label)
    where not exists (select from generation_attributions as given
      where given.generation_id = looked_at.id and given.kind = wanted.kind and given.label = wanted.label))`;
}

/** How many requests are in progress, as one row. Nothing was charged for them, and they have no error, yet. */
export function inProgressQuery(sql: SQL, { scope, filter, rows }: RowsWanted, span: Span) {
  return sql`
    select count(*)::int as in_progress from (
      select id, model, case when jsonb_array_length(attempts) > 0 then provider end as provider, 'in_progress' as status,
             null::text as error_code, api, streaming, jsonb_array_length(attempts) > 1 as fallback,
             milliseconds_since(created_at) as latency_ms, null::numeric as cost_total
      from open_generations where ${inRange(sql, 'id', span)} and ${ownedBy(sql, scope)}
    ) as looked_at
    where ${matches(sql, filter)} and ${rowMatches(sql, rows)}`;
}
