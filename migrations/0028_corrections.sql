-- compatible-with: 0015
-- no transaction
--
-- Corrections, and refunds by hand: movements of money that people make, each with a reason, an actor, a reference, and the
-- entry or Generation that it concerns. A charge may now be refunded in parts.
--
-- One statement at a time, and each can be repeated, for the reasons that 0023 gives.

-- No checks for the reason that 0027 gives: book_movement alone writes these columns, and the audit looks at them.
alter table ledger_entries
  add column if not exists actor text,
  add column if not exists reference_text text,
  add column if not exists concerns_entry bigint,
  add column if not exists concerns_generation_id uuid;
comment on column ledger_entries.actor is
  'Who made it: operator:ID of the user, shell:user@host, token:ID. Never shown to customers. Null for what the gateway does '
  'by itself, and for entries from before this was recorded.';
comment on column ledger_entries.reference_text is 'The reference as it was given, if that is not a UUID. reference is its hash.';
comment on column ledger_entries.concerns_entry is 'The number of the entry of this account that a correction is about.';
comment on column ledger_entries.concerns_generation_id is 'The Generation that a correction is about.';

alter table usage_records add column if not exists refunded numeric(38,12) not null default 0;
comment on column usage_records.refunded is
  'What was refunded of the cost by hand. The usage stays, and so does what the provider asks for it.';
comment on column usage_records.refunded_at is
  'When the gateway took back the charge, with what was left of its cost: the record stays, but no longer counts as usage.';

-- A charge can have several refunds, so what finds them is no longer unique. One refund by the gateway: ledger_refund.
create index concurrently ledger_entries_refunds on ledger_entries (generation_id) where kind = 'refund';

-- Before the indexes are dropped, so that no month that is added meanwhile gets one again.
create or replace function index_ledger_partition(partition text) returns void language plpgsql as $$
begin
  execute format('alter table %I add primary key (account_id, number)', partition);
  execute format('create unique index %I on %I (generation_id) where kind = %L', partition || '_one_charge', partition, 'charge');
  execute format('create unique index %I on %I (account_id, reference) where reference is not null', partition || '_one_credit', partition);
  execute format('create trigger ledger_entries_never_emptied before truncate on %I for each statement execute function refuse_change()', partition);
end $$;

-- Each month is locked from its turn to the end of this statement, which takes milliseconds, because nothing is read or written.
-- The current one, which requests write to, comes last. Queries lock months in an order of their own, so this gives way before
-- the database would see a deadlock and end one of them, and is tried again.
do $$
declare
  index_name text;
begin
  perform set_config('lock_timeout', '200ms', true);
  for index_name in
    select relname from pg_class
    where relkind = 'i' and relnamespace = 'public'::regnamespace and relname ~ '^ledger_entries_(default|(to_)?[0-9]{4}_[0-9]{2})_one_refund$'
    order by relname ~ to_char(now() at time zone 'UTC', 'YYYY_MM'), relname
  loop
    execute format('drop index if exists %I', index_name);
  end loop;
end $$;

alter table credit_references
  add column if not exists kind text not null default 'credit',
  add column if not exists generation_id uuid,
  add column if not exists concerns_entry bigint,
  add column if not exists number bigint,
  add column if not exists is_rest boolean not null default false;
comment on table credit_references is
  'The references of credits, corrections and refunds, so that what is sent twice is booked once: a unique index of '
  'ledger_entries would not span months. Never archived.';
comment on column credit_references.generation_id is 'The Generation that is refunded, or that a correction is about.';
comment on column credit_references.number is 'The number of the entry. Null for credits from before this was recorded.';
comment on column credit_references.is_rest is 'No amount was given: it is what was left of the charge or the entry.';

create index concurrently credit_references_generations on credit_references (generation_id) where generation_id is not null;

create or replace function keep_credit_reference() returns trigger language plpgsql as $$
begin
  insert into credit_references (account_id, reference, amount, memo, kind, generation_id, concerns_entry, number)
  values (new.account_id, new.reference, new.amount, new.memo, new.kind,
    coalesce(new.generation_id, new.concerns_generation_id), new.concerns_entry, new.number);
  return null;
end $$;

