/**
 * Finds requests: finished and open Generations and refusals, the newest first, in one snapshot.
 *
 * Some of a filter is a range of an index; the rest is compared row by row, for no more than `maxScanned` rows a page. So a page
 * costs the same at any depth, with any filter, and whatever other accounts have done. How the planner is held to the
 * ranges is explained in generations/generation-store.ts: both ends are compared as rows in the order of one index, the range
 * is sorted by it, its values come from `one`, and its limit is a constant.
 */
import type { SQL } from 'bun';
import { finishedStatuses } from '../generations/generation-store.ts';
import { possibleStatuses, type RequestFilter, type RequestStatus } from './filter.ts';

/** How many requests are looked at for one page. What is left comes with the next. */
export const maxScanned = 10_000;
/** As in the ranges below, where both have to be constants. */
const maxScannedAtFirst = 101;
const maxScannedAtOnce = 1_000;

/** A request as lists show it. Costs are decimal strings with 12 digits. */
export type ListedRequest = Readonly<{
  id: string;
  account_id: string;
  key_id: string;
  status: RequestStatus;
  api: string | null;
  model: string | null;
  provider: string | null;
  streaming: boolean | null;
  fallback: boolean | null;
  error_code: string | null;
  finish_reason: string | null;
  input_tokens: bigint | null;
  output_tokens: bigint | null;
  cache_read_tokens: bigint | null;
  units: bigint | null;
  unit: string | null;
  cost_total: string | null;
  latency_ms: number | null;
  time_to_first_token_ms: number | null;
}>;

/** What every row of a scan has, even if `id` is null because nothing was found. */
export type Scan = Readonly<{ scanned_count: number; last_scanned: string | null }>;

type Found<Row> = Row | (Scan & Readonly<{ id: null }>);

/** `scannedTo` is where to go on if not everything was looked at; null otherwise. */
export type FoundRequests<Row> = Readonly<{ rows: readonly Row[]; scannedTo: string | null }>;

/** Asks until there are enough rows, or no more, or enough was looked at. `ask` takes what `scanQuery` does. */
export async function findRequests<Row extends Scan & Readonly<{ id: string }>>(
  ask: (before: string, scanCount: number, rowCount: number) => Promise<readonly Found<Row>[]>,
  end: string,
  rowCount: number,
): Promise<FoundRequests<Row>> {
  const rows: Row[] = [];
  let position = end;
  for (let scanned = 0; scanned < maxScanned; ) {
    // Most pages are filled by the first rows.
    const scanCount = scanned === 0 ? rowCount : Math.min(maxScanned - scanned, maxScannedAtOnce);
    const found = await ask(position, scanCount, rowCount - rows.length);
    for (const row of found) if (isRow(row)) rows.push(row);
    const { scanned_count: count, last_scanned: last } = found[0] ?? nothingScanned;
    if (rows.length >= rowCount || count < scanCount || last === null) return { rows, scannedTo: null };
    scanned += count;
    position = last;
  }
  return { rows, scannedTo: position };
}

const nothingScanned: Scan = { scanned_count: 0, last_scanned: null };

function isRow<Row>(row: Found<Row>): row is Row {
  return (row as Readonly<{ id: string | null }>).id !== null;
}

/**
 * The query of those among the next `scanCount` requests before a position that match the filter, at most `rowCount` of them, for
 * other queries to include. Without any there is one row, which says how many were looked at.
 */
export function scanQuery(
  sql: SQL,
  filter: RequestFilter,
  before: string,
  scanCount: number,
  rowCount: number,
) {
  const scanned = filter.labels.length > 0 ? labelledQuery : rangesQuery;
  return sql`
    with scanned as materialized (${scanned(sql, filter, before, scanCount)})
    select page.*, bounds.*
    from (
      select count(*)::int as scanned_count, (select scanned_id from scanned order by scanned_id limit 1) as last_scanned
      from scanned
    ) as bounds
    left join (
      select * from scanned where id is not null and ${matches(sql, filter)} order by id desc limit ${rowCount}::int
    ) as page on true`;
}

/** What no index is for. */
function matches(sql: SQL, filter: RequestFilter) {
  const { accountId, keyId, status, errorCode, model, provider, api } = filter;
  const { isStreamed, isFallback, minCost, minDurationMs } = filter;
  return sql`
    (${accountId}::uuid is null or account_id = ${accountId}::uuid)
    and (${keyId}::uuid is null or key_id = ${keyId}::uuid)
    and (${status}::text is null or status = ${status}::text)
    and (${errorCode}::text is null or error_code = ${errorCode}::text)
    and (${model}::text is null or model = ${model}::text)
    and (${provider}::text is null or provider = ${provider}::text)
    and (${api}::text is null or api = ${api}::text)
    and (${isStreamed}::boolean is null or streaming = ${isStreamed}::boolean)
    and (${isFallback}::boolean is null or fallback = ${isFallback}::boolean)
    and (${minCost}::numeric is null or cost_total >= ${minCost}::numeric)
    and (${minDurationMs}::int is null or latency_ms >= ${minDurationMs}::int)`;
}

