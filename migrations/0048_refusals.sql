-- compatible-with: 0015
--
-- Requests that were refused after their key was known. Nothing was called for them and nothing held, so they are no
-- Generations; but whoever sent them asks why.

create table refusals (
  id uuid primary key,
  account_id uuid not null,
  key_id uuid not null,
  api text not null,
  model text,
  code text not null,
  http_status smallint not null,
  param text,
  short_of text check (short_of in ('balance', 'key_month', 'limit')),
  needed text,
  available text,
  fitting_max_tokens bigint,
  retry_after_seconds integer
);
comment on table refusals is
  'Requests that were refused after their key was known, and why. Of a flood only some are stored; all are counted. Removed '
  'after REFUSAL_RETENTION_DAYS. Whom they were for is in generation_attributions.';
comment on column refusals.id is 'That of the request. Its time is when the request arrived.';
comment on column refusals.model is 'As it was asked for, cut off at 200 characters; null when the request did not get that far.';
comment on column refusals.param is 'Which parameter was wrong, cut off at 200 characters.';
comment on column refusals.short_of is 'What did not cover the request: the balance, the month of the key, or another limit.';
comment on column refusals.needed is 'In USD for money and limits of spend, otherwise requests or tokens; so is available.';
comment on column refusals.fitting_max_tokens is 'How many output tokens would have fitted; null when none, or where there are no tokens.';

create index refusals_by_account on refusals (account_id, id);
-- Where nulls would be matters to the planner: only this index has the order of its range (src/requests/list-query.ts).
create index refusals_by_account_and_code on refusals (account_id nulls first, code, id);
create index refusals_by_key on refusals (key_id, id);
create index refusals_by_code on refusals (code, id);

create view counted_refusals as
select id, account_id, key_id, coalesce(model, '') as model, ''::text as provider, 'refused'::text as status, code as error_code,
       api, null::boolean as streaming, null::boolean as fallback, null::integer as latency_ms, 0::bigint as input_tokens,
       0::bigint as output_tokens, 0::numeric(38,12) as cost, null::integer as duration_bucket,
       null::integer as first_token_bucket, null::numeric(38,12) as cost_total
from refusals;
comment on view counted_refusals is 'Refusals with the columns of counted_generations, for figures whose filters are not added up.';

comment on table generation_attributions is
  'Whom a request was for, as it said. Written with the hold, and partitioned and dropped like generations; or with its refusal, '
  'and removed with that. Nothing in the ledger depends on it.';

create table refusal_flushes (
  node_id uuid primary key,
  number bigint not null,
  stored_at timestamptz not null default now()
);
comment on table refusal_flushes is
  'The last refusals that each node has stored: whoever sends the same again after a lost connection stores nothing twice.';

create function store_refusals(of_node uuid, flush_number bigint, refused jsonb, counts jsonb) returns boolean
language plpgsql
-- Rather sent again than waiting on: the node stops listening after a few seconds, but its connection would stay occupied.
set lock_timeout = '2s'
as $$
begin
  -- Waits for the same flush on a connection that was lost.
  insert into refusal_flushes (node_id, number) values (of_node, flush_number)
  on conflict (node_id) do update set number = excluded.number, stored_at = now()
    where refusal_flushes.number < excluded.number;
  if not found then
    return false;
  end if;
  insert into refusals (id, account_id, key_id, api, model, code, http_status, param, short_of, needed, available,
    fitting_max_tokens, retry_after_seconds)
  select id, account_id, key_id, api, model, code, http_status, param, short_of, needed, available,
         fitting_max_tokens, retry_after_seconds
  from jsonb_populate_recordset(null::refusals, refused)
  on conflict do nothing;
  insert into generation_attributions (generation_id, account_id, kind, label)
  select (row ->> 'id')::uuid, (row ->> 'account_id')::uuid, label ->> 0, label ->> 1
  from jsonb_array_elements(refused) as row, jsonb_array_elements(row -> 'labels') as label
  on conflict do nothing;
  perform count_refusals(counts);
  return true;
end
$$;
comment on function store_refusals is
  'Stores what a node has refused since its last flush. False if it was stored before.';
