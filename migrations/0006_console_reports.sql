-- What the dashboard asks of an account as a whole: its Generations, and its usage by day.
--
-- The functions here turn ways of the planner off (`set enable_… = off`) for the reason that list_generations in
-- 0003_public_surface.sql gives: each of them begins in one index and ends after a number of rows, and what statistics say
-- of the moment must not talk the planner into reading an account from its beginning.

-- One Generation, open or finished. Whoever asks adds whose it must be.
create function find_generation(of_id uuid) returns table (
  id uuid, account_id uuid, key_id uuid, created_at timestamptz, status text, workload text, model text, provider text,
  streaming boolean, latency_ms integer, time_to_first_token_ms integer, input_tokens bigint, output_tokens bigint,
  units bigint, unit text, cost_input numeric, cost_output numeric, cost_total numeric, error_code text,
  completed_at timestamptz, fallback boolean, attempts jsonb
) language sql stable as $$
  select id, account_id, key_id, created_at, 'in_progress', workload, model, provider, streaming,
         floor(extract(epoch from clock_timestamp() - created_at) * 1000)::integer, null::integer, null::bigint,
         null::bigint, null::bigint, null::text, null::numeric, null::numeric, null::numeric, null::text,
         null::timestamptz, jsonb_array_length(attempts) > 1, attempts
  from open_generations where id = of_id
  union all
  select id, account_id, key_id, created_at, status, workload, model, provider, streaming, latency_ms,
         time_to_first_token_ms, input_tokens, output_tokens, units, unit, cost_input, cost_output, cost_total,
         error_code, completed_at, fallback,
         (select jsonb_agg(jsonb_build_object(
            'index', index, 'provider', provider, 'status', status,
            'startedAtMs', extract(epoch from started_at) * 1000,
            'completedAtMs', extract(epoch from completed_at) * 1000,
            'upstreamStatus', upstream_status, 'errorCode', error_code) order by index)
          from attempts where generation_id = of_id)
  from generations where id = of_id
$$;

-- One page of an account's Generations between two positions, newest first, all of one snapshot. As list_generations,
-- which does this for one key, it costs the same at any depth and with any filter, and it needs no index that requests
-- would have to keep up. With a filter the keys are asked in turn, first for the one newest Generation that each of them
-- has there: a page can only hold Generations of as many keys as it has rows, those whose newest one is the youngest, and
-- only they are asked for more. Without a filter there is an index of the account's own.
create function list_account_generations_between(
  of_account uuid, first_id uuid, before uuid, of_status text, of_model text, page_size integer
) returns table (
  key_id uuid, id uuid, created_at timestamptz, status text, workload text, model text, provider text,
  latency_ms integer, input_tokens bigint, output_tokens bigint, units bigint, unit text,
  cost_input numeric, cost_output numeric, cost_total numeric, fallback boolean, completed_at timestamptz
)
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set enable_incremental_sort = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  statuses constant text[] := case when of_status is null then array['completed', 'failed', 'cancelled'] else array[of_status] end;
  is_filtered constant boolean := of_status is not null or of_model is not null;