/** One range of an index for each status. */
function rangesQuery(sql: SQL, filter: RequestFilter, before: string, scanCount: number) {
  const statuses = possibleStatuses(filter);
  const finished = finishedStatuses.filter((status) => statuses.has(status));
  const nothing = sql`select ${finishedColumns(sql)} from generations where false`;
  const ofFinished =
    finished.length === 0 ? nothing : finishedQuery(sql, filter, finished, before, scanCount);
  const ofOpen = statuses.has('in_progress') ? openQuery(sql, filter, before, scanCount) : nothing;
  const ofRefused = statuses.has('refused') ? refusedQuery(sql, filter, before, scanCount) : nothing;
  return sql`
    select id as scanned_id, merged.*
    from ((${ofFinished}) union all (${ofOpen}) union all (${ofRefused})) as merged
    order by id desc limit ${scanCount}::int`;
}

function finishedQuery(
  sql: SQL,
  filter: RequestFilter,
  statuses: readonly string[],
  before: string,
  scanCount: number,
) {
  if (filter.accountId === null && filter.keyId === null)
    return anybodysQuery(sql, filter, statuses, before, scanCount);
  const { first, model } = filter;
  const isOwned = ownedBy(sql, filter);
  const within = sql`id >= ${first}::uuid and id < ${before}::uuid`;
  const range =
    model === null
      ? sql`
          select ${finishedColumns(sql)} from generations
          where ${isOwned} and (status, id) >= (one.status, ${first}::uuid) and (status, id) < (one.status, ${before}::uuid)
            and ${within}
          order by status desc, id desc ${constantLimit(sql, scanCount)}`
      : sql`
          select ${finishedColumns(sql)} from generations
          where ${isOwned} and status = one.status and (model, id) >= (one.model, ${first}::uuid)
            and (model, id) < (one.model, ${before}::uuid) and ${within}
          order by model desc, id desc ${constantLimit(sql, scanCount)}`;
  const models = statuses.map(() => model);
  return sql`
    select page.* from unnest(${sql.array([...statuses], 'text')}, ${sql.array(models, 'text')}) as one (status, model)
    cross join lateral (select * from (${range}) as longest limit ${scanCount}::int) as page`;
}

/**
 * Of all accounts. The statistics of the table are about these, so the planner may choose. A status has to be written out for
 * the index of those that are not completed.
 */
function anybodysQuery(
  sql: SQL,
  { first }: RequestFilter,
  statuses: readonly string[],
  before: string,
  scanCount: number,
) {
  const rangeOf = (hasStatus: Fragment) => sql`
    select ${finishedColumns(sql)} from generations
    where ${hasStatus} and id >= ${first}::uuid and id < ${before}::uuid
    order by id desc limit ${scanCount}::int`;
  const none = sql`select ${finishedColumns(sql)} from generations where false`;
  if (statuses.length === finishedStatuses.length) return rangeOf(sql`true`);
  return sql`
    (${statuses.includes('completed') ? rangeOf(sql`status = 'completed'`) : none})
    union all (${statuses.includes('failed') ? rangeOf(sql`status = 'failed'`) : none})
    union all (${statuses.includes('cancelled') ? rangeOf(sql`status = 'cancelled'`) : none})`;
}

/** Few are open at a time, and they are indexed by key only: others are found by a scan. */
function openQuery(sql: SQL, filter: RequestFilter, before: string, scanCount: number) {
  const { first } = filter;
  return sql`
    select ${openColumns(sql)} from open_generations
    where ${ownedBy(sql, filter)} and id >= ${first}::uuid and id < ${before}::uuid
    order by id desc limit ${scanCount}::int`;
}

type Fragment = SQL.Query<unknown>;

/**
 * Each range is that of an index. `nulls last` makes the order of one of them its own: the planner would rather read all of an
 * account by another index, and sort it by code.
 */
function refusedQuery(sql: SQL, filter: RequestFilter, before: string, scanCount: number) {
  const { first, accountId, keyId, errorCode: code } = filter;
  const by = (columns: Fragment, values: Fragment, order: Fragment) => sql`
    where (${columns}, id) >= (${values}, ${first}::uuid) and (${columns}, id) < (${values}, ${before}::uuid)
    order by ${order}, id desc`;
  const one = sql`unnest(array[${accountId}::uuid], array[${keyId}::uuid], array[${code}::text]) as one (account_id, key_id, code)`;
  let range: Fragment;
  if (keyId !== null) range = by(sql`key_id`, sql`one.key_id`, sql`key_id desc`);
  else if (accountId !== null && code !== null)
    range = by(
      sql`account_id, code`,
      sql`one.account_id, one.code`,
      sql`account_id desc nulls last, code desc`,
    );
  else if (accountId !== null) range = by(sql`account_id`, sql`one.account_id`, sql`account_id desc`);
  else if (code !== null) range = by(sql`code`, sql`one.code`, sql`code desc`);
  else range = sql`where id >= ${first}::uuid and id < ${before}::uuid order by id desc`;
  return sql`
    select page.* from ${one} cross join lateral (
      select * from (
        select ${refusedColumns(sql)} from refusals ${range} ${constantLimit(sql, scanCount)}
      ) as longest limit ${scanCount}::int
    ) as page`;
}

