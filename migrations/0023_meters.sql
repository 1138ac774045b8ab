-- compatible-with: 0015
-- no transaction
--
-- Tokens by meter: input that providers read from or wrote to their caches has prices of its own. And what a call costs the
-- operator, which customers never see. Earlier records have no such figures: null means that no cache was involved, or
-- that the cost is unknown.
--
-- One statement at a time, and each can be repeated: whoever needs two of these tables locks them in an order of its own, so
-- a transaction that locked several would run into deadlocks with requests, and would keep them waiting until its end.

alter table generations
  add column if not exists cache_read_tokens bigint,
  add column if not exists cache_write_tokens bigint,
  add column if not exists cache_write_long_tokens bigint,
  add column if not exists cost_cache_read numeric(38,12),
  add column if not exists cost_cache_write numeric(38,12),
  add column if not exists cost_cache_write_long numeric(38,12),
  drop constraint if exists generations_cached_tokens,
  drop constraint if exists generations_cached_cost,
  -- Not validated, which would read every row: the columns are new, so no row can violate them.
  add constraint generations_cached_tokens check (
    num_nulls(cache_read_tokens, cache_write_tokens, cache_write_long_tokens) = 3
    or (cache_read_tokens >= 0 and cache_write_tokens >= 0 and cache_write_long_tokens >= 0
        and input_tokens >= cache_read_tokens + cache_write_tokens + cache_write_long_tokens)) not valid,
  add constraint generations_cached_cost check (
    num_nulls(cost_cache_read, cost_cache_write, cost_cache_write_long) = 3
    or (cost_cache_read >= 0 and cost_cache_write >= 0 and cost_cache_write_long >= 0 and cache_read_tokens is not null
        and cost_input >= cost_cache_read + cost_cache_write + cost_cache_write_long)) not valid;
comment on column generations.cache_read_tokens is
  'Part of input_tokens, like the two below. All three are null when no cache was involved.';
comment on column generations.cost_cache_read is 'Part of cost_input, like the two below.';

alter table usage_records
  add column if not exists cache_read_tokens bigint,
  add column if not exists cache_write_tokens bigint,
  add column if not exists cache_write_long_tokens bigint,
  add column if not exists cache_saved numeric(38,12),
  add column if not exists provider text,
  add column if not exists provider_cost numeric(38,12),
  drop constraint if exists usage_records_cached_tokens,
  drop constraint if exists usage_records_provider_cost,
  add constraint usage_records_cached_tokens check (
    num_nulls(cache_read_tokens, cache_write_tokens, cache_write_long_tokens, cache_saved) = 4
    or (cache_read_tokens >= 0 and cache_write_tokens >= 0 and cache_write_long_tokens >= 0 and cache_saved is not null
        and input_tokens >= cache_read_tokens + cache_write_tokens + cache_write_long_tokens)) not valid,
  add constraint usage_records_provider_cost check (provider_cost >= 0) not valid;
comment on column usage_records.cache_saved is
  'How much less all input cost than without caches; negative if writing cost more than reading saved.';
comment on column usage_records.provider is 'Who served it. Null for records from before this was recorded.';
comment on column usage_records.provider_cost is
  'What the provider asks of the operator, by the same price list. Never shown to customers. Null when it is unknown.';

alter table usage_days
  add column if not exists cache_read_tokens numeric(38,0) not null default 0,
  add column if not exists cache_write_tokens numeric(38,0) not null default 0,
  add column if not exists cache_saved numeric(38,12) not null default 0;
alter table ledger_archive_usage
  add column if not exists cache_read_tokens numeric(38,0) not null default 0,
  add column if not exists cache_write_tokens numeric(38,0) not null default 0,
  add column if not exists cache_saved numeric(38,12) not null default 0,
  add column if not exists provider_cost numeric(38,12) not null default 0;
comment on column ledger_archive_usage.provider_cost is 'The part of margin_days that comes from the entries of an archive.';

alter table usage_progress add column if not exists margin_entry_number bigint;
comment on column usage_progress.margin_entry_number is
  'The same for margin_days. Behind entry_number if the add_up_usage of an earlier version was still running when this one '
  'replaced it: the next call catches up. Null before the first: then usage_days is where margin_days begins.';

