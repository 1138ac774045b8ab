-- compatible-with: 0013
--
-- Usage records and ledger entries in months, so that old ones can be archived and dropped whole (tollgate ledger
-- archive), and what audits and archives leave behind.
--
-- Each rule that an index over all rows enforced is still enforced by the database:
-- * One usage record per Generation: usage_records are partitioned by ID, so their primary key spans all months.
-- * One charge per Generation: ledger_write inserts each charge in one statement with the usage record of that ID, and the
--   primary key of that allows one. A trigger that demands this of every other writer, too, would make a request's hold and
--   settlement 6 % more expensive.
-- * One refund per charge: ledger_refund marks the usage record in the same transaction, and rejects one that is marked.
-- * Entry numbers without gaps: a number is the counter of its account plus one, under the lock of the account's row.
--   The index of each month rejects a number twice within the month; the audit checks that numbers have no gaps.
-- * One credit per reference: credit_references (0014) is not partitioned and never archived.

-- In the order in which ledger_write uses them, because it may be running.
lock table usage_records, ledger_entries in access exclusive mode;

-- The tables as they are become the first partitions. Their rows stay where they are and their indexes are used as they
-- are. The constraints of 0014 prove that all rows belong there, so nothing is read while others wait.
do $$
declare
  records_bound constant pg_constraint := one from pg_constraint as one
    where conrelid = 'usage_records'::regclass and conname ~ '_to_[0-9]{4}_[0-9]{2}$';
  entries_bound constant pg_constraint := one from pg_constraint as one
    where conrelid = 'ledger_entries'::regclass and conname ~ '_to_[0-9]{4}_[0-9]{2}$';
  suffix constant text := right(records_bound.conname, length('_to_YYYY_MM'));
  ends_at constant timestamptz := (to_date(right(suffix, 7), 'YYYY_MM') + interval '1 month') at time zone 'UTC';
  old_records constant text := 'usage_records' || suffix;
  old_entries constant text := 'ledger_entries' || suffix;
  definition text;
  function regproc;
  has_rows boolean;
begin
  execute format('alter table usage_records rename to %I', old_records);
  execute format('alter index usage_records_pkey rename to %I', old_records || '_pkey');
  execute format('alter index usage_records_by_account rename to %I', old_records || '_by_account');
  execute format('create table usage_records (like %I including defaults including constraints, primary key (id)) partition by range (id)',
    old_records);
  execute format('alter table usage_records drop constraint %I', records_bound.conname);
  create index usage_records_by_account on usage_records (account_id, billed_at, id);
  create table usage_records_default partition of usage_records default;

  execute format('alter table ledger_entries rename to %I', old_entries);
  execute format('alter index ledger_entries_pkey rename to %I', old_entries || '_pkey');
  execute format('alter index ledger_entries_one_charge rename to %I', old_entries || '_one_charge');
  execute format('alter index ledger_entries_one_refund rename to %I', old_entries || '_one_refund');
  execute format('alter index ledger_entries_one_credit rename to %I', old_entries || '_one_credit');
  execute format('drop trigger ledger_entries_append_only on %I', old_entries);
  execute format('drop trigger ledger_entries_keep_reference on %I', old_entries);
  execute format('create table ledger_entries (like %I including defaults including constraints) partition by range (created_at)',
    old_entries);
  execute format('alter table ledger_entries drop constraint %I', entries_bound.conname);
  -- Read when the account is locked, not when the transaction began: within an account, months follow numbers.
  alter table ledger_entries alter column created_at set default clock_timestamp();
  execute format('alter table %I alter column created_at set default clock_timestamp()', old_entries);
  create table ledger_entries_default partition of ledger_entries default;

  -- These return rows of the tables by their type, for nodes of an earlier version.
  foreach function in array array['recent_usage', 'charges_of']::regproc[] loop
    definition := replace(pg_get_functiondef(function), suffix, '');
    execute format('drop function %s', function::oid::regprocedure);
    execute definition;
  end loop;

  -- Rows of a node whose clock was wrong go to the default partition, from which create_partitions moves them to their
  -- month.
  execute format('select exists (select 1 from %I)', old_records) into has_rows;
  if has_rows then
    if not records_bound.convalidated then
      execute format('with stray as (delete from %I where id >= %L returning *) insert into usage_records select * from stray',
        old_records, first_id_at(ends_at));
    end if;
    execute format('alter table usage_records attach partition %I for values from (minvalue) to (%L)',
      old_records, first_id_at(ends_at));
    execute format('alter table %I drop constraint %I', old_records, records_bound.conname);
  else
    execute format('drop table %I', old_records);
  end if;

  execute format('select exists (select 1 from %I)', old_entries) into has_rows;
  if has_rows then
    if not entries_bound.convalidated then
      execute format('with stray as (delete from %I where created_at >= %L returning *) insert into ledger_entries select * from stray',
        old_entries, ends_at);
    end if;
    execute format('alter table ledger_entries attach partition %I for values from (minvalue) to (%L)',
      old_entries, ends_at);
    execute format('alter table %I drop constraint %I', old_entries, entries_bound.conname);
  else
    execute format('drop table %I', old_entries);
  end if;
