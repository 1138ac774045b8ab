-- What the rest of the public interface needs.

-- The secret that the nodes share when the operator gives none (src/operations/secret.ts). One row at most.
create table gateway_secret (
  only_one    boolean primary key default true check (only_one),
  secret      text not null,
  created_at  timestamptz not null default now()
);

-- A key lists its Generations newest first, the open ones among them.
create index open_generations_by_key on open_generations (key_id, id);

-- With the status in it the index answers both filters at once; for a model alone its three statuses are read in turn.
drop index generations_by_key_and_model;
create index generations_by_key_and_model on generations (key_id, model, status, id);

-- One page of a key's Generations before a position, newest first, all of one snapshot. It costs the same at any depth,
-- for any filter and whatever other keys have done, because every part of it begins in an index where the page begins
-- and ends after row_count rows. Statistics must not talk the planner out of that:
-- * Compared and ordered as rows, the columns of an index can only be read from that index. With a plain "key_id = ..
--   order by id" the primary key may seem the shorter way, past all that other keys have added since.
-- * The settings leave no other plan, and one that is made once for all values.
create function list_generations(of_key uuid, before uuid, of_status text, of_model text, row_count integer)
returns table (
  id uuid, created_at timestamptz, status text, workload text, model text, provider text, latency_ms integer,
  input_tokens bigint, output_tokens bigint, units bigint, unit text,
  cost_input numeric, cost_output numeric, cost_total numeric, fallback boolean, completed_at timestamptz
)
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set enable_incremental_sort = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  lowest constant uuid := '00000000-0000-0000-0000-000000000000';
  statuses constant text[] := case when of_status is null then array['completed', 'failed', 'cancelled'] else array[of_status] end;
begin
  return query
  -- Only one of the three parts of `finished` is ever read. The plain "id < before" lets whole partitions be left out.
  with finished as (
    (select * from generations
     where of_model is null and of_status is null
       and (key_id, id) < (of_key, before) and (key_id, id) >= (of_key, lowest) and id < before
     order by key_id desc, id desc limit row_count)
    union all
    (select * from generations
     where of_model is null and of_status <> 'in_progress'
       and (key_id, status, id) < (of_key, of_status, before) and (key_id, status, id) >= (of_key, of_status, lowest)
       and id < before
     order by key_id desc, status desc, id desc limit row_count)
    union all
    select page.* from unnest(statuses) as one (status) cross join lateral (
      select * from generations
      where of_model is not null
        and (key_id, model, status, id) < (of_key, of_model, one.status, before)
        and (key_id, model, status, id) >= (of_key, of_model, one.status, lowest)
        and id < before
      order by key_id desc, model desc, status desc, id desc limit row_count
    ) as page
  )
  select id, created_at, status, workload, model, provider, latency_ms, input_tokens, output_tokens, units, unit,
         cost_input, cost_output, cost_total, fallback, completed_at
  from finished
  union all
  (select id, created_at, 'in_progress', workload, model, provider,
          floor(extract(epoch from clock_timestamp() - created_at) * 1000)::integer,
          null, null, null, null, null, null, null, jsonb_array_length(attempts) > 1, null
   from open_generations
   where coalesce(of_status, 'in_progress') = 'in_progress' and (of_model is null or model = of_model)
     and (key_id, id) < (of_key, before) and (key_id, id) >= (of_key, lowest)
   order by key_id desc, id desc limit row_count)
  order by id desc limit row_count;
end $$;

-- The newest usage records of an account, read from the index in its order and from nowhere else.
create function recent_usage(of_account uuid, row_count integer) returns setof usage_records
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
begin
  return query
  select * from usage_records where account_id = of_account order by billed_at desc, id desc limit row_count;
end $$;

-- What these Generations were charged, each found by the index that makes it one charge at most.
create function charges_of(generation_ids uuid[]) returns setof ledger_entries
language plpgsql stable
set enable_seqscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
begin
  return query
  select * from ledger_entries where generation_id = any (generation_ids);
end $$;
