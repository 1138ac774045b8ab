-- compatible-with: 0015
--
-- Limits of accounts, keys and end users, besides the three that are columns of a key. Each is one row, whatever it
-- limits, with a meter of what was used in its window and of what is held. A meter has no reset: a window that is over
-- counts for nothing. All meters of an account are written under the lock of its row.

-- First, and in the order in which batches lock them.
alter table accounts add column limit_version integer not null default 0;
comment on column accounts.limit_version is
  'Grows when the account gets a limit or loses one, at least to the current second, so that it never repeats, not even after a failover that lost a change. 0 if it never had any. Gateways remember limits by it.';
alter table open_generations add column limits jsonb;
comment on column open_generations.limits is 'Which limits it counts towards, as the gateway that admitted it wrote them. Null if none.';

create table limits (
  id uuid primary key,
  account_id uuid not null references accounts,
  scope text not null check (scope in ('account', 'key', 'end_user', 'each_end_user')),
  key_id uuid references api_keys,
  end_user text,
  kind text not null check (kind in ('spend_per_day', 'spend_per_week', 'spend_per_month', 'requests_per_minute',
    'tokens_per_minute', 'concurrent_requests')),
  amount numeric(38,12) not null check (amount >= 0),
  increase numeric(38,12) check (increase > 0),
  increase_until timestamptz,
  is_operators boolean not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check ((scope = 'key') = (key_id is not null)),
  check ((scope = 'end_user') = (end_user is not null)),
  check ((increase is null) = (increase_until is null))
);
create unique index limits_once on limits (account_id, scope, kind, is_operators, coalesce(key_id::text, end_user, ''));
create index limits_by_key on limits (key_id) where key_id is not null;
create index limits_by_end_user on limits (account_id, end_user) where end_user is not null;
comment on table limits is 'What an account, a key or an end user may use. Several apply at once, and the strictest decides.';
comment on column limits.end_user is 'The one end user that it is for. It replaces what applies to each.';
comment on column limits.amount is 'In USD, requests or tokens.';
comment on column limits.increase is 'What is added to the amount until increase_until.';
comment on column limits.is_operators is 'The operator has set it, so the owners of the account cannot change it.';

create table limit_meters (
  id uuid primary key,
  limit_id uuid not null,
  end_user text,
  window_start timestamp not null default '-infinity',
  used numeric not null default 0,
  held numeric not null default 0
) with (fillfactor = 70);
create index limit_meters_by_limit on limit_meters (limit_id, end_user);
comment on table limit_meters is 'What counts towards a limit: one row, with its ID, or one for each end user.';
comment on column limit_meters.limit_id is 'The limit may be gone: there can be very many meters, which are then removed in parts.';
comment on column limit_meters.id is 'The ID of the limit, or limit_meter_id.';
comment on column limit_meters.window_start is 'The day, week, month or minute, in UTC, in which this was used.';

create function limit_window(kind text, at timestamptz) returns timestamp language sql immutable as $$
  select case kind when 'spend_per_day' then date_trunc('day', at at time zone 'UTC')
    when 'spend_per_week' then date_trunc('week', at at time zone 'UTC')
    when 'spend_per_month' then date_trunc('month', at at time zone 'UTC')
    when 'concurrent_requests' then '-infinity'
    else date_trunc('minute', at at time zone 'UTC') end
$$;
comment on function limit_window is 'When the window of a limit began. Weeks begin on Mondays.';

create function limit_amount(of_limit limits, at timestamptz) returns numeric language sql immutable as $$
  select of_limit.amount + case when of_limit.increase_until > at then of_limit.increase else 0 end
$$;
comment on function limit_amount is 'The amount of a limit with its temporary increase.';

create function limit_meter_id(of_limit uuid, of_end_user text) returns uuid language sql immutable as $$
  select encode(substr(sha256(convert_to(of_limit::text || of_end_user, 'UTF8')), 1, 16), 'hex')::uuid
$$;
comment on function limit_meter_id is 'The ID of the meter of an end user, so that a gateway need not look it up.';

