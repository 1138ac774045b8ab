-- The boundary between src/ledger and the database, typed. Each kind of row that the gateway sends is a type here and a
-- `RowType` in src/ledger/rows.ts, with the same columns in the same order. Arrays of them cost PostgreSQL half of what
-- JSON costs to read. Amounts are decimals on both ways, so nothing here has to know the gateway's unit.
--
-- The functions of 0002, 0004 and 0008 that these replace stay for nodes of the previous version, which may still be
-- running when this is applied.

create type ledger_account_row as (id uuid, balance numeric, held numeric, entry_count bigint);

create type ledger_meter_row as (
  key_id uuid, held numeric, month_spent numeric, theoretical_arrival_ms float8, open_count integer);

create type ledger_opened_row as (
  id uuid, account_id uuid, key_id uuid, node_id uuid, workload text, model text, provider text, streaming boolean,
  hold numeric, price_list_id integer, attempts jsonb, created_at_ms float8);

-- The last three describe the ledger entry of a charge; there is one when there is a cost.
create type ledger_closed_row as (
  id uuid, provider text, status text, attempt_count smallint, input_tokens bigint, output_tokens bigint, units bigint,
  unit text, tier text, cost_input numeric, cost_output numeric, cost_total numeric, latency_ms integer,
  time_to_first_token_ms integer, error_code text, completed_at_ms float8, entry_number bigint, balance_after numeric,
  is_estimated boolean);

create type ledger_attempt_row as (
  generation_id uuid, index smallint, provider text, status text, started_at_ms float8, completed_at_ms float8,
  upstream_status smallint, error_code text);

create type ledger_write_off_row as (
  generation_id uuid, account_id uuid, reason text, amount numeric, reported_input_tokens bigint,
  reported_output_tokens bigint);

-- An idempotent request, by its key and its hashed name, and the Generation that carries it out.
create type ledger_claim_row as (key_id uuid, name text, request_id uuid);

-- `staged` is 'whole' or 'short' for a response that was written before, and null for one that is in `answer`.
create type ledger_answer_row as (key_id uuid, name text, request_id uuid, answer text, staged text);

-- Locks and reads everything that a batch touches. Accounts before keys before Generations, each in the order of their
-- IDs: two nodes can never wait for each other. The names in the JSON are those of the gateway's types.
create function ledger_lock(account_ids uuid[], key_ids uuid[], generation_ids uuid[]) returns json
language plpgsql as $$
declare
  locked_accounts json;
  locked_meters json;
  locked_open json;
  at timestamptz;
  this_month date;
begin
  select json_agg(row) into locked_accounts from (
    select id, balance::text, held::text, entry_count::text as "entryCount", suspended_at is not null as "isSuspended"
    from accounts where id = any (account_ids) order by id for no key update
  ) as row;
  perform 1 from api_key_meters where key_id = any (key_ids) order by key_id for no key update;
  -- The clock is read when the locks are held: time must not seem to run backwards between two batches.
  at := clock_timestamp();
  this_month := date_trunc('month', at at time zone 'UTC');
  select json_agg(row) into locked_meters from (
    select key_id as "keyId", held::text, monthly_limit::text as "monthlyLimit",
           (case when month = this_month then month_spent else 0 end)::text as "monthSpent",
           requests_per_minute as "requestsPerMinute", max_concurrent as "maxConcurrent", open_count as "openCount",
           extract(epoch from theoretical_arrival_at)::float8 * 1000 as "theoreticalArrivalMs",
           coalesce(revoked_at <= at, false) as "isRevoked", coalesce(expires_at <= at, false) as "isExpired"
    from api_key_meters join api_keys on api_keys.id = key_id where key_id = any (key_ids)
  ) as row;
  select json_agg(row) into locked_open from (
    select id, hold::text from open_generations where id = any (generation_ids) order by id for update
  ) as row;
  return json_build_object(
    'accounts', locked_accounts,
    'meters', locked_meters,
    'open', locked_open,
    'nowMs', extract(epoch from at)::float8 * 1000,
    'month', this_month);
end $$;