begin
  return query
  with newest as materialized (
    select api_keys.id as key_id, candidate.id
    from api_keys cross join lateral (
      select id from (
        (select id from generations
         where of_model is null and of_status <> 'in_progress'
           and (key_id, status, id) < (api_keys.id, of_status, before)
           and (key_id, status, id) >= (api_keys.id, of_status, first_id)
           and id < before and id >= first_id
         order by key_id desc, status desc, id desc limit 1)
        union all
        select of_one.id from unnest(statuses) as one (status) cross join lateral (
          select id from generations
          where of_model is not null
            and (key_id, model, status, id) < (api_keys.id, of_model, one.status, before)
            and (key_id, model, status, id) >= (api_keys.id, of_model, one.status, first_id)
            and id < before and id >= first_id
          order by key_id desc, model desc, status desc, id desc limit 1
        ) as of_one
      ) as candidates
      order by id desc limit 1
    ) as candidate
    where is_filtered and api_keys.account_id = of_account
    order by candidate.id desc limit page_size
  ), oldest as materialized (
    -- When there are as many keys as the page has rows, their newest ones alone fill it, and nothing older is on it.
    select coalesce((select id from newest order by id desc offset page_size - 1 limit 1), first_id) as id
  ), finished as (
    (select * from generations
     where not is_filtered
       and (account_id, id) < (of_account, before) and (account_id, id) >= (of_account, first_id)
       and id < before and id >= first_id
     order by account_id desc, id desc limit page_size)
    union all
    select page.* from newest cross join oldest cross join lateral (
      select * from generations
      where of_model is null
        and (key_id, status, id) <= (newest.key_id, of_status, newest.id)
        and (key_id, status, id) >= (newest.key_id, of_status, oldest.id)
        and id <= newest.id and id >= oldest.id
      order by key_id desc, status desc, id desc limit page_size
    ) as page
    union all
    select page.* from newest cross join oldest cross join unnest(statuses) as one (status) cross join lateral (
      select * from generations
      where of_model is not null
        and (key_id, model, status, id) <= (newest.key_id, of_model, one.status, newest.id)
        and (key_id, model, status, id) >= (newest.key_id, of_model, one.status, oldest.id)
        and id <= newest.id and id >= oldest.id
      order by key_id desc, model desc, status desc, id desc limit page_size
    ) as page
  )
  select key_id, id, created_at, status, workload, model, provider, latency_ms, input_tokens, output_tokens, units, unit,
         cost_input, cost_output, cost_total, fallback, completed_at
  from finished
  union all
  select page.* from api_keys cross join lateral (
    select key_id, id, created_at, 'in_progress', workload, model, provider,
           floor(extract(epoch from clock_timestamp() - created_at) * 1000)::integer,
           null::bigint, null::bigint, null::bigint, null::text, null::numeric, null::numeric, null::numeric,
           jsonb_array_length(attempts) > 1, null::timestamptz
    from open_generations
    where coalesce(of_status, 'in_progress') = 'in_progress' and (of_model is null or model = of_model)
      and (key_id, id) < (api_keys.id, before) and (key_id, id) >= (api_keys.id, first_id)
    order by key_id desc, id desc limit page_size
  ) as page
  where api_keys.account_id = of_account
  order by 2 desc limit page_size;
end $$;

-- One page before a position. Most pages are full within a month, which spares asking every key for every month.
create function list_account_generations(
  of_account uuid, before uuid, of_status text, of_model text, page_size integer
) returns table (
  key_id uuid, id uuid, created_at timestamptz, status text, workload text, model text, provider text,
  latency_ms integer, input_tokens bigint, output_tokens bigint, units bigint, unit text,
  cost_input numeric, cost_output numeric, cost_total numeric, fallback boolean, completed_at timestamptz
)
language plpgsql stable
as $$
declare
  first_id constant uuid := '00000000-0000-0000-0000-000000000000';
  -- The first 48 bits of an ID are its time in milliseconds.
  position_ms constant bigint := ('x' || left(replace(before::text, '-', ''), 12))::bit(48)::bigint;
  position_at constant timestamptz := to_timestamp(position_ms / 1000.0);
  recent_id constant uuid := least(before, first_id_at(least(position_at, now()) - interval '31 days'));
  found_count integer;
begin
  return query
  select * from list_account_generations_between(of_account, recent_id, before, of_status, of_model, page_size);
  get diagnostics found_count = row_count;
  if found_count < page_size then
    return query
    select * from list_account_generations_between(
      of_account, first_id, recent_id, of_status, of_model, page_size - found_count);
  end if;
end $$;

-- The newest Generations of an account that ended since a time, out of `most` at the most. What began a whole day before
-- that has ended before it too.
create function recent_generations(of_account uuid, since timestamptz, most integer) returns setof generations
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set enable_incremental_sort = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  first_id constant uuid := first_id_at(since - interval '1 day');
  last_id constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
