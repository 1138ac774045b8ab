/** Reads what was added up, and counts the rest one by one, so that the figures are exact at the moment they are read. */
import type { SQL } from 'bun';
import { nilId } from '../lib/ids.ts';
import { type Money, moneyFromDatabase } from '../lib/money.ts';
import { bucketSums, bucketsOf, ownBucketsOf } from './bucket-columns.ts';
import { addBuckets, type BucketCounts, emptyBuckets } from './buckets.ts';
import {
  type Piece,
  type Progress,
  piecesOf,
  refusalPiecesOf,
  type Span,
  type Steps,
  type SumPiece,
  sumPiecesOf,
  withDays,
} from './range.ts';

/** Whose requests: of everybody, of an account, or of a key. */
export type Scope = Readonly<{ accountId: string | null; keyId: string | null }>;

/** What sums are kept by. Null for all. */
export type SumFilter = Readonly<{
  status: string | null;
  errorCode: string | null;
  model: string | null;
  provider: string | null;
}>;

/** By source: the error code, the key and the model of what failed or was refused, as JSON. */
export type Grouping = 'key' | 'model' | 'provider' | 'error_code' | 'account' | 'source';

export type Figures = Readonly<{
  completed: number;
  failed: number;
  cancelled: number;
  refused: number;
  inputTokens: number;
  outputTokens: number;
  cost: Money;
  durations: BucketCounts;
  firstTokens: BucketCounts;
}>;

/** As the queries below return them. */
export type FiguresRow = Readonly<{
  step: number;
  value: string;
  completed: number;
  failed: number;
  cancelled: number;
  refused: number;
  input_tokens: number;
  output_tokens: number;
  cost: string;
  durations: (number | null)[];
  first_tokens: (number | null)[];
}>;

export const noFigures: Figures = {
  completed: 0,
  failed: 0,
  cancelled: 0,
  refused: 0,
  inputTokens: 0,
  outputTokens: 0,
  cost: 0n,
  durations: emptyBuckets,
  firstTokens: emptyBuckets,
};

export function figuresFrom(row: FiguresRow): Figures {
  return {
    completed: row.completed,
    failed: row.failed,
    cancelled: row.cancelled,
    refused: row.refused,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    cost: moneyFromDatabase(row.cost),
    durations: row.durations.map((count) => count ?? 0),
    firstTokens: row.first_tokens.map((count) => count ?? 0),
  };
}

export function addFigures(one: Figures, other: Figures): Figures {
  return {
    completed: one.completed + other.completed,
    failed: one.failed + other.failed,
    cancelled: one.cancelled + other.cancelled,
    refused: one.refused + other.refused,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cost: one.cost + other.cost,
    durations: addBuckets(one.durations, other.durations),
    firstTokens: addBuckets(one.firstTokens, other.firstTokens),
  };
}

/** What has been added up, as far as a span is concerned. Read in the snapshot of the query that relies on it. */
export async function readProgress(sql: SQL, { fromMs, toMs }: Span): Promise<Progress> {
  const [row] = await sql<[Omit<Progress, 'dirtyMs'> & Readonly<{ dirty: string | null }>]>`
    select (extract(epoch from rolled_to) * 1000)::float8 as "rolledToMs",
           (extract(epoch from minutes_from) * 1000)::float8 as "minutesFromMs",
           (extract(epoch from hours_from) * 1000)::float8 as "hoursFromMs",
           (select string_agg(distinct extract(epoch from minute)::bigint::text, ',') from dirty_minutes
            where minute >= to_timestamp(${fromMs}::float8 / 1000) and minute < to_timestamp(${toMs}::float8 / 1000)) as dirty
    from rollup_progress`;
  const { dirty, ...progress } = row;
  return {
    ...progress,
    dirtyMs: dirty === null ? [] : dirty.split(',').map((seconds) => Number(seconds) * 1000),
  };
}

/** Of rows with a count, under the names of a FiguresRow. */
export const figureSums = `
  coalesce(sum(count) filter (where status = 'completed'), 0)::float8 as completed,
  coalesce(sum(count) filter (where status = 'failed'), 0)::float8 as failed,
  coalesce(sum(count) filter (where status = 'cancelled'), 0)::float8 as cancelled,
  coalesce(sum(count) filter (where status = 'refused'), 0)::float8 as refused,
  coalesce(sum(input_tokens), 0)::float8 as input_tokens, coalesce(sum(output_tokens), 0)::float8 as output_tokens,
  coalesce(sum(cost), 0)::numeric(38,12) as cost,
  ${bucketSums('duration')} as durations, ${bucketSums('first_token')} as first_tokens`;
