/** Attempts at a provider, added up or counted one by one, as figures.ts does it for requests. */
import type { SQL } from 'bun';
import { bucketSums, bucketsOf, ownBucketsOf } from './bucket-columns.ts';
import { addBuckets, type BucketCounts, emptyBuckets } from './buckets.ts';
import { piecesAs } from './figures.ts';
import { type Piece, type Progress, piecesOf, type Steps } from './range.ts';

export type AttemptFigures = Readonly<{
  succeeded: number;
  failed: number;
  cancelled: number;
  /** Of those that succeeded. */
  durations: BucketCounts;
}>;

/** As the query below returns them. */
export type AttemptRow = Readonly<{
  step: number;
  model: string;
  error_code: string;
  succeeded: number;
  failed: number;
  cancelled: number;
  durations: (number | null)[];
}>;

export const noAttempts: AttemptFigures = { succeeded: 0, failed: 0, cancelled: 0, durations: emptyBuckets };

export function addAttempts(one: AttemptFigures, other: AttemptFigures): AttemptFigures {
  return {
    succeeded: one.succeeded + other.succeeded,
    failed: one.failed + other.failed,
    cancelled: one.cancelled + other.cancelled,
    durations: addBuckets(one.durations, other.durations),
  };
}

export function attemptsFrom({ succeeded, failed, cancelled, durations }: AttemptRow): AttemptFigures {
  return { succeeded, failed, cancelled, durations: durations.map((count) => count ?? 0) };
}

const outcomeSums = `
  coalesce(sum(count) filter (where status = 'succeeded'), 0)::float8 as succeeded,
  coalesce(sum(count) filter (where status = 'failed'), 0)::float8 as failed,
  coalesce(sum(count) filter (where status = 'cancelled'), 0)::float8 as cancelled`;

/** The code of calls in which the provider did what it should: the request was invalid. */
export const rejection = 'provider_bad_request';

/** By step, model and error code, for other queries to include. The provider is named as attempts record it. */
export function attemptsQuery(sql: SQL, provider: string, steps: Steps, progress: Progress) {
  return sql`
    select step, model, error_code, ${sql.unsafe(outcomeSums)}, ${sql.unsafe(bucketSums('duration'))} as durations
    from (${countedQuery(sql, sql`provider = ${provider}`, steps, progress)}) as counted
    group by step, model, error_code`;
}

/** The outcomes of each step and provider: what was rejected is a part of what failed, and durations are of what succeeded. */
export function providersQuery(sql: SQL, steps: Steps, progress: Progress) {
  return sql`
    select step, provider, ${sql.unsafe(outcomeSums)}, ${sql.unsafe(bucketSums('duration'))} as durations,
           coalesce(sum(count) filter (where status = 'failed' and error_code = ${rejection}), 0)::float8 as rejected
    from (${countedQuery(sql, sql`true`, steps, progress)}) as counted
    group by step, provider`;
}

function countedQuery(sql: SQL, isWanted: SQL.Query<unknown>, steps: Steps, progress: Progress) {
  const sums = (unit: 'minute' | 'hour', pieces: readonly Piece[]) => sql`
    select step, provider, model, status, error_code, count, ${sql.unsafe(bucketsOf('duration'))}
    from ${piecesAs(sql, pieces)} join ${sql.unsafe(`attempt_${unit}s`)} as sums
      on ${isWanted} and ${sql.unsafe(unit)} >= begins_at and ${sql.unsafe(unit)} < ends_at`;
  const { hours, minutes, raw } = piecesOf(steps, progress);
  return sql`
    ${sums('hour', hours)} union all ${sums('minute', minutes)}
    union all
    select step, provider, model, status, error_code, 1, ${sql.unsafe(ownBucketsOf('duration'))}
    from ${piecesAs(sql, raw)} cross join lateral (
      select * from counted_attempts
      where generation_id >= first_id_at(begins_at) and generation_id < first_id_at(ends_at)
        and id >= first_id_at(begins_at) and id < first_id_at(ends_at)
      -- Without this, the planner may read all attempts that there are.
      offset 0) as ended
    where ${isWanted}`;
}
