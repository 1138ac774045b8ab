-- compatible-with: 0013
-- no transaction
--
-- Does everything that takes long for 0015, which makes the two tables the first partitions of new ones, while requests go
-- on. Each statement can be repeated.

-- References of credits leave the ledger's table, because a unique index cannot span its months. Never archived.
create table if not exists credit_references (
  account_id  uuid not null,
  reference   uuid not null,
  amount      numeric(38,12) not null,
  memo        text,
  primary key (account_id, reference)
);

create or replace function keep_credit_reference() returns trigger language plpgsql as $$
begin
  insert into credit_references (account_id, reference, amount, memo)
  values (new.account_id, new.reference, new.amount, new.memo);
  return null;
end $$;

create or replace trigger ledger_entries_keep_reference after insert on ledger_entries
  for each row when (new.reference is not null) execute function keep_credit_reference();

insert into credit_references (account_id, reference, amount, memo)
select account_id, reference, amount, memo from ledger_entries where reference is not null
on conflict do nothing;

-- The first partitions end with the next month, so that 0015 may follow weeks later. The constraints are named after it.
do $$
declare
  month constant date := date_trunc('month', now() at time zone 'UTC') + interval '1 month';
  ends_at constant timestamptz := (month + interval '1 month') at time zone 'UTC';
  name text;
begin
  for name in
    select conname from pg_constraint
    where conrelid in ('usage_records'::regclass, 'ledger_entries'::regclass) and conname ~ '_to_[0-9]{4}_[0-9]{2}$'
  loop
    execute format('alter table %I drop constraint %I', left(name, -length('_to_YYYY_MM')), name);
  end loop;
  execute format('alter table usage_records add constraint %I check (id < %L) not valid',
    'usage_records_to_' || to_char(month, 'YYYY_MM'), first_id_at(ends_at));
  execute format('alter table ledger_entries add constraint %I check (created_at < %L) not valid',
    'ledger_entries_to_' || to_char(month, 'YYYY_MM'), ends_at);
end $$;

-- Reads all rows without keeping anyone from writing. If a node whose clock was wrong has left rows of a later time, 0015
-- moves them, and reads the table while it is locked.
do $$
declare
  name text;
begin
  for name in
    select conname from pg_constraint
    where conrelid = 'usage_records'::regclass and conname ~ '_to_[0-9]{4}_[0-9]{2}$' and not convalidated
  loop
    execute format('alter table usage_records validate constraint %I', name);
  end loop;
exception when check_violation then null;
end $$;

do $$
declare
  name text;
begin
  for name in
    select conname from pg_constraint
    where conrelid = 'ledger_entries'::regclass and conname ~ '_to_[0-9]{4}_[0-9]{2}$' and not convalidated
  loop
    execute format('alter table ledger_entries validate constraint %I', name);
  end loop;
exception when check_violation then null;
end $$;