const bucketColumns = `${bucketsOf('duration')}, ${bucketsOf('first_token')}`;
/** Those of a single request. */
const ownBuckets = `${ownBucketsOf('duration')}, ${ownBucketsOf('first_token')}`;

/** The names of our own columns, which are no parameters. */
const valueColumns: Readonly<Record<Grouping, string>> = {
  key: 'key_id::text',
  account: 'account_id::text',
  model: 'model',
  provider: 'provider',
  error_code: 'error_code',
  source: 'jsonb_build_array(error_code, key_id, model)::text',
};

/** `among` are IDs of the keys or accounts that figures are grouped by: others are left out. */
export type Wanted = Readonly<{ scope: Scope; filter: SumFilter; by?: Grouping; among?: readonly string[] }>;

/**
 * The figures of each step, and of each value of what they are grouped by, as rows for other queries to include. Steps and values
 * without requests are missing.
 */
export function figuresQuery(sql: SQL, wanted: Wanted, steps: Steps, progress: Progress) {
  const { hours, minutes, raw } = readOf(steps, progress);
  const columns = `input_tokens, output_tokens, cost, ${bucketColumns}`;
  return sql`
    select step, value, ${sql.unsafe(figureSums)} from (
      ${sumsQuery(sql, wanted, 'hour', hours, columns)} union all ${sumsQuery(sql, wanted, 'minute', minutes, columns)}
      union all ${rawQuery(sql, wanted, raw, `input_tokens, output_tokens, cost, ${ownBuckets}`)}
    ) as counted
    group by step, value`;
}

/** How much failed and was refused, by error code or by source, for other queries to include. */
export function errorsQuery(
  sql: SQL,
  scope: Scope,
  by: 'error_code' | 'source',
  steps: Steps,
  progress: Progress,
) {
  const { hours, minutes, raw } = readOf(steps, progress);
  const filter = { status: null, errorCode: null, model: null, provider: null };
  const wanted: Wanted = { scope, filter, by };
  return sql`
    select value, coalesce(sum(count) filter (where status = 'failed'), 0)::float8 as failed,
           coalesce(sum(count) filter (where status = 'refused'), 0)::float8 as refused
    from (
      ${sumsQuery(sql, wanted, 'hour', hours, 'cost')} union all ${sumsQuery(sql, wanted, 'minute', minutes, 'cost')}
      union all ${rawQuery(sql, wanted, raw, 'cost')}
    ) as counted
    group by value`;
}

type Reads = Readonly<{ hours: SumPiece[]; minutes: SumPiece[]; raw: Piece[] }>;

function readOf(steps: Steps, progress: Progress): Reads {
  const { hours, minutes, raw } = piecesOf(steps, progress);
  const refused = refusalPiecesOf(steps);
  return { hours: sumPiecesOf(hours, refused.hours), minutes: sumPiecesOf(minutes, refused.minutes), raw };
}

export type GroupOrder = 'requests' | 'cost' | 'errors';

const ranks: Readonly<Record<GroupOrder, string>> = {
  requests: 'completed + failed + cancelled + refused',
  errors: 'failed + refused',
  cost: 'cost',
};

/** What a group is ranked by, from the columns of its figures. */
export function rankOf(sql: SQL, order: GroupOrder) {
  return sql.unsafe(ranks[order]);
}

const rankSums: Readonly<Record<GroupOrder, string>> = {
  requests: 'sum(count)',
  errors: `coalesce(sum(count) filter (where status in ('failed', 'refused')), 0)`,
  cost: 'sum(cost)',
};

