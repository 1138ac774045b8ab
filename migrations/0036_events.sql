-- compatible-with: 0015
--
-- Events: what happens to money and access, written in the transaction that causes it; and their delivery to webhooks. The
-- triggers that write them are in 0037, and so is all that takes long: foreign keys keep busy tables locked here.

create function new_event_id() returns uuid language sql volatile as $$
  select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1),
    'hex')::uuid
$$;
comment on function new_event_id is 'A UUIDv7.';

create function event_time(at timestamptz) returns text language sql immutable as $$
  select to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;
comment on function event_time is 'A time as all other responses have it.';

create table events (
  id uuid primary key default new_event_id(),
  written bigint generated always as identity,
  account_id uuid references accounts,
  type text not null check (type ~ '^[a-z_]+\.[a-z_]+$'),
  version smallint not null default 1,
  created_at timestamptz not null default clock_timestamp(),
  data jsonb not null,
  position bigint unique,
  sequence bigint,
  constraint events_published check ((position is null) = (sequence is null))
);
create index events_to_publish on events (written) where position is null;
create index events_of_account on events (account_id, position);
comment on table events is
  'What happened to money and access, for thirty days. Each is written in the transaction that causes it, and published '
  'afterwards by publish_events, so that writers do not wait for one another.';
comment on column events.written is 'The order of the events of an account, whose writers are one after the other.';
comment on column events.account_id is 'Null for what concerns the operator alone.';
comment on column events.version is 'Of the form of data. It never holds a secret.';
comment on column events.position is
  'The order of publication, in which readers go on from where they were. Null until it is published: IDs could not be used, '
  'because transactions do not end in the order in which they began.';
comment on column events.sequence is 'Counts the events of the account, or of the operator, without a gap.';

create table event_sequences (
  owner_id uuid primary key,
  last bigint not null
);
comment on table event_sequences is
  'The last number of an account''s events. The operator''s own have the owner 00000000-0000-0000-0000-000000000000.';

create table event_progress (
  is_only boolean primary key default true check (is_only),
  position bigint not null default 0,
  looked_at timestamptz not null default '-infinity',
  usage_day date not null default (now() at time zone 'UTC')::date - 1
);
comment on table event_progress is 'How far events have been published, and what has been looked at, by whichever node. One row, from the first time on.';
comment on column event_progress.looked_at is 'When a node last looked for causes of events.';
comment on column event_progress.usage_day is 'The last day whose usage was told.';

create table usage_told (
  account_id uuid not null,
  day date not null,
  model text not null,
  requests bigint not null,
  input_tokens numeric(38,0) not null,
  output_tokens numeric(38,0) not null,
  images numeric(38,0) not null,
  cache_read_tokens numeric(38,0) not null,
  cache_write_tokens numeric(38,0) not null,
  cost numeric(38,12) not null,
  primary key (account_id, day, model)
);
comment on table usage_told is
  'What events have said of the usage of a day, for a month. What is charged or refunded for that day later is told as a difference.';

create table event_causes (
  kind text not null,
  subject text not null,
  account_id uuid,
  since timestamptz not null default now(),
  primary key (kind, subject)
);
comment on table event_causes is
  'What has been told and still lasts, such as a balance below its threshold. It is told again only after it has ended.';

create table webhook_endpoints (
  id uuid primary key,
  account_id uuid references accounts,
  url text not null check (length(url) <= 2000),
  description text not null default '' check (length(description) <= 200),
  types text[] check (cardinality(types) > 0),
  secret bytea not null,
  previous_secret bytea,
  previous_until timestamptz,
  created_at timestamptz not null default now(),
  disabled_at timestamptz,
  disabled_because text check (disabled_because in ('owner', 'gone', 'failing')),
  failing_since timestamptz,
  is_prompt boolean not null default false,
  due_at timestamptz,
  claimed_by uuid,
  claimed_until timestamptz,
  constraint webhook_endpoints_disabled check ((disabled_at is null) = (disabled_because is null))
);
create index webhook_endpoints_of_account on webhook_endpoints (account_id);
create index webhook_endpoints_due on webhook_endpoints (is_prompt, (failing_since is not null), due_at)
  where disabled_at is null and due_at is not null;
