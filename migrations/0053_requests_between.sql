-- compatible-with: 0015
--
-- What is added up of a minute and of an hour is one query, which returns rows as the tables have them, instead of a list of
-- their fifty columns for every table and level. To compile so many expressions takes longer than to evaluate them.

create function requests_between(from_time timestamptz, to_time timestamptz) returns setof request_minutes
language sql stable as $$
  select coalesce(account_id, '00000000-0000-0000-0000-000000000000'),
         coalesce(key_id, '00000000-0000-0000-0000-000000000000'), from_time, model, provider, status, error_code,
         count(*), sum(input_tokens), sum(output_tokens), sum(cost),
         nullif(count(*) filter (where duration_bucket = 1), 0), nullif(count(*) filter (where duration_bucket = 2), 0),
         nullif(count(*) filter (where duration_bucket = 3), 0), nullif(count(*) filter (where duration_bucket = 4), 0),
         nullif(count(*) filter (where duration_bucket = 5), 0), nullif(count(*) filter (where duration_bucket = 6), 0),
         nullif(count(*) filter (where duration_bucket = 7), 0), nullif(count(*) filter (where duration_bucket = 8), 0),
         nullif(count(*) filter (where duration_bucket = 9), 0),
         nullif(count(*) filter (where duration_bucket = 10), 0),
         nullif(count(*) filter (where duration_bucket = 11), 0),
         nullif(count(*) filter (where duration_bucket = 12), 0),
         nullif(count(*) filter (where duration_bucket = 13), 0),
         nullif(count(*) filter (where duration_bucket = 14), 0),
         nullif(count(*) filter (where duration_bucket = 15), 0),
         nullif(count(*) filter (where duration_bucket = 16), 0),
         nullif(count(*) filter (where duration_bucket = 17), 0),
         nullif(count(*) filter (where duration_bucket = 18), 0),
         nullif(count(*) filter (where duration_bucket = 19), 0),
         nullif(count(*) filter (where duration_bucket = 20), 0),
         nullif(count(*) filter (where first_token_bucket = 1), 0),
         nullif(count(*) filter (where first_token_bucket = 2), 0),
         nullif(count(*) filter (where first_token_bucket = 3), 0),
         nullif(count(*) filter (where first_token_bucket = 4), 0),
         nullif(count(*) filter (where first_token_bucket = 5), 0),
         nullif(count(*) filter (where first_token_bucket = 6), 0),
         nullif(count(*) filter (where first_token_bucket = 7), 0),
         nullif(count(*) filter (where first_token_bucket = 8), 0),
         nullif(count(*) filter (where first_token_bucket = 9), 0),
         nullif(count(*) filter (where first_token_bucket = 10), 0),
         nullif(count(*) filter (where first_token_bucket = 11), 0),
         nullif(count(*) filter (where first_token_bucket = 12), 0),
         nullif(count(*) filter (where first_token_bucket = 13), 0),
         nullif(count(*) filter (where first_token_bucket = 14), 0),
         nullif(count(*) filter (where first_token_bucket = 15), 0),
         nullif(count(*) filter (where first_token_bucket = 16), 0),
         nullif(count(*) filter (where first_token_bucket = 17), 0),
         nullif(count(*) filter (where first_token_bucket = 18), 0),
         nullif(count(*) filter (where first_token_bucket = 19), 0),
         nullif(count(*) filter (where first_token_bucket = 20), 0)
  from counted_generations
  where id >= first_id_at(from_time) and id < first_id_at(to_time)
  group by model, provider, status, error_code, rollup (account_id, key_id)
$$;
comment on function requests_between is
  'Finished Generations of a range, added up for each key, for each account, and for everybody, as rows of request_minutes or request_hours. Its beginning is the minute or hour.';

