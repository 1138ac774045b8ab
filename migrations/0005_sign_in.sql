-- Sessions of people who sign in to the dashboard, what is needed to do so safely, and to get back in.

-- The cookie holds the token together with a signature that only the gateway can make, so what is stored here is not
-- enough to sign in. A session that is deleted is refused at once, everywhere.
create table sessions (
  id          uuid primary key,
  user_id     uuid not null references users on delete cascade,
  token       text not null unique,
  ip_address  text,
  user_agent  text,
  expires_at  timestamptz not null,
  created_at  timestamptz not null default now(),
  updated_at  timestamptz not null default now()
);

create index sessions_by_user on sessions (user_id);
create index sessions_by_expiry on sessions (expires_at);

-- One-time tokens for choosing a new password, as hashes.
create table verifications (
  id          uuid primary key,
  identifier  text not null,
  value       text not null,
  -- The operator who has seen the link; null when it went out by mail or was made at the command line.
  made_by     uuid references users on delete cascade,
  expires_at  timestamptz not null,
  created_at  timestamptz not null default now(),
  updated_at  timestamptz not null default now()
);

create index verifications_by_identifier on verifications (identifier);
create index verifications_by_value on verifications (value);
create index verifications_by_maker on verifications (made_by) where made_by is not null;
create index verifications_by_expiry on verifications (expires_at);

-- How often something was tried of late, by whom or for whom. `name` is a keyed hash: it says neither address nor e-mail.
create table sign_in_attempts (
  name                    bytea primary key check (length(name) = 32),
  -- The state of the limiter (GCRA), as for the requests of an API key.
  theoretical_arrival_at  timestamptz not null
);

create index sign_in_attempts_by_age on sign_in_attempts (theoretical_arrival_at);

-- Counts an attempt against every one of these limits, or against none of them. Returns for how many seconds it has to
-- wait, 0 when it was counted. Each limit is {name, interval_ms, period_ms}: one attempt an interval, as many at once as
-- have room in the period.
create function take_sign_in_attempt(limits jsonb) returns integer
language plpgsql as $$
declare
  wait_seconds integer := sign_in_wait(limits);
begin
  -- Whoever must wait is told so without a lock, so that a flood does not queue up behind one.
  if wait_seconds > 0 then return wait_seconds; end if;
  -- Locks the rows, always in the same order. One that is not there is made first: it could not be locked, and of many
  -- first attempts at once only one must be the first.
  insert into sign_in_attempts (name, theoretical_arrival_at)
  select decode(item ->> 'name', 'hex'), '-infinity' from jsonb_array_elements(limits) as item order by 1
  on conflict (name) do update set theoretical_arrival_at = sign_in_attempts.theoretical_arrival_at;
  wait_seconds := sign_in_wait(limits);
  if wait_seconds > 0 then return wait_seconds; end if;
  update sign_in_attempts
  set theoretical_arrival_at = greatest(theoretical_arrival_at, clock_timestamp()) + make_interval(secs => interval_ms / 1000.0)
  from jsonb_to_recordset(limits) as item (name text, interval_ms float8)
  where sign_in_attempts.name = decode(item.name, 'hex');
  return 0;
end
$$;

-- How long until every limit has room for one more attempt, in whole seconds.
create function sign_in_wait(limits jsonb) returns integer
language sql volatile as $$
  select greatest(0, ceil(max(
    extract(epoch from theoretical_arrival_at - clock_timestamp()) + (interval_ms - period_ms) / 1000.0)))::integer
  from jsonb_to_recordset(limits) as item (name text, interval_ms float8, period_ms float8)
  left join sign_in_attempts on sign_in_attempts.name = decode(item.name, 'hex')
  where theoretical_arrival_at > clock_timestamp()
$$;

-- Networks from which someone has got in before. Whoever tries again from there is not held up by what strangers try
-- elsewhere. `name` is a keyed hash of both.
create table familiar_networks (
  name     bytea primary key check (length(name) = 32),
  seen_at  timestamptz not null default now()
);

create index familiar_networks_by_age on familiar_networks (seen_at);
