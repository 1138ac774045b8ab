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

create or replace function publish_events(max_count integer) returns integer language plpgsql as $$
declare
  ids uuid[];
  accounts_told uuid[];
begin
  if not exists (select 1 from events where position is null) then return 0; end if;
  -- One node at a time, until its commit: positions become visible in their order.
  if not pg_try_advisory_xact_lock(7012018020) then return 0; end if;
  insert into event_progress default values on conflict do nothing;
  ids := array(select id from events where position is null order by written limit max_count);
  update events
  set position = progress.position + placed.place, sequence = coalesce(last, 0) + placed.place_of_owner
  from event_progress as progress, (
    select id, row_number() over (order by written) as place,
           row_number() over (partition by account_id order by written) as place_of_owner,
           coalesce(account_id, '00000000-0000-0000-0000-000000000000') as owner_id
    from events where id = any (ids)
  ) as placed left join event_sequences on event_sequences.owner_id = placed.owner_id
  where events.id = placed.id;
  insert into event_sequences as known (owner_id, last)
  select coalesce(account_id, '00000000-0000-0000-0000-000000000000'), count(*) from events where id = any (ids) group by 1
  on conflict (owner_id) do update set last = known.last + excluded.last;
  update event_progress set position = position + cardinality(ids);

  accounts_told := array(select distinct account_id from events where id = any (ids) and account_id is not null);
  -- Whoever finishes with an endpoint looks for what is due while its row is locked, so nothing is overlooked.
  perform 1 from webhook_endpoints
  where disabled_at is null and (account_id is null or account_id = any (accounts_told)) order by id for no key update;
  with sent as (
    insert into webhook_deliveries (endpoint_id, event_id)
    select endpoint.id, event.id
    from events as event join webhook_endpoints as endpoint
      on endpoint.account_id is null or endpoint.account_id = event.account_id
    where event.id = any (ids) and disabled_at is null
      and case when event.type = 'webhook.test' then event.data ->> 'endpoint_id' = endpoint.id::text
               else types is null or event.type = any (types) end
    returning endpoint_id
  )
  update webhook_endpoints set due_at = least(coalesce(due_at, 'infinity'), now()) where id in (select endpoint_id from sent);

  if exists (select 1 from events where id = any (ids) and is_mailed_to_operators(type)) then
    insert into event_mails (event_id, user_id, to_operator)
    select event.id, users.id, true from events as event cross join users
    where event.id = any (ids) and is_mailed_to_operators(event.type) and is_operator;
  end if;
  insert into event_mails (event_id, user_id)
  select event.id, memberships.user_id
  from events as event
  join memberships on memberships.account_id = event.account_id
  left join mail_choices as choice on choice.user_id = memberships.user_id and choice.account_id = event.account_id
  where event.id = any (ids) and mail_kind_of(event.type) is not null
    and (mail_kind_of(event.type) = any (choice.kinds) or (choice.kinds is null and role = 'owner'))
  -- One mail for each person.
  on conflict do nothing;
  return cardinality(ids);
end $$;

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
