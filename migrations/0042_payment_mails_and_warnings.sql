-- compatible-with: 0015
--
-- Mails about payments, to people of the account and to operators; early warnings of fraud; what metrics count; cards that
-- are saved without a payment.

create function mail_kind_of(event_type text) returns text language sql immutable as $$
  select case
    when event_type = 'balance.low' then 'low_balance'
    when event_type in ('budget.reached', 'key.used_up') then 'budget'
    when event_type = 'key.expired' then 'key_expiry'
    when event_type in ('payment.succeeded', 'payment.failed', 'payment.refunded', 'payment.disputed') then 'payment'
  end
$$;
comment on function mail_kind_of is 'Which choice of people decides about mails for events of a type. Null for those that are not mailed.';

create function is_mailed_to_operators(event_type text) returns boolean language sql immutable as $$
  select event_type in ('payment.disputed', 'payment.warned')
$$;
comment on function is_mailed_to_operators is 'Whether events of a type are mailed to operators, too.';

alter table mail_choices drop constraint mail_choices_kinds_check,
  add constraint mail_choices_kinds_check check (kinds <@ array['low_balance', 'budget', 'key_expiry', 'payment']);
-- Owners who have chosen could not choose this before.
update mail_choices set kinds = kinds || 'payment'::text
from memberships where memberships.user_id = mail_choices.user_id and memberships.account_id = mail_choices.account_id
  and role = 'owner';

alter table event_mails add column to_operator boolean not null default false;
comment on column event_mails.to_operator is 'Whether the user gets it as an operator, whatever they have chosen as a member.';

create index webhook_endpoints_failing on webhook_endpoints (account_id)
  where failing_since is not null and disabled_at is null;

create table payment_warnings (
  id text primary key,
  order_id uuid not null references payment_orders,
  fraud_type text not null,
  is_actionable boolean not null,
  created_at timestamptz not null default now()
);
create index payment_warnings_by_order on payment_warnings (order_id);
comment on table payment_warnings is
  'Early warnings of fraud, by the provider''s ID: the owner of the card has reported a payment, and may dispute it.';
comment on column payment_warnings.is_actionable is 'Whether the payment was neither refunded nor disputed when the warning was first read.';

create function record_payment_warnings(of_order uuid, warning_rows jsonb, suspends boolean) returns integer
language plpgsql as $$
declare
  is_urgent boolean;
  new_count integer;
begin
  with written as (
    insert into payment_warnings (id, order_id, fraud_type, is_actionable)
    select id, of_order, fraud_type, is_actionable
    from jsonb_to_recordset(warning_rows) as row (id text, fraud_type text, is_actionable boolean)
    on conflict do nothing
    returning is_actionable
  )
  select coalesce(bool_or(is_actionable), false), count(*) into is_urgent, new_count from written;
  -- Once for each warning, so that an operator can let the account go on.
  if is_urgent and suspends then
    update accounts set suspended_at = now()
    where id = (select account_id from payment_orders where id = of_order) and suspended_at is null;
  end if;
  return new_count;
end $$;
comment on function record_payment_warnings is 'Stores warnings that are not known yet, and suspends the account if it should. Returns how many.';

create function tell_payment_warning() returns trigger language plpgsql as $$
begin
  insert into events (type, data)
  select 'payment.warned', jsonb_build_object('account_id', account_id, 'payment_id', new.order_id, 'warning_id', new.id,
    'fraud_type', new.fraud_type, 'is_actionable', new.is_actionable)
  from payment_orders where id = new.order_id;
  return null;
end $$;
comment on function tell_payment_warning is 'Early warnings of fraud are events of the operator.';
create trigger payment_warnings_told after insert on payment_warnings
  for each row execute function tell_payment_warning();

create table card_setups (
  session text primary key,
  account_id uuid not null references accounts,
  customer text not null,
  is_live boolean not null,
  created_by uuid references users,
  created_at timestamptz not null default now(),
  next_look_at timestamptz default now() + interval '1 minute',
  saved_at timestamptz
);
create index card_setups_due on card_setups (next_look_at) where next_look_at is not null;
create index card_setups_by_account on card_setups (account_id);
comment on table card_setups is 'Pages of the provider on which a card can be saved without a payment. Each saves one, once.';
comment on column card_setups.next_look_at is 'When to ask the provider next. Null when nothing can come of it any more.';
