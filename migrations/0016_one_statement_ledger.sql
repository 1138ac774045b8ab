-- compatible-with: 0015
--
-- A batch of the ledger in one statement. A gateway decides on the accounts and meters as it remembers them; the statement
-- names the versions that the decisions rely on, and changes nothing if one of them is no longer current. So nothing has to
-- be locked and read first, except after such a conflict.

-- Each change of a row gives it a version that it never had before, whoever makes the change: the gateway names one of its
-- own, and everyone else gets a random one.
alter table accounts add column version bigint not null default 0;
alter table api_key_meters add column version bigint not null default 0;

create function random_version() returns bigint language sql volatile as $$
  select (random() * 9e18)::bigint
$$;

create function renew_version() returns trigger language plpgsql as $$
begin
  new.version := random_version();
  return new;
end $$;

create trigger accounts_renew_version before update on accounts
  for each row when (new.version = old.version) execute function renew_version();

create trigger api_key_meters_renew_version before update on api_key_meters
  for each row when (new.version = old.version) execute function renew_version();

-- The limits of a key are read together with its meter, so the version of the meter stands for both.
create function renew_meter_version() returns trigger language plpgsql as $$
begin
  update api_key_meters set version = random_version() where key_id = new.id;
  return null;
end $$;

create trigger api_keys_renew_meter_version after update on api_keys
  for each row execute function renew_meter_version();

create type ledger_account_change as (
  id uuid, version bigint, new_version bigint, balance numeric, held numeric, entry_count bigint);

create type ledger_meter_change as (
  key_id uuid, version bigint, new_version bigint, held numeric, month_spent numeric, theoretical_arrival_ms float8,
  open_count integer);

-- A row that a decision relies on without changing it.
create type ledger_version as (id uuid, version bigint);

-- Everything about a Generation that has ended. It does not need the open row, which a crash of the database may have lost.
create type ledger_settled_row as (
  id uuid, account_id uuid, key_id uuid, workload text, model text, provider text, status text, streaming boolean,
  attempt_count smallint, hold numeric, price_list_id integer, input_tokens bigint, output_tokens bigint, units bigint,
  unit text, tier text, cost_input numeric, cost_output numeric, cost_total numeric, latency_ms integer,
  time_to_first_token_ms integer, error_code text, created_at_ms float8, completed_at_ms float8, entry_number bigint,
  balance_after numeric, is_estimated boolean);

-- What a batch is decided on. With locks, nobody changes it before the end of the transaction: accounts before keys before
-- Generations, each in the order of their IDs, so two nodes never wait for each other.
create function ledger_read(account_ids uuid[], key_ids uuid[], generation_ids uuid[], is_locking boolean) returns json
language plpgsql as $$
declare
  read_accounts json;
  read_meters json;
  read_open json;
begin
  if is_locking then
    perform 1 from accounts where id = any (account_ids) order by id for no key update;
    perform 1 from api_key_meters where key_id = any (key_ids) order by key_id for no key update;
    perform 1 from open_generations where id = any (generation_ids) order by id for update;
  end if;
  select json_agg(row) into read_accounts from (
    select id, version::text, balance::text, held::text, entry_count::text as "entryCount",
           suspended_at is not null as "isSuspended"
    from accounts where id = any (account_ids)
  ) as row;
  select json_agg(row) into read_meters from (
    select key_id as "keyId", version::text, held::text, monthly_limit::text as "monthlyLimit", month,
           month_spent::text as "monthSpent", requests_per_minute as "requestsPerMinute",
           max_concurrent as "maxConcurrent", open_count as "openCount",
           extract(epoch from theoretical_arrival_at)::float8 * 1000 as "theoreticalArrivalMs",
           extract(epoch from revoked_at)::float8 * 1000 as "revokedAtMs",
           extract(epoch from expires_at)::float8 * 1000 as "expiresAtMs"
    from api_key_meters join api_keys on api_keys.id = key_id where key_id = any (key_ids)
  ) as row;
  if generation_ids is not null then
    select json_agg(row) into read_open from (
      select id, hold::text from open_generations where id = any (generation_ids)
    ) as row;
  end if;
  -- The clock is read when the locks are held: time must not seem to run backwards between two batches.
  return json_build_object(
    'accounts', read_accounts,
    'meters', read_meters,
    'open', read_open,
    'nowMs', extract(epoch from clock_timestamp())::float8 * 1000);
end $$;

