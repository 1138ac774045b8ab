-- compatible-with: 0015
--
-- Which endpoint a Generation was asked for at, and why its answer ended; and what was asked of the gateway, added up by
-- minute and by hour. Added up are minutes that are over: they are computed from generations, all at once, and again
-- whenever a Generation of theirs is written later. So a request writes nothing for it.

-- First, and in the order in which batches lock them.
alter table open_generations add column api text;
comment on column open_generations.api is 'Which endpoint was called; null if a gateway without this column wrote it.';
alter table generations add column api text, add column finish_reason text;
comment on column generations.api is 'Which endpoint was called; null for those from before this was recorded.';
comment on column generations.finish_reason is 'Why the answer ended, as the provider reported it; null if it did not.';

create or replace view finished_generations as
 select id,
    account_id,
    key_id,
    created_at,
    completed_at,
    status,
    workload,
    model,
    provider,
    streaming,
    fallback,
    latency_ms,
    time_to_first_token_ms,
    input_tokens,
    output_tokens,
    units,
    unit,
    cost_input,
    cost_output,
    cost_total,
    error_code,
    cache_read_tokens,
    cache_write_tokens,
    cache_write_long_tokens,
    cost_cache_read,
    cost_cache_write,
    cost_cache_write_long,
    api,
    finish_reason
   from generations;

create or replace view unfinished_generations as
 select id,
    account_id,
    key_id,
    created_at,
    null::timestamp with time zone as completed_at,
    'in_progress'::text as status,
    workload,
    model,
    provider,
    streaming,
    jsonb_array_length(attempts) > 1 as fallback,
    milliseconds_since(created_at) as latency_ms,
    null::integer as time_to_first_token_ms,
    null::bigint as input_tokens,
    null::bigint as output_tokens,
    null::bigint as units,
    null::text as unit,
    null::numeric as cost_input,
    null::numeric as cost_output,
    null::numeric as cost_total,
    null::text as error_code,
    null::bigint as cache_read_tokens,
    null::bigint as cache_write_tokens,
    null::bigint as cache_write_long_tokens,
    null::numeric as cost_cache_read,
    null::numeric as cost_cache_write,
    null::numeric as cost_cache_write_long,
    api,
    null::text as finish_reason
   from open_generations;

create or replace view generation_details as
 select generation.id,
    generation.account_id,
    generation.key_id,
    generation.created_at,
    generation.completed_at,
    generation.status,
    generation.workload,
    generation.model,
    generation.provider,
    generation.streaming,
    generation.fallback,
    generation.latency_ms,
    generation.time_to_first_token_ms,
    generation.input_tokens,
    generation.output_tokens,
    generation.units,
    generation.unit,
    generation.cost_input,
    generation.cost_output,
    generation.cost_total,
    generation.error_code,
    ( select jsonb_agg(jsonb_build_object('index', attempt.index, 'provider', attempt.provider, 'status',
    attempt.status, 'startedAtMs', extract(epoch from attempt.started_at) * 1000::numeric, 'completedAtMs',
    extract(epoch from attempt.completed_at) * 1000::numeric, 'upstreamStatus', attempt.upstream_status, 'errorCode',
    attempt.error_code) order by attempt.index) as jsonb_agg
           from attempts attempt
          where attempt.generation_id = generation.id) as attempts,
    generation.cache_read_tokens,
    generation.cache_write_tokens,
    generation.cache_write_long_tokens,
    generation.cost_cache_read,
    generation.cost_cache_write,
    generation.cost_cache_write_long,
    generation.api,
    generation.finish_reason
   from finished_generations generation
union all
 select generation.id,
    generation.account_id,
    generation.key_id,
    generation.created_at,
    generation.completed_at,
    generation.status,
    generation.workload,
    generation.model,
    generation.provider,
    generation.streaming,
    generation.fallback,
    generation.latency_ms,
    generation.time_to_first_token_ms,
    generation.input_tokens,
    generation.output_tokens,
    generation.units,
    generation.unit,
    generation.cost_input,
    generation.cost_output,
    generation.cost_total,
    generation.error_code,
    ( select open_generations.attempts
           from open_generations
          where open_generations.id = generation.id) as attempts,
    generation.cache_read_tokens,
    generation.cache_write_tokens,
    generation.cache_write_long_tokens,
    generation.cost_cache_read,
    generation.cost_cache_write,
    generation.cost_cache_write_long,
    generation.api,
    generation.finish_reason
   from unfinished_generations generation;

create type ledger_request_row as (api text, finish_reason text);
comment on type ledger_request_row is 'How an opened or settled row was asked for, and why its answer ended. In the order of those rows.';

drop function ledger_write_batch(double precision, ledger_account_delta[], ledger_key_delta[], ledger_claim_row[],
  ledger_opened_row[], ledger_settled_row[], integer, ledger_attempt_row[], ledger_write_off_row[], ledger_answer_row[],
  ledger_metered_row[], ledger_uncharged_row[], ledger_attribution_row[], boolean, boolean, ledger_limit_delta[],
  ledger_limit_version[], ledger_opened_limits[]);

-- As before, and with the API and the reason. Gateways that do not know them leave these arguments out.
create function ledger_write_batch(at_ms double precision, account_rows ledger_account_delta[],
  key_rows ledger_key_delta[], claim_rows ledger_claim_row[], opened_rows ledger_opened_row[],
  settled_rows ledger_settled_row[], open_count integer, attempt_rows ledger_attempt_row[],
  write_off_rows ledger_write_off_row[], answer_rows ledger_answer_row[], metered_rows ledger_metered_row[],
  uncharged_rows ledger_uncharged_row[], attribution_rows ledger_attribution_row[], has_arrivals boolean,
  is_durable boolean, limit_rows ledger_limit_delta[] default null, limit_versions ledger_limit_version[] default null,
  opened_limits ledger_opened_limits[] default null, opened_requests ledger_request_row[] default null,
  settled_requests ledger_request_row[] default null)
