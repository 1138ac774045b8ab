-- compatible-with: 0015
-- no transaction
--
-- Webhooks: how fast each may be sent to, replays that become deliveries little by little, and what an operator has disabled.
-- Mails that are sent until a mail server has taken them. One statement at a time, and each can be repeated.

alter table webhook_endpoints
  add column if not exists rest_until timestamptz,
  drop constraint if exists webhook_endpoints_disabled_because_check,
  add constraint webhook_endpoints_disabled_because_check check (disabled_because in ('owner', 'operator', 'gone', 'failing'));
comment on column webhook_endpoints.rest_until is
  'Nothing is sent before, whatever is due: so that it does not get too much, because it fails, or because it asked for that.';

drop index if exists webhook_endpoints_due;
create index concurrently webhook_endpoints_working_due on webhook_endpoints (is_prompt, due_at)
  where disabled_at is null and failing_since is null and due_at is not null;
create index concurrently webhook_endpoints_failing_due on webhook_endpoints (due_at)
  where disabled_at is null and failing_since is not null and due_at is not null;

create table if not exists webhook_replays (
  endpoint_id uuid primary key references webhook_endpoints on delete cascade,
  asked_at timestamptz not null default now(),
  from_time timestamptz not null,
  to_time timestamptz not null,
  after_position bigint not null,
  last_position bigint not null
);
comment on table webhook_replays is
  'The last time of each endpoint whose events are to be sent again. They become deliveries a few at a time, in the turns of the endpoint.';
comment on column webhook_replays.after_position is 'Up to here they have become deliveries. At last_position it is over.';

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
    insert into webhook_deliveries (endpoint_id, event_id, next_at)
    select endpoint.id, event.id, now() + dense_rank() over (order by event.position) * interval '1 microsecond'
    from events as event join webhook_endpoints as endpoint
      on endpoint.account_id is null or endpoint.account_id = event.account_id
    where event.id = any (ids) and disabled_at is null
      and case when event.type = 'webhook.test' then event.data ->> 'endpoint_id' = endpoint.id::text
               else types is null or event.type = any (types) end
    returning endpoint_id
  )
  update webhook_endpoints set due_at = greatest(least(due_at, now()), rest_until) where id in (select endpoint_id from sent);

  if exists (select 1 from events where id = any (ids) and is_mailed_to_operators(type)) then
    insert into event_mails (event_id, user_id, to_operator)
    select event.id, users.id, true from events as event cross join users
    where event.id = any (ids) and is_mailed_to_operators(event.type) and is_operator;
  end if;
  insert into event_mails (event_id, user_id)
  select event.id, recipient.user_id
  from events as event cross join lateral (
    select memberships.user_id
    from memberships join users on users.id = memberships.user_id
    left join mail_choices as choice on choice.user_id = memberships.user_id and choice.account_id = event.account_id
    -- Whoever signs up, or comes with a link, can enter the address of someone else.
    where memberships.account_id = event.account_id and email_verified
      and (mail_kind_of(event.type) = any (choice.kinds) or (choice.kinds is null and role = 'owner'))
    order by role = 'owner' desc, memberships.user_id limit 20
  ) as recipient
  where event.id = any (ids) and mail_kind_of(event.type) is not null
  -- One mail for each person.
  on conflict do nothing;
  return cardinality(ids);
end $$;

alter table event_mails
  add column if not exists attempts integer not null default 0,
  add column if not exists taken_until timestamptz;
comment on column event_mails.attempts is 'How often it was begun to be sent.';
comment on column event_mails.taken_until is 'Until then a node sends it, or waits before it is tried again. It leaves when a mail server has taken it.';

create table if not exists event_looks (
  is_only boolean primary key default true check (is_only),
  looked_at timestamptz not null default '-infinity'
);
comment on table event_looks is
  'When a node last looked for causes of events. One row, from the first time on. Apart from event_progress, which publishing changes.';
alter table event_progress drop column if exists looked_at;
comment on table event_progress is 'How far events have been published, and which day''s usage was told. One row, from the first time on.';

create index concurrently api_keys_with_monthly_limit on api_keys (id) where monthly_limit is not null;