-- It writes audit_log, which 0030 makes. No gateway calls it before.
create or replace function book_movement(
  of_kind text, by_actor text, on_account uuid, wanted numeric, with_words text, with_reference uuid,
  with_reference_text text, about_entry bigint, about_generation uuid, change_id uuid, from_address text,
  is_preview boolean
) returns table (
  outcome text, account_id uuid, entry_number bigint, amount numeric, balance numeric, held numeric, possible numeric
) language plpgsql as $$
#variable_conflict use_column
declare
  account accounts;
  owner uuid;
  earlier credit_references;
  used usage_records;
  concerned ledger_entries;
  actor_kind constant text := split_part(by_actor, ':', 1);
  actor_name constant text := substr(by_actor, length(actor_kind) + 2);
begin
  if actor_kind = 'operator' then
    perform 1 from users where id = actor_name::uuid and is_operator for share;
    if not found then outcome := 'denied'; return next; return; end if;
  end if;

  if of_kind = 'refund' then
    -- Of a charge that is archived, in the end only the reference is left: what was refunded then is still not refunded again.
    select coalesce(
      (select one.account_id from usage_records as one where one.id = about_generation),
      (select one.account_id from generation_details as one where one.id = about_generation),
      (select known.account_id from credit_references as known
       where known.generation_id = about_generation and known.reference = with_reference and known.kind = 'refund')
    ) into owner;
    if owner is null or owner <> coalesce(on_account, owner) then
      outcome := 'no_generation'; return next; return;
    end if;
    on_account := owner;
  end if;

  account_id := on_account;
  -- A preview decides nothing, so nobody has to wait for it.
  if is_preview then
    select * into account from accounts where id = on_account;
  else
    select * into account from accounts where id = on_account for no key update;
  end if;
  if account.id is null then outcome := 'no_account'; return next; return; end if;
  balance := account.balance;
  held := account.held;

  select * into earlier from credit_references
  where credit_references.account_id = on_account and reference = with_reference;
  if found then
    entry_number := earlier.number;
    amount := earlier.amount;
    -- The words of a script may have its date in them.
    outcome := case when earlier.kind = of_kind and earlier.is_rest = (wanted is null)
        and earlier.amount = coalesce(wanted, earlier.amount)
        and (earlier.generation_id, earlier.concerns_entry) is not distinct from (about_generation, about_entry)
        and (actor_kind = 'shell' or earlier.memo is not distinct from with_words) then 'repeated' else 'different' end;
    return next;
    return;
  end if;

  amount := wanted;
  if of_kind = 'refund' then
    -- The lock of the account keeps others from refunding it, and that of the record keeps it from being archived.
    if is_preview then
      select * into used from usage_records where id = about_generation;
    else
      select * into used from usage_records where id = about_generation for no key update;
    end if;
    possible := case when used.refunded_at is null then coalesce(used.cost - used.refunded, 0) else 0 end;
    amount := coalesce(wanted, possible);
    outcome := case when possible = 0 then 'nothing_left' when amount > possible then 'too_large' end;
  elsif of_kind = 'correction' then
    if about_entry is not null then
      select * into concerned from ledger_entries
      where ledger_entries.account_id = on_account and number = about_entry;
      if about_entry not between 1 and account.entry_count or wanted is null and concerned.number is null then
        outcome := 'no_entry'; return next; return;
      end if;
    end if;
    if about_generation is not null and not exists (
      select 1 from generation_details as one where one.id = about_generation and one.account_id = on_account
      union all select 1 from usage_records where id = about_generation and usage_records.account_id = on_account
    ) then
      outcome := 'no_generation'; return next; return;
    end if;
    if wanted is null then
      -- What is left of the entry: it may have been corrected before, and those corrections may have been corrected.
      if concerned.kind not in ('credit', 'correction') then outcome := 'not_undoable'; return next; return; end if;
      with recursive corrections as (
        select known.number, known.amount from credit_references as known
        where known.account_id = on_account and known.concerns_entry = about_entry
        union all
        select known.number, known.amount from corrections
        join credit_references as known on known.account_id = on_account and known.concerns_entry = corrections.number
      )
      select -(concerned.amount + coalesce(sum(corrections.amount), 0)) into amount from corrections;
    end if;
    possible := account.balance - account.held;
    outcome := case when amount = 0 then 'nothing_left' when amount < -possible then 'too_large' end;
  end if;
  if outcome is not null then return next; return; end if;

  balance := account.balance + amount;
  outcome := 'booked';
  if is_preview then return next; return; end if;

  entry_number := account.entry_count + 1;
  update accounts set balance = book_movement.balance, entry_count = book_movement.entry_number where id = on_account;
  if of_kind = 'refund' then
    -- A wrong counter is for the audit to find: it must not keep money from being given back.
    update api_key_meters set month_spent = greatest(month_spent - book_movement.amount, 0)
    where key_id = used.key_id and month = used.month;
    update usage_records set refunded = refunded + book_movement.amount where id = used.id;
  end if;
  insert into ledger_entries (account_id, number, kind, amount, balance_after, generation_id, memo, reference, actor,
    reference_text, concerns_entry, concerns_generation_id)
  values (on_account, entry_number, of_kind, amount, balance, case of_kind when 'refund' then about_generation end,
    with_words, with_reference, by_actor, with_reference_text, about_entry,
    case of_kind when 'correction' then about_generation end);
  if wanted is null then
    update credit_references set is_rest = true
    where credit_references.account_id = on_account and reference = with_reference;
  end if;
  insert into audit_log (id, door, actor_user_id, actor_token_id, actor_shell_user, address, action, account_id, object_type,
    object_id, after)
  values (change_id, case actor_kind when 'operator' then 'dashboard' when 'token' then 'api' else 'cli' end,
    case actor_kind when 'operator' then actor_name::uuid end, case actor_kind when 'token' then actor_name::uuid end,
    case actor_kind when 'shell' then actor_name end, from_address,
    case of_kind when 'credit' then 'credit_account' when 'correction' then 'correct_account' else 'refund_generation' end,
    on_account, 'account', on_account::text,
    jsonb_build_object('amount', amount::numeric(38,12)::text, case of_kind when 'credit' then 'memo' else 'reason' end,
      with_words, 'reference', coalesce(with_reference_text, with_reference::text), 'entry_number', entry_number)
    || jsonb_strip_nulls(jsonb_build_object('concerns_entry', about_entry,
      'request_id', 'req_' || replace(about_generation::text, '-', ''))));
  return next;