returns json language plpgsql as $$
declare
  is_locked constant boolean := at_ms is not null;
  affected integer;
  unmet text;
  at timestamptz;
  now_ms double precision;
  this_month date;
  admitted text;
  limited text;
  limited_accounts uuid[];
begin
  if is_durable then
    set local synchronous_commit to default;
  end if;
  if limit_versions is not null then
    limited_accounts := array(select account_id from unnest(limit_versions));
  end if;

  update accounts
  set balance = accounts.balance + row.balance, held = accounts.held + row.held,
      entry_count = accounts.entry_count + row.entry_count, version = random_version()
  from unnest(account_rows) as row
  where accounts.id = row.id and (row.free is null or accounts.balance - accounts.held >= row.free)
    and not (row.is_admitting and (suspended_at is not null
      or not is_locked and grants_due_at <= clock_timestamp() is true
      or limit_version > 0 and accounts.id = any (limited_accounts) is not true))
    and (is_locked or accounts.held + row.held >= 0);
  get diagnostics affected = row_count;
  if affected < cardinality(account_rows) then
    select string_agg(row.id::text, ',') into unmet from unnest(account_rows) as row
    where not exists (select 1 from accounts where id = row.id and xmin = pg_current_xact_id()::xid);
    raise exception 'an account is not as the batch needs it' using errcode = 'TG001', table = 'accounts', detail = unmet;
  end if;

  if limit_versions is not null then
    select string_agg(row.account_id::text, ',') into unmet
    from unnest(limit_versions) as row join accounts on accounts.id = row.account_id
    where accounts.limit_version <> row.version;
    if unmet is not null then
      raise exception 'the limits of an account have changed' using errcode = 'TG001', table = 'accounts', detail = unmet;
    end if;
  end if;

  -- The clock is read when the accounts are locked: time must not seem to run backwards between two batches.
  at := coalesce(to_timestamp(at_ms / 1000), clock_timestamp());
  now_ms := extract(epoch from at)::float8 * 1000;
  this_month := date_trunc('month', at at time zone 'UTC');

  if has_arrivals then
    with written as (
      update api_key_meters as meter
      set held = meter.held + row.held,
          month = this_month,
          month_spent = case when meter.month = this_month then meter.month_spent else 0 end + row.month_spent,
          open_count = greatest(meter.open_count + row.open_count, 0),
          theoretical_arrival_at = case when row.arrivals = 0 then meter.theoretical_arrival_at else to_timestamp((
            greatest(extract(epoch from meter.theoretical_arrival_at)::float8 * 1000, now_ms)
              + row.arrivals * 60000::float8 / key.requests_per_minute) / 1000) end,
          last_used_at = now(),
          version = random_version()
      from unnest(key_rows) as row join api_keys as key on key.id = row.key_id
      where meter.key_id = row.key_id and (is_locked or meter.held + row.held >= 0) and not (row.is_admitting and (
        key.revoked_at <= at is true or key.expires_at <= at is true
        or meter.open_count + row.open > key.max_concurrent
        or key.monthly_limit - meter.held - case when meter.month = this_month then meter.month_spent else 0 end
          < row."left" is true
        or greatest(extract(epoch from meter.theoretical_arrival_at)::float8 * 1000, now_ms)
          + row.arrivals * 60000::float8 / key.requests_per_minute - now_ms - 60000 > 0.001))
      returning case when row.arrivals > 0 then concat_ws(' ', meter.key_id, key.account_id,
        (select balance - accounts.held from accounts where accounts.id = key.account_id),
        extract(epoch from meter.theoretical_arrival_at)::float8 * 1000, key.requests_per_minute, meter.open_count,
        key.max_concurrent, key.monthly_limit - meter.held - meter.month_spent) end as admitted
    )
    select count(*), string_agg(written.admitted, ',') into affected, admitted from written;
  else
    update api_key_meters as meter
    set held = meter.held + row.held,
        month = this_month,
        month_spent = case when meter.month = this_month then meter.month_spent else 0 end + row.month_spent,
        open_count = greatest(meter.open_count + row.open_count, 0),
        last_used_at = now(),
        version = random_version()
    from unnest(key_rows) as row
    where meter.key_id = row.key_id and (is_locked or meter.held + row.held >= 0);
    get diagnostics affected = row_count;
  end if;
  if affected < cardinality(key_rows) then
    select string_agg(row.key_id::text, ',') into unmet from unnest(key_rows) as row
    where not exists (select 1 from api_key_meters where key_id = row.key_id and xmin = pg_current_xact_id()::xid);
    raise exception 'a key is not as the batch needs it' using errcode = 'TG001', table = 'api_key_meters', detail = unmet;
  end if;

  if limit_rows is not null then
    if is_locked then
      insert into limit_meters (id, limit_id, end_user)
      select row.id, row.limit_id, row.end_user from unnest(limit_rows) as row join limits on limits.id = row.limit_id
      where row.end_user is not null
      on conflict (id) do nothing;
    end if;
    -- A clock that is behind does not begin a window anew.
    with written as (
      update limit_meters as meter
      set window_start = greatest(meter.window_start, this_window),
          used = greatest(0, case when meter.window_start >= this_window then meter.used else 0 end + row.used
            - case when to_timestamp(row.returned_ms / 1000) at time zone 'UTC' >= this_window then row.returned else 0 end),
          held = greatest(0, meter.held + row.held)
      from unnest(limit_rows) as row
        join limits on limits.id = row.limit_id
        cross join lateral (select limit_window(kind, at) as this_window) as current
      where meter.id = row.id and (row.needed is null or limit_amount(limits, at) - meter.held
        - case when meter.window_start >= this_window then meter.used else 0 end >= row.needed)
      returning row.needed, concat_ws(' ', meter.id, limit_amount(limits, at), meter.used) as shown
    )
    select count(needed), string_agg(shown, ',') into affected, limited from written;
    if affected < (select count(needed) from unnest(limit_rows)) then
      -- Their accounts, because clients choose how many end users there are.
      select string_agg(distinct limits.account_id::text, ',') into unmet
      from unnest(limit_rows) as row join limits on limits.id = row.limit_id
      where needed is not null
        and not exists (select 1 from limit_meters where id = row.id and xmin = pg_current_xact_id()::xid);
      raise exception 'a limit is not as the batch needs it' using errcode = 'TG001', table = 'limit_meters', detail = unmet;
    end if;
  end if;

  if claim_rows is not null then
    perform ledger_require_claims(claim_rows);
  end if;

  if opened_rows is not null then
    insert into open_generations (id, account_id, key_id, node_id, workload, model, provider, streaming, hold,
      price_list_id, attempts, created_at, api)
    select id, account_id, key_id, node_id, workload, model, provider, streaming, hold, price_list_id, attempts,
           to_timestamp(created_at_ms / 1000), api
    from unnest(opened_rows, opened_requests);
  end if;
  if opened_limits is not null then
    update open_generations set limits = row.limits from unnest(opened_limits) as row
    where open_generations.id = row.generation_id;
  end if;

  if settled_rows is not null then
    delete from open_generations using unnest(settled_rows) as row
    where open_generations.id = row.id and open_generations.hold = row.hold;
    get diagnostics affected = row_count;
    if affected <> open_count then
      select string_agg(id::text, ',') into unmet from unnest(settled_rows);
      raise exception 'a Generation is not as the batch needs it'
        using errcode = 'TG001', table = 'open_generations', detail = unmet;
    end if;

    -- The number of an entry and the balance after it are counted from the last ones of this batch.
    with settled as materialized (
      select row.*, to_timestamp(completed_at_ms / 1000) as completed_at, cache_read_tokens, cache_write_tokens,
             cache_write_long_tokens, cost_cache_read, cost_cache_write, cost_cache_write_long, cache_saved, provider_cost
      from unnest(settled_rows, settled_requests) as row left join unnest(metered_rows) as metered on metered.generation_id = row.id
    ), used as (
      insert into usage_records (id, account_id, key_id, model, input_tokens, output_tokens, units, unit, tier, cost,
        price_list_id, month, billed_at, cache_read_tokens, cache_write_tokens, cache_write_long_tokens, cache_saved,
        provider, provider_cost)
      select id, account_id, key_id, model, input_tokens, output_tokens, units, unit, tier, cost_total, price_list_id,
             this_month, completed_at, cache_read_tokens, cache_write_tokens, cache_write_long_tokens, cache_saved,
             provider, provider_cost
      from settled where cost_total is not null
    ), charged as (
      insert into ledger_entries (account_id, number, kind, amount, balance_after, generation_id, is_estimated, created_at)
      select account_id, accounts.entry_count + entry_number, 'charge', -cost_total, accounts.balance + balance_after,
             settled.id, is_estimated, at
      from settled join accounts on accounts.id = account_id where cost_total is not null
    )
    insert into generations (id, account_id, key_id, workload, model, provider, status, streaming, fallback,
      attempt_count, hold, price_list_id, input_tokens, output_tokens, units, unit, tier, cost_input, cost_output,
      cost_total, latency_ms, time_to_first_token_ms, error_code, created_at, completed_at, cache_read_tokens,
      cache_write_tokens, cache_write_long_tokens, cost_cache_read, cost_cache_write, cost_cache_write_long, api,
      finish_reason)
    select id, account_id, key_id, workload, model, provider, status, streaming, attempt_count > 1, attempt_count,
           nullif(hold, 0), price_list_id, input_tokens, output_tokens, units, unit, tier, cost_input, cost_output,
           cost_total, latency_ms, time_to_first_token_ms, error_code, to_timestamp(created_at_ms / 1000), completed_at,
           cache_read_tokens, cache_write_tokens, cache_write_long_tokens, cost_cache_read, cost_cache_write,
           cost_cache_write_long, api, finish_reason
    from settled;

    -- A request whose body took long to arrive has an ID much older than the rest of it (see late_generation).
    insert into dirty_minutes (minute)
    select to_timestamp(id_ms(row.id) / 60000 * 60) from unnest(settled_rows) as row, rollup_progress
    where row.id < first_id_at(clock_timestamp() - interval '15 seconds') and row.id < first_id_at(frontier);

    insert into attempts (generation_id, index, provider, status, started_at, completed_at, upstream_status, error_code)
    select generation_id, index, provider, status, to_timestamp(started_at_ms / 1000),
           to_timestamp(completed_at_ms / 1000), upstream_status, error_code
    from unnest(attempt_rows);
  end if;

  if write_off_rows is not null then
    insert into write_offs (generation_id, account_id, reason, amount, reported_input_tokens, reported_output_tokens,
      reported)
    select row.*, metered.reported
    from unnest(write_off_rows) as row left join unnest(metered_rows) as metered using (generation_id);
  end if;

  if uncharged_rows is not null then
    insert into uncharged_attempts (generation_id, index, account_id, model, provider, ended_at, input_tokens,
      cache_read_tokens, cache_write_tokens, cache_write_long_tokens, output_tokens, cost, price_list_id)
    select generation_id, index, account_id, model, provider, to_timestamp(ended_at_ms / 1000), input_tokens,
           cache_read_tokens, cache_write_tokens, cache_write_long_tokens, output_tokens, cost, price_list_id
    from unnest(uncharged_rows)
    on conflict (generation_id, index) do nothing;
  end if;

  if answer_rows is not null then
    perform ledger_store_answers(answer_rows);
  end if;

  if attribution_rows is not null then
    insert into generation_attributions (generation_id, account_id, kind, label)
    select generation_id, account_id, kind, label from unnest(attribution_rows)
    -- A hold that was lost and made again, or a settlement whose hold was lost, may come with what is there already.
    on conflict (generation_id, kind, label) do nothing;
  end if;

  return case when has_arrivals then json_build_object('admitted', admitted, 'limited', limited, 'nowMs', now_ms) end;
