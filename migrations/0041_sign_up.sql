-- compatible-with: 0015
--
-- Who signs up verifies the address, where mail is configured, and may get credit to begin with.

alter table users add column must_verify_email boolean not null default false;
comment on column users.must_verify_email is
  'Signed up at a gateway that sends mail: until the address is verified, they can look but change nothing.';

create table email_verifications (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  token_hash bytea not null unique,
  expires_at timestamptz not null,
  created_at timestamptz not null default now()
);
create index email_verifications_by_user on email_verifications (user_id);
create index email_verifications_by_expiry on email_verifications (expires_at);
comment on table email_verifications is
  'One-time links that verify the address of a user, as hashes. Apart from verifications, because these must not set a password.';

create table welcome_grants (
  user_id uuid primary key references users,
  account_id uuid not null references accounts,
  amount numeric(38,12) check (amount > 0),
  expires_at timestamptz,
  refused_for text check (refused_for in ('network', 'day', 'off')),
  networks bytea[],
  decided_at timestamptz,
  created_at timestamptz not null default now(),
  check (num_nonnulls(amount, refused_for) = num_nonnulls(decided_at)),
  check (amount is not null or num_nonnulls(expires_at, networks) = 0)
);
create index welcome_grants_by_account on welcome_grants (account_id);
create index welcome_grants_given on welcome_grants (decided_at) where amount is not null;
comment on table welcome_grants is
  'Credit for those who sign up, once each: not decided yet, given, or refused because enough was given that day.';
comment on column welcome_grants.networks is
  'Keyed hashes of where it was asked for, for as long as they count; emptied later.';
