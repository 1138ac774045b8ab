/**
 * Adds up requests, and calls to providers, of some minutes and hours again, and compares. These are chosen at random, because
 * there are too many to read all.
 */
const minutesCompared = 20;
const hoursCompared = 2;

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
    -- All of them. The planner expects a thousand times as many, and would prepare for that.
    limit ${minutesCompared + hoursCompared}
  ), found as materialized (
    select unit, length, coalesce(${nextFrom('random_time')}, ${nextFrom('begins_at')}) as id from random_times
  ), sampled as materialized (
    select distinct unit, at, at + length as until
    from found, lateral (select date_trunc(unit, to_timestamp(id_ms(id) / 1000.0), 'UTC') as at) as containing
    where id is not null and not exists (select from dirty_minutes where minute >= at and minute < at + length)
  )`;

/** Those that were refused are no Generations. */
export const sampledRequestSums = `
  with ${sampled}, stored as (
    select unit, sums.* from sampled join request_minutes as sums on unit = 'minute' and minute = at where status <> 'refused'
    union all
    select unit, sums.* from sampled join request_hours as sums on unit = 'hour' and hour = at where status <> 'refused'
  ), counted as (
    select unit, sums.* from sampled cross join lateral requests_between(at, until) as sums
  )
  select count(*) as checked, count(*) filter (where stored is distinct from counted) as violations
  from stored full join counted using (unit, minute, account_id, key_id, model, provider, status, error_code)`;

export const sampledAttemptSums = `
  with ${sampled}, stored as (
    select unit, sums.* from sampled join attempt_minutes as sums on unit = 'minute' and minute = at
    union all
    select unit, sums.* from sampled join attempt_hours as sums on unit = 'hour' and hour = at
  ), counted as (
    select unit, sums.* from sampled cross join lateral attempts_between(at, until) as sums
  )
  select count(*) as checked, count(*) filter (where stored is distinct from counted) as violations
  from stored full join counted using (unit, minute, provider, model, status, error_code)`;