create type ledger_limit_delta as (
  id uuid,
  limit_id uuid,
  end_user text,
  used numeric,
  held numeric,
  returned numeric,
  returned_ms double precision,
  needed numeric
);
comment on type ledger_limit_delta is
  'What a batch adds to a row of limit_meters. What is returned was used at returned_ms, and counts only if that is in the same window. It is written only if needed is not more than what is left. end_user is null for the only meter of a limit.';

create type ledger_limit_version as (account_id uuid, version integer);
comment on type ledger_limit_version is 'An account whose limits a batch knows, as of this version.';

create type ledger_opened_limits as (generation_id uuid, limits jsonb);
comment on type ledger_opened_limits is 'The limits that an opened Generation counts towards.';

create type ledger_limit_meter as (id uuid, limit_id uuid, end_user text);
comment on type ledger_limit_meter is 'A meter of a limit; end_user is null for the only one.';

drop function ledger_write_batch(double precision, ledger_account_delta[], ledger_key_delta[], ledger_claim_row[],
  ledger_opened_row[], ledger_settled_row[], integer, ledger_attempt_row[], ledger_write_off_row[], ledger_answer_row[],
  ledger_metered_row[], ledger_uncharged_row[], ledger_attribution_row[], boolean, boolean);

-- As before, and with limits. Gateways that do not know them leave these arguments out.
create function ledger_write_batch(at_ms double precision, account_rows ledger_account_delta[],
  key_rows ledger_key_delta[], claim_rows ledger_claim_row[], opened_rows ledger_opened_row[],
  settled_rows ledger_settled_row[], open_count integer, attempt_rows ledger_attempt_row[],
  write_off_rows ledger_write_off_row[], answer_rows ledger_answer_row[], metered_rows ledger_metered_row[],
  uncharged_rows ledger_uncharged_row[], attribution_rows ledger_attribution_row[], has_arrivals boolean,
  is_durable boolean, limit_rows ledger_limit_delta[] default null, limit_versions ledger_limit_version[] default null,
  opened_limits ledger_opened_limits[] default null)
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
      price_list_id, attempts, created_at)
    select id, account_id, key_id, node_id, workload, model, provider, streaming, hold, price_list_id, attempts,
           to_timestamp(created_at_ms / 1000)
    from unnest(opened_rows);
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
      select account_id, accounts.entry_count + entry_number, 'charge', -cost_total, accounts.balance + balance_after,
             settled.id, is_estimated, at
      from settled join accounts on accounts.id = account_id where cost_total is not null
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
  'Writes a batch. If requests were admitted (has_arrivals), it returns what is left for their keys, a comma between them: the key, its account, what is free of the balance, the theoretical arrival, the rate, how many Generations are open and how many may be, and what is left of the month, if that is limited. If a row is not as the batch needs it, this fails with TG001 and the IDs of such rows, and changes nothing. A batch whose rows are locked has no needs, and says when it was decided (at_ms). Limits that the batch counts towards are returned the same way: the meter, its amount, what is used. A batch without locks admits requests of accounts that have limits only if it knows them, by their version. An array without rows is null; open_count is how many of the settled Generations are open. The sessions of the ledger do not wait for the disk; with is_durable this commit does.';

create or replace function ledger_lock_rows(awaited uuid, account_ids uuid[], key_ids uuid[], generation_ids uuid[])
returns json language plpgsql as $$
declare
  free_accounts uuid[];
  free_keys uuid[];
  free_generations uuid[];
  at timestamptz;
  this_month date;
