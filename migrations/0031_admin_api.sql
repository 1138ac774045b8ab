-- compatible-with: 0015
--
-- The admin API: its tokens, their use, and what was answered to requests that may be repeated.

create table admin_tokens (
  id uuid primary key,
  name text not null,
  hash bytea not null unique,
  hint text not null,
  scopes text[] not null check (scopes <@ array['read', 'accounts', 'keys', 'money', 'catalogue'] and cardinality(scopes) > 0),
  networks text[],
  requests_per_minute integer not null check (requests_per_minute > 0),
  created_by uuid references users,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  revoked_at timestamptz
);
comment on table admin_tokens is 'What programs of the operator authenticate with, at the admin API. Only hashes are stored.';
comment on column admin_tokens.networks is 'The only addresses that it can be used from; null for all.';
comment on column admin_tokens.created_by is 'The operator who created it in the dashboard; null at the command line.';

-- Every request changes it, so it is a table of its own: those that name the token need not wait.
create table admin_token_uses (
  token_id uuid primary key references admin_tokens,
  last_used_at timestamptz,
  theoretical_arrival_at timestamptz not null default '-infinity'
);
comment on table admin_token_uses is 'When a token was last used, and how far it is ahead of its rate.';

alter table audit_log add constraint audit_log_actor_token_id_fkey foreign key (actor_token_id) references admin_tokens;

create table admin_requests (
  token_id uuid not null references admin_tokens,
  key_hash bytea not null,
  request_hash bytea not null,
  response bytea,
  created_at timestamptz not null default now(),
  primary key (token_id, key_hash)
);
create index admin_requests_by_time on admin_requests (created_at);
comment on table admin_requests is
  'Requests to the admin API that had an Idempotency-Key, for a day. Each is stored in the transaction of its change, so one '
  'that failed is not here.';
comment on column admin_requests.response is 'Encrypted, because it may hold the secret of a key.';

-- A token invites as well as an owner does.
alter table invitations alter column invited_by drop not null;
alter table invitations add column invited_by_token uuid references admin_tokens;
comment on column invitations.invited_by_token is 'The token of the admin API that made it, in place of an owner.';

create view key_overviews as
select id, account_id, name, hint,
       -- In the order in which the gateway rejects a key: a revoked key must not look as if it had expired.
       case when revoked_at <= now() then 'revoked' when expires_at <= now() then 'expired'
            when revoked_at is null then 'active' else 'replaced' end as state,
       requests_per_minute, max_concurrent, monthly_limit, allowed_models, expires_at, revoked_at, api_keys.created_at,
       last_used_at, held,
       -- A key that was not used this month still has the sum of the month in which it last was.
       case when month = date_trunc('month', now() at time zone 'UTC') then month_spent else 0::numeric(38,12) end as month_spent
from api_keys left join api_key_meters on key_id = id;
comment on view key_overviews is 'A key as lists show it.';
