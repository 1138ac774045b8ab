-- compatible-with: 0015
--
-- Statements by month. What the entries of a day come to, so that the statement of a month does not have to read a million
-- of them. usage_days cannot serve: it counts a charge on the day on which its request was billed, and net of refunds,
-- whereas only sums of the entries themselves lead from one balance to the next.

create table statement_days (
  account_id uuid not null,
  day date not null,
  kind text not null,
  category text not null,
  model text not null,
  key_id uuid not null,
  entries bigint not null,
  amount numeric(38,12) not null,
  primary key (account_id, day, kind, category, model, key_id)
) with (fillfactor = 70);
comment on table statement_days is
  'The entries of each account by the day (UTC) on which they were made. They stay when the entries are archived.';
comment on column statement_days.category is 'Of a credit; otherwise empty.';
comment on column statement_days.model is 'Of a charge or a refund; otherwise empty, and the key is the nil UUID.';

create table statement_months (
  account_id uuid not null,
  month date not null,
  closing numeric(38,12) not null,
  last_number bigint not null,
  primary key (account_id, month)
) with (fillfactor = 70);
comment on table statement_months is
  'The balance after the last entry of each month that has any, which is needed when the entries are archived.';

create table statement_progress (
  account_id uuid primary key,
  entry_number bigint not null
) with (fillfactor = 70);
comment on table statement_progress is
  'The last entry of each account that is included in statement_days and statement_months.';

create function entry_statement(of_account uuid, first_number bigint, last_number bigint, from_time timestamptz,
  to_time timestamptz)
returns table (number bigint, day date, kind text, category text, model text, key_id uuid, amount numeric,
  balance_after numeric)
language sql stable as $$
  select entry.number, (entry.created_at at time zone 'UTC')::date, entry.kind,
         case when entry.kind = 'credit' then coalesce((
           select grants.category from grants where grants.account_id = of_account and grants.number = entry.number
         ), 'paid') else '' end,
         coalesce(used.model, ''), coalesce(used.key_id, '00000000-0000-0000-0000-000000000000'), entry.amount,
         entry.balance_after
  from (
    select number, created_at, kind, generation_id, amount, balance_after
    from ledger_entries
    where account_id = of_account and number >= first_number and number <= last_number
      and created_at >= from_time and created_at < to_time
    order by number limit greatest(0, last_number - first_number + 1)
  ) as entry
  left join lateral (
    select usage_records.model, usage_records.key_id from usage_records where id = entry.generation_id limit 1
  ) as used on true
$$;
comment on function entry_statement is
  'What a range of an account''s entries adds to its statement, one row for each. A credit from before the first grant counts as paid.';

create function add_up_statement(of_account uuid, max_entries integer) returns bigint
language plpgsql as $$
declare
  done bigint;
  reached bigint;
begin
  -- What was archived before there were statements is not there to be read.
  insert into statement_progress (account_id, entry_number)
  select of_account, coalesce(max(last_number), 0) from ledger_archive_accounts where account_id = of_account
  on conflict do nothing;
  select entry_number into done from statement_progress where account_id = of_account for update;
  select least(entry_count, done + max_entries) into reached from accounts where id = of_account;
  if reached <= done then return 0; end if;
  with counted as materialized (
    select * from entry_statement(of_account, done + 1, reached, '-infinity', 'infinity')
  ), months as (
    insert into statement_months as months (account_id, month, closing, last_number)
    select of_account, date_trunc('month', day::timestamp)::date, (array_agg(balance_after order by number desc))[1],
           max(number)
    from counted group by 2
    on conflict (account_id, month) do update set closing = excluded.closing, last_number = excluded.last_number
    where excluded.last_number > months.last_number
  )
  insert into statement_days as days (account_id, day, kind, category, model, key_id, entries, amount)
  select of_account, day, kind, category, model, key_id, count(*), sum(amount)
  from counted group by day, kind, category, model, key_id
  on conflict (account_id, day, kind, category, model, key_id) do update
  set entries = days.entries + excluded.entries, amount = days.amount + excluded.amount;
  update statement_progress set entry_number = reached where account_id = of_account;
  return reached - done;
end $$;
comment on function add_up_statement is
  'Adds the next entries of an account to its statement, and returns how many. A concurrent call waits, then continues after them.';

create function balance_before(of_account uuid, at timestamptz) returns numeric
language sql stable as $$
  select coalesce((
    select balance from (
      (select number, balance_after as balance from ledger_entries
       where account_id = of_account and created_at < at and not exists (
         -- Then all entries before are added up.
         select 1 from statement_months where account_id = of_account and month >= (at at time zone 'UTC')::date)
       order by number desc limit 1)
      union all
      (select last_number, closing from statement_months
       where account_id = of_account and month < (at at time zone 'UTC')::date order by month desc limit 1)
      union all
      (select last_number, balance_after from ledger_archive_accounts join ledger_archives on id = archive_id
       where account_id = of_account and ends_on <= (at at time zone 'UTC')::date order by last_number desc limit 1)
    ) as latest
    order by number desc limit 1
  ), 0)
$$;
comment on function balance_before is
  'The balance of an account when a month begins (UTC): after the last entry before it, which may be archived.';
