-- compatible-with: 0015
--
-- Calls to providers that started before the holds of their requests were committed, and for which nothing was held then.

create table cancelled_calls (
  id uuid primary key,
  account_id uuid not null,
  model text not null,
  provider text not null,
  reason text not null check (reason in ('denied', 'not_committed', 'smaller_hold')),
  ended_at timestamptz not null,
  input_tokens bigint,
  cache_read_tokens bigint,
  cache_write_tokens bigint,
  cache_write_long_tokens bigint,
  output_tokens bigint,
  cost numeric(38,12) check (cost >= 0),
  price_list_id integer not null
);
create index cancelled_calls_by_time on cancelled_calls (ended_at);
comment on table cancelled_calls is
  'Early calls that were cancelled, which a provider may bill although no customer was charged for them. Apart from '
  'uncharged_attempts, because a request without a hold has no Generation. cost is null when the provider reported no usage, '
  'or when the catalogue does not say what it asks.';
comment on column cancelled_calls.id is 'That of the request, and of its Generation if there is one.';
comment on column cancelled_calls.reason is
  'The hold was denied, was not committed in time, or is smaller than was expected; then the provider was called again.';

create or replace view uncharged_calls as
select account_id, model, provider, ended_at, input_tokens, cost from uncharged_attempts
union all
select null, model, provider, ended_at, input_tokens, cost from decision_calls
union all
select account_id, model, provider, ended_at, input_tokens, cost from cancelled_calls;
comment on view uncharged_calls is
  'What providers may bill although no customer was charged for it. Decisions belong to no account.';