comment on table webhook_endpoints is 'Where events are sent: to an account''s own systems, or to the operator''s.';
comment on column webhook_endpoints.account_id is 'Gets the events of this account only; null for an endpoint of the operator, which gets all.';
comment on column webhook_endpoints.types is 'The types of events that it gets; null for all.';
comment on column webhook_endpoints.secret is 'Signs what is sent. Encrypted.';
comment on column webhook_endpoints.previous_secret is 'Signs too, until previous_until. Encrypted.';
comment on column webhook_endpoints.failing_since is 'The first failure after the last success; null after a success.';
comment on column webhook_endpoints.is_prompt is
  'Whether its last answer was a quick success. Those that are not, or not known yet, share slots of their own.';
comment on column webhook_endpoints.due_at is 'When a delivery is due next; null when there is none.';
comment on column webhook_endpoints.claimed_by is 'The node that sends its deliveries, until claimed_until. Then another one may.';

create table webhook_deliveries (
  id uuid primary key default new_event_id(),
  endpoint_id uuid not null references webhook_endpoints on delete cascade,
  event_id uuid not null references events on delete cascade,
  created_at timestamptz not null default now(),
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed')),
  attempts integer not null default 0,
  first_attempt_at timestamptz,
  next_at timestamptz default now(),
  attempted_at timestamptz,
  took_ms integer,
  status integer,
  problem text,
  request_head text,
  response_head text,
  unique (endpoint_id, event_id),
  constraint webhook_deliveries_next check ((state = 'pending') = (next_at is not null))
);
create index webhook_deliveries_by_event on webhook_deliveries (event_id);
create index webhook_deliveries_due on webhook_deliveries (endpoint_id, next_at) where state = 'pending';
create index webhook_deliveries_of_endpoint on webhook_deliveries (endpoint_id, id);
comment on table webhook_deliveries is 'Events on their way to endpoints, and what came of the last attempt. They leave with their events.';
comment on column webhook_deliveries.problem is 'Why the last attempt failed, if there was no status: refused, timeout, and so on.';
comment on column webhook_deliveries.request_head is 'The head of the last request, without its signature.';

create table mail_choices (
  user_id uuid not null,
  account_id uuid not null,
  kinds text[] not null check (kinds <@ array['low_balance', 'budget', 'key_expiry']),
  primary key (user_id, account_id),
  foreign key (user_id, account_id) references memberships on delete cascade
);
comment on table mail_choices is
  'Which events of an account a member wants as mails. Without a row, owners get all and others none.';

create table event_mails (
  event_id uuid not null references events on delete cascade,
  user_id uuid not null references users on delete cascade,
  primary key (event_id, user_id)
);
comment on table event_mails is 'Mails about events that are still to be sent. Without a mail server they leave with their events.';

create function publish_events(max_count integer) returns integer language plpgsql as $$
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

  insert into event_mails (event_id, user_id)
  select event.id, memberships.user_id
  from events as event
  join (values ('balance.low', 'low_balance'), ('budget.reached', 'budget'), ('key.used_up', 'budget'),
               ('key.expired', 'key_expiry')) as mailed (type, kind) on mailed.type = event.type
  join memberships on memberships.account_id = event.account_id
  left join mail_choices as choice on choice.user_id = memberships.user_id and choice.account_id = event.account_id
  where event.id = any (ids) and (mailed.kind = any (choice.kinds) or (choice.kinds is null and role = 'owner'));
  return cardinality(ids);
end $$;
comment on function publish_events is
  'Numbers the events that were committed since the last time and passes them to endpoints and, as mails, to people. Returns how many; 0 when another node is at it.';