end $$;

comment on function ledger_write_batch is
  'Writes a batch. If requests were admitted (has_arrivals), it returns what is left for their keys, a comma between them: the key, its account, what is free of the balance, the theoretical arrival, the rate, how many Generations are open and how many may be, and what is left of the month, if that is limited. If a row is not as the batch needs it, this fails with TG001 and the IDs of such rows, and changes nothing. A batch whose rows are locked has no needs, and says when it was decided (at_ms). Limits that the batch counts towards are returned the same way: the meter, its amount, what is used. A batch without locks admits requests of accounts that have limits only if it knows them, by their version. An array without rows is null; open_count is how many of the settled Generations are open. The sessions of the ledger do not wait for the disk; with is_durable this commit does. How each of the opened and settled rows was asked for is in opened_requests and settled_requests, in the same order.';

create function duration_bounds() returns integer[] language sql immutable as $$
  select '{50, 80, 130, 210, 350, 560, 900, 1500, 2400, 3900, 6200, 10000, 16000, 26000, 43000, 70000, 110000, 180000, 300000}'::integer[]
$$;
comment on function duration_bounds is
  'Where the buckets of durations end, in milliseconds: the first has what took less than the first of these, the last has the rest. src/rollups/buckets.ts has the same.';

create table request_minutes (
  account_id uuid not null,
  key_id uuid not null,
  minute timestamptz not null,
  model text not null,
  provider text not null,
  status text not null,
  error_code text not null,
  count integer not null,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cost numeric(38,12) not null default 0,
  duration_1 integer, duration_2 integer, duration_3 integer, duration_4 integer, duration_5 integer,
  duration_6 integer, duration_7 integer, duration_8 integer, duration_9 integer, duration_10 integer,
  duration_11 integer, duration_12 integer, duration_13 integer, duration_14 integer, duration_15 integer,
  duration_16 integer, duration_17 integer, duration_18 integer, duration_19 integer, duration_20 integer,
  first_token_1 integer, first_token_2 integer, first_token_3 integer, first_token_4 integer, first_token_5 integer,
  first_token_6 integer, first_token_7 integer, first_token_8 integer, first_token_9 integer, first_token_10 integer,
  first_token_11 integer, first_token_12 integer, first_token_13 integer, first_token_14 integer,
  first_token_15 integer, first_token_16 integer, first_token_17 integer, first_token_18 integer,
  first_token_19 integer, first_token_20 integer,
  primary key (account_id, key_id, minute, model, provider, status, error_code)
);
create index request_minutes_by_minute on request_minutes (minute);