end $$;

-- Copied to each partition.
create trigger ledger_entries_append_only before update or delete on ledger_entries
  for each row execute function refuse_change();

create trigger ledger_entries_never_emptied before truncate on ledger_entries
  for each statement execute function refuse_change();

create trigger ledger_entries_keep_reference after insert on ledger_entries
  for each row when (new.reference is not null) execute function keep_credit_reference();

-- What the index of a table without partitions would be, within one of them.
create function index_ledger_partition(partition text) returns void language plpgsql as $$
begin
  execute format('alter table %I add primary key (account_id, number)', partition);
  execute format('create unique index %I on %I (generation_id) where kind = %L', partition || '_one_charge', partition, 'charge');
  execute format('create unique index %I on %I (generation_id) where kind = %L', partition || '_one_refund', partition, 'refund');
  execute format('create unique index %I on %I (account_id, reference) where reference is not null', partition || '_one_credit', partition);
  execute format('create trigger ledger_entries_never_emptied before truncate on %I for each statement execute function refuse_change()', partition);
end $$;

select index_ledger_partition('ledger_entries_default');

-- As in 0008, for usage records and ledger entries, too: those of three months ahead, because every gateway makes more
-- daily. A month that lies within their first partition is made for the others only.
create or replace function create_partitions(from_day date, to_day date) returns void language plpgsql as $$
declare
  month date := date_trunc('month', from_day::timestamp)::date;
  begins_at timestamptz;
  ends_at timestamptz;
  base record;
  partition text;
  has_strays boolean;
begin
  while month <= to_day loop
    begins_at := month::timestamp at time zone 'UTC';
    ends_at := (month + interval '1 month')::timestamp at time zone 'UTC';
    for base in
      select name, key, first_id_at(begins_at)::text as lower, first_id_at(ends_at)::text as upper
      from (values ('generations', 'id'), ('attempts', 'generation_id'), ('usage_records', 'id')) as base (name, key)
      union all
      select 'ledger_entries', 'created_at', begins_at::text, ends_at::text
    loop
      partition := base.name || '_' || to_char(month, 'YYYY_MM');
      continue when to_regclass(format('%I', partition)) is not null or exists (
        select 1 from pg_inherits join pg_class on pg_class.oid = inhrelid
        where inhparent = base.name::regclass and relname ~ ('^' || base.name || '_to_[0-9]{4}_[0-9]{2}$')
          and to_date(right(relname, 7), 'YYYY_MM') >= month);
      execute format('select exists (select 1 from %I where %I >= %L and %I < %L)',
        base.name || '_default', base.key, base.lower, base.key, base.upper) into has_strays;
      -- The others are made a year ahead, for IDs from a node whose clock is wrong.
      continue when base.name in ('usage_records', 'ledger_entries') and month > current_date + 92 and not has_strays;
      execute format('create table %I (like %I including defaults including constraints)', partition, base.name);
      if base.name = 'ledger_entries' then
        perform index_ledger_partition(partition);
        if has_strays then alter table ledger_entries_default disable trigger ledger_entries_append_only; end if;
      end if;
      if has_strays then
        execute format(
          'with stray as (delete from %I where %I >= %L and %I < %L returning *) insert into %I select * from stray',
          base.name || '_default', base.key, base.lower, base.key, base.upper, partition);
      end if;
      if base.name = 'ledger_entries' and has_strays then
        alter table ledger_entries_default enable trigger ledger_entries_append_only;
      end if;
      execute format('alter table %I attach partition %I for values from (%L) to (%L)',
        base.name, partition, base.lower, base.upper);
    end loop;
    month := month + interval '1 month';
  end loop;
