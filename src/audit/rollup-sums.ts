/**
 * Compares sums of requests, and of calls to providers, with the Generations that they were added up from: some minutes and hours
 * at random, because what adds up wrongly does so again, and there are too many of them to read all.
 */
import { nilId } from '../lib/ids.ts';
import { bucketCount } from '../rollups/buckets.ts';

const minutesCompared = 20;
const hoursCompared = 2;

const numbers = Array.from({ length: bucketCount }, (_, index) => index + 1);
const storedBuckets = (name: 'duration' | 'first_token') =>
  `array[${numbers.map((number) => `coalesce(${name}_${number}, 0)`).join(', ')}]::bigint[]`;
const countedBuckets = (name: 'duration' | 'first_token') =>
  `array[${numbers.map((number) => `count(*) filter (where ${name}_bucket = ${number})`).join(', ')}]`;

/** Rows of the default partition are removed one by one, and the sums stay as they were before. */
const nextFrom = (time: 'random_time' | 'begins_at') => `(
  select id from generations
  where id >= first_id_at(${time}) and id < first_id_at(ends_at) and tableoid <> 'generations_default'::regclass
  order by id limit 1)`;

/** Only what has Generations, from the first one that is there: sums are kept for longer. What is marked is not true now. */
const sampled = `
  known as (
    select unit, length, sample_size, greatest(known_from, date_trunc(unit, oldest, 'UTC')) as begins_at, ends_at
    from rollup_progress, (select to_timestamp(id_ms(id) / 1000.0) as oldest from generations order by id limit 1) as first,
      lateral (values
        ('minute', interval '1 minute', ${minutesCompared}, minutes_from, rolled_to),
        ('hour', interval '1 hour', ${hoursCompared}, hours_from, date_trunc('hour', rolled_to, 'UTC'))
      ) as added_up (unit, length, sample_size, known_from, ends_at)
  ), random_times as materialized (
    select unit, length, begins_at, ends_at, begins_at + random() * (ends_at - begins_at) as random_time
    from known, generate_series(1, sample_size) where begins_at < ends_at
  ), sampled as materialized (
    select distinct unit, at, at + length as until
    from random_times,
      lateral (select coalesce(${nextFrom('random_time')}, ${nextFrom('begins_at')}) as id) as next,
      lateral (select date_trunc(unit, to_timestamp(id_ms(id) / 1000.0), 'UTC') as at) as containing
    where id is not null and not exists (select from dirty_minutes where minute >= at and minute < at + length)
  )`;

/** Both have a unit, a time and what they were grouped by, which together name a row, and then the figures. */
function comparison(stored: string, counted: string, groupedBy: string, figures: readonly string[]): string {
  const of = (side: 'stored' | 'counted') => figures.map((figure) => `${side}.${figure}`).join(', ');
  return `
    with ${sampled}, stored as (${stored}), counted as (${counted})
    select count(*) as checked, count(*) filter (where (${of('stored')}) is distinct from (${of('counted')})) as violations
    from stored full join counted using (unit, at, ${groupedBy})`;
}

const requestColumns = 'model, provider, status, error_code';

/** Those that were refused are no Generations. */
function storedRequests(unit: 'minute' | 'hour'): string {
  return `
    select unit, at, account_id, key_id, ${requestColumns}, count, input_tokens, output_tokens, cost,
           ${storedBuckets('duration')} as durations, ${storedBuckets('first_token')} as first_tokens
    from sampled join request_${unit}s on unit = '${unit}' and ${unit} = at where status <> 'refused'`;
}

export const sampledRequestSums = comparison(
  `${storedRequests('minute')} union all ${storedRequests('hour')}`,
  `select unit, at, coalesce(account_id, '${nilId}') as account_id, coalesce(key_id, '${nilId}') as key_id, ${requestColumns},
          count(*) as count, sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens, sum(cost) as cost,
          ${countedBuckets('duration')} as durations, ${countedBuckets('first_token')} as first_tokens
   from sampled join counted_generations on id >= first_id_at(at) and id < first_id_at(until)
   group by unit, at, ${requestColumns}, rollup (account_id, key_id)`,
  `account_id, key_id, ${requestColumns}`,
  ['count', 'input_tokens', 'output_tokens', 'cost', 'durations', 'first_tokens'],
);

const attemptColumns = 'provider, model, status, error_code';

function storedAttempts(unit: 'minute' | 'hour'): string {
  return `
    select unit, at, ${attemptColumns}, count, ${storedBuckets('duration')} as durations
    from sampled join attempt_${unit}s on unit = '${unit}' and ${unit} = at`;
}

export const sampledAttemptSums = comparison(
  `${storedAttempts('minute')} union all ${storedAttempts('hour')}`,
  `select unit, at, ${attemptColumns}, count(*) as count, ${countedBuckets('duration')} as durations
   from sampled join counted_attempts on generation_id >= first_id_at(at) and generation_id < first_id_at(until)
     and id >= first_id_at(at) and id < first_id_at(until)
   group by unit, at, ${attemptColumns}`,
  attemptColumns,
  ['count', 'durations'],
);
