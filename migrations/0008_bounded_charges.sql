-- What keeps a charge within its hold, gives back what was charged by mistake, and sets aside what can never be settled.

-- A refund names the charge that it gives back by its Generation. What the gateway had to estimate, because it ended a
-- call itself and the provider never reported usage, is marked.
alter table ledger_entries
  add column is_estimated boolean not null default false,
  drop constraint ledger_entries_kind_check,
  drop constraint ledger_entries_sign,
  drop constraint ledger_entries_source,
  add constraint ledger_entries_kind check (kind in ('credit', 'charge', 'refund', 'correction')),
  add constraint ledger_entries_sign check (
    case kind when 'credit' then amount > 0 when 'charge' then amount <= 0 when 'refund' then amount >= 0 else amount <> 0 end),
  add constraint ledger_entries_source check ((kind in ('charge', 'refund')) = (generation_id is not null)),
  add constraint ledger_entries_estimate check (kind = 'charge' or not is_estimated);

drop index ledger_entries_one_charge;
create unique index ledger_entries_one_charge on ledger_entries (generation_id) where kind = 'charge';
create unique index ledger_entries_one_refund on ledger_entries (generation_id) where kind = 'refund';

-- Usage beyond what was held for, and text for which no output was reported, is a matter between operator and provider.
alter table write_offs
  add column reported_input_tokens bigint,
  add column reported_output_tokens bigint,
  drop constraint write_offs_reason_check,
  add constraint write_offs_reason check (
    reason in ('usage_missing', 'insufficient_balance', 'interrupted', 'implausible_usage'));

-- What had been held for it when it was settled; null when its hold had been given back before.
alter table generations add column hold numeric(38,12) check (hold >= 0);

-- How many Generations of a key may be open at once, and how many are.
alter table api_keys
  add column max_concurrent integer not null default 200 check (max_concurrent between 1 and 100000);
alter table api_key_meters add column open_count integer not null default 0 check (open_count >= 0);
update api_key_meters set open_count = counted.open_count
from (select key_id, count(*)::integer as open_count from open_generations group by key_id) as counted
where counted.key_id = api_key_meters.key_id;

-- Settlements that the database refused for good, with all that is needed to look at them and to try again.
create table dead_letters (
  generation_id  uuid primary key,
  account_id     uuid not null,
  key_id         uuid not null,
  settlement     jsonb not null,
  -- PostgreSQL's code and the name of the constraint, column or table it complained of.
  refusal_code   text not null,
  refusal_about  text not null,
  created_at     timestamptz not null default now()
);

-- Partitions are made a year ahead; an ID from a node whose clock is further off than that has a place all the same.
create table generations_default partition of generations default;
create table attempts_default partition of attempts default;

-- As in 0001, but rows that strayed into the default partition move to the month that is made for them.
create or replace function create_partitions(from_day date, to_day date) returns void language plpgsql as $$
declare
  month date := date_trunc('month', from_day::timestamp)::date;
  base record;
  partition text;
  first_id uuid;
  next_id uuid;
begin
  while month <= to_day loop
    first_id := first_id_at(month::timestamp at time zone 'UTC');
    next_id := first_id_at((month + interval '1 month')::timestamp at time zone 'UTC');
    for base in select * from (values ('generations', 'id'), ('attempts', 'generation_id')) as base (name, id) loop
      partition := base.name || '_' || to_char(month, 'YYYY_MM');
      if to_regclass(format('%I', partition)) is null then
        execute format('create table %I (like %I including defaults including constraints)', partition, base.name);
        execute format(
          'with stray as (delete from %I where %I >= %L and %I < %L returning *) insert into %I select * from stray',
          base.name || '_default', base.id, first_id, base.id, next_id, partition);
        execute format('alter table %I attach partition %I for values from (%L) to (%L)',
          base.name, partition, first_id, next_id);
      end if;
    end loop;
    month := month + interval '1 month';
  end loop;
end $$;

-- A Generation that has been open for 25 days, as after restoring a backup, has more milliseconds than an integer holds.
create function milliseconds_since(at timestamptz) returns integer language sql volatile as $$
  select least(greatest(floor(extract(epoch from clock_timestamp() - at) * 1000), 0), 2147483647)::integer
$$;

do $$
declare
  definition text;
  overflowing constant text := 'floor(extract(epoch from clock_timestamp() - created_at) * 1000)::integer';
  function regproc;