comment on table request_minutes is
  'What was asked for in a minute, by the time in the ID of each request: one row for each key, one for the account (key_id is the nil UUID), one for everybody (account_id, too). Those that were refused are added as they are stored; all others are computed from generations. Kept for 14 days.';
comment on column request_minutes.error_code is 'Empty without an error, as provider is if none was called, and model if it is none.';
comment on column request_minutes.duration_1 is 'How many of the completed took less than the first of duration_bounds; null if none, as in all of these.';
comment on column request_minutes.first_token_1 is 'The same for the time to their first token.';
create table request_hours (
  account_id uuid not null,
  key_id uuid not null,
  hour timestamptz not null,
  model text not null,
  provider text not null,
  status text not null,
  error_code text not null,
  count integer not null,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cost numeric(38,12) not null default 0,
  duration_1 integer, duration_2 integer, duration_3 integer, duration_4 integer, duration_5 integer,
  duration_6 integer, duration_7 integer, duration_8 integer, duration_9 integer, duration_10 integer,
  duration_11 integer, duration_12 integer, duration_13 integer, duration_14 integer, duration_15 integer,
  duration_16 integer, duration_17 integer, duration_18 integer, duration_19 integer, duration_20 integer,
  first_token_1 integer, first_token_2 integer, first_token_3 integer, first_token_4 integer, first_token_5 integer,
  first_token_6 integer, first_token_7 integer, first_token_8 integer, first_token_9 integer, first_token_10 integer,
  first_token_11 integer, first_token_12 integer, first_token_13 integer, first_token_14 integer,
  first_token_15 integer, first_token_16 integer, first_token_17 integer, first_token_18 integer,
  first_token_19 integer, first_token_20 integer,
  primary key (account_id, key_id, hour, model, provider, status, error_code)
);
create index request_hours_by_hour on request_hours (hour);

comment on table request_hours is 'The same for an hour: the sums of its minutes. Kept for 400 days.';

create table attempt_minutes (
  provider text not null,
  minute timestamptz not null,
  model text not null,
  status text not null,
  error_code text not null,
  count integer not null,
  duration_1 integer, duration_2 integer, duration_3 integer, duration_4 integer, duration_5 integer,
  duration_6 integer, duration_7 integer, duration_8 integer, duration_9 integer, duration_10 integer,
  duration_11 integer, duration_12 integer, duration_13 integer, duration_14 integer, duration_15 integer,
  duration_16 integer, duration_17 integer, duration_18 integer, duration_19 integer, duration_20 integer,
  primary key (provider, minute, model, status, error_code)
);
create index attempt_minutes_by_minute on attempt_minutes (minute);

comment on table attempt_minutes is
  'Attempts of the Generations of a minute, by provider. Durations are of those that succeeded. Kept for 14 days.';
