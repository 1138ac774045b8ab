-- compatible-with: 0015
--
-- One log of every change, with who made it and through which door, in place of the operators' log.

create table audit_log (
  id uuid primary key,
  created_at timestamptz not null default now(),
  door text not null,
  actor_user_id uuid references users,
  actor_token_id uuid,
  actor_shell_user text,
  address text,
  action text not null,
  account_id uuid references accounts,
  object_type text,
  object_id text,
  before jsonb,
  after jsonb,
  -- Each door has its own kind of actor.
  constraint audit_log_actor check (
    (door = 'dashboard' and num_nulls(actor_token_id, actor_shell_user) = 2 and actor_user_id is not null)
    or (door = 'api' and num_nulls(actor_user_id, actor_shell_user) = 2 and actor_token_id is not null)
    or (door = 'cli' and num_nulls(actor_user_id, actor_token_id) = 2 and actor_shell_user is not null)),
  constraint audit_log_object check ((object_type is null) = (object_id is null))
);
create index audit_log_by_account on audit_log (account_id, id);
comment on table audit_log is
  'Who changed what: a user in the dashboard, a token of the admin API, or a user of the system at the command line. Like the '
  'ledger it only grows. It never holds a secret.';
comment on column audit_log.address is 'Where the request came from; null at the command line.';
comment on column audit_log.account_id is 'The account whose owners see the change; null for what concerns none.';
comment on column audit_log.object_id is 'What was changed: an ID, or the name of a provider.';
comment on column audit_log.before is 'The fields that changed, as they were; null for what is new.';
comment on column audit_log.after is 'The same fields as they are now.';

create trigger audit_log_append_only before update or delete on audit_log
  for each row execute function refuse_change();
create trigger audit_log_never_emptied before truncate on audit_log
  for each statement execute function refuse_change();

-- What no request needs to know of an account. Every request changes the row in accounts, so that one stays short.
create table account_details (
  account_id uuid primary key references accounts,
  external_id text unique,
  metadata jsonb not null default '{}',
  reference uuid unique
);
comment on table account_details is
  'What an operator''s own systems know about an account. An account without a row has none of it.';
comment on column account_details.external_id is 'The ID of the account in another system.';
comment on column account_details.reference is
  'Identifies the request for a new account, so that sending it twice creates one account.';

create function copy_operator_action(done operator_actions) returns void language sql as $$
  insert into audit_log (id, created_at, door, actor_user_id, actor_shell_user, action, account_id, object_type, object_id, after)
  select done.id, done.created_at, case when done.operator_id is null then 'cli' else 'dashboard' end, done.operator_id,
         done.shell_user, done.action, done.account_id, concerned.type, concerned.id,
         case when done.amount is not null then jsonb_build_object('amount', done.amount::text) end
  from (values
    (1, 'key', done.key_id::text), (2, 'user', done.user_id::text), (3, 'provider', done.provider),
    (4, 'account', done.account_id::text), (5, null, null)
  ) as concerned (place, type, id)
  where concerned.id is not null or concerned.type is null
  order by place limit 1
  on conflict (id) do nothing;
  insert into account_details (account_id, reference)
  select done.account_id, done.reference where done.account_id is not null and done.reference is not null
  on conflict do nothing;
$$;
comment on function copy_operator_action is 'What a gateway of the version before has written to the operators'' log.';

create function copy_operator_actions() returns trigger language plpgsql as $$
begin
  perform copy_operator_action(new);
  return null;
end $$;
comment on function copy_operator_actions is
  'Gateways of the version before write the operators'' log. One version later, both can be dropped.';
create trigger operator_actions_copied after insert on operator_actions
  for each row execute function copy_operator_actions();

select count(copy_operator_action(operator_actions)) from operator_actions;

comment on table operator_actions is 'Replaced by audit_log. Only gateways of the version before write it.';