begin
  return query
  select * from (
    select * from generations
    where (account_id, id) >= (of_account, first_id) and (account_id, id) <= (of_account, last_id) and id >= first_id
    order by account_id desc, id desc limit most
  ) as newest
  where completed_at >= since;
end $$;

-- Usage by day (UTC), model and key, added up. Usage records grow without end, so what a page shows of a year must not be
-- counted from them.
create table usage_days (
  account_id     uuid not null,
  day            date not null,
  model          text not null,
  key_id         uuid not null,
  requests       bigint not null,
  input_tokens   numeric(38,0) not null,
  output_tokens  numeric(38,0) not null,
  images         numeric(38,0) not null,
  cost           numeric(38,12) not null,
  primary key (account_id, day, model, key_id)
) with (fillfactor = 70);

-- How far the ledger of each account has been added up: every entry up to this number, and none after it. Entries are
-- numbered without gaps and under a lock on their account, so whoever sees one sees all before it. Days would be no such
-- mark: a usage record bears the time at which its request ended, and one that had to wait for the database, or for its
-- gateway to start again, is stored hours or days after that.
create table usage_progress (
  account_id    uuid primary key,
  entry_number  bigint not null
) with (fillfactor = 70);

-- Adds up the next entries of an account; returns how many. Who does this at the same time waits and goes on after them.
create function add_up_usage(of_account uuid, most integer) returns bigint language plpgsql
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  done bigint;
  reached bigint;
begin
  insert into usage_progress (account_id, entry_number) values (of_account, 0) on conflict do nothing;
  select entry_number into done from usage_progress where account_id = of_account for update;
  select max(number) into reached from ledger_entries
  where account_id = of_account and number > done and number <= done + most;
  if reached is null then return 0; end if;
  insert into usage_days as days (account_id, day, model, key_id, requests, input_tokens, output_tokens, images, cost)
  select of_account, (billed_at at time zone 'UTC')::date, model, key_id, count(*), sum(input_tokens),
         sum(output_tokens), coalesce(sum(units) filter (where unit = 'images'), 0), sum(cost)
  from ledger_entries join usage_records on usage_records.id = generation_id
  where ledger_entries.account_id = of_account and number > done and number <= reached
  group by 2, 3, 4
  on conflict (account_id, day, model, key_id) do update
  set requests = days.requests + excluded.requests, input_tokens = days.input_tokens + excluded.input_tokens,
      output_tokens = days.output_tokens + excluded.output_tokens, images = days.images + excluded.images,
      cost = days.cost + excluded.cost;
  update usage_progress set entry_number = reached where account_id = of_account;
  return reached - done;
end $$;

-- The usage of an account by day, model and key, in that order, after a position and up to a day: what has been added up,
-- and what has not been yet, of one snapshot. No more than row_count rows are read of the former; null is no limit.
create function usage_of_days(
  of_account uuid, after_day date, after_model text, after_key uuid, to_day date, row_count integer
) returns table (
  day date, model text, key_id uuid, requests bigint, input_tokens numeric, output_tokens numeric, images numeric,
  cost numeric
)
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  return query
  with added_up as (
    select day, model, key_id, requests, input_tokens, output_tokens, images, cost from usage_days
    where account_id = of_account and (day, model, key_id) > (after_day, after_model, after_key) and day <= to_day
    order by day, model, key_id limit row_count
  ), fresh as (
    select (billed_at at time zone 'UTC')::date as day, model, key_id, input_tokens, output_tokens,
           case unit when 'images' then units else 0 end as images, cost
    from ledger_entries join usage_records on usage_records.id = generation_id
    where ledger_entries.account_id = of_account
      and number > coalesce((select entry_number from usage_progress where account_id = of_account), 0)
  )
  select day, model, key_id, sum(requests)::bigint, sum(input_tokens), sum(output_tokens), sum(images), sum(cost)
  from (
    select * from added_up
    union all
    select day, model, key_id, 1, input_tokens, output_tokens, images, cost from fresh
    where (day, model, key_id) > (after_day, after_model, after_key) and day <= to_day
  ) as usage
  group by day, model, key_id
  order by day, model, key_id
  limit row_count;
end $$;