create table attempt_hours (
  provider text not null,
  hour timestamptz not null,
  model text not null,
  status text not null,
  error_code text not null,
  count integer not null,
  duration_1 integer, duration_2 integer, duration_3 integer, duration_4 integer, duration_5 integer,
  duration_6 integer, duration_7 integer, duration_8 integer, duration_9 integer, duration_10 integer,
  duration_11 integer, duration_12 integer, duration_13 integer, duration_14 integer, duration_15 integer,
  duration_16 integer, duration_17 integer, duration_18 integer, duration_19 integer, duration_20 integer,
  primary key (provider, hour, model, status, error_code)
);
create index attempt_hours_by_hour on attempt_hours (hour);

comment on table attempt_hours is 'The same for an hour. Kept for 400 days.';

create table rollup_progress (
  is_only boolean primary key default true check (is_only),
  frontier timestamptz not null,
  rolled_to timestamptz not null,
  minutes_from timestamptz not null,
  hours_from timestamptz not null
);
comment on table rollup_progress is
  'Which minutes and hours were added up. One row. Minutes are, from minutes_from to rolled_to, and so are the hours from hours_from that were over by then; except those in dirty_minutes.';
comment on column rollup_progress.frontier is
  'Whoever writes a Generation whose ID is from before this marks its minute in dirty_minutes. It moves first, and rolled_to follows when nobody is left who may not have seen that.';
comment on column rollup_progress.minutes_from is 'It moves back, to 14 days before now; hours_from further, to 400 days, or to minus infinity when there is nothing before.';
insert into rollup_progress (frontier, rolled_to, minutes_from, hours_from)
select at, at, known_from, known_from
-- Further back than the 15 seconds within which nobody compares with it (late_generation), even just after a full hour.
from (select date_trunc('hour', now() - interval '2 minutes', 'UTC') as at) as this_hour,
     lateral (select case when exists (select from generations) then at else '-infinity' end as known_from) as known;

create table dirty_minutes (
  id bigint generated always as identity primary key,
  minute timestamptz not null
);
create index dirty_minutes_by_minute on dirty_minutes (minute);
comment on table dirty_minutes is
  'Minutes that were added up, or are about to be, and of which a Generation was written since. Not unique, so that whoever writes one does not wait for whoever adds up.';