end $$;
comment on function book_movement is
  'Books a credit, a correction or a refund that someone makes by hand, once for its reference, under the lock of its '
  'account. One round trip, because requests of the account wait meanwhile. Without an amount it is the rest: of the charge '
  'that is refunded, or of the entry that is undone. Returns booked, repeated, different (the reference has another '
  'movement), too_large (with what is possible), nothing_left, no_account, no_generation, no_entry, not_undoable or denied.';

-- As before, but the reference may be that of a correction or refund.
create or replace function book_credit(to_account uuid, credited numeric, with_memo text, with_reference uuid)
returns table (outcome text, new_balance numeric, earlier_amount numeric, earlier_memo text) language plpgsql as $$
declare
  earlier credit_references;
begin
  select balance into new_balance from accounts where id = to_account for no key update;
  if not found then
    outcome := 'missing';
    return next;
    return;
  end if;
  select * into earlier from credit_references where account_id = to_account and reference = with_reference;
  if found then
    earlier_amount := earlier.amount;
    earlier_memo := earlier.memo;
    outcome := case when earlier.kind = 'credit' and earlier.amount = credited then 'repeated' else 'different' end;
    return next;
    return;
  end if;
  with account as (
    update accounts set balance = balance + credited, entry_count = entry_count + 1 where id = to_account
    returning id, balance, entry_count
  )
  insert into ledger_entries (account_id, number, kind, amount, balance_after, memo, reference)
  select id, entry_count, 'credit', credited, balance, with_memo, with_reference from account
  returning balance_after into new_balance;
  outcome := 'credited';
  return next;
end $$;
comment on function book_credit is 'The earlier book_movement, for the two functions that earlier gateways call.';
comment on function credit_by_operator is 'The earlier book_movement, for credits that an operator gives.';
comment on function credit_from_shell is 'The earlier book_movement, for credits from the command line.';

-- What the gateway refunds is what was not refunded by hand.
create or replace function ledger_refund(of_generation uuid, entry_number bigint, new_balance numeric)
returns void language plpgsql as $$
declare
  used usage_records;