begin
  foreach function in array array['list_generations', 'find_generation', 'list_account_generations_between']::regproc[] loop
    definition := pg_get_functiondef(function);
    if position(overflowing in definition) = 0 then raise exception '% is not as expected', function; end if;
    execute replace(definition, overflowing, 'milliseconds_since(created_at)');
  end loop;
end $$;

-- The record of a charge that was given back stays, for the days that it was counted in, and is no usage any more.
alter table usage_records add column refunded_at timestamptz;

create or replace function recent_usage(of_account uuid, row_count integer) returns setof usage_records
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
begin
  return query
  select * from usage_records where account_id = of_account and refunded_at is null
  order by billed_at desc, id desc limit row_count;
end $$;

create or replace function charges_of(generation_ids uuid[]) returns setof ledger_entries
language plpgsql stable
set enable_seqscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
begin
  return query
  select * from ledger_entries where generation_id = any (generation_ids) and kind = 'charge';
end $$;

-- As in 0006, but a refund takes back what its charge had added.
create or replace function add_up_usage(of_account uuid, most integer) returns bigint language plpgsql
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
  select of_account, (billed_at at time zone 'UTC')::date, model, key_id, sum(sign), sum(sign * input_tokens),
         sum(sign * output_tokens), coalesce(sum(sign * units) filter (where unit = 'images'), 0), sum(sign * cost)
  from ledger_entries join usage_records on usage_records.id = generation_id
  cross join lateral (select case kind when 'refund' then -1 else 1 end as sign) as signed
  where ledger_entries.account_id = of_account and number > done and number <= reached
  group by 2, 3, 4
  on conflict (account_id, day, model, key_id) do update
  set requests = days.requests + excluded.requests, input_tokens = days.input_tokens + excluded.input_tokens,
      output_tokens = days.output_tokens + excluded.output_tokens, images = days.images + excluded.images,
      cost = days.cost + excluded.cost;
  update usage_progress set entry_number = reached where account_id = of_account;
  return reached - done;
end $$;

create or replace function usage_of_days(
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
    select (billed_at at time zone 'UTC')::date as day, model, key_id, sign, sign * input_tokens as input_tokens,
           sign * output_tokens as output_tokens, case unit when 'images' then sign * units else 0 end as images,
           sign * cost as cost
    from ledger_entries join usage_records on usage_records.id = generation_id
    cross join lateral (select case kind when 'refund' then -1 else 1 end as sign) as signed
    where ledger_entries.account_id = of_account
      and number > coalesce((select entry_number from usage_progress where account_id = of_account), 0)
  )
  select day, model, key_id, sum(requests)::bigint, sum(input_tokens), sum(output_tokens), sum(images), sum(cost)
  from (
    select * from added_up
    union all
    select day, model, key_id, sign, input_tokens, output_tokens, images, cost from fresh
    where (day, model, key_id) > (after_day, after_model, after_key) and day <= to_day
  ) as usage
  group by day, model, key_id
  order by day, model, key_id
  limit row_count;
end $$;

-- As in 0002, with the number of open Generations of each key.
create or replace function lock_for_ledger(account_ids uuid[], key_ids uuid[], generation_ids uuid[]) returns json
language plpgsql as $$
declare
  locked_accounts json;
  locked_meters json;
  locked_open json;
  at timestamptz;
  this_month date;
begin
  select json_agg(row) into locked_accounts from (
    select id, (balance * 1000000000000)::numeric(38,0)::text as balance,
           (held * 1000000000000)::numeric(38,0)::text as held, entry_count::text,
           suspended_at is not null as is_suspended
    from accounts where id = any (account_ids) order by id for no key update
  ) as row;
  perform 1 from api_key_meters where key_id = any (key_ids) order by key_id for no key update;
  -- The clock is read when the locks are held: time must not seem to run backwards between two batches.
  at := clock_timestamp();
  this_month := date_trunc('month', at at time zone 'UTC');
  select json_agg(row) into locked_meters from (
    select key_id, requests_per_minute, max_concurrent, open_count,
           (held * 1000000000000)::numeric(38,0)::text as held,
           (monthly_limit * 1000000000000)::numeric(38,0)::text as monthly_limit,
           ((case when month = this_month then month_spent else 0 end) * 1000000000000)::numeric(38,0)::text as month_spent,
           extract(epoch from theoretical_arrival_at)::float8 * 1000 as theoretical_arrival_ms,
           coalesce(revoked_at <= at, false) as is_revoked,
           coalesce(expires_at <= at, false) as is_expired
    from api_key_meters join api_keys on api_keys.id = key_id where key_id = any (key_ids)
  ) as row;
  select json_agg(row) into locked_open from (
    select id, (hold * 1000000000000)::numeric(38,0)::text as hold
    from open_generations where id = any (generation_ids) order by id for update
  ) as row;
  return json_build_object(
    'accounts', locked_accounts,
    'meters', locked_meters,
    'open', locked_open,
    'now_ms', extract(epoch from at)::float8 * 1000,
    'month', this_month);