-- Sums of usage_days and margin_days, which audits of earlier versions leave as they were.
alter table ledger_checkpoints
  add column if not exists usage_metered_number bigint,
  add column if not exists cache_read_tokens numeric(38,0),
  add column if not exists cache_write_tokens numeric(38,0),
  add column if not exists cache_saved numeric(38,12),
  add column if not exists provider_cost numeric(38,12);
comment on column ledger_checkpoints.usage_metered_number is
  'Where the columns after it were summed up. Not usage_entry_number if the audit was one of an earlier version.';

alter table write_offs add column if not exists reported jsonb;
comment on column write_offs.reported is
  'The counts by the provider''s own names, if they contradict each other. Then the lower reading was charged.';

create table if not exists uncharged_attempts (
  generation_id uuid not null,
  index smallint not null,
  account_id uuid not null,
  model text not null,
  provider text not null,
  ended_at timestamptz not null,
  input_tokens bigint,
  cache_read_tokens bigint,
  cache_write_tokens bigint,
  cache_write_long_tokens bigint,
  output_tokens bigint,
  cost numeric(38,12) check (cost >= 0),
  price_list_id integer not null,
  primary key (generation_id, index)
);
create index if not exists uncharged_attempts_by_time on uncharged_attempts (ended_at);
comment on table uncharged_attempts is
  'Calls that a provider may bill although no customer was charged for them. cost is null when the provider reported no '
  'usage, or when the catalogue does not say what it asks.';

create table if not exists margin_days (
  account_id uuid not null,
  day date not null,
  model text not null,
  provider text not null,
  requests bigint not null,
  revenue numeric(38,12) not null,
  cost numeric(38,12) not null,
  unpriced_requests bigint not null,
  unpriced_revenue numeric(38,12) not null,
  primary key (account_id, day, model, provider)
) with (fillfactor=70);
create index if not exists margin_days_by_day on margin_days (day);
comment on table margin_days is
  'What customers were charged and what providers ask for it, by day (UTC). Added up together with usage_days, and with '
  'the same totals.';
comment on column margin_days.provider is 'Empty for records from before providers were recorded.';
comment on column margin_days.unpriced_requests is 'Those whose cost is unknown. Their revenue is part of revenue.';

create or replace function usage_by_entry(of_account uuid, first_number bigint, last_number bigint)
returns table (day date, model text, key_id uuid, provider text, requests bigint, input_tokens numeric,
  output_tokens numeric, images numeric, cost numeric, cache_read_tokens numeric, cache_write_tokens numeric,
  cache_saved numeric, provider_cost numeric, unpriced_requests bigint, number bigint)
language sql stable as $$
  select (billed_at at time zone 'UTC')::date, used.model, used.key_id, coalesce(used.provider, ''), sign::bigint,
         sign * used.input_tokens::numeric, sign * used.output_tokens::numeric,
         case unit when 'images' then sign * units::numeric else 0 end, sign * used.cost,
         sign * coalesce(used.cache_read_tokens, 0)::numeric,
         sign * coalesce(used.cache_write_tokens + used.cache_write_long_tokens, 0)::numeric,
         sign * coalesce(used.cache_saved, 0), sign * coalesce(used.provider_cost, 0),
         case when used.provider_cost is null then sign::bigint else 0 end, entry.number
  from (
    select number, generation_id, case kind when 'refund' then -1 else 1 end as sign
    from ledger_entries where account_id = of_account and number >= first_number and number <= last_number
    order by number limit last_number - first_number + 1
  ) as entry
  cross join lateral (select * from usage_records where id = entry.generation_id limit 1) as used
$$;
comment on function usage_by_entry is
  'The usage in a range of an account''s entries, one row for each: a charge adds its record, a refund takes it back.';
comment on function usage_of_entries is 'The earlier usage_by_entry, which gateways without meters call.';

create or replace function begin_margins(of_account uuid) returns void language sql as $$
  insert into margin_days (account_id, day, model, provider, requests, revenue, cost, unpriced_requests, unpriced_revenue)
  select account_id, day, model, '', sum(requests), sum(cost), 0, sum(requests), sum(cost)
  from usage_days where account_id = of_account group by account_id, day, model