/** The first values of the keys or accounts that figures are grouped by, without reading all of their figures. */
export function firstQuery(
  sql: SQL,
  wanted: Wanted,
  order: GroupOrder,
  count: number,
  steps: Steps,
  progress: Progress,
) {
  const { errorCode, model, provider } = wanted.filter;
  const { hours, minutes, raw } = readOf(steps, progress);
  const { accountId, keyId } = wanted.scope;
  const ownSumsQuery = accountId === null && keyId === null ? everybodysSumsQuery : ownersSumsQuery;
  const sums = (unit: SumUnit, pieces: readonly SumPiece[]) => ownSumsQuery(sql, wanted, unit, pieces);
  // Sums by day are kept by status alone.
  const isByDay = errorCode === null && model === null && provider === null;
  const split = withDays(hours);
  const byHour = isByDay
    ? sql`${sums('day', split.days)} union all ${sums('hour', split.hours)}`
    : sums('hour', hours);
  return sql`
    select value from (
      ${byHour} union all ${sums('minute', minutes)} union all ${rawQuery(sql, wanted, raw, 'cost')}
    ) as counted
    group by value order by ${sql.unsafe(rankSums[order])} desc, value limit ${count}::int`;
}

function sumsQuery(
  sql: SQL,
  wanted: Wanted,
  unit: 'minute' | 'hour',
  pieces: readonly SumPiece[],
  columns: string,
) {
  const { scope, filter, by, among } = wanted;
  if (by === 'key' || by === 'account') return ownersSumsQuery(sql, wanted, unit, pieces, columns);
  return sql`
    select step, ${groupedBy(sql, by)} as value, status, count, ${sql.unsafe(columns)}
    from ${ownersOf(sql, scope, by, among)} as owner (of_account, of_key) cross join ${sumPiecesAs(sql, pieces)}
    cross join lateral (${ownedSums(sql, filter, unit, by)}) as sums
    where ${isWanted(sql)} and ${matches(sql, filter)} and ${hasSource(sql, by)}`;
}

type SumUnit = 'minute' | 'hour' | 'day';

/** One row for each key or account and status, because there may be many. */
function ownersSumsQuery(
  sql: SQL,
  { scope, filter, by, among }: Wanted,
  unit: SumUnit,
  pieces: readonly SumPiece[],
  columns = 'cost',
) {
  const sums = columns.replaceAll(/\w+/g, (column) => `sum(${column}) as ${column}`);
  return sql`
    select step, ${sql.unsafe(by === 'key' ? 'of_key' : 'of_account')}::text as value, status, count, ${sql.unsafe(columns)}
    from ${ownersOf(sql, scope, by, among)} as owner (of_account, of_key) cross join ${sumPiecesAs(sql, pieces)}
    cross join lateral (
      select status, sum(count) as count, ${sql.unsafe(sums)} from (${ownedSums(sql, filter, unit)}) as sums
      where ${isWanted(sql)} and ${matches(sql, filter)} group by status
    ) as owned`;
}

/** The same of all that there are: to read a time once takes less than to look for each of them in it. */
function everybodysSumsQuery(sql: SQL, { filter, by }: Wanted, unit: SumUnit, pieces: readonly SumPiece[]) {
  const { begin, end } = endsOf(unit);
  const owner = sql.unsafe(by === 'key' ? 'key_id' : 'account_id');
  const areOwners = sql.unsafe(
    by === 'key' ? `key_id <> '${nilId}'` : `key_id = '${nilId}' and account_id <> '${nilId}'`,
  );
  return sql`
    select step, ${owner}::text as value, status, count, cost from ${sumPiecesAs(sql, pieces)} cross join lateral (
      select ${owner}, status, sum(count) as count, sum(cost) as cost from ${sql.unsafe(`request_${unit}s`)}
      where ${areOwners} and ${sql.unsafe(`${unit} >= ${begin} and ${unit} < ${end}`)} and ${isWanted(sql)} and ${matches(sql, filter)}
      group by ${owner}, status
    ) as owned`;
}

/** The names of a piece's ends, as the column of this unit has times. */
function endsOf(unit: SumUnit): Readonly<{ begin: string; end: string }> {
  const time = (column: string) => (unit === 'day' ? `(${column} at time zone 'UTC')::date` : column);
  return { begin: time('begins_at'), end: time('ends_at') };
}

function isWanted(sql: SQL) {
  return sql`(wants = 'all' or (wants = 'refused') = (status = 'refused'))`;
}

/**
 * Without the offset, the planner may read everything of an account before it looks at the pieces. Both ends are compared as rows in
 * the order of the primary key: by an index of times it might read those of all accounts, for each of many keys. What is left of
 * an hour is compared in the index, because there are many.
 */