end $$;

-- How Generations that are to be settled, but are open no more, have ended: as interrupted, because their node seemed
-- dead; as set aside; or settled, with what was charged and not given back. `is_claimed` is false for a named request
-- that someone else has taken over; whoever still has its claim keeps it until the end of the transaction. Whoever asks
-- has locked their accounts.
create function ended_generations(wanted_rows json, this_month date) returns table (
  id uuid, error_code text, is_dead_letter boolean, is_claimed boolean, charged text, is_this_month boolean
) language plpgsql as $$
begin
  perform 1 from idempotent_requests as request
  join json_to_recordset(wanted_rows) as wanted (id uuid, key_id uuid, name text)
    on request.key_id = wanted.key_id and request.name_hash = decode(wanted.name, 'hex') and request.request_id = wanted.id
  order by request.key_id, request.name_hash
  for update of request;
  return query
  select generations.id, generations.error_code, dead_letters.generation_id is not null,
         wanted.name is null or request.request_id is not null,
         (-charge.amount * 1000000000000)::numeric(38,0)::text, usage_records.month = this_month
  from json_to_recordset(wanted_rows) as wanted (id uuid, key_id uuid, name text)
  join generations on generations.id = wanted.id
  left join dead_letters on dead_letters.generation_id = generations.id
  left join idempotent_requests as request
    on request.key_id = wanted.key_id and request.name_hash = decode(wanted.name, 'hex') and request.request_id = wanted.id
  left join ledger_entries as charge on charge.generation_id = generations.id and charge.kind = 'charge'
    and not exists (select 1 from ledger_entries as refund where refund.generation_id = generations.id and refund.kind = 'refund')
  left join usage_records on usage_records.id = charge.generation_id;
end $$;

-- Opens Generations again that were given up too early, with nothing held, so that they can be settled as what they
-- were. The same transaction settles them.
create function reopen_generations(ids uuid[]) returns void language plpgsql as $$
begin
  with given_up as (
    delete from generations where id = any (ids)
    returning id, account_id, key_id, workload, model, provider, streaming, price_list_id, created_at
  )
  insert into open_generations (id, account_id, key_id, node_id, workload, model, provider, streaming, hold, price_list_id,
    attempts, created_at)
  select id, account_id, key_id, '00000000-0000-0000-0000-000000000000', workload, model, provider, streaming, 0,
         price_list_id, '[]', created_at
  from given_up;
  delete from attempts where generation_id = any (ids);
  delete from write_offs where generation_id = any (ids);
  delete from dead_letters where generation_id = any (ids);
end $$;

-- Gives a charge back: its response was withheld, because nobody could know in time that the charge had been committed.
create function refund_charge(of_generation uuid, entry_number bigint, balance_after numeric) returns void
language plpgsql as $$
begin
  insert into ledger_entries (account_id, number, kind, amount, balance_after, generation_id)
  select account_id, entry_number, 'refund', -amount, refund_charge.balance_after * 0.000000000001, generation_id
  from ledger_entries where generation_id = of_generation and kind = 'charge';
  update usage_records set refunded_at = now() where id = of_generation;
  update generations
  set status = 'failed', error_code = 'billing_consistency_error', input_tokens = null, output_tokens = null, units = null,
      unit = null, tier = null, cost_input = null, cost_output = null, cost_total = null
  where id = of_generation;
  insert into write_offs (generation_id, account_id, reason)
  select id, account_id, 'interrupted' from generations where id = of_generation
  on conflict (generation_id) do update set reason = 'interrupted';
end $$;

