-- compatible-with: 0015
--
-- What providers say they billed, and how that compares with the metered cost.

create table bill_versions (
  provider text not null,
  day date not null,
  version integer not null,
  source text not null check (source in ('costs', 'analytics', 'cost_report', 'file')),
  billed numeric(38,12) not null,
  lines jsonb not null,
  refreshed_at timestamptz,
  first_read_at timestamptz not null default now(),
  last_read_at timestamptz not null default now(),
  primary key (provider, day, version)
);
comment on table bill_versions is
  'What a provider said it billed for a day (UTC). Providers correct their figures for days; a figure that changed is a new '
  'version, and every version is kept.';
comment on column bill_versions.lines is
  'One for each name and meter: {name, is_model, meter, amount, list_amount, quantity}. Empty for a day that cost nothing.';
comment on column bill_versions.refreshed_at is 'Up to when the provider says that its figures are complete.';

create table reconciled_days (
  provider text not null,
  day date not null,
  charged numeric(38,12) not null,
  metered numeric(38,12) not null,
  uncharged numeric(38,12) not null,
  billed numeric(38,12),
  difference numeric(38,12),
  tolerance numeric(38,12) not null,
  is_within boolean,
  is_preliminary boolean not null,
  models jsonb not null,
  explanations jsonb not null,
  compared_at timestamptz not null default now(),
  primary key (provider, day)
);
comment on table reconciled_days is
  'The last comparison of a day''s bill with the metered cost. Never shown to customers. billed is null when the bill was '
  'not read.';
comment on column reconciled_days.uncharged is
  'The part of metered that no customer was charged for.';

create table reconciliation_runs (
  id uuid primary key,
  provider text not null,
  from_day date not null,
  to_day date not null,
  requested_by text,
  started_at timestamptz not null default now(),
  finished_at timestamptz,
  source text,
  days_read integer,
  error text,
  notes text[] not null default '{}'
);
create index reconciliation_runs_by_provider on reconciliation_runs (provider, started_at);
comment on table reconciliation_runs is 'Each attempt to read a provider''s bill and to compare it.';
comment on column reconciliation_runs.requested_by is
  'Who used the command line, as user@host; null when a gateway ran it by itself.';

create table reconciliation_schedule (
  provider text primary key,
  next_at timestamptz not null,
  claimed_until timestamptz
);
comment on table reconciliation_schedule is
  'When gateways read the bill of a provider again. The one that claims it does; a claim that has run out is anybody''s.';

create table decision_calls (
  id uuid primary key,
  model text not null,
  provider text not null,
  ended_at timestamptz not null default now(),
  input_tokens bigint,
  cache_read_tokens bigint,
  cache_write_tokens bigint,
  cache_write_long_tokens bigint,
  output_tokens bigint,
  cost numeric(38,12) check (cost >= 0),
  price_list_id integer not null
);
create index decision_calls_by_time on decision_calls (ended_at);
comment on table decision_calls is
  'Calls to a chat model for a decision, which no customer is charged for. cost is null when the provider reported no usage, '
  'or when the catalogue does not say what it asks.';

create view uncharged_calls as
select account_id, model, provider, ended_at, input_tokens, cost from uncharged_attempts
union all
select null, model, provider, ended_at, input_tokens, cost from decision_calls;
comment on view uncharged_calls is
  'What providers may bill although no customer was charged for it. Decisions belong to no account.';

-- Whoever compares a bill from a shell is in the operators' log.
alter table operator_actions add column provider text;
comment on column operator_actions.provider is 'The ID in the catalogue of the provider that was concerned.';
alter table operator_actions drop constraint operator_actions_action_check;
alter table operator_actions add constraint operator_actions_action_check check (action in (
  'create_account', 'credit_account', 'suspend_account', 'resume_account', 'create_user', 'make_reset_link',
  'sign_user_out', 'make_operator', 'unmake_operator', 'add_member', 'create_key', 'update_key', 'revoke_key',
  'retry_settlements', 'repair_ledger', 'reconcile_bill'));