create function attempts_between(from_time timestamptz, to_time timestamptz) returns setof attempt_minutes
language sql stable as $$
  select provider, from_time, model, status, error_code, count(*),
         nullif(count(*) filter (where duration_bucket = 1), 0), nullif(count(*) filter (where duration_bucket = 2), 0),
         nullif(count(*) filter (where duration_bucket = 3), 0), nullif(count(*) filter (where duration_bucket = 4), 0),
         nullif(count(*) filter (where duration_bucket = 5), 0), nullif(count(*) filter (where duration_bucket = 6), 0),
         nullif(count(*) filter (where duration_bucket = 7), 0), nullif(count(*) filter (where duration_bucket = 8), 0),
         nullif(count(*) filter (where duration_bucket = 9), 0),
         nullif(count(*) filter (where duration_bucket = 10), 0),
         nullif(count(*) filter (where duration_bucket = 11), 0),
         nullif(count(*) filter (where duration_bucket = 12), 0),
         nullif(count(*) filter (where duration_bucket = 13), 0),
         nullif(count(*) filter (where duration_bucket = 14), 0),
         nullif(count(*) filter (where duration_bucket = 15), 0),
         nullif(count(*) filter (where duration_bucket = 16), 0),
         nullif(count(*) filter (where duration_bucket = 17), 0),
         nullif(count(*) filter (where duration_bucket = 18), 0),
         nullif(count(*) filter (where duration_bucket = 19), 0),
         nullif(count(*) filter (where duration_bucket = 20), 0)
  from counted_attempts
  where generation_id >= first_id_at(from_time) and generation_id < first_id_at(to_time)
    and id >= first_id_at(from_time) and id < first_id_at(to_time)
  group by provider, model, status, error_code
$$;
comment on function attempts_between is
  'The same for their attempts, as rows of attempt_minutes or attempt_hours.';

create or replace function roll_up_minute(at timestamptz) returns void language plpgsql set jit = off as $$
begin
  delete from request_minutes where minute = at and status <> 'refused';
  insert into request_minutes select * from requests_between(at, at + interval '1 minute');
  delete from attempt_minutes where minute = at;
  insert into attempt_minutes select * from attempts_between(at, at + interval '1 minute');
end $$;

create or replace function roll_up_hour(at timestamptz) returns void language plpgsql set jit = off as $$
begin
  delete from request_hours where hour = at and status <> 'refused';
  insert into request_hours select * from requests_between(at, at + interval '1 hour');
  delete from attempt_hours where hour = at;
  insert into attempt_hours select * from attempts_between(at, at + interval '1 hour');
end $$;

create or replace function roll_up_minutes_of_hour(at timestamptz) returns void language plpgsql set jit = off as $$
begin
  delete from request_hours where hour = at and status <> 'refused';
  insert into request_hours
  select account_id, key_id, at, model, provider, status, error_code, sum(count), sum(input_tokens), sum(output_tokens),
         sum(cost),
         sum(duration_1), sum(duration_2), sum(duration_3), sum(duration_4), sum(duration_5), sum(duration_6),
         sum(duration_7), sum(duration_8), sum(duration_9), sum(duration_10), sum(duration_11), sum(duration_12),
         sum(duration_13), sum(duration_14), sum(duration_15), sum(duration_16), sum(duration_17), sum(duration_18),
         sum(duration_19), sum(duration_20), sum(first_token_1), sum(first_token_2), sum(first_token_3),
         sum(first_token_4), sum(first_token_5), sum(first_token_6), sum(first_token_7), sum(first_token_8),
         sum(first_token_9), sum(first_token_10), sum(first_token_11), sum(first_token_12), sum(first_token_13),
         sum(first_token_14), sum(first_token_15), sum(first_token_16), sum(first_token_17), sum(first_token_18),
         sum(first_token_19), sum(first_token_20)
  from request_minutes where minute >= at and minute < at + interval '1 hour' and status <> 'refused'
  group by account_id, key_id, model, provider, status, error_code;
  delete from attempt_hours where hour = at;
  insert into attempt_hours
  select provider, at, model, status, error_code, sum(count),
         sum(duration_1), sum(duration_2), sum(duration_3), sum(duration_4), sum(duration_5), sum(duration_6),
         sum(duration_7), sum(duration_8), sum(duration_9), sum(duration_10), sum(duration_11), sum(duration_12),
         sum(duration_13), sum(duration_14), sum(duration_15), sum(duration_16), sum(duration_17), sum(duration_18),
         sum(duration_19), sum(duration_20)
  from attempt_minutes where minute >= at and minute < at + interval '1 hour'
  group by provider, model, status, error_code;
end $$;