$$;
comment on function begin_margins is
  'Takes what usage_days has for an account over into margin_days, which has nothing for it yet. The caller has locked its '
  'row of usage_progress.';

create or replace function add_up_usage(of_account uuid, max_entries integer) returns bigint language plpgsql as $$
declare
  done bigint;
  margins_done bigint;
  reached bigint;
begin
  insert into usage_progress (account_id, entry_number) values (of_account, 0) on conflict do nothing;
  select entry_number, margin_entry_number into done, margins_done
  from usage_progress where account_id = of_account for update;
  if margins_done is null then
    perform begin_margins(of_account);
    margins_done := done;
  end if;
  select least(entry_count, done + max_entries) into reached from accounts where id = of_account;
  with used as materialized (
    select * from usage_by_entry(of_account, least(done, margins_done) + 1, reached)
  ), margins as (
    insert into margin_days as days (account_id, day, model, provider, requests, revenue, cost, unpriced_requests,
      unpriced_revenue)
    select of_account, day, model, provider, sum(requests), sum(cost), sum(provider_cost), sum(unpriced_requests),
           sum(cost * abs(unpriced_requests))
    from used where number > margins_done group by day, model, provider
    on conflict (account_id, day, model, provider) do update
    set requests = days.requests + excluded.requests, revenue = days.revenue + excluded.revenue,
        cost = days.cost + excluded.cost, unpriced_requests = days.unpriced_requests + excluded.unpriced_requests,
        unpriced_revenue = days.unpriced_revenue + excluded.unpriced_revenue
  )
  insert into usage_days as days (account_id, day, model, key_id, requests, input_tokens, output_tokens, images, cost,
    cache_read_tokens, cache_write_tokens, cache_saved)
  select of_account, day, model, key_id, sum(requests), sum(input_tokens), sum(output_tokens), sum(images), sum(cost),
         sum(cache_read_tokens), sum(cache_write_tokens), sum(cache_saved)
  from used where number > done group by day, model, key_id
  on conflict (account_id, day, model, key_id) do update
  set requests = days.requests + excluded.requests, input_tokens = days.input_tokens + excluded.input_tokens,
      output_tokens = days.output_tokens + excluded.output_tokens, images = days.images + excluded.images,
      cost = days.cost + excluded.cost, cache_read_tokens = days.cache_read_tokens + excluded.cache_read_tokens,
      cache_write_tokens = days.cache_write_tokens + excluded.cache_write_tokens,
      cache_saved = days.cache_saved + excluded.cache_saved;
  update usage_progress set entry_number = reached, margin_entry_number = reached where account_id = of_account;
  return reached - done;
end $$;
comment on function add_up_usage is
  'Adds the next entries of an account to usage_days and margin_days, and returns how many. A concurrent call waits, then '
  'continues after them.';

-- Accounts that are not used any more. The others may have begun in the meantime, and all of them wait for this statement,
-- but no request does.
do $$ begin
  lock table usage_progress in share row exclusive mode;
  perform begin_margins(account_id) from usage_progress where margin_entry_number is null;
  update usage_progress set margin_entry_number = entry_number where margin_entry_number is null;
end $$;

do $$ begin
  if to_regtype('ledger_metered_row') is null then
    create type ledger_metered_row as (
      generation_id uuid,
      cache_read_tokens bigint,
      cache_write_tokens bigint,
      cache_write_long_tokens bigint,
      cost_cache_read numeric,
      cost_cache_write numeric,
      cost_cache_write_long numeric,
      cache_saved numeric,
      provider_cost numeric,
      reported jsonb
    );
  end if;
end $$;
comment on type ledger_metered_row is
  'What only some of the settled rows have. A separate type, so that gateways without meters keep working.';

do $$ begin
  if to_regtype('ledger_uncharged_row') is null then
    create type ledger_uncharged_row as (
      generation_id uuid,
      index smallint,
      account_id uuid,
      model text,
      provider text,
      ended_at_ms double precision,
      input_tokens bigint,
      cache_read_tokens bigint,
      cache_write_tokens bigint,
      cache_write_long_tokens bigint,
      output_tokens bigint,
      cost numeric,
      price_list_id integer
    );
  end if;
