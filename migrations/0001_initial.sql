-- The whole ledger of the gateway. Amounts are USD with 12 decimals; IDs are UUIDv7 and so sort by time.
--
-- Tables on the path of every request (open_generations, generations, attempts, ledger_entries, usage_records) carry
-- no foreign keys: each would cost a lookup and a row lock per request. Accounts, keys and price lists are never
-- deleted, and `tollgate ledger audit` checks the references instead.

create table accounts (
  id            uuid primary key,
  name          text not null check (length(name) between 1 and 200),
  suspended_at  timestamptz,
  balance       numeric(38,12) not null default 0,
  held          numeric(38,12) not null default 0,
  entry_count   bigint not null default 0,
  created_at    timestamptz not null default now(),
  constraint accounts_hold_covered check (held >= 0 and balance >= held)
) with (fillfactor = 70);

-- Every movement of a balance, numbered without gaps within its account, with the balance after it.
create table ledger_entries (
  account_id     uuid not null,
  number         bigint not null check (number > 0),
  kind           text not null check (kind in ('credit', 'charge', 'correction')),
  amount         numeric(38,12) not null,
  balance_after  numeric(38,12) not null check (balance_after >= 0),
  generation_id  uuid,
  memo           text check (length(memo) <= 500),
  created_at     timestamptz not null default now(),
  primary key (account_id, number),
  constraint ledger_entries_sign check (
    case kind when 'credit' then amount > 0 when 'charge' then amount <= 0 else amount <> 0 end),
  constraint ledger_entries_source check ((kind = 'charge') = (generation_id is not null))
);

create unique index ledger_entries_one_charge on ledger_entries (generation_id) where generation_id is not null;

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name;
end $$;

create trigger ledger_entries_append_only before update or delete on ledger_entries
  for each row execute function refuse_change();

create trigger ledger_entries_never_emptied before truncate on ledger_entries
  for each statement execute function refuse_change();

-- What the operator lost: usage that a provider did not report, or that a balance did not cover.
create table write_offs (
  generation_id  uuid primary key,
  account_id     uuid not null,
  reason         text not null check (reason in ('usage_missing', 'insufficient_balance', 'interrupted')),
  amount         numeric(38,12) check (amount > 0),
  created_at     timestamptz not null default now()
);

create table api_keys (
  id                   uuid primary key,
  account_id           uuid not null references accounts,
  name                 text not null check (length(name) between 1 and 200),
  hash                 bytea not null unique check (length(hash) = 32),
  hint                 text not null,
  requests_per_minute  integer not null check (requests_per_minute between 1 and 1000000),
  monthly_limit        numeric(38,12) check (monthly_limit >= 0),
  allowed_models       text[],
  expires_at           timestamptz,
  revoked_at           timestamptz,
  created_at           timestamptz not null default now()
);

create index api_keys_by_account on api_keys (account_id, id);

-- What changes with every request of a key lives apart from what describes it, so that the caches of api_keys stay
-- valid under load. theoretical_arrival_at is the state of the request limiter (GCRA).
create table api_key_meters (
  key_id                  uuid primary key references api_keys,
  theoretical_arrival_at  timestamptz not null default 'epoch',
  held                    numeric(38,12) not null default 0 check (held >= 0),
  month                   date not null default 'epoch',
  month_spent             numeric(38,12) not null default 0 check (month_spent >= 0),
  last_used_at            timestamptz
) with (fillfactor = 50);

-- Nodes keep keys in memory for a few seconds; a change drops the copy everywhere at once.
create function announce_key_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('tollgate_keys', encode(new.hash, 'hex'));
  return null;
end $$;

create trigger api_keys_announce after insert or update on api_keys
  for each row execute function announce_key_change();

create function announce_account_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('tollgate_keys', '*');
  return null;
end $$;

create trigger accounts_announce after update of suspended_at on accounts
  for each row when (old.suspended_at is distinct from new.suspended_at)
  execute function announce_account_change();

-- One row for each different price content ever loaded; a Generation names the one it was priced with.
create table price_lists (
  id          integer generated always as identity primary key,
  version     text not null,
  digest      bytea not null unique check (length(digest) = 32),
  content     jsonb not null,
  created_at  timestamptz not null default now()
);

-- Gateway processes. A node that has not been heard of for a while has died, and others take over what it left open.
create table nodes (
  id            uuid primary key,
  name          text not null,
  started_at    timestamptz not null default now(),
  heartbeat_at  timestamptz not null default now(),
  stopped_at    timestamptz
);