function ownedSums(sql: SQL, filter: SumFilter, unit: SumUnit, by?: Grouping) {
  const { begin, end } = endsOf(unit);
  return sql`
    select * from ${sql.unsafe(`request_${unit}s`)} as sums
    where ${sql.unsafe(`(account_id, key_id, ${unit}) >= (of_account, of_key, ${begin})
      and (account_id, key_id, ${unit}) < (of_account, of_key, ${end})`)}
      and ${unit === 'hour' ? sql`${matches(sql, filter)} and ${hasSource(sql, by)}` : sql`true`}
    offset 0`;
}

/** What is not added up, one by one. */
function rawQuery(sql: SQL, wanted: Wanted, pieces: readonly Piece[], columns: string) {
  const { scope, filter, by, among } = wanted;
  const isAmong =
    among === undefined
      ? sql`true`
      : sql`${groupedBy(sql, by)} = any (${sql.array([...among], 'TEXT')}::text[])`;
  return sql`
    select step, ${groupedBy(sql, by)} as value, status, 1, ${sql.unsafe(columns)}
    from ${piecesAs(sql, pieces)} cross join lateral (
      select * from counted_generations
      where id >= first_id_at(begins_at) and id < first_id_at(ends_at) and ${ownedBy(sql, scope)}
        -- All statuses that there are, so that the indexes by status can be used.
        and status in ('completed', 'failed', 'cancelled')
      offset 0) as finished
    where ${matches(sql, filter)} and ${isAmong} and ${hasSource(sql, by)}`;
}

function groupedBy(sql: SQL, by: Grouping | undefined) {
  return sql.unsafe(by === undefined ? `''` : valueColumns[by]);
}

/** Sources are of what went wrong. */
function hasSource(sql: SQL, by: Grouping | undefined) {
  return by === 'source' ? sql`status in ('failed', 'refused') and error_code <> ''` : sql`true`;
}

/** Whose sums are read. */
function ownersOf(
  sql: SQL,
  { accountId, keyId }: Scope,
  by: Grouping | undefined,
  among: readonly string[] | undefined,
) {
  const isAmong =
    among === undefined ? sql`true` : sql`id = any (${sql.array([...among], 'TEXT')}::text[]::uuid[])`;
  if (by === 'key' || by === 'source')
    return sql`(select account_id, id from api_keys where (${accountId}::uuid is null or account_id = ${accountId})
                and (${keyId}::uuid is null or id = ${keyId}) and ${isAmong})`;
  if (by === 'account' && keyId === null)
    return sql`(select id, ${nilId}::uuid from accounts where (${accountId}::uuid is null or id = ${accountId})
                and ${isAmong})`;
  if (keyId !== null)
    return sql`(select account_id, id from api_keys where id = ${keyId}
                and (${accountId}::uuid is null or account_id = ${accountId}))`;
  return sql`(select ${accountId ?? nilId}::uuid, ${nilId}::uuid)`;
}

export function ownedBy(sql: SQL, { accountId, keyId }: Scope) {
  const ofAccount = accountId === null ? sql`true` : sql`account_id = ${accountId}`;
  const ofKey = keyId === null ? sql`true` : sql`key_id = ${keyId}`;
  return sql`${ofAccount} and ${ofKey}`;
}

export function matches(sql: SQL, { status, errorCode, model, provider }: SumFilter) {
  const equals = (column: string, value: string | null) =>
    value === null ? sql`true` : sql`${sql.unsafe(column)} = ${value}`;
  return sql`${equals('status', status)} and ${equals('error_code', errorCode)} and ${equals('model', model)}
    and ${equals('provider', provider)}`;
}

export function piecesAs(sql: SQL, pieces: readonly Piece[]) {
  return sumPiecesAs(
    sql,
    pieces.map((piece) => ({ ...piece, of: 'all' })),
  );
}

function sumPiecesAs(sql: SQL, pieces: readonly SumPiece[]) {
  const list = (of: (piece: SumPiece) => number | string) => `{${pieces.map(of).join(',')}}`;
  return sql`(
    select step, to_timestamp(from_ms / 1000) as begins_at, to_timestamp(to_ms / 1000) as ends_at, wants
    from unnest(${list(({ step }) => step)}::text::int[], ${list(({ fromMs }) => fromMs)}::text::float8[],
                ${list(({ toMs }) => toMs)}::text::float8[], ${list(({ of }) => of)}::text::text[])
      as row (step, from_ms, to_ms, wants)) as piece`;
}
