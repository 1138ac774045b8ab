-- The two halves of a ledger transaction (src/ledger/commit.ts): lock and read everything that a batch of holds and
-- settlements touches, and write what was decided. As functions, each is one round trip with plans that are kept.
-- Amounts cross the wire as whole numbers of 1e-12 USD, the unit that the gateway counts in.

-- Accounts before keys before Generations, each in the order of their IDs: two nodes can never wait for each other.
create function lock_for_ledger(account_ids uuid[], key_ids uuid[], generation_ids uuid[]) returns json language plpgsql as $$
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
    select key_id, requests_per_minute,
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

-- Rows travel as JSON, one text for each table, which keeps the number of parameters small whatever the size of the batch.
create function write_to_ledger(
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
      last_used_at = now(), theoretical_arrival_at = to_timestamp(row.theoretical_arrival_ms / 1000)
  from json_to_recordset(meter_rows) as row (
    key_id uuid, held numeric, month_spent numeric, theoretical_arrival_ms float8)
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
      returning id, account_id, key_id, workload, model, streaming, price_list_id, created_at
    ), used as (
      insert into usage_records (id, account_id, key_id, model, input_tokens, output_tokens, units, unit, tier, cost,
        price_list_id, month, billed_at)
      select id, account_id, key_id, model, input_tokens, output_tokens, units, unit, tier, cost_total * 0.000000000001,
             price_list_id, this_month, to_timestamp(completed_ms / 1000)
      from no_longer_open join settled using (id) where cost_total is not null
    )
    insert into generations (id, account_id, key_id, workload, model, provider, status, streaming, fallback,
      attempt_count, price_list_id, input_tokens, output_tokens, units, unit, tier, cost_input, cost_output, cost_total,
      latency_ms, time_to_first_token_ms, error_code, created_at, completed_at)
    select id, account_id, key_id, workload, model, provider, status, streaming, fallback, attempt_count,
           price_list_id, input_tokens, output_tokens, units, unit, tier, cost_input * 0.000000000001,
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
    insert into ledger_entries (account_id, number, kind, amount, balance_after, generation_id)
    select account_id, number, 'charge', amount * 0.000000000001, balance_after * 0.000000000001, generation_id
    from json_to_recordset(charge_rows) as row (
      account_id uuid, number bigint, amount numeric, balance_after numeric, generation_id uuid);
  end if;

  if write_off_rows is not null then
    insert into write_offs (generation_id, account_id, reason, amount)
    select generation_id, account_id, reason, amount * 0.000000000001
    from json_to_recordset(write_off_rows) as row (generation_id uuid, account_id uuid, reason text, amount numeric);
  end if;
end $$;