-- A Generation from admission until it is settled: its hold is the money reserved for it. The row is deleted in the
-- transaction that writes the final one below, so settling twice finds nothing, and this table stays small.
create table open_generations (
  id             uuid primary key,
  account_id     uuid not null,
  key_id         uuid not null,
  node_id        uuid not null,
  workload       text not null,
  model          text not null,
  provider       text not null,
  streaming      boolean not null,
  hold           numeric(38,12) not null check (hold >= 0),
  price_list_id  integer not null,
  -- The attempts so far; they become rows of their own, once and for all, when the Generation is settled.
  attempts       jsonb not null,
  created_at     timestamptz not null
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

create index open_generations_by_node on open_generations (node_id);

-- Finished Generations are written once and never changed. They are partitioned by ID, that is by time: a lookup by
-- ID reads one partition, and old ones are dropped whole, without a lock on the table.
create table generations (
  id                      uuid not null,
  account_id              uuid not null,
  key_id                  uuid not null,
  workload                text not null,
  model                   text not null,
  provider                text not null,
  status                  text not null check (status in ('completed', 'failed', 'cancelled')),
  streaming               boolean not null,
  fallback                boolean not null,
  attempt_count           smallint not null,
  price_list_id           integer,
  input_tokens            bigint check (input_tokens >= 0),
  output_tokens           bigint check (output_tokens >= 0),
  units                   bigint check (units >= 0),
  unit                    text check (unit in ('tokens', 'images')),
  tier                    text,
  cost_input              numeric(38,12) check (cost_input >= 0),
  cost_output             numeric(38,12) check (cost_output >= 0),
  cost_total              numeric(38,12) check (cost_total >= 0),
  latency_ms              integer not null,
  time_to_first_token_ms  integer,
  error_code              text,
  created_at              timestamptz not null,
  completed_at            timestamptz not null,
  primary key (id),
  constraint generations_completed_is_billed check (status <> 'completed' or (cost_total is not null and error_code is null)),
  constraint generations_failed_says_why check (status <> 'failed' or error_code is not null),
  constraint generations_usage_whole check (num_nulls(input_tokens, output_tokens, units, unit) in (0, 4)),
  constraint generations_cost_whole check (num_nulls(cost_input, cost_output, cost_total) in (0, 3)),
  constraint generations_cost_sums check (cost_total = cost_input + cost_output),
  constraint generations_cost_needs_usage check (cost_total is null or units is not null)
) partition by range (id);

create index generations_by_key on generations (key_id, id);
create index generations_by_key_and_status on generations (key_id, status, id);
create index generations_by_key_and_model on generations (key_id, model, id);
create index generations_by_account on generations (account_id, id);

create table attempts (
  generation_id    uuid not null,
  index            smallint not null check (index > 0),
  provider         text not null,
  status           text not null check (status in ('succeeded', 'failed', 'cancelled')),
  started_at       timestamptz not null,
  completed_at     timestamptz not null,
  upstream_status  smallint,
  error_code       text,
  primary key (generation_id, index)
) partition by range (generation_id);

-- The smallest UUIDv7 that can be made at a time: a boundary between partitions.
create function first_id_at(at timestamptz) returns uuid language sql immutable as $$
  select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

-- Makes the monthly partitions from one day to another. Safe to repeat; the caller lets only one node do it at a time.
-- A partition is made on its own and then attached, which does not get in the way of reading or writing the others.
create function create_partitions(from_day date, to_day date) returns void language plpgsql as $$
declare
  month date := date_trunc('month', from_day::timestamp)::date;
  base text;
  partition text;
begin
  while month <= to_day loop
    foreach base in array array['generations', 'attempts'] loop
      partition := base || '_' || to_char(month, 'YYYY_MM');
      if to_regclass(format('%I', partition)) is null then
        execute format('create table %I (like %I including defaults including constraints)', partition, base);
        execute format('alter table %I attach partition %I for values from (%L) to (%L)', base, partition,
          first_id_at(month::timestamp at time zone 'UTC'),
          first_id_at((month + interval '1 month')::timestamp at time zone 'UTC'));
      end if;
    end loop;
    month := month + interval '1 month';
  end loop;
end $$;

-- One record for each billed Generation, under the same ID. Kept when the Generation is dropped, and enough to say why
-- it cost what it did: the usage, the tier, the price list and the time.
create table usage_records (
  id             uuid primary key,
  account_id     uuid not null,
  key_id         uuid not null,
  model          text not null,
  input_tokens   bigint not null check (input_tokens >= 0),
  output_tokens  bigint not null check (output_tokens >= 0),
  units          bigint not null check (units >= 0),
  unit           text not null check (unit in ('tokens', 'images')),
  tier           text,
  cost           numeric(38,12) not null check (cost >= 0),
  price_list_id  integer not null,
  -- The month whose limit it counted towards, by the database's clock.
  month          date not null,
  billed_at      timestamptz not null
);

create index usage_records_by_account on usage_records (account_id, billed_at, id);

-- Answers kept for retries that carry an Idempotency-Key. Names and bodies are stored as hashes, answers encrypted.
create table idempotent_requests (
  key_id         uuid not null,
  name_hash      bytea not null check (length(name_hash) = 32),
  body_hash      bytea not null check (length(body_hash) = 32),
  request_id     uuid not null,
  node_id        uuid not null,
  answer         bytea,
  created_at     timestamptz not null default now(),
  expires_at     timestamptz not null,
  primary key (key_id, name_hash)
);

create index idempotent_requests_by_expiry on idempotent_requests (expires_at);

-- People who sign in. A user belongs to accounts with a role; operators run the gateway itself.
create table users (
  id              uuid primary key,
  email           text not null unique check (email = lower(email)),
  name            text not null,
  email_verified  boolean not null default false,
  image           text,
  is_operator     boolean not null default false,
  created_at      timestamptz not null default now(),
  updated_at      timestamptz not null default now()
);

create table user_credentials (
  id                   uuid primary key,
  user_id              uuid not null references users on delete cascade,
  provider_id          text not null,
  provider_account_id  text not null,
  password             text,
  created_at           timestamptz not null default now(),
  updated_at           timestamptz not null default now(),
  unique (provider_id, provider_account_id)
);

create index user_credentials_by_user on user_credentials (user_id);

create table memberships (
  user_id     uuid not null references users on delete cascade,
  account_id  uuid not null references accounts,
  role        text not null check (role in ('owner', 'member')),
  created_at  timestamptz not null default now(),
  primary key (user_id, account_id)
);

create index memberships_by_account on memberships (account_id);