end $$;
comment on type ledger_uncharged_row is 'A row of uncharged_attempts.';

create or replace function ledger_commit(at_ms double precision, this_month date, account_rows ledger_account_change[],
  meter_rows ledger_meter_change[], relied_accounts ledger_version[], relied_meters ledger_version[],
  claim_rows ledger_claim_row[], opened_rows ledger_opened_row[], settled_rows ledger_settled_row[],
  open_count integer, attempt_rows ledger_attempt_row[], write_off_rows ledger_write_off_row[],
  answer_rows ledger_answer_row[], is_durable boolean, metered_rows ledger_metered_row[],
  uncharged_rows ledger_uncharged_row[])
returns double precision language plpgsql as $$
declare
  affected integer;
  at timestamptz;
  changed uuid;
begin
  if is_durable then
    set local synchronous_commit to default;
  end if;

  -- The rows come in the order of their IDs, and are locked in it.
  update accounts set balance = row.balance, held = row.held, entry_count = row.entry_count, version = row.new_version
  from unnest(account_rows) as row where accounts.id = row.id and accounts.version = row.version;
  get diagnostics affected = row_count;
  if affected < cardinality(account_rows) then
    select row.id into changed from unnest(account_rows) as row
    where not exists (select 1 from accounts where accounts.id = row.id and accounts.version = row.new_version);
    raise serialization_failure using message = 'an account has changed', table = 'accounts', detail = changed;
  end if;

  update api_key_meters
  set held = row.held, month = this_month, month_spent = row.month_spent, open_count = row.open_count,
      last_used_at = now(), theoretical_arrival_at = to_timestamp(row.theoretical_arrival_ms / 1000),
      version = row.new_version
  from unnest(meter_rows) as row where api_key_meters.key_id = row.key_id and api_key_meters.version = row.version;
  get diagnostics affected = row_count;
  if affected < cardinality(meter_rows) then
    select row.key_id into changed from unnest(meter_rows) as row
    where not exists (select 1 from api_key_meters where api_key_meters.key_id = row.key_id and api_key_meters.version = row.new_version);
    raise serialization_failure using message = 'a key has changed', table = 'api_key_meters', detail = changed;
  end if;

  if relied_accounts is not null then
    select count(*) into affected from accounts join unnest(relied_accounts) as row using (id, version);
    if affected < cardinality(relied_accounts) then
      raise serialization_failure using message = 'an account has changed', table = 'accounts';
    end if;
  end if;
  if relied_meters is not null then
    select count(*) into affected
    from api_key_meters join unnest(relied_meters) as row on row.id = key_id and row.version = api_key_meters.version;
    if affected < cardinality(relied_meters) then
      raise serialization_failure using message = 'a key has changed', table = 'api_key_meters';
    end if;
  end if;

  at := clock_timestamp();
  if abs(extract(epoch from at)::float8 * 1000 - at_ms) > 5000 or date_trunc('month', at at time zone 'UTC') <> this_month then
    raise serialization_failure using message = 'the time has changed';
  end if;

  if claim_rows is not null then
    perform ledger_require_claims(claim_rows);
  end if;

  if opened_rows is not null then
    insert into open_generations (id, account_id, key_id, node_id, workload, model, provider, streaming, hold,
      price_list_id, attempts, created_at)
    select id, account_id, key_id, node_id, workload, model, provider, streaming, hold, price_list_id, attempts,
           to_timestamp(created_at_ms / 1000)
    from unnest(opened_rows);
  end if;

  if settled_rows is not null then
    delete from open_generations where id in (select id from unnest(settled_rows));
    get diagnostics affected = row_count;
    if affected <> open_count then
      raise serialization_failure using message = 'a Generation is no longer open', table = 'open_generations';
    end if;

    with settled as materialized (
      select row.*, to_timestamp(completed_at_ms / 1000) as completed_at, cache_read_tokens, cache_write_tokens,
             cache_write_long_tokens, cost_cache_read, cost_cache_write, cost_cache_write_long, cache_saved, provider_cost
      from unnest(settled_rows) as row left join unnest(metered_rows) as metered on metered.generation_id = row.id
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
      select account_id, entry_number, 'charge', -cost_total, balance_after, id, is_estimated, at
      from settled where cost_total is not null
    )
    insert into generations (id, account_id, key_id, workload, model, provider, status, streaming, fallback,
      attempt_count, hold, price_list_id, input_tokens, output_tokens, units, unit, tier, cost_input, cost_output,
      cost_total, latency_ms, time_to_first_token_ms, error_code, created_at, completed_at, cache_read_tokens,
      cache_write_tokens, cache_write_long_tokens, cost_cache_read, cost_cache_write, cost_cache_write_long)
    select id, account_id, key_id, workload, model, provider, status, streaming, attempt_count > 1, attempt_count,
           nullif(hold, 0), price_list_id, input_tokens, output_tokens, units, unit, tier, cost_input, cost_output,
           cost_total, latency_ms, time_to_first_token_ms, error_code, to_timestamp(created_at_ms / 1000), completed_at,
           cache_read_tokens, cache_write_tokens, cache_write_long_tokens, cost_cache_read, cost_cache_write,
           cost_cache_write_long
    from settled;

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
    -- Whatever is known of an attempt already, it must not keep money from being settled.
    on conflict (generation_id, index) do nothing;
  end if;

  if answer_rows is not null then
    perform ledger_store_answers(answer_rows);
  end if;

  return extract(epoch from at)::float8 * 1000;