-- As in 0002, with the number of open Generations, estimated charges and what providers reported.
create or replace function write_to_ledger(
  account_rows json, meter_rows json, this_month date, opened_rows json,
  closed_rows json, attempt_rows json, charge_rows json, write_off_rows json
) returns void language plpgsql as $$
begin
  update accounts
  set balance = row.balance * 0.000000000001, held = row.held * 0.000000000001, entry_count = row.entry_count
  from json_to_recordset(account_rows) as row (id uuid, balance numeric, held numeric, entry_count bigint)
  where accounts.id = row.id;

  update api_key_meters
  set held = row.held * 0.000000000001, month = this_month, month_spent = row.month_spent * 0.000000000001,
      last_used_at = now(), theoretical_arrival_at = to_timestamp(row.theoretical_arrival_ms / 1000),
      open_count = coalesce(row.open_count, api_key_meters.open_count)
  from json_to_recordset(meter_rows) as row (
    key_id uuid, held numeric, month_spent numeric, theoretical_arrival_ms float8, open_count integer)
  where api_key_meters.key_id = row.key_id;

  if opened_rows is not null then
    insert into open_generations (id, account_id, key_id, node_id, workload, model, provider, streaming, hold,
      price_list_id, attempts, created_at)
    select id, account_id, key_id, node_id, workload, model, provider, streaming, hold * 0.000000000001, price_list_id, attempts,
           to_timestamp(created_ms / 1000)
    from json_to_recordset(opened_rows) as row (
      id uuid, account_id uuid, key_id uuid, node_id uuid, workload text, model text, provider text,
      streaming boolean, hold numeric, price_list_id integer, attempts jsonb, created_ms float8);
  end if;

  if closed_rows is not null then
    -- What stays the same from admission on is taken from the row that the settlement closes.
    with settled as materialized (
      select * from json_to_recordset(closed_rows) as row (
        id uuid, provider text, status text, fallback boolean, attempt_count smallint, input_tokens bigint,
        output_tokens bigint, units bigint, unit text, tier text, cost_input numeric, cost_output numeric,
        cost_total numeric, latency_ms integer, time_to_first_token_ms integer, error_code text, completed_ms float8)
    ), no_longer_open as (
      delete from open_generations where id in (select id from settled)
      returning id, account_id, key_id, workload, model, streaming, hold, price_list_id, created_at
    ), used as (
      insert into usage_records (id, account_id, key_id, model, input_tokens, output_tokens, units, unit, tier, cost,
        price_list_id, month, billed_at)
      select id, account_id, key_id, model, input_tokens, output_tokens, units, unit, tier, cost_total * 0.000000000001,
             price_list_id, this_month, to_timestamp(completed_ms / 1000)
      from no_longer_open join settled using (id) where cost_total is not null
    )
    insert into generations (id, account_id, key_id, workload, model, provider, status, streaming, fallback,
      attempt_count, hold, price_list_id, input_tokens, output_tokens, units, unit, tier, cost_input, cost_output, cost_total,
      latency_ms, time_to_first_token_ms, error_code, created_at, completed_at)
    select id, account_id, key_id, workload, model, provider, status, streaming, fallback, attempt_count,
           nullif(hold, 0), price_list_id, input_tokens, output_tokens, units, unit, tier, cost_input * 0.000000000001,
           cost_output * 0.000000000001, cost_total * 0.000000000001, latency_ms, time_to_first_token_ms, error_code, created_at,
           to_timestamp(completed_ms / 1000)
    from no_longer_open join settled using (id);

    insert into attempts (generation_id, index, provider, status, started_at, completed_at, upstream_status, error_code)
    select generation_id, index, provider, status, to_timestamp(started_ms / 1000), to_timestamp(completed_ms / 1000),
           upstream_status, error_code
    from json_to_recordset(attempt_rows) as row (
      generation_id uuid, index smallint, provider text, status text, started_ms float8, completed_ms float8,
      upstream_status smallint, error_code text);
  end if;

  if charge_rows is not null then
    insert into ledger_entries (account_id, number, kind, amount, balance_after, generation_id, is_estimated)
    select account_id, number, 'charge', amount * 0.000000000001, balance_after * 0.000000000001, generation_id, is_estimated
    from json_to_recordset(charge_rows) as row (
      account_id uuid, number bigint, amount numeric, balance_after numeric, generation_id uuid, is_estimated boolean);
  end if;

  if write_off_rows is not null then
    insert into write_offs (generation_id, account_id, reason, amount, reported_input_tokens, reported_output_tokens)
    select generation_id, account_id, reason, amount * 0.000000000001, reported_input_tokens, reported_output_tokens
    from json_to_recordset(write_off_rows) as row (
      generation_id uuid, account_id uuid, reason text, amount numeric, reported_input_tokens bigint,
      reported_output_tokens bigint);
  end if;
end $$;