/**
 * The next requests with the first label, as `attributedQuery` in generations/attributed-query.ts finds them; those without the
 * others have no ID here, like those that are gone.
 */
function labelledQuery(sql: SQL, filter: RequestFilter, before: string, scanCount: number) {
  const { first: start, accountId, labels } = filter;
  const [first, ...others] = labels;
  if (first === undefined) throw new Error('There is no label to look for.');
  const [kind, label] = first;
  const kinds = others.map(([other]) => other);
  const texts = others.map(([, text]) => text);
  const range =
    accountId === null
      ? sql`
          (kind, label, generation_id) >= (one.kind, one.label, ${start}::uuid)
            and (kind, label, generation_id) < (one.kind, one.label, ${before}::uuid)
            and generation_id >= ${start}::uuid and generation_id < ${before}::uuid
          order by kind desc, label desc, generation_id desc`
      : sql`
          (account_id, kind, label, generation_id) >= (one.account_id, one.kind, one.label, ${start}::uuid)
            and (account_id, kind, label, generation_id) < (one.account_id, one.kind, one.label, ${before}::uuid)
            and generation_id >= ${start}::uuid and generation_id < ${before}::uuid
          order by account_id desc, kind desc, label desc, generation_id desc`;
  return sql`
    select labelled.generation_id as scanned_id, request.*
    from unnest(array[${accountId}::uuid], array[${kind}::text], array[${label}::text]) as one (account_id, kind, label)
    cross join lateral (
      select * from (
        select generation_id from generation_attributions where ${range} ${constantLimit(sql, scanCount)}
      ) as longest limit ${scanCount}::int
    ) as labelled
    left join lateral (
      (select ${finishedColumns(sql)} from generations where id = labelled.generation_id)
      union all (select ${openColumns(sql)} from open_generations where id = labelled.generation_id)
      union all (select ${refusedColumns(sql)} from refusals where id = labelled.generation_id)
      limit 1
    ) as request on not exists (
      select 1 from unnest(${sql.array(kinds, 'text')}, ${sql.array(texts, 'text')}) as other (kind, label)
      where not exists (
        select 1 from generation_attributions as found
        where found.generation_id = labelled.generation_id and found.kind = other.kind and found.label = other.label))`;
}

/** The planner assumes a tenth of the table for an unknown limit. */
function constantLimit(sql: SQL, scanCount: number) {
  return scanCount <= maxScannedAtFirst ? sql`limit 101` : sql`limit 1000`;
}

function ownedBy(sql: SQL, { accountId, keyId }: RequestFilter) {
  if (keyId !== null) return sql`key_id = ${keyId}::uuid`;
  return accountId === null ? sql`true` : sql`account_id = ${accountId}::uuid`;
}

/** Without a call, the provider of a Generation is the one that would have been called. */
function finishedColumns(sql: SQL) {
  return sql`
    id, account_id, key_id, status, api, model, case when attempt_count > 0 then provider end as provider, streaming,
    fallback, error_code, finish_reason, input_tokens, output_tokens, cache_read_tokens, units, unit, cost_total,
    latency_ms, time_to_first_token_ms`;
}

function openColumns(sql: SQL) {
  return sql`
    id, account_id, key_id, 'in_progress'::text as status, api, model,
    case when jsonb_array_length(attempts) > 0 then provider end as provider, streaming,
    jsonb_array_length(attempts) > 1 as fallback, null::text as error_code, null::text as finish_reason,
    null::bigint as input_tokens, null::bigint as output_tokens, null::bigint as cache_read_tokens, null::bigint as units,
    null::text as unit, null::numeric as cost_total, milliseconds_since(created_at) as latency_ms,
    null::int as time_to_first_token_ms`;
}

function refusedColumns(sql: SQL) {
  return sql`
    id, account_id, key_id, 'refused'::text as status, api, model, null::text as provider, null::boolean as streaming,
    null::boolean as fallback, code as error_code, null::text as finish_reason, null::bigint as input_tokens,
    null::bigint as output_tokens, null::bigint as cache_read_tokens, null::bigint as units, null::text as unit,
    null::numeric as cost_total, null::int as latency_ms, null::int as time_to_first_token_ms`;
}

/** Who was called first for a page's request, for queries that show it. */
export function firstProviderColumn(sql: SQL) {
  return sql`
    case when page.fallback then coalesce(
      (select provider from attempts where generation_id = page.id and index = 1),
      (select attempts -> 0 ->> 'provider' from open_generations where id = page.id)
    ) end as first_provider`;
}
