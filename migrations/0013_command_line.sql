-- compatible-with: 0011
--
-- What the command line changes is in the operators' log too, and a credit that a script repeats is given once.

-- Done by an operator who is signed in, or from a shell by a user of the system (`user@host`), who may be no user here.
alter table operator_actions alter column operator_id drop not null;
alter table operator_actions add column shell_user text;
alter table operator_actions add column key_id uuid references api_keys;

alter table operator_actions add constraint operator_actions_by_one check (num_nonnulls(operator_id, shell_user) = 1);
alter table operator_actions drop constraint operator_actions_action_check;
alter table operator_actions add constraint operator_actions_action_check check (action in (
  'create_account', 'credit_account', 'suspend_account', 'resume_account', 'create_user', 'make_reset_link',
  'sign_user_out', 'make_operator', 'unmake_operator', 'add_member', 'create_key', 'update_key', 'revoke_key',
  'retry_settlements'));

-- One round trip, for the same reason as credit_by_operator. Returns 'credited', 'repeated' if this reference was credited
-- before with the same amount, 'different' if it was credited with another one, and 'missing' if there is no such account;
-- then the balance, and what was credited before.
create function credit_from_shell(
  by_shell_user text, to_account uuid, credited numeric, with_memo text, with_reference uuid, action_id uuid
) returns table (outcome text, new_balance numeric, earlier_amount numeric) language plpgsql as $$
declare
  current_balance numeric;
  earlier numeric;
begin
  select balance into current_balance from accounts where id = to_account for no key update;
  if not found then return query select 'missing', null::numeric, null::numeric; return; end if;
  select amount into earlier from ledger_entries where account_id = to_account and reference = with_reference;
  if found then
    return query select case when earlier = credited then 'repeated' else 'different' end, current_balance, earlier;
    return;
  end if;
  with account as (
    update accounts set balance = balance + credited, entry_count = entry_count + 1 where id = to_account
    returning id, balance, entry_count
  )
  insert into ledger_entries (account_id, number, kind, amount, balance_after, memo, reference)
  select id, entry_count, 'credit', credited, balance, with_memo, with_reference from account;
  insert into operator_actions (id, shell_user, action, account_id, amount)
  values (action_id, by_shell_user, 'credit_account', to_account, credited);
  return query select 'credited', current_balance + credited, null::numeric;
end $$;
