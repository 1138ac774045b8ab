-- What the operator's pages show and do.

-- What a node knows and no other can: which providers it leaves alone, which prices it uses, and why the catalogue's
-- file as it is now is not in force there. src/routing/node-report.ts has its form.
alter table nodes add column report jsonb;

-- A session is gone when it ends, so when somebody was here last is kept with the person.
alter table users add column last_signed_in_at timestamptz;

create function note_sign_in() returns trigger language plpgsql as $$
begin
  update users set last_signed_in_at = new.created_at where id = new.user_id;
  return null;
end $$;

create trigger sessions_note_sign_in after insert on sessions for each row execute function note_sign_in();

-- A credit that an operator gives carries a reference: sent again, it is the same credit.
alter table ledger_entries add column reference uuid;

create unique index ledger_entries_one_credit on ledger_entries (account_id, reference) where reference is not null;

-- Who did what to whom. Like the ledger it only grows.
create table operator_actions (
  id           uuid primary key,
  operator_id  uuid not null references users,
  action       text not null check (action in (
    'create_account', 'credit_account', 'suspend_account', 'resume_account', 'create_user', 'make_reset_link',
    'sign_user_out', 'make_operator', 'unmake_operator', 'add_member')),
  account_id   uuid references accounts,
  user_id      uuid references users,
  -- What was credited.
  amount       numeric(38,12),
  -- What makes the draft of an account that is sent again the same account.
  reference    uuid unique,
  created_at   timestamptz not null default now()
);

create trigger operator_actions_append_only before update or delete on operator_actions
  for each row execute function refuse_change();

create trigger operator_actions_never_emptied before truncate on operator_actions
  for each statement execute function refuse_change();

-- One round trip, because requests of the account wait while its row is locked, and a client that stops halfway would
-- keep them waiting. Says what came of it: 'credited', 'repeated' when this reference has been credited before,
-- 'different' when it has been, but otherwise, 'missing' without such an account, and 'denied' without such an operator.
create function credit_by_operator(
  by_operator uuid, to_account uuid, credited numeric, with_memo text, with_reference uuid, action_id uuid
) returns text language plpgsql as $$
declare
  earlier ledger_entries;
begin
  perform 1 from users where id = by_operator and is_operator for share;
  if not found then return 'denied'; end if;
  perform 1 from accounts where id = to_account for no key update;
  if not found then return 'missing'; end if;
  select * into earlier from ledger_entries where account_id = to_account and reference = with_reference;
  if found then
    return case when earlier.amount = credited and earlier.memo is not distinct from with_memo then 'repeated' else 'different' end;
  end if;
  with account as (
    update accounts set balance = balance + credited, entry_count = entry_count + 1 where id = to_account
    returning id, balance, entry_count
  )
  insert into ledger_entries (account_id, number, kind, amount, balance_after, memo, reference)
  select id, entry_count, 'credit', credited, balance, with_memo, with_reference from account;
  insert into operator_actions (id, operator_id, action, account_id, amount)
  values (action_id, by_operator, 'credit_account', to_account, credited);
  return 'credited';
end $$;

-- The newest failures are found without reading what succeeded. Few attempts fail, so it costs the others nothing.
create index attempts_failed on attempts (generation_id, index) where status = 'failed';

-- An account and a user as the operator's lists show them.
create view account_overviews as
select id, name, balance, held, suspended_at is not null as is_suspended, created_at,
       (select count(*)::integer from api_keys
        where account_id = accounts.id and coalesce(revoked_at > now(), true) and coalesce(expires_at > now(), true)) as keys_in_force,
       (select count(*)::integer from memberships where account_id = accounts.id) as members,
       (select coalesce(sum(month_spent), 0) from api_keys join api_key_meters on key_id = api_keys.id
        where account_id = accounts.id and month = date_trunc('month', now() at time zone 'UTC'))::numeric(38,12) as month_spent
from accounts;

create view user_overviews as
select id, email, name, email_verified, is_operator, last_signed_in_at, created_at,
       (select count(*)::integer from sessions where user_id = users.id and expires_at > now()) as sessions,
       (select coalesce(json_agg(json_build_object('id', accounts.id, 'name', accounts.name, 'role', role) order by accounts.id), '[]')
        from memberships join accounts on accounts.id = account_id where user_id = users.id) as accounts
from users;