end $$;

-- As in 0010. The entries of a batch bear a time of the month that was read under its locks.
create or replace function ledger_write(
  this_month date, account_rows ledger_account_row[], meter_rows ledger_meter_row[], opened_rows ledger_opened_row[],
  closed_rows ledger_closed_row[], attempt_rows ledger_attempt_row[], write_off_rows ledger_write_off_row[]
) returns void language plpgsql as $$
declare
  month_begins_at constant timestamptz := this_month::timestamp at time zone 'UTC';
  month_ends_at constant timestamptz := (this_month + interval '1 month') at time zone 'UTC';
  written_at constant timestamptz := least(greatest(now(), month_begins_at), month_ends_at - interval '1 microsecond');
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
      insert into ledger_entries (account_id, number, kind, amount, balance_after, generation_id, is_estimated, created_at)
      select account_id, entry_number, 'charge', -cost_total, balance_after, id, is_estimated, written_at
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

-- As in 0010, but a usage record is refunded once, in whatever month.
create or replace function ledger_refund(of_generation uuid, entry_number bigint, new_balance numeric) returns void
language plpgsql as $$
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
      unit = null, tier = null, cost_input = null, cost_output = null, cost_total = null
  where id = of_generation;
  insert into write_offs (generation_id, account_id, reason)
  select id, account_id, 'interrupted' from generations where id = of_generation
  on conflict (generation_id) do update set reason = 'interrupted';
end $$;

-- Books a credit under the lock of its account. Returns 'credited'; 'repeated' if this reference was credited before with
-- the same amount, and 'different' if with another one, in whatever month; and 'missing' if there is no such account. Then
-- the balance, and what was credited before.
create function book_credit(to_account uuid, credited numeric, with_memo text, with_reference uuid) returns table (
  outcome text, new_balance numeric, earlier_amount numeric, earlier_memo text
) language plpgsql as $$
declare
  earlier credit_references;
begin
  select balance into new_balance from accounts where id = to_account for no key update;
  if not found then
    outcome := 'missing';
    return next;
    return;
  end if;
  select * into earlier from credit_references where account_id = to_account and reference = with_reference;
  if found then
    earlier_amount := earlier.amount;
    earlier_memo := earlier.memo;
    outcome := case when earlier.amount = credited then 'repeated' else 'different' end;
    return next;
    return;
  end if;
  with account as (
    update accounts set balance = balance + credited, entry_count = entry_count + 1 where id = to_account
    returning id, balance, entry_count
  )
  insert into ledger_entries (account_id, number, kind, amount, balance_after, memo, reference)
  select id, entry_count, 'credit', credited, balance, with_memo, with_reference from account
  returning balance_after into new_balance;
  outcome := 'credited';
  return next;
end $$;

-- As in 0007: the same reference with another memo is 'different', too.
create or replace function credit_by_operator(
  by_operator uuid, to_account uuid, credited numeric, with_memo text, with_reference uuid, action_id uuid
) returns text language plpgsql as $$
declare
  booked record;
begin
  perform 1 from users where id = by_operator and is_operator for share;
  if not found then return 'denied'; end if;
  select * into booked from book_credit(to_account, credited, with_memo, with_reference);
  if booked.outcome = 'credited' then
    insert into operator_actions (id, operator_id, action, account_id, amount)
    values (action_id, by_operator, 'credit_account', to_account, credited);
  end if;
  return case when booked.outcome = 'repeated' and booked.earlier_memo is distinct from with_memo then 'different'
              else booked.outcome end;
end $$;