begin
  update usage_records set refunded_at = now() where id = of_generation and refunded_at is null returning * into used;
  if not found then
    raise exception 'the charge was refunded before'
      using errcode = 'unique_violation', table = 'usage_records';
  end if;
  insert into ledger_entries (account_id, number, kind, amount, balance_after, generation_id)
  values (used.account_id, entry_number, 'refund', used.cost - used.refunded, new_balance, of_generation);
  update generations
  set status = 'failed', error_code = 'billing_consistency_error', input_tokens = null, output_tokens = null, units = null,
      unit = null, tier = null, cost_input = null, cost_output = null, cost_total = null, cache_read_tokens = null,
      cache_write_tokens = null, cache_write_long_tokens = null, cost_cache_read = null, cost_cache_write = null,
      cost_cache_write_long = null
  where id = of_generation;
  insert into write_offs (generation_id, account_id, reason)
  select id, account_id, 'interrupted' from generations where id = of_generation
  on conflict (generation_id) do update set reason = 'interrupted';
end $$;

create or replace function ledger_find_missing(wanted_rows ledger_claim_row[], this_month date)
returns table (id uuid, "isLost" boolean, "errorCode" text, "isDeadLetter" boolean, "isClaimed" boolean,
  charged numeric, "isThisMonth" boolean) language plpgsql as $$
begin
  perform 1 from idempotent_requests as request
  join unnest(wanted_rows) as wanted
    on request.key_id = wanted.key_id and request.name_hash = decode(wanted.name, 'hex')
    and request.request_id = wanted.request_id
  order by request.key_id, request.name_hash
  for update of request;
  return query
  select wanted.request_id,
         generations.id is null and usage_records.id is null
           and not exists (select 1 from ledger_archives where first_id_at(ends_on) > wanted.request_id),
         generations.error_code, dead_letters.generation_id is not null,
         wanted.name is null or request.request_id is not null,
         case when usage_records.refunded_at is null then usage_records.cost - usage_records.refunded end,
         coalesce(usage_records.month = this_month, false)
  from unnest(wanted_rows) as wanted
  left join generations on generations.id = wanted.request_id
  left join dead_letters on dead_letters.generation_id = wanted.request_id
  left join idempotent_requests as request
    on request.key_id = wanted.key_id and request.name_hash = decode(wanted.name, 'hex')
    and request.request_id = wanted.request_id
  left join usage_records on usage_records.id = wanted.request_id;
end $$;

-- As before, but what was refunded by hand is taken off, as ledger_refund does.
create or replace function ledger_find_ended(wanted_rows ledger_claim_row[], this_month date) returns table (
  id uuid, "errorCode" text, "isDeadLetter" boolean, "isClaimed" boolean, charged numeric, "isThisMonth" boolean
) language plpgsql as $$
begin
  perform 1 from idempotent_requests as request
  join unnest(wanted_rows) as wanted
    on request.key_id = wanted.key_id and request.name_hash = decode(wanted.name, 'hex')
    and request.request_id = wanted.request_id
  order by request.key_id, request.name_hash
  for update of request;
  return query
  select generations.id, generations.error_code, dead_letters.generation_id is not null,
         wanted.name is null or request.request_id is not null,
         case when usage_records.refunded_at is null then usage_records.cost - usage_records.refunded end,
         coalesce(usage_records.month = this_month, false)
  from unnest(wanted_rows) as wanted
  join generations on generations.id = wanted.request_id
  left join dead_letters on dead_letters.generation_id = generations.id
  left join idempotent_requests as request
    on request.key_id = wanted.key_id and request.name_hash = decode(wanted.name, 'hex')
    and request.request_id = wanted.request_id
  left join usage_records on usage_records.id = generations.id;
end $$;

create or replace function entry_usage(of_account uuid, first_number bigint, last_number bigint)
returns table (day date, model text, key_id uuid, provider text, requests bigint, input_tokens numeric,
  output_tokens numeric, images numeric, cost numeric, cache_read_tokens numeric, cache_write_tokens numeric,
  cache_saved numeric, provider_cost numeric, unpriced_requests bigint, number bigint, unpriced_cost numeric)
language sql stable as $$
  select (billed_at at time zone 'UTC')::date, used.model, used.key_id, coalesce(used.provider, ''), sign::bigint,
         sign * used.input_tokens::numeric, sign * used.output_tokens::numeric,
         case unit when 'images' then sign * units::numeric else 0 end, -entry.amount,
         sign * coalesce(used.cache_read_tokens, 0)::numeric,
         sign * coalesce(used.cache_write_tokens + used.cache_write_long_tokens, 0)::numeric,
         sign * coalesce(used.cache_saved, 0), sign * coalesce(used.provider_cost, 0),
         case when used.provider_cost is null then sign::bigint else 0 end, entry.number,
         case when used.provider_cost is null then -entry.amount else 0 end
  from (
    select number, generation_id, amount,
           case when kind = 'charge' then 1 when reference is null then -1 else 0 end as sign
    from ledger_entries where account_id = of_account and number >= first_number and number <= last_number
    order by number limit last_number - first_number + 1
  ) as entry
  cross join lateral (select * from usage_records where id = entry.generation_id limit 1) as used
