-- Lists and reports as plain queries over views. Their SQL stands where they are asked (src/generations, src/usage);
-- here are the rows that they share. The indexes in which each list is one range are in 0012.

-- The functions that these queries replace stay for nodes of the previous version, which may still be running.

-- Stable, so that a query over the view below can use the indexes of its table.
create or replace function milliseconds_since(at timestamptz) returns integer language sql stable as $$
  select least(greatest(floor(extract(epoch from now() - at) * 1000), 0), 2147483647)::integer
$$;

-- Finished and open Generations, with the same columns.
create view finished_generations as
select id, account_id, key_id, created_at, completed_at, status, workload, model, provider, streaming, fallback,
       latency_ms, time_to_first_token_ms, input_tokens, output_tokens, units, unit, cost_input, cost_output, cost_total,
       error_code
from generations;

create view unfinished_generations as
select id, account_id, key_id, created_at, null::timestamptz as completed_at, 'in_progress' as status, workload, model,
       provider, streaming, jsonb_array_length(attempts) > 1 as fallback, milliseconds_since(created_at) as latency_ms,
       null::integer as time_to_first_token_ms, null::bigint as input_tokens, null::bigint as output_tokens,
       null::bigint as units, null::text as unit, null::numeric as cost_input, null::numeric as cost_output,
       null::numeric as cost_total, null::text as error_code
from open_generations;

-- Either, with its attempts: what is shown of one Generation.
create view generation_details as
select *,
       (select jsonb_agg(jsonb_build_object(
          'index', index, 'provider', attempt.provider, 'status', attempt.status,
          'startedAtMs', extract(epoch from started_at) * 1000,
          'completedAtMs', extract(epoch from attempt.completed_at) * 1000,
          'upstreamStatus', upstream_status, 'errorCode', attempt.error_code) order by index)
        from attempts as attempt where generation_id = generation.id) as attempts
from finished_generations as generation
union all
select *, (select attempts from open_generations where id = generation.id)
from unfinished_generations as generation;

-- What some entries of an account's ledger mean for its usage: a charge adds its record, and a refund takes it back.
-- Entries are numbered without gaps. Each is looked up by its number and its record by ID, whatever statistics make of
-- the range: `limit 1` keeps the planner from joining whole tables instead.
create function usage_of_entries(of_account uuid, first_number bigint, last_number bigint) returns table (
  day date, model text, key_id uuid, requests bigint, input_tokens numeric, output_tokens numeric, images numeric,
  cost numeric
) language sql stable as $$
  select (billed_at at time zone 'UTC')::date, used.model, used.key_id, sign::bigint, sign * used.input_tokens::numeric,
         sign * used.output_tokens::numeric, case unit when 'images' then sign * units::numeric else 0 end,
         sign * used.cost
  from generate_series(first_number, last_number) as wanted (number)
  cross join lateral (
    select generation_id, case kind when 'refund' then -1 else 1 end as sign
    from ledger_entries where account_id = of_account and number = wanted.number limit 1
  ) as entry
  cross join lateral (select * from usage_records where id = entry.generation_id limit 1) as used
$$;

-- As in 0008, by the function above.
drop function add_up_usage;
create function add_up_usage(of_account uuid, max_entries integer) returns bigint language plpgsql as $$
declare
  done bigint;
  reached bigint;
begin
  insert into usage_progress (account_id, entry_number) values (of_account, 0) on conflict do nothing;
  select entry_number into done from usage_progress where account_id = of_account for update;
  select least(entry_count, done + max_entries) into reached from accounts where id = of_account;
  insert into usage_days as days (account_id, day, model, key_id, requests, input_tokens, output_tokens, images, cost)
  select of_account, day, model, key_id, sum(requests), sum(input_tokens), sum(output_tokens), sum(images), sum(cost)
  from usage_of_entries(of_account, done + 1, reached)
  group by day, model, key_id
  on conflict (account_id, day, model, key_id) do update
  set requests = days.requests + excluded.requests, input_tokens = days.input_tokens + excluded.input_tokens,
      output_tokens = days.output_tokens + excluded.output_tokens, images = days.images + excluded.images,
      cost = days.cost + excluded.cost;
  update usage_progress set entry_number = reached where account_id = of_account;
  return reached - done;
end $$;