-- As in 0013.
create or replace function credit_from_shell(
  by_shell_user text, to_account uuid, credited numeric, with_memo text, with_reference uuid, action_id uuid
) returns table (outcome text, new_balance numeric, earlier_amount numeric) language plpgsql as $$
begin
  select booked.outcome, booked.new_balance, booked.earlier_amount into outcome, new_balance, earlier_amount
  from book_credit(to_account, credited, with_memo, with_reference) as booked;
  if outcome = 'credited' then
    insert into operator_actions (id, shell_user, action, account_id, amount)
    values (action_id, by_shell_user, 'credit_account', to_account, credited);
  end if;
  return next;
end $$;

-- As in 0011, but the entries are one range of the index of each month: looked up one by one, each would ask all months.
create or replace function usage_of_entries(of_account uuid, first_number bigint, last_number bigint) returns table (
  day date, model text, key_id uuid, requests bigint, input_tokens numeric, output_tokens numeric, images numeric,
  cost numeric
) language sql stable as $$
  select (billed_at at time zone 'UTC')::date, used.model, used.key_id, sign::bigint, sign * used.input_tokens::numeric,
         sign * used.output_tokens::numeric, case unit when 'images' then sign * units::numeric else 0 end,
         sign * used.cost
  from (
    select generation_id, case kind when 'refund' then -1 else 1 end as sign
    from ledger_entries where account_id = of_account and number >= first_number and number <= last_number
    order by number limit last_number - first_number + 1
  ) as entry
  cross join lateral (select * from usage_records where id = entry.generation_id limit 1) as used
$$;

-- One row per audit, whoever asked for it: how far it is, and what it found. `outcome` is null while it runs, and stays
-- null when its process died. `base_audit_id` is the audit whose checkpoints it went on from; a full audit has none.
create table ledger_audits (
  id             uuid primary key,
  base_audit_id  uuid,
  operator_id    uuid references users,
  started_at     timestamptz not null default clock_timestamp(),
  finished_at    timestamptz,
  steps_done     integer not null default 0,
  step_count     integer not null,
  outcome        text check (outcome in ('sound', 'broken', 'failed')),
  findings       jsonb,
  totals         jsonb
);

create index ledger_audits_by_start on ledger_audits (started_at);

-- Up to which entry an account has been audited without a finding, with its balance there, and its usage by day as it was
-- added up then: the next audit goes on from here.
create table ledger_checkpoints (
  account_id          uuid primary key,
  audit_id            uuid not null,
  entry_number        bigint not null,
  balance             numeric(38,12) not null,
  usage_entry_number  bigint not null,
  requests            numeric(38,0) not null,
  input_tokens        numeric(38,0) not null,
  output_tokens       numeric(38,0) not null,
  images              numeric(38,0) not null,
  cost                numeric(38,12) not null
) with (fillfactor = 70);

-- Months whose entries and usage records are in a file. `digest` is the SHA-256 of that file.
create table ledger_archives (
  id             uuid primary key,
  begins_on      date,
  ends_on        date not null unique,
  file_name      text not null unique,
  digest         bytea not null check (length(digest) = 32),
  size_bytes     bigint not null,
  entry_count    bigint not null,
  record_count   bigint not null,
  archived_at    timestamptz not null default clock_timestamp()
);

-- Where the entries of an account in an archive begin and end: its balance chain goes on after the last one.
create table ledger_archive_accounts (
  archive_id      uuid not null references ledger_archives,
  account_id      uuid not null,
  first_number    bigint not null,
  last_number     bigint not null,
  balance_before  numeric(38,12) not null,
  balance_after   numeric(38,12) not null,
  primary key (account_id, last_number)
);

-- What the entries of an archive were counted as in usage_days.
create table ledger_archive_usage (
  archive_id     uuid not null references ledger_archives,
  account_id     uuid not null,
  day            date not null,
  model          text not null,
  key_id         uuid not null,
  requests       bigint not null,
  input_tokens   numeric(38,0) not null,
  output_tokens  numeric(38,0) not null,
  images         numeric(38,0) not null,
  cost           numeric(38,12) not null,
  primary key (archive_id, account_id, day, model, key_id)
);

select create_partitions(current_date - 31, current_date + 365);