-- Writes what was decided at `at_ms`, and returns the time. An array without rows is null. `open_count` is how many of the
-- settled Generations are open. Anything that is not as the gateway believed is a serialization failure. The sessions of the
-- ledger do not wait for the disk; with `is_durable`, this commit waits as the server, the database or the role says.
create function ledger_commit(
  at_ms float8, this_month date, account_rows ledger_account_change[], meter_rows ledger_meter_change[],
  relied_accounts ledger_version[], relied_meters ledger_version[], claim_rows ledger_claim_row[],
  opened_rows ledger_opened_row[], settled_rows ledger_settled_row[], open_count integer,
  attempt_rows ledger_attempt_row[], write_off_rows ledger_write_off_row[], answer_rows ledger_answer_row[],
  is_durable boolean
) returns float8 language plpgsql as $$
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
      select *, to_timestamp(completed_at_ms / 1000) as completed_at from unnest(settled_rows)
    ), used as (
      insert into usage_records (id, account_id, key_id, model, input_tokens, output_tokens, units, unit, tier, cost,
        price_list_id, month, billed_at)
      select id, account_id, key_id, model, input_tokens, output_tokens, units, unit, tier, cost_total, price_list_id,
             this_month, completed_at
      from settled where cost_total is not null
    ), charged as (
      insert into ledger_entries (account_id, number, kind, amount, balance_after, generation_id, is_estimated, created_at)
      select account_id, entry_number, 'charge', -cost_total, balance_after, id, is_estimated, at
      from settled where cost_total is not null
    )
    insert into generations (id, account_id, key_id, workload, model, provider, status, streaming, fallback,
      attempt_count, hold, price_list_id, input_tokens, output_tokens, units, unit, tier, cost_input, cost_output,
      cost_total, latency_ms, time_to_first_token_ms, error_code, created_at, completed_at)
    select id, account_id, key_id, workload, model, provider, status, streaming, attempt_count > 1, attempt_count,
           nullif(hold, 0), price_list_id, input_tokens, output_tokens, units, unit, tier, cost_input, cost_output,
           cost_total, latency_ms, time_to_first_token_ms, error_code, to_timestamp(created_at_ms / 1000), completed_at
    from settled;

    insert into attempts (generation_id, index, provider, status, started_at, completed_at, upstream_status, error_code)
    select generation_id, index, provider, status, to_timestamp(started_at_ms / 1000),
           to_timestamp(completed_at_ms / 1000), upstream_status, error_code
    from unnest(attempt_rows);
  end if;

  if write_off_rows is not null then
    insert into write_offs (generation_id, account_id, reason, amount, reported_input_tokens, reported_output_tokens)
    select * from unnest(write_off_rows);
  end if;

  if answer_rows is not null then
    perform ledger_store_answers(answer_rows);
  end if;

  return extract(epoch from at)::float8 * 1000;
end $$;

-- As ledger_find_ended in 0010, and for a Generation of which nothing is known: "isLost". One whose month is archived, or
-- that was dropped after its charge, is not lost.
create function ledger_find_missing(wanted_rows ledger_claim_row[], this_month date) returns table (
  id uuid, "isLost" boolean, "errorCode" text, "isDeadLetter" boolean, "isClaimed" boolean, charged numeric,
  "isThisMonth" boolean
) language plpgsql as $$
begin
  perform 1 from idempotent_requests as request
  join unnest(wanted_rows) as wanted
    on request.key_id = wanted.key_id and request.name_hash = decode(wanted.name, 'hex')
    and request.request_id = wanted.request_id
  order by request.key_id, request.name_hash
  for update of request;
  return query
  select wanted.request_id,
         generations.id is null and usage_records.id is null
           and not exists (select 1 from ledger_archives where first_id_at(ends_on) > wanted.request_id),
         generations.error_code, dead_letters.generation_id is not null,
         wanted.name is null or request.request_id is not null,
         case when usage_records.refunded_at is null then usage_records.cost end,
         coalesce(usage_records.month = this_month, false)
  from unnest(wanted_rows) as wanted
  left join generations on generations.id = wanted.request_id
  left join dead_letters on dead_letters.generation_id = wanted.request_id
  left join idempotent_requests as request
    on request.key_id = wanted.key_id and request.name_hash = decode(wanted.name, 'hex')
    and request.request_id = wanted.request_id
  left join usage_records on usage_records.id = wanted.request_id;
end $$;

-- Removes the record of a Generation that was closed too early, or set aside. It is settled in the same transaction.
create function ledger_discard_ended(of_generation uuid) returns void language plpgsql as $$
begin
  delete from generations where id = of_generation;
  delete from attempts where generation_id = of_generation;
  delete from write_offs where generation_id = of_generation;
  delete from dead_letters where generation_id = of_generation;
end $$;