end $$;
comment on function ledger_commit(double precision, date, ledger_account_change[], ledger_meter_change[],
  ledger_version[], ledger_version[], ledger_claim_row[], ledger_opened_row[], ledger_settled_row[], integer,
  ledger_attempt_row[], ledger_write_off_row[], ledger_answer_row[], boolean, ledger_metered_row[],
  ledger_uncharged_row[]) is
  'Writes a batch that was decided at at_ms on the given versions of rows, and returns the time. If anything '
  'differs from what the gateway assumed, this is a serialization failure and changes nothing. An array '
  'without rows is null; open_count is how many of the settled Generations are open. The sessions of the '
  'ledger do not wait for the disk; with is_durable this commit does.';

-- For gateways without meters.
create or replace function ledger_commit(at_ms double precision, this_month date, account_rows ledger_account_change[],
  meter_rows ledger_meter_change[], relied_accounts ledger_version[], relied_meters ledger_version[],
  claim_rows ledger_claim_row[], opened_rows ledger_opened_row[], settled_rows ledger_settled_row[],
  open_count integer, attempt_rows ledger_attempt_row[], write_off_rows ledger_write_off_row[],
  answer_rows ledger_answer_row[], is_durable boolean)
returns double precision language plpgsql as $$
begin
  return ledger_commit(at_ms, this_month, account_rows, meter_rows, relied_accounts, relied_meters, claim_rows,
    opened_rows, settled_rows, open_count, attempt_rows, write_off_rows, answer_rows, is_durable, null, null);
end $$;
comment on function ledger_commit(double precision, date, ledger_account_change[], ledger_meter_change[],
  ledger_version[], ledger_version[], ledger_claim_row[], ledger_opened_row[], ledger_settled_row[], integer,
  ledger_attempt_row[], ledger_write_off_row[], ledger_answer_row[], boolean) is
  'The earlier ledger_commit, which gateways without meters call.';

create or replace function ledger_refund(of_generation uuid, entry_number bigint, new_balance numeric)
returns void language plpgsql as $$
begin
  update usage_records set refunded_at = now() where id = of_generation and refunded_at is null;
  if not found then
    raise exception 'the charge was refunded before'
      using errcode = 'unique_violation', table = 'usage_records';
  end if;
  insert into ledger_entries (account_id, number, kind, amount, balance_after, generation_id)
  select account_id, entry_number, 'refund', -amount, new_balance, generation_id
  from ledger_entries where generation_id = of_generation and kind = 'charge';
  update generations
  set status = 'failed', error_code = 'billing_consistency_error', input_tokens = null, output_tokens = null, units = null,
      unit = null, tier = null, cost_input = null, cost_output = null, cost_total = null, cache_read_tokens = null,
      cache_write_tokens = null, cache_write_long_tokens = null, cost_cache_read = null, cost_cache_write = null,
      cost_cache_write_long = null
  where id = of_generation;
  insert into write_offs (generation_id, account_id, reason)
  select id, account_id, 'interrupted' from generations where id = of_generation
  on conflict (generation_id) do update set reason = 'interrupted';