create function id_ms(id uuid) returns bigint language sql immutable as $$
  select ('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint
$$;
comment on function id_ms is 'The time in a UUIDv7, in milliseconds since 1970.';

create function mark_minute() returns trigger language plpgsql as $$
begin
  insert into dirty_minutes (minute)
  select to_timestamp(id_ms(old_or_new.id) / 60000 * 60)
  from (select case when tg_op = 'DELETE' then old.id else new.id end as id) as old_or_new, rollup_progress
  where old_or_new.id < first_id_at(frontier);
  return null;
end $$;
comment on function mark_minute is 'Notes that what was added up of a minute is no longer true.';

-- The frontier is always further back than these 15 seconds (frontierLagMs in src/rollups/roll-up.ts), so most rows cost
-- no more than a comparison. Comparing the ID instead would cost each statement 15 µs, to plan the expression, so
-- ledger_write_batch does that, whose plans are kept.
create trigger late_generation after insert on generations
for each row when (new.created_at < clock_timestamp() - interval '15 seconds') execute function mark_minute();
create trigger changed_generation after update or delete on generations for each row execute function mark_minute();

create view counted_generations as
select id, account_id, key_id, model, case when attempt_count > 0 then provider else '' end as provider, status, coalesce(error_code, '') as error_code, api, streaming, fallback,
       latency_ms, coalesce(input_tokens, 0) as input_tokens, coalesce(output_tokens, 0) as output_tokens,
       coalesce(cost_total, 0) as cost,
       case when status = 'completed' then width_bucket(latency_ms, duration_bounds()) + 1 end as duration_bucket,
       case when status = 'completed' then width_bucket(time_to_first_token_ms, duration_bounds()) + 1 end as first_token_bucket,
       cost_total
from generations;
comment on view counted_generations is 'Finished Generations as they are added up. Buckets are counted from 1.';

create view counted_attempts as
select generation_id, attempts.provider, model, attempts.status, coalesce(attempts.error_code, '') as error_code,
       case when attempts.status = 'succeeded' then width_bucket(
         least(extract(epoch from attempts.completed_at - started_at) * 1000, 2147483647)::integer, duration_bounds()) + 1
       end as duration_bucket,
       generations.id
from attempts join generations on generations.id = generation_id;
comment on view counted_attempts is 'Attempts of finished Generations as they are added up. A range of both IDs finds them fast.';

create function roll_up_minute(at timestamptz) returns void language plpgsql as $$
declare
  nobody constant uuid := '00000000-0000-0000-0000-000000000000';
  first_id constant uuid := first_id_at(at);
  end_id constant uuid := first_id_at(at + interval '1 minute');
begin
  delete from request_minutes where minute = at and status <> 'refused';
  insert into request_minutes (account_id, key_id, minute, model, provider, status, error_code, count, input_tokens, output_tokens, cost,
    duration_1, duration_2, duration_3, duration_4, duration_5, duration_6, duration_7, duration_8, duration_9,
    duration_10, duration_11, duration_12, duration_13, duration_14, duration_15, duration_16, duration_17,
    duration_18, duration_19, duration_20, first_token_1, first_token_2, first_token_3, first_token_4, first_token_5,
    first_token_6, first_token_7, first_token_8, first_token_9, first_token_10, first_token_11, first_token_12,
    first_token_13, first_token_14, first_token_15, first_token_16, first_token_17, first_token_18, first_token_19,
    first_token_20)
  select account_id, key_id, at, model, provider, status, error_code, count(*), sum(input_tokens),
         sum(output_tokens), sum(cost),
         nullif(count(*) filter (where duration_bucket = 1), 0),
         nullif(count(*) filter (where duration_bucket = 2), 0),
         nullif(count(*) filter (where duration_bucket = 3), 0),
         nullif(count(*) filter (where duration_bucket = 4), 0),
         nullif(count(*) filter (where duration_bucket = 5), 0),
         nullif(count(*) filter (where duration_bucket = 6), 0),
         nullif(count(*) filter (where duration_bucket = 7), 0),
         nullif(count(*) filter (where duration_bucket = 8), 0),
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
  from counted_generations where id >= first_id and id < end_id
  group by account_id, key_id, model, provider, status, error_code;
  insert into request_minutes (account_id, key_id, minute, model, provider, status, error_code, count, input_tokens, output_tokens, cost,
    duration_1, duration_2, duration_3, duration_4, duration_5, duration_6, duration_7, duration_8, duration_9,
    duration_10, duration_11, duration_12, duration_13, duration_14, duration_15, duration_16, duration_17,
    duration_18, duration_19, duration_20, first_token_1, first_token_2, first_token_3, first_token_4, first_token_5,
    first_token_6, first_token_7, first_token_8, first_token_9, first_token_10, first_token_11, first_token_12,
    first_token_13, first_token_14, first_token_15, first_token_16, first_token_17, first_token_18, first_token_19,
    first_token_20)
  select account_id, nobody, minute, model, provider, status, error_code, sum(count), sum(input_tokens),
         sum(output_tokens), sum(cost),
         sum(duration_1), sum(duration_2), sum(duration_3), sum(duration_4), sum(duration_5), sum(duration_6),
         sum(duration_7), sum(duration_8), sum(duration_9), sum(duration_10), sum(duration_11), sum(duration_12),
         sum(duration_13), sum(duration_14), sum(duration_15), sum(duration_16), sum(duration_17), sum(duration_18),
         sum(duration_19), sum(duration_20), sum(first_token_1), sum(first_token_2), sum(first_token_3),
         sum(first_token_4), sum(first_token_5), sum(first_token_6), sum(first_token_7), sum(first_token_8),
         sum(first_token_9), sum(first_token_10), sum(first_token_11), sum(first_token_12), sum(first_token_13),
         sum(first_token_14), sum(first_token_15), sum(first_token_16), sum(first_token_17), sum(first_token_18),
         sum(first_token_19), sum(first_token_20)
  from request_minutes where minute = at and key_id <> nobody and status <> 'refused'
  group by account_id, minute, model, provider, status, error_code;
  insert into request_minutes (account_id, key_id, minute, model, provider, status, error_code, count, input_tokens, output_tokens, cost,
    duration_1, duration_2, duration_3, duration_4, duration_5, duration_6, duration_7, duration_8, duration_9,
    duration_10, duration_11, duration_12, duration_13, duration_14, duration_15, duration_16, duration_17,
    duration_18, duration_19, duration_20, first_token_1, first_token_2, first_token_3, first_token_4, first_token_5,
    first_token_6, first_token_7, first_token_8, first_token_9, first_token_10, first_token_11, first_token_12,
    first_token_13, first_token_14, first_token_15, first_token_16, first_token_17, first_token_18, first_token_19,
    first_token_20)
  select nobody, nobody, minute, model, provider, status, error_code, sum(count), sum(input_tokens),
         sum(output_tokens), sum(cost),
         sum(duration_1), sum(duration_2), sum(duration_3), sum(duration_4), sum(duration_5), sum(duration_6),
         sum(duration_7), sum(duration_8), sum(duration_9), sum(duration_10), sum(duration_11), sum(duration_12),
         sum(duration_13), sum(duration_14), sum(duration_15), sum(duration_16), sum(duration_17), sum(duration_18),
         sum(duration_19), sum(duration_20), sum(first_token_1), sum(first_token_2), sum(first_token_3),
         sum(first_token_4), sum(first_token_5), sum(first_token_6), sum(first_token_7), sum(first_token_8),
         sum(first_token_9), sum(first_token_10), sum(first_token_11), sum(first_token_12), sum(first_token_13),
         sum(first_token_14), sum(first_token_15), sum(first_token_16), sum(first_token_17), sum(first_token_18),
         sum(first_token_19), sum(first_token_20)
  from request_minutes where minute = at and account_id <> nobody and key_id = nobody and status <> 'refused'
  group by minute, model, provider, status, error_code;

  delete from attempt_minutes where minute = at;
  insert into attempt_minutes (provider, minute, model, status, error_code, count,
    duration_1, duration_2, duration_3, duration_4, duration_5, duration_6, duration_7, duration_8, duration_9,
    duration_10, duration_11, duration_12, duration_13, duration_14, duration_15, duration_16, duration_17,
    duration_18, duration_19, duration_20)
  select provider, at, model, status, error_code, count(*),
         nullif(count(*) filter (where duration_bucket = 1), 0),
         nullif(count(*) filter (where duration_bucket = 2), 0),
         nullif(count(*) filter (where duration_bucket = 3), 0),
         nullif(count(*) filter (where duration_bucket = 4), 0),
         nullif(count(*) filter (where duration_bucket = 5), 0),
         nullif(count(*) filter (where duration_bucket = 6), 0),
         nullif(count(*) filter (where duration_bucket = 7), 0),
         nullif(count(*) filter (where duration_bucket = 8), 0),
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
  from counted_attempts where generation_id >= first_id and generation_id < end_id and id >= first_id and id < end_id
  group by provider, model, status, error_code;
end $$;

comment on function roll_up_minute is 'Adds up a minute anew. Those that were refused are no part of it.';

create function roll_up_hour(at timestamptz) returns void language plpgsql as $$
declare
  nobody constant uuid := '00000000-0000-0000-0000-000000000000';
  first_id constant uuid := first_id_at(at);
  end_id constant uuid := first_id_at(at + interval '1 hour');
begin
  delete from request_hours where hour = at and status <> 'refused';
  insert into request_hours (account_id, key_id, hour, model, provider, status, error_code, count, input_tokens, output_tokens, cost,
    duration_1, duration_2, duration_3, duration_4, duration_5, duration_6, duration_7, duration_8, duration_9,
    duration_10, duration_11, duration_12, duration_13, duration_14, duration_15, duration_16, duration_17,
    duration_18, duration_19, duration_20, first_token_1, first_token_2, first_token_3, first_token_4, first_token_5,
    first_token_6, first_token_7, first_token_8, first_token_9, first_token_10, first_token_11, first_token_12,
    first_token_13, first_token_14, first_token_15, first_token_16, first_token_17, first_token_18, first_token_19,
    first_token_20)
  select account_id, key_id, at, model, provider, status, error_code, count(*), sum(input_tokens),
         sum(output_tokens), sum(cost),
         nullif(count(*) filter (where duration_bucket = 1), 0),
         nullif(count(*) filter (where duration_bucket = 2), 0),
         nullif(count(*) filter (where duration_bucket = 3), 0),
         nullif(count(*) filter (where duration_bucket = 4), 0),
         nullif(count(*) filter (where duration_bucket = 5), 0),
         nullif(count(*) filter (where duration_bucket = 6), 0),
         nullif(count(*) filter (where duration_bucket = 7), 0),
         nullif(count(*) filter (where duration_bucket = 8), 0),
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
  from counted_generations where id >= first_id and id < end_id
  group by account_id, key_id, model, provider, status, error_code;
  insert into request_hours (account_id, key_id, hour, model, provider, status, error_code, count, input_tokens, output_tokens, cost,
    duration_1, duration_2, duration_3, duration_4, duration_5, duration_6, duration_7, duration_8, duration_9,
    duration_10, duration_11, duration_12, duration_13, duration_14, duration_15, duration_16, duration_17,
    duration_18, duration_19, duration_20, first_token_1, first_token_2, first_token_3, first_token_4, first_token_5,
    first_token_6, first_token_7, first_token_8, first_token_9, first_token_10, first_token_11, first_token_12,
    first_token_13, first_token_14, first_token_15, first_token_16, first_token_17, first_token_18, first_token_19,
    first_token_20)
  select account_id, nobody, hour, model, provider, status, error_code, sum(count), sum(input_tokens),
         sum(output_tokens), sum(cost),
         sum(duration_1), sum(duration_2), sum(duration_3), sum(duration_4), sum(duration_5), sum(duration_6),
         sum(duration_7), sum(duration_8), sum(duration_9), sum(duration_10), sum(duration_11), sum(duration_12),
         sum(duration_13), sum(duration_14), sum(duration_15), sum(duration_16), sum(duration_17), sum(duration_18),
         sum(duration_19), sum(duration_20), sum(first_token_1), sum(first_token_2), sum(first_token_3),
         sum(first_token_4), sum(first_token_5), sum(first_token_6), sum(first_token_7), sum(first_token_8),
         sum(first_token_9), sum(first_token_10), sum(first_token_11), sum(first_token_12), sum(first_token_13),
         sum(first_token_14), sum(first_token_15), sum(first_token_16), sum(first_token_17), sum(first_token_18),
         sum(first_token_19), sum(first_token_20)
  from request_hours where hour = at and key_id <> nobody and status <> 'refused'
  group by account_id, hour, model, provider, status, error_code;
  insert into request_hours (account_id, key_id, hour, model, provider, status, error_code, count, input_tokens, output_tokens, cost,
    duration_1, duration_2, duration_3, duration_4, duration_5, duration_6, duration_7, duration_8, duration_9,
    duration_10, duration_11, duration_12, duration_13, duration_14, duration_15, duration_16, duration_17,
    duration_18, duration_19, duration_20, first_token_1, first_token_2, first_token_3, first_token_4, first_token_5,
    first_token_6, first_token_7, first_token_8, first_token_9, first_token_10, first_token_11, first_token_12,
    first_token_13, first_token_14, first_token_15, first_token_16, first_token_17, first_token_18, first_token_19,
    first_token_20)
  select nobody, nobody, hour, model, provider, status, error_code, sum(count), sum(input_tokens),
         sum(output_tokens), sum(cost),
         sum(duration_1), sum(duration_2), sum(duration_3), sum(duration_4), sum(duration_5), sum(duration_6),
         sum(duration_7), sum(duration_8), sum(duration_9), sum(duration_10), sum(duration_11), sum(duration_12),
         sum(duration_13), sum(duration_14), sum(duration_15), sum(duration_16), sum(duration_17), sum(duration_18),
         sum(duration_19), sum(duration_20), sum(first_token_1), sum(first_token_2), sum(first_token_3),
         sum(first_token_4), sum(first_token_5), sum(first_token_6), sum(first_token_7), sum(first_token_8),
         sum(first_token_9), sum(first_token_10), sum(first_token_11), sum(first_token_12), sum(first_token_13),
         sum(first_token_14), sum(first_token_15), sum(first_token_16), sum(first_token_17), sum(first_token_18),
         sum(first_token_19), sum(first_token_20)
  from request_hours where hour = at and account_id <> nobody and key_id = nobody and status <> 'refused'
  group by hour, model, provider, status, error_code;

  delete from attempt_hours where hour = at;
  insert into attempt_hours (provider, hour, model, status, error_code, count,
    duration_1, duration_2, duration_3, duration_4, duration_5, duration_6, duration_7, duration_8, duration_9,
    duration_10, duration_11, duration_12, duration_13, duration_14, duration_15, duration_16, duration_17,
    duration_18, duration_19, duration_20)
  select provider, at, model, status, error_code, count(*),
         nullif(count(*) filter (where duration_bucket = 1), 0),
         nullif(count(*) filter (where duration_bucket = 2), 0),
         nullif(count(*) filter (where duration_bucket = 3), 0),
         nullif(count(*) filter (where duration_bucket = 4), 0),
         nullif(count(*) filter (where duration_bucket = 5), 0),
         nullif(count(*) filter (where duration_bucket = 6), 0),
         nullif(count(*) filter (where duration_bucket = 7), 0),
         nullif(count(*) filter (where duration_bucket = 8), 0),
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
  from counted_attempts where generation_id >= first_id and generation_id < end_id and id >= first_id and id < end_id
  group by provider, model, status, error_code;
end $$;

comment on function roll_up_hour is 'The same for an hour whose minutes are not kept.';

create function roll_up_minutes_of_hour(at timestamptz) returns void language plpgsql as $$
declare
  ends_at constant timestamptz := at + interval '1 hour';
begin
  delete from request_hours where hour = at and status <> 'refused';
  insert into request_hours (account_id, key_id, hour, model, provider, status, error_code, count, input_tokens, output_tokens, cost,
    duration_1, duration_2, duration_3, duration_4, duration_5, duration_6, duration_7, duration_8, duration_9,
    duration_10, duration_11, duration_12, duration_13, duration_14, duration_15, duration_16, duration_17,
    duration_18, duration_19, duration_20, first_token_1, first_token_2, first_token_3, first_token_4, first_token_5,
    first_token_6, first_token_7, first_token_8, first_token_9, first_token_10, first_token_11, first_token_12,
    first_token_13, first_token_14, first_token_15, first_token_16, first_token_17, first_token_18, first_token_19,
    first_token_20)
  select account_id, key_id, at, model, provider, status, error_code, sum(count), sum(input_tokens),
         sum(output_tokens), sum(cost),
         sum(duration_1), sum(duration_2), sum(duration_3), sum(duration_4), sum(duration_5), sum(duration_6),
         sum(duration_7), sum(duration_8), sum(duration_9), sum(duration_10), sum(duration_11), sum(duration_12),
         sum(duration_13), sum(duration_14), sum(duration_15), sum(duration_16), sum(duration_17), sum(duration_18),
         sum(duration_19), sum(duration_20), sum(first_token_1), sum(first_token_2), sum(first_token_3),
         sum(first_token_4), sum(first_token_5), sum(first_token_6), sum(first_token_7), sum(first_token_8),
         sum(first_token_9), sum(first_token_10), sum(first_token_11), sum(first_token_12), sum(first_token_13),
         sum(first_token_14), sum(first_token_15), sum(first_token_16), sum(first_token_17), sum(first_token_18),
         sum(first_token_19), sum(first_token_20)
  from request_minutes where minute >= at and minute < ends_at and status <> 'refused'
  group by account_id, key_id, model, provider, status, error_code;
  delete from attempt_hours where hour = at;
  insert into attempt_hours (provider, hour, model, status, error_code, count,
    duration_1, duration_2, duration_3, duration_4, duration_5, duration_6, duration_7, duration_8, duration_9,
    duration_10, duration_11, duration_12, duration_13, duration_14, duration_15, duration_16, duration_17,
    duration_18, duration_19, duration_20)
  select provider, at, model, status, error_code, sum(count),
         sum(duration_1), sum(duration_2), sum(duration_3), sum(duration_4), sum(duration_5), sum(duration_6),
         sum(duration_7), sum(duration_8), sum(duration_9), sum(duration_10), sum(duration_11), sum(duration_12),
         sum(duration_13), sum(duration_14), sum(duration_15), sum(duration_16), sum(duration_17), sum(duration_18),
         sum(duration_19), sum(duration_20)
  from attempt_minutes where minute >= at and minute < ends_at
  group by provider, model, status, error_code;
end $$;

comment on function roll_up_minutes_of_hour is 'Adds up an hour from its minutes, anew.';

create function count_refusals(counts jsonb) returns void language plpgsql as $$
declare
  nobody constant uuid := '00000000-0000-0000-0000-000000000000';
begin
  -- In the order of the primary key, so that two nodes never wait for each other.
  insert into request_minutes as known (account_id, key_id, minute, model, provider, status, error_code, count)
  select level.account_id, level.key_id, date_trunc('minute', at, 'UTC'), model, '', 'refused', error_code, sum(count)
  from jsonb_to_recordset(counts) as row (account_id uuid, key_id uuid, at timestamptz, model text, error_code text, count integer),
       lateral (select account_id, key_id where key_id <> nobody
                union all values (account_id, nobody), (nobody, nobody)) as level (account_id, key_id)
  group by 1, 2, 3, 4, 7 order by 1, 2, 3, 4, 7
  on conflict (account_id, key_id, minute, model, provider, status, error_code)
    do update set count = known.count + excluded.count;
  insert into request_hours as known (account_id, key_id, hour, model, provider, status, error_code, count)
  select level.account_id, level.key_id, date_trunc('hour', at, 'UTC'), model, '', 'refused', error_code, sum(count)
  from jsonb_to_recordset(counts) as row (account_id uuid, key_id uuid, at timestamptz, model text, error_code text, count integer),
       lateral (select account_id, key_id where key_id <> nobody
                union all values (account_id, nobody), (nobody, nobody)) as level (account_id, key_id)
  group by 1, 2, 3, 4, 7 order by 1, 2, 3, 4, 7
  on conflict (account_id, key_id, hour, model, provider, status, error_code)
    do update set count = known.count + excluded.count;
end $$;
comment on function count_refusals is
  'Adds to what was refused: rows with account_id, key_id (nil for what is counted for the account only), at (a time), model (empty if it '
  'is none of the catalogue, or not counted by itself), error_code and count.';