$$;
comment on function entry_usage is
  'The usage in a range of an account''s entries, one row for each: a charge adds its record, a refund by the gateway, which '
  'has no reference, takes it back, and a refund by hand takes back money alone.';

create or replace function usage_by_entry(of_account uuid, first_number bigint, last_number bigint)
returns table (day date, model text, key_id uuid, provider text, requests bigint, input_tokens numeric,
  output_tokens numeric, images numeric, cost numeric, cache_read_tokens numeric, cache_write_tokens numeric,
  cache_saved numeric, provider_cost numeric, unpriced_requests bigint, number bigint)
language sql stable as $$
  select day, model, key_id, provider, requests, input_tokens, output_tokens, images, cost, cache_read_tokens,
         cache_write_tokens, cache_saved, provider_cost, unpriced_requests, number
  from entry_usage(of_account, first_number, last_number)
$$;
comment on function usage_by_entry is 'The earlier entry_usage, which gateways without corrections call.';

create or replace function usage_of_entries(of_account uuid, first_number bigint, last_number bigint)
returns table (day date, model text, key_id uuid, requests bigint, input_tokens numeric, output_tokens numeric,
  images numeric, cost numeric)
language sql stable as $$
  select day, model, key_id, requests, input_tokens, output_tokens, images, cost
  from entry_usage(of_account, first_number, last_number)
$$;
comment on function usage_of_entries is 'The earlier usage_by_entry, which gateways without meters call.';

create or replace function add_up_usage(of_account uuid, max_entries integer) returns bigint language plpgsql as $$
declare
  done bigint;
  margins_done bigint;
  reached bigint;
begin
  insert into usage_progress (account_id, entry_number) values (of_account, 0) on conflict do nothing;
  select entry_number, margin_entry_number into done, margins_done
  from usage_progress where account_id = of_account for update;
  if margins_done is null then
    perform begin_margins(of_account);
    margins_done := done;
  end if;
  select least(entry_count, done + max_entries) into reached from accounts where id = of_account;
  with used as materialized (
    select * from entry_usage(of_account, least(done, margins_done) + 1, reached)
  ), margins as (
    insert into margin_days as days (account_id, day, model, provider, requests, revenue, cost, unpriced_requests,
      unpriced_revenue)
    select of_account, day, model, provider, sum(requests), sum(cost), sum(provider_cost), sum(unpriced_requests),
           sum(unpriced_cost)
    from used where number > margins_done group by day, model, provider
    on conflict (account_id, day, model, provider) do update
    set requests = days.requests + excluded.requests, revenue = days.revenue + excluded.revenue,
        cost = days.cost + excluded.cost, unpriced_requests = days.unpriced_requests + excluded.unpriced_requests,
        unpriced_revenue = days.unpriced_revenue + excluded.unpriced_revenue
  )
  insert into usage_days as days (account_id, day, model, key_id, requests, input_tokens, output_tokens, images, cost,
    cache_read_tokens, cache_write_tokens, cache_saved)
  select of_account, day, model, key_id, sum(requests), sum(input_tokens), sum(output_tokens), sum(images), sum(cost),
         sum(cache_read_tokens), sum(cache_write_tokens), sum(cache_saved)
  from used where number > done group by day, model, key_id
  on conflict (account_id, day, model, key_id) do update
  set requests = days.requests + excluded.requests, input_tokens = days.input_tokens + excluded.input_tokens,
      output_tokens = days.output_tokens + excluded.output_tokens, images = days.images + excluded.images,
      cost = days.cost + excluded.cost, cache_read_tokens = days.cache_read_tokens + excluded.cache_read_tokens,
      cache_write_tokens = days.cache_write_tokens + excluded.cache_write_tokens,
      cache_saved = days.cache_saved + excluded.cache_saved;
  update usage_progress set entry_number = reached, margin_entry_number = reached where account_id = of_account;
  return reached - done;
end $$;