begin
  if awaited is not null then
    perform 1 from accounts where id = awaited for no key update;
    perform 1 from api_key_meters where key_id = awaited for no key update;
    perform 1 from open_generations where id = awaited for update;
  end if;
  free_accounts := array(
    select id from accounts where id = any (account_ids) order by id for no key update skip locked);
  free_keys := array(
    select key_id from api_key_meters where key_id = any (key_ids) order by key_id for no key update skip locked);
  free_generations := array(
    select id from open_generations where id = any (generation_ids) order by id for update skip locked);
  -- The clock is read when the locks are held: time must not seem to run backwards between two batches.
  at := clock_timestamp();
  this_month := date_trunc('month', at at time zone 'UTC');
  return json_build_object(
    'accounts', (
      select json_agg(row) from (
        select id, balance::text, held::text, entry_count::text as "entryCount",
               suspended_at is not null as "isSuspended", limit_version as "limitVersion"
        from accounts where id = any (free_accounts)
      ) as row),
    'keys', (
      select json_agg(row) from (
        select key_id as "keyId", held::text, monthly_limit::text as "monthlyLimit",
               (case when month = this_month then month_spent else 0 end)::text as "monthSpent",
               requests_per_minute as "requestsPerMinute", max_concurrent as "maxConcurrent",
               open_count as "openCount",
               extract(epoch from theoretical_arrival_at)::float8 * 1000 as "theoreticalArrivalMs",
               revoked_at <= at is true as "isRevoked", expires_at <= at is true as "isExpired"
        from api_key_meters join api_keys on api_keys.id = key_id where key_id = any (free_keys)
      ) as row),
    'open', (
      select json_agg(row) from (
        select id, hold::text from open_generations where id = any (free_generations)
      ) as row),
    'locked', (
      select json_agg(row.id) from (
        select id from accounts where id = any (account_ids) and id <> all (free_accounts)
        union all
        select key_id from api_key_meters where key_id = any (key_ids) and key_id <> all (free_keys)
        union all
        select id from open_generations where id = any (generation_ids) and id <> all (free_generations)
      ) as row),
    'nowMs', extract(epoch from at)::float8 * 1000);
end $$;

create function ledger_read_limits(meter_rows ledger_limit_meter[], at_ms double precision)
returns table (id uuid, amount numeric, used numeric, held numeric) language plpgsql as $$
#variable_conflict use_column
declare
  at constant timestamptz := to_timestamp(at_ms / 1000);
begin
  -- Only those who remove old meters do not lock their account first.
  perform 1 from limit_meters where id = any (array(select row.id from unnest(meter_rows) as row)) for no key update;
  return query
  select row.id, limit_amount(limits, at),
         case when window_start >= limit_window(kind, at) then meter.used else 0 end, coalesce(meter.held, 0)
  from unnest(meter_rows) as row join limits on limits.id = row.limit_id left join limit_meters as meter on meter.id = row.id;
end $$;
comment on function ledger_read_limits is
  'What is used and held of limits, of those that still exist. The caller has locked their accounts. An end user may have no meter yet.';

create function return_to_limits() returns trigger language plpgsql as $$
declare
  returned constant numeric := case when old.refunded_at is null and new.refunded_at is not null
    then old.cost - old.refunded else new.refunded - old.refunded end;
  name constant text := (select label from generation_attributions where generation_id = new.id and kind = 'end_user' limit 1);
begin
  update limit_meters as meter set used = greatest(used - returned, 0)
  from (
    select kind, case scope when 'each_end_user' then limit_meter_id(id, name) else id end as meter_id
    from limits
    where account_id = new.account_id and kind like 'spend%'
      and (scope = 'account' or key_id = new.key_id or end_user = name or scope = 'each_end_user' and name is not null)
      -- What was neither spent before it was set nor begun afterwards did not count towards it.
      and (scope in ('account', 'key') and new.billed_at <= created_at or new.id >= first_id_at(created_at))
  ) as counted
  where meter.id = counted.meter_id and meter.window_start = limit_window(counted.kind, new.billed_at);
  return null;
end $$;
comment on function return_to_limits is 'What is refunded no longer counts towards the limits of its window.';

create trigger usage_records_return_to_limits after update of refunded, refunded_at on usage_records for each row
  execute function return_to_limits();

create function spent_since(of_account uuid, of_key uuid, since date) returns numeric language sql stable as $$
  select coalesce(sum(cost), 0) from (
    select day, key_id, cost from usage_days where account_id = of_account
    union all
    select used.day, used.key_id, used.cost
    from accounts left join usage_progress on usage_progress.account_id = accounts.id
      cross join lateral entry_usage(of_account, coalesce(usage_progress.entry_number, 0) + 1, accounts.entry_count) as used
    where accounts.id = of_account
  ) as spent
  where day >= since and (of_key is null or key_id = of_key)
$$;
comment on function spent_since is 'What an account or one of its keys has spent since the beginning of a day, less what was refunded.';