-- Writes what was decided. An array without rows is null.
create function ledger_write(
  this_month date, account_rows ledger_account_row[], meter_rows ledger_meter_row[], opened_rows ledger_opened_row[],
  closed_rows ledger_closed_row[], attempt_rows ledger_attempt_row[], write_off_rows ledger_write_off_row[]
) returns void language plpgsql as $$
begin
  update accounts set balance = row.balance, held = row.held, entry_count = row.entry_count
  from unnest(account_rows) as row where accounts.id = row.id;

  update api_key_meters
  set held = row.held, month = this_month, month_spent = row.month_spent, open_count = row.open_count,
      last_used_at = now(), theoretical_arrival_at = to_timestamp(row.theoretical_arrival_ms / 1000)
  from unnest(meter_rows) as row where api_key_meters.key_id = row.key_id;

  if opened_rows is not null then
    insert into open_generations (id, account_id, key_id, node_id, workload, model, provider, streaming, hold,
      price_list_id, attempts, created_at)
    select id, account_id, key_id, node_id, workload, model, provider, streaming, hold, price_list_id, attempts,
           to_timestamp(created_at_ms / 1000)
    from unnest(opened_rows);
  end if;

  if closed_rows is not null then
    -- What stays the same from admission on is taken from the row that the settlement closes.
    with settled as materialized (
      select * from unnest(closed_rows)
    ), no_longer_open as (
      delete from open_generations where id in (select id from settled)
      returning id, account_id, key_id, workload, model, streaming, hold, price_list_id, created_at
    ), used as (
      insert into usage_records (id, account_id, key_id, model, input_tokens, output_tokens, units, unit, tier, cost,
        price_list_id, month, billed_at)
      select id, account_id, key_id, model, input_tokens, output_tokens, units, unit, tier, cost_total, price_list_id,
             this_month, to_timestamp(completed_at_ms / 1000)
      from no_longer_open join settled using (id) where cost_total is not null
    ), charged as (
      insert into ledger_entries (account_id, number, kind, amount, balance_after, generation_id, is_estimated)
      select account_id, entry_number, 'charge', -cost_total, balance_after, id, is_estimated
      from no_longer_open join settled using (id) where cost_total is not null
    )
    insert into generations (id, account_id, key_id, workload, model, provider, status, streaming, fallback,
      attempt_count, hold, price_list_id, input_tokens, output_tokens, units, unit, tier, cost_input, cost_output,
      cost_total, latency_ms, time_to_first_token_ms, error_code, created_at, completed_at)
    select id, account_id, key_id, workload, model, provider, status, streaming, attempt_count > 1, attempt_count,
           nullif(hold, 0), price_list_id, input_tokens, output_tokens, units, unit, tier, cost_input, cost_output,
           cost_total, latency_ms, time_to_first_token_ms, error_code, created_at,
           to_timestamp(completed_at_ms / 1000)
    from no_longer_open join settled using (id);

    insert into attempts (generation_id, index, provider, status, started_at, completed_at, upstream_status, error_code)
    select generation_id, index, provider, status, to_timestamp(started_at_ms / 1000),
           to_timestamp(completed_at_ms / 1000), upstream_status, error_code
    from unnest(attempt_rows);
  end if;

  if write_off_rows is not null then
    insert into write_offs (generation_id, account_id, reason, amount, reported_input_tokens, reported_output_tokens)
    select * from unnest(write_off_rows);
  end if;
end $$;

-- How Generations that are to be settled, but are no longer open, have ended: interrupted, because their node seemed
-- dead; set aside; or settled, with what was charged and not refunded. `isClaimed` is false for an idempotent request
-- that another has taken over; a claim that still stands is locked until the end of the transaction. The caller has
-- locked the accounts.
create function ledger_find_ended(wanted_rows ledger_claim_row[], this_month date) returns table (
  id uuid, "errorCode" text, "isDeadLetter" boolean, "isClaimed" boolean, charged numeric, "isThisMonth" boolean
) language plpgsql as $$
begin
  perform 1 from idempotent_requests as request
  join unnest(wanted_rows) as wanted
    on request.key_id = wanted.key_id and request.name_hash = decode(wanted.name, 'hex')
    and request.request_id = wanted.request_id
  order by request.key_id, request.name_hash
  for update of request;
  return query
  select generations.id, generations.error_code, dead_letters.generation_id is not null,
         wanted.name is null or request.request_id is not null, -charge.amount,
         coalesce(usage_records.month = this_month, false)
  from unnest(wanted_rows) as wanted
  join generations on generations.id = wanted.request_id
  left join dead_letters on dead_letters.generation_id = generations.id
  left join idempotent_requests as request
    on request.key_id = wanted.key_id and request.name_hash = decode(wanted.name, 'hex')
    and request.request_id = wanted.request_id
  left join ledger_entries as charge on charge.generation_id = generations.id and charge.kind = 'charge'
    and not exists (
      select 1 from ledger_entries as refund where refund.generation_id = generations.id and refund.kind = 'refund')
  left join usage_records on usage_records.id = charge.generation_id;
end $$;

-- Refunds a charge: its response was withheld, because nobody could know in time that the charge had been committed.
create function ledger_refund(of_generation uuid, entry_number bigint, new_balance numeric) returns void
language plpgsql as $$
begin
  insert into ledger_entries (account_id, number, kind, amount, balance_after, generation_id)
  select account_id, entry_number, 'refund', -amount, new_balance, generation_id
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

-- A request is carried out by whichever node claimed it last. One that was taken over while its node seemed dead must no
-- longer be admitted, so admission asks for the claim and locks it.
create function ledger_require_claims(claim_rows ledger_claim_row[]) returns void language plpgsql as $$
declare
  claimed integer;
begin
  select count(*) into claimed from (
    select 1 from idempotent_requests as request
    join unnest(claim_rows) as row
      on request.key_id = row.key_id and request.name_hash = decode(row.name, 'hex') and request.request_id = row.request_id
    order by request.key_id, request.name_hash
    for update of request
  ) as held;
  if claimed < cardinality(claim_rows) then
    raise exception 'a request was taken over'
      using errcode = 'integrity_constraint_violation', table = 'idempotent_requests';
  end if;
end $$;

-- Stored with the charge: there is never a charge whose response is lost, nor a stored response that was not charged.
create function ledger_store_answers(answer_rows ledger_answer_row[]) returns void language sql as $$
  update idempotent_requests as request
  set answer = case row.staged when 'whole' then request.staged when 'short' then request.staged_when_short
                               else decode(row.answer, 'base64') end,
      staged = null, staged_when_short = null
  from unnest(answer_rows) as row
  where request.key_id = row.key_id and request.name_hash = decode(row.name, 'hex') and request.request_id = row.request_id
$$;
