-- compatible-with: 0015
--
-- Batches are written as what they add to rows, so a gateway need not know a row to change it. Gateways of 0.2 go on
-- calling ledger_read and ledger_commit, which rely on versions: whatever is written here gives its rows new ones.

-- PostgreSQL parses each check of a table again for every statement that writes to it. These took a fifth of its time when
-- batches are small. What they said of Generations and usage is for the audit to find; attempts are what the gateway says,
-- and names are checked where they are given. Those that guard money stay.
-- In the order in which batches lock them.
alter table accounts drop constraint accounts_name_check;
alter table api_key_meters drop constraint api_key_meters_month_spent_check,
  drop constraint api_key_meters_open_count_check;
alter table generations drop constraint generations_cached_cost, drop constraint generations_cached_tokens,
  drop constraint generations_completed_is_billed, drop constraint generations_cost_input_check,
  drop constraint generations_cost_needs_usage, drop constraint generations_cost_output_check,
  drop constraint generations_cost_sums, drop constraint generations_cost_total_check,
  drop constraint generations_cost_whole, drop constraint generations_failed_says_why,
  drop constraint generations_hold_check, drop constraint generations_input_tokens_check,
  drop constraint generations_output_tokens_check, drop constraint generations_status_check,
  drop constraint generations_unit_check, drop constraint generations_units_check,
  drop constraint generations_usage_whole;
alter table attempts drop constraint attempts_index_check, drop constraint attempts_status_check;
alter table usage_records drop constraint usage_records_cached_tokens, drop constraint usage_records_input_tokens_check,
  drop constraint usage_records_output_tokens_check, drop constraint usage_records_unit_check,
  drop constraint usage_records_units_check;

create type ledger_account_delta as (
  id uuid,
  balance numeric,
  held numeric,
  entry_count bigint,
  is_admitting boolean,
  free numeric
);
comment on type ledger_account_delta is
  'What a batch adds to a row of accounts. It is written only if free is not more than what nobody holds of the balance, and, with is_admitting, if the account is not suspended.';

create type ledger_key_delta as (
  key_id uuid,
  held numeric,
  month_spent numeric,
  open_count integer,
  arrivals integer,
  is_admitting boolean,
  "left" numeric,
  open integer
);
comment on type ledger_key_delta is
  'What a batch adds to a row of api_key_meters, and how many requests count towards the rate of the key. With is_admitting it is written only if the key is in force and within its rate, if left is not more than what is left of the month, and if open more Generations are allowed at once.';

create function ledger_write_batch(at_ms double precision, account_rows ledger_account_delta[],
  key_rows ledger_key_delta[], claim_rows ledger_claim_row[], opened_rows ledger_opened_row[],
  settled_rows ledger_settled_row[], open_count integer, attempt_rows ledger_attempt_row[],
  write_off_rows ledger_write_off_row[], answer_rows ledger_answer_row[], metered_rows ledger_metered_row[],
  uncharged_rows ledger_uncharged_row[], attribution_rows ledger_attribution_row[], has_arrivals boolean,
  is_durable boolean)
returns json language plpgsql as $$
declare
  is_locked constant boolean := at_ms is not null;
  affected integer;
  unmet text;
  at timestamptz;
  now_ms double precision;
  this_month date;
  admitted text;
begin
  if is_durable then
    set local synchronous_commit to default;
  end if;

  update accounts
  set balance = accounts.balance + row.balance, held = accounts.held + row.held,
      entry_count = accounts.entry_count + row.entry_count, version = random_version()
  from unnest(account_rows) as row
  where accounts.id = row.id and (row.free is null or accounts.balance - accounts.held >= row.free)
    and not (row.is_admitting and suspended_at is not null) and (is_locked or accounts.held + row.held >= 0);
  get diagnostics affected = row_count;
  if affected < cardinality(account_rows) then
    select string_agg(row.id::text, ',') into unmet from unnest(account_rows) as row
    where not exists (select 1 from accounts where id = row.id and xmin = pg_current_xact_id()::xid);
    raise exception 'an account is not as the batch needs it' using errcode = 'TG001', table = 'accounts', detail = unmet;
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

  return case when has_arrivals then json_build_object('admitted', admitted, 'nowMs', now_ms) end;
end $$;
comment on function ledger_write_batch is
  'Writes a batch. If requests were admitted (has_arrivals), it returns what is left for their keys, a comma between them: the key, its account, what is free of the balance, the theoretical arrival, the rate, how many Generations are open and how many may be, and what is left of the month, if that is limited. If a row is not as the batch needs it, this fails with TG001 and the IDs of such rows, and changes nothing. A batch whose rows are locked has no needs, and says when it was decided (at_ms). An array without rows is null; open_count is how many of the settled Generations are open. The sessions of the ledger do not wait for the disk; with is_durable this commit does.';

create function ledger_lock_rows(awaited uuid, account_ids uuid[], key_ids uuid[], generation_ids uuid[])
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
               suspended_at is not null as "isSuspended"
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
comment on function ledger_lock_rows is
  'Locks the rows that a batch is decided on, until the end of the transaction, and returns them. Rows that others have locked are left out and named. The row awaited is waited for before any of them is locked, so nobody waits for this transaction meanwhile.';