end $$;

create or replace function ledger_discard_ended(of_generation uuid) returns void language plpgsql as $$
begin
  delete from generations where id = of_generation;
  delete from attempts where generation_id = of_generation;
  delete from uncharged_attempts where generation_id = of_generation;
  delete from write_offs where generation_id = of_generation;
  delete from dead_letters where generation_id = of_generation;
end $$;

-- All at once, because gateways of earlier versions combine them and need the same columns in each. Whoever waits for one of
-- them may have locked another: this gives up long before the database would end one of the two as a deadlock.
do $$ begin
  perform set_config('lock_timeout', '200ms', true);
  -- Changes nothing, and locks the view whose readers go on to the others.
  alter view generation_details reset (security_barrier);
  create or replace view finished_generations as
  select id, account_id, key_id, created_at, completed_at, status, workload, model, provider, streaming, fallback, latency_ms,
         time_to_first_token_ms, input_tokens, output_tokens, units, unit, cost_input, cost_output, cost_total, error_code,
         cache_read_tokens, cache_write_tokens, cache_write_long_tokens, cost_cache_read, cost_cache_write,
         cost_cache_write_long
  from generations;

  create or replace view unfinished_generations as
  select id, account_id, key_id, created_at, null::timestamptz as completed_at, 'in_progress'::text as status, workload, model,
         provider, streaming, jsonb_array_length(attempts) > 1 as fallback, milliseconds_since(created_at) as latency_ms,
         null::integer as time_to_first_token_ms, null::bigint as input_tokens, null::bigint as output_tokens,
         null::bigint as units, null::text as unit, null::numeric as cost_input, null::numeric as cost_output,
         null::numeric as cost_total, null::text as error_code, null::bigint as cache_read_tokens,
         null::bigint as cache_write_tokens, null::bigint as cache_write_long_tokens, null::numeric as cost_cache_read,
         null::numeric as cost_cache_write, null::numeric as cost_cache_write_long
  from open_generations;

  create or replace view generation_details as
  select generation.id, generation.account_id, generation.key_id, generation.created_at, generation.completed_at,
         generation.status, generation.workload, generation.model, generation.provider, generation.streaming,
         generation.fallback, generation.latency_ms, generation.time_to_first_token_ms, generation.input_tokens,
         generation.output_tokens, generation.units, generation.unit, generation.cost_input,
         generation.cost_output, generation.cost_total, generation.error_code,
         (select jsonb_agg(jsonb_build_object('index', attempt.index, 'provider', attempt.provider, 'status', attempt.status,
            'startedAtMs', extract(epoch from attempt.started_at) * 1000,
            'completedAtMs', extract(epoch from attempt.completed_at) * 1000,
            'upstreamStatus', attempt.upstream_status, 'errorCode', attempt.error_code) order by attempt.index)
          from attempts as attempt where attempt.generation_id = generation.id) as attempts,
         generation.cache_read_tokens, generation.cache_write_tokens, generation.cache_write_long_tokens,
         generation.cost_cache_read, generation.cost_cache_write, generation.cost_cache_write_long
  from finished_generations as generation
  union all
  select generation.id, generation.account_id, generation.key_id, generation.created_at, generation.completed_at,
         generation.status, generation.workload, generation.model, generation.provider, generation.streaming,
         generation.fallback, generation.latency_ms, generation.time_to_first_token_ms, generation.input_tokens,
         generation.output_tokens, generation.units, generation.unit, generation.cost_input,
         generation.cost_output, generation.cost_total, generation.error_code,
         (select attempts from open_generations where open_generations.id = generation.id) as attempts,
         generation.cache_read_tokens, generation.cache_write_tokens, generation.cache_write_long_tokens,
         generation.cost_cache_read, generation.cost_cache_write, generation.cost_cache_write_long
  from unfinished_generations as generation;
end $$;
