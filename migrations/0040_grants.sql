-- compatible-with: 0015
--
-- Grants: credit with a category, an expiry and a priority. Which grants an entry was drawn from follows from the entries of
-- its account, in their order, so it is worked out afterwards (draw_grants), and no request waits for it. Only what ends has
-- to end in time: before an account whose grants are due is charged with anything new, they are settled (settle_grants).
--
-- Locks: the row of accounts before the row of grant_progress, which all else of an account's grants is written under.

-- First, and in the order in which batches lock them.
alter table accounts add column grants_due_at timestamptz;
comment on column accounts.grants_due_at is
  'When a grant ends or an allowance is given next, or infinity. Null for an account that has only had plain credits: nothing of its money has to be told apart.';
alter table ledger_entries
  drop constraint ledger_entries_kind,
  drop constraint ledger_entries_sign,
  add constraint ledger_entries_kind check (kind in ('credit', 'charge', 'refund', 'correction', 'expiry', 'void')) not valid,
  add constraint ledger_entries_sign check (case kind when 'credit' then amount > 0 when 'charge' then amount <= 0
    when 'refund' then amount >= 0 when 'correction' then amount <> 0 else amount < 0 end) not valid;
comment on column ledger_entries.concerns_entry is
  'The number of the entry of this account that a correction is about, or of the grant that has ended.';

alter table ledger_checkpoints add column drawn_number bigint;
comment on column ledger_checkpoints.drawn_number is 'The last entry that was drawn from grants, if the account has any.';

create table allowances (
  id uuid primary key,
  account_id uuid not null references accounts,
  amount numeric(38,12) not null check (amount > 0),
  every text not null check (every in ('day', 'week', 'month')),
  priority smallint not null check (priority between 0 and 100),
  note text check (length(note) <= 500),
  next_at timestamptz not null,
  created_at timestamptz not null default now(),
  ended_at timestamptz
);
create index allowances_by_account on allowances (account_id, id);
comment on table allowances is 'Grants that an account gets anew each day, week or month, in UTC. Each lasts until the next.';

create table grants (
  account_id uuid not null references accounts,
  number bigint not null,
  id uuid not null unique default gen_random_uuid(),
  category text not null check (category in ('paid', 'promotional', 'allowance')),
  amount numeric(38,12) not null check (amount >= 0),
  remaining numeric(38,12) not null default 0,
  lapsed numeric(38,12) not null default 0,
  priority smallint not null default 50 check (priority between 0 and 100),
  expires_at timestamptz,
  allowance_id uuid references allowances,
  voided_at timestamptz,
  voided_by text,
  void_reason text,
  ended_at timestamptz,
  ended_after bigint,
  kept_for uuid[],
  created_at timestamptz not null default clock_timestamp(),
  primary key (account_id, number),
  check (remaining between 0 and amount),
  check (num_nulls(voided_at, voided_by, void_reason) in (0, 3))
);
create index grants_remaining on grants (account_id) where remaining > 0;
create index grants_to_end on grants (account_id, expires_at) where ended_at is null;
comment on table grants is
  'Of accounts that have had a grant: every credit, and whatever else has added to the balance without coming back from a charge.';
comment on column grants.number is 'The number of the entry that it came with. 0: the balance from before the first grant.';
comment on column grants.remaining is 'What is left, as of the entry that grant_progress names. 0 before its own entry.';
comment on column grants.lapsed is 'What has left because it expired or was voided.';
comment on column grants.priority is 'Of two grants the one with the lower number is spent first.';
comment on column grants.ended_at is
  'When it was first settled after its end, before any request that came later. What is left then belongs to holds from before.';
comment on column grants.ended_after is 'The last entry at ended_at. Later grants do not take the place of this one for holds from before.';
comment on column grants.kept_for is 'The Generations that were open at ended_at, if any.';

create view grants_in_order as
select *, row_number() over (partition by account_id
  order by priority, expires_at, category = 'paid', category = 'promotional', number) as place
from grants where remaining > 0;
comment on view grants_in_order is
  'What is left to spend, in the order of spending: priority, the earliest expiry, allowances, promotional, paid, the oldest.';

create table grant_progress (
  account_id uuid primary key references accounts,
  first_number bigint not null,
  entry_number bigint not null
);
comment on table grant_progress is 'How far the entries of an account have been drawn from its grants.';
comment on column grant_progress.first_number is 'Entries up to this one are from before the first grant.';

create table grant_draws (
  account_id uuid not null,
  entry_number bigint not null,
  grant_number bigint not null,
  amount numeric(38,12) not null check (amount <> 0),
  origin bigint not null,
  generation_id uuid,
  primary key (account_id, entry_number, grant_number)
);
create index grant_draws_returned on grant_draws (account_id, origin) where origin <> entry_number;
create index grant_draws_by_generation on grant_draws (generation_id) where generation_id is not null;
comment on table grant_draws is 'What each entry took from which grant, or gave back to it, with a negative amount.';
comment on column grant_draws.origin is 'The entry that had taken what this one gives back; otherwise this entry.';
comment on column grant_draws.generation_id is 'Of a charge.';

create function begin_grants(of_account uuid) returns void language plpgsql as $$
begin
  with account as (
    update accounts set grants_due_at = 'infinity' where id = of_account and grants_due_at is null
    returning id, balance, entry_count
  ), progress as (
    insert into grant_progress (account_id, first_number, entry_number) select id, entry_count, entry_count from account
  )
  insert into grants (account_id, number, category, amount, remaining) select id, 0, 'paid', balance, balance from account;
end $$;
comment on function begin_grants is 'From now on the money of an account is told apart. Does nothing if it is already.';

create function add_grant(to_account uuid, with_number bigint, granted numeric, terms jsonb) returns void language plpgsql as $$
begin
  insert into grants (account_id, number, category, amount, priority, expires_at, allowance_id)
  values (to_account, with_number, terms ->> 'category', granted, coalesce((terms ->> 'priority')::smallint, 50),
    (terms ->> 'expires_at')::timestamptz, (terms ->> 'allowance_id')::uuid);
  update accounts set grants_due_at = least(grants_due_at, (terms ->> 'expires_at')::timestamptz) where id = to_account;
end $$;
comment on function add_grant is 'Says what the credit with this number is. The caller has locked the account and called begin_grants.';

create function take_from_grants(of_account uuid, by_entry bigint, taken numeric, by_generation uuid, first bigint)
returns void language sql as $$
  with one as (
    select *, ended_at is not null and by_generation = any (kept_for) is true as is_kept
    from grants_in_order where account_id = of_account
  ), placed as (
    select one.*, greatest(place, (
      select max(kept.place) from one as kept where is_kept and kept.ended_after < one.number)) as place_of_hold
    from one
  ), sources as (
    select number, remaining, sum(remaining) over (
      order by number is not distinct from first desc, ended_at is not null and not is_kept, place_of_hold,
        place < place_of_hold, place) - remaining as before
    from placed
  ), drawn as (
    insert into grant_draws (account_id, entry_number, grant_number, amount, origin, generation_id)
    select of_account, by_entry, number, least(remaining, taken - before), by_entry, by_generation
    from sources where before < taken
    returning grant_number, amount
  )
  update grants set remaining = grants.remaining - drawn.amount from drawn
  where grants.account_id = of_account and grants.number = drawn.grant_number
$$;
comment on function take_from_grants is
  'Draws one entry, from the grant `first` as far as that goes. What has ended is left for the Generations that it is kept for, and for them comes before grants that are newer than its end.';

create function charge_grants(of_account uuid, first_entry bigint, last_entry bigint) returns void language plpgsql as $$
begin
  if exists (select 1 from grants where account_id = of_account and remaining > 0 and ended_at is not null) then
    perform take_from_grants(of_account, number, -amount, generation_id, null) from (
      select number, amount, generation_id from ledger_entries
      where account_id = of_account and number between first_entry and last_entry and amount < 0
      order by number offset 0) as charge;
    return;
  end if;
  -- One after the other, charges and grants each cover an interval of the money spent. A charge was drawn from the grants
  -- that its interval overlaps with.
  with charges as (
    select number, generation_id, -amount as amount, sum(-amount) over (order by number) + amount as before
    from ledger_entries where account_id = of_account and number between first_entry and last_entry and amount < 0
  ), sources as (
    select number, remaining, sum(remaining) over (order by place) - remaining as before
    from grants_in_order where account_id = of_account
  ), needed as materialized (
    select * from sources where before < (select sum(amount) from charges)
  ), drawn as (
    insert into grant_draws (account_id, entry_number, grant_number, amount, origin, generation_id)
    select of_account, charge.number, source.number,
      least(charge.before + charge.amount, source.before + source.remaining) - greatest(charge.before, source.before),
      charge.number, generation_id
    from charges as charge join needed as source
      on charge.before < source.before + source.remaining and source.before < charge.before + charge.amount
    returning grant_number, amount
  )
  update grants set remaining = grants.remaining - total
  from (select grant_number, sum(amount) as total from drawn group by 1) as drawn
  where grants.account_id = of_account and grants.number = drawn.grant_number;
end $$;
comment on function charge_grants is 'Draws entries that are all charges.';

create function return_to_grants(of_account uuid, by_entry bigint, returned numeric, from_entry bigint)
returns void language plpgsql as $$
declare
  given numeric;
begin
  with taken as (
    select grant_number, sum(amount) as amount from grant_draws
    where account_id = of_account and (entry_number = from_entry or origin = from_entry and origin <> entry_number)
    group by 1 having sum(amount) > 0
  ), sources as (
    select number, taken.amount, sum(taken.amount) over (
      order by priority desc, expires_at desc, category = 'paid' desc, category = 'promotional' desc, number desc)
      - taken.amount as before
    from taken join grants on grants.account_id = of_account and number = grant_number
  ), put_back as (
    insert into grant_draws (account_id, entry_number, grant_number, amount, origin)
    select of_account, by_entry, number, -least(amount, returned - before), from_entry from sources where before < returned
    returning grant_number, -amount as amount
  ), changed as (
    update grants set remaining = grants.remaining + put_back.amount from put_back
    where grants.account_id = of_account and grants.number = grant_number
  )
  select coalesce(sum(amount), 0) into given from put_back;
  if given < returned then
    insert into grants (account_id, number, category, amount, remaining)
    values (of_account, by_entry, 'paid', returned - given, returned - given);
  end if;
end $$;
comment on function return_to_grants is
  'Gives back what an entry had taken, from the last of its grants to the first. What is more than that is a credit like any other.';

create function draw_grants(of_account uuid, max_entries integer default null) returns bigint language plpgsql as $$
declare
  seen bigint;
  first_seen bigint;
  first_number bigint;
  last bigint;
  upper bigint;
  entry ledger_entries;
begin
  -- Those who only read wait for nobody when nothing is new.
  perform 1 from grant_progress join accounts on id = account_id where id = of_account and entry_number < entry_count;
  if not found then return 0; end if;
  select entry_number, grant_progress.first_number into seen, first_number
  from grant_progress where account_id = of_account for update;
  if not found then return 0; end if;
  first_seen := seen;
  select least(entry_count, seen + max_entries) into last from accounts where id = of_account;
  while seen < last loop
    -- Not too many charges at once, because each is compared with each grant.
    upper := least(last, seen + 1000);
    select * into entry from ledger_entries
    where account_id = of_account and number > seen and number <= upper and kind <> 'charge' order by number limit 1;
    upper := coalesce(entry.number, upper);
    if (select count(*) from ledger_entries where account_id = of_account and number > seen and number <= upper) < upper - seen then
      raise exception 'entries of an account are missing' using errcode = 'data_corrupted', detail = of_account::text;
    end if;
    if upper > seen and entry.number is distinct from seen + 1 then
      perform charge_grants(of_account, seen + 1, coalesce(entry.number - 1, upper));
    end if;
    if entry.kind = 'credit' then
      update grants set remaining = amount where account_id = of_account and number = entry.number;
      if not found then
        insert into grants (account_id, number, category, amount, remaining)
        values (of_account, entry.number, 'paid', entry.amount, entry.amount);
      end if;
    elsif entry.kind = 'refund' then
      perform return_to_grants(of_account, entry.number, entry.amount, (
        select origin from grant_draws where generation_id = entry.generation_id limit 1));
    elsif entry.amount > 0 then
      -- What was taken back comes back. What has expired does not: making good for it is a credit.
      perform return_to_grants(of_account, entry.number, entry.amount, (
        select number from ledger_entries
        where account_id = of_account and number = entry.concerns_entry and kind = 'correction'));
    elsif entry.amount < 0 then
      perform take_from_grants(of_account, entry.number, -entry.amount, null,
        case when entry.concerns_entry <= first_number then 0 else entry.concerns_entry end);
    end if;
    seen := upper;
  end loop;
  if seen > first_seen then
    update grant_progress set entry_number = seen where account_id = of_account;
  end if;
  return seen - first_seen;
end $$;
comment on function draw_grants is
  'Draws the entries of an account that were not yet, at most so many, and returns how many they were. Requests do not wait for it: it locks nothing that they need.';

create function settle_grants(of_account uuid) returns void language plpgsql as $$
declare
  account accounts;
  at timestamptz;
  given allowances;
  ended record;
  reserved numeric;
  taken numeric;
begin
  select * into account from accounts where id = of_account for no key update;
  if account.grants_due_at is null then return; end if;
  -- The clock is read when the account is locked, as for a batch.
  at := clock_timestamp();
  perform draw_grants(of_account);
  update grants set ended_at = at, ended_after = account.entry_count, kept_for = (
    select array_agg(open.id) from api_keys join open_generations as open on open.key_id = api_keys.id
    where api_keys.account_id = of_account and hold > 0)
  where account_id = of_account and ended_at is null and (expires_at <= at or voided_at is not null);

  -- Holds reserve money in the order of spending, of what was there at the end of the grant.
  for ended in select * from grants_in_order where account_id = of_account and ended_at is not null order by place loop
    select coalesce(sum(hold), 0) into reserved from open_generations where id = any (ended.kept_for);
    if reserved > 0 then
      reserved := reserved - coalesce((
        select sum(other.remaining) from grants_in_order as one
        join grants_in_order as other on other.account_id = of_account and other.place < one.place
        where one.account_id = of_account and one.number = ended.number and other.number <= ended.ended_after), 0);
    end if;
    taken := least(ended.remaining - greatest(reserved, 0), account.balance - account.held);
    continue when taken <= 0;
    update accounts set balance = balance - taken, entry_count = entry_count + 1 where id = of_account returning * into account;
    insert into ledger_entries (account_id, number, kind, amount, balance_after, memo, actor, concerns_entry)
    values (of_account, account.entry_count, case when ended.voided_by is null then 'expiry' else 'void' end, -taken,
      account.balance, ended.void_reason, ended.voided_by, ended.number);
    update grants set lapsed = lapsed + taken where account_id = of_account and number = ended.number;
    perform draw_grants(of_account);
  end loop;

  for given in select * from allowances where account_id = of_account and ended_at is null and next_at <= at order by id loop
    update allowances set next_at = (date_trunc(every, at at time zone 'UTC') + ('1 ' || every)::interval) at time zone 'UTC'
    where id = given.id returning * into given;
    perform book_own_movement('credit', of_account, given.amount, given.note,
      reference_id('allowance/' || given.id || '/' || to_char(given.next_at at time zone 'UTC', 'YYYY-MM-DD')), null,
      jsonb_build_object('category', 'allowance', 'priority', given.priority, 'expires_at', given.next_at,
        'allowance_id', given.id));
  end loop;

  perform draw_grants(of_account);
  update accounts set grants_due_at = least('infinity',
    (select min(expires_at) from grants where account_id = of_account and ended_at is null),
    (select min(ended_at) from grants where account_id = of_account and remaining > 0),
    (select min(next_at) from allowances where account_id = of_account and ended_at is null))
  where id = of_account;
end $$;
comment on function settle_grants is
  'Takes what has ended and no hold needs, gives allowances that are due, and says when to do it again. What holds keep of a grant that has ended stays due.';

create function refresh_grants(of_account uuid) returns void language plpgsql as $$
declare
  due timestamptz;
begin
  select grants_due_at into due from accounts where id = of_account;
  if due is null then return; end if;
  perform draw_grants(of_account, 1000);
  if due <= clock_timestamp() then
    perform 1 from accounts where id = of_account for no key update skip locked;
    if not found then return; end if;
    perform 1 from grant_progress join accounts on id = account_id
    where account_id = of_account and entry_count - entry_number <= 1000
    for no key update of grant_progress skip locked;
    if found then perform settle_grants(of_account); end if;
  end if;
end $$;
comment on function refresh_grants is
  'For whoever reads the grants of an account next. If someone else is at it, or much is to be drawn, it is left to them: requests of the account must not wait for readers.';

create function balances_by_category(of_account uuid) returns table (category text, amount numeric) language plpgsql as $$
#variable_conflict use_column
begin
  perform refresh_grants(of_account);
  return query
    select 'paid', balance from accounts where id = of_account and grants_due_at is null
    union all
    select category, sum(remaining)::numeric(38,12) from grants where account_id = of_account and remaining > 0 group by category;
end $$;
comment on function balances_by_category is 'What an account has left of each category, with what is held. A category of which nothing is left may be missing.';

create function record_account_change(
  by_actor text, change_id uuid, from_address text, with_action text, on_account uuid, with_after jsonb
) returns void language plpgsql as $$
declare
  actor_kind constant text := split_part(by_actor, ':', 1);
  actor_name constant text := substr(by_actor, length(actor_kind) + 2);
begin
  insert into audit_log (id, door, actor_user_id, actor_token_id, actor_shell_user, address, action, account_id, object_type,
    object_id, after)
  values (change_id, case actor_kind when 'operator' then 'dashboard' when 'token' then 'api' else 'cli' end,
    case actor_kind when 'operator' then actor_name::uuid end, case actor_kind when 'token' then actor_name::uuid end,
    case actor_kind when 'shell' then actor_name end, from_address, with_action, on_account, 'account', on_account::text,
    with_after);
end $$;
comment on function record_account_change is 'Writes to the audit log what someone has done to the money of an account.';

create function void_grant(by_actor text, on_account uuid, grant_id uuid, with_reason text, change_id uuid, from_address text)
returns table (outcome text, taken numeric) language plpgsql as $$
#variable_conflict use_column
declare
  concerned grants;
begin
  if by_actor like 'operator:%' then
    perform 1 from users where id = substr(by_actor, 10)::uuid and is_operator for share;
    if not found then outcome := 'denied'; return next; return; end if;
  end if;
  perform settle_grants(on_account);
  select * into concerned from grants where account_id = on_account and id = grant_id and number > 0;
  outcome := case when concerned.id is null then 'no_grant' when concerned.voided_at is not null then 'repeated'
    when concerned.remaining = 0 or concerned.ended_at is not null then 'nothing_left' else 'voided' end;
  if outcome = 'voided' then
    update grants set voided_at = clock_timestamp(), voided_by = by_actor, void_reason = with_reason
    where account_id = on_account and id = grant_id;
    perform settle_grants(on_account);
    select concerned.remaining - remaining into taken from grants where account_id = on_account and id = grant_id;
    perform record_account_change(by_actor, change_id, from_address, 'void_grant', on_account, jsonb_build_object(
      'grant_id', grant_id, 'amount', taken::numeric(38,12)::text, 'reason', with_reason, 'entry_number', concerned.number));
  end if;
  return next;
end $$;
comment on function void_grant is
  'Ends a grant now. What holds keep of it leaves when they end. Returns voided, with what was taken at once, repeated, nothing_left, no_grant or denied.';

create function note_return_to_grants(of_account uuid) returns void language sql as $$
  update accounts set grants_due_at = least(grants_due_at, clock_timestamp()) where id = of_account and grants_due_at is not null
$$;
comment on function note_return_to_grants is 'What was given back may belong to a grant that has ended, or ends soon.';

drop function book_own_movement(text, uuid, numeric, text, uuid, text);
create function book_own_movement(
  of_kind text, on_account uuid, moved numeric, with_words text, with_reference uuid, with_reference_text text,
  with_grant jsonb default null, about_entry bigint default null
) returns boolean language plpgsql as $$
declare
  account accounts;
begin
  select * into account from accounts where id = on_account for no key update;
  if exists (select 1 from credit_references where account_id = on_account and reference = with_reference) then
    return false;
  end if;
  -- Whatever is new comes after what has ended. An allowance is given while grants are being settled.
  if account.grants_due_at <= clock_timestamp() and with_grant -> 'allowance_id' is null then
    perform settle_grants(on_account);
  end if;
  if with_grant is not null then perform begin_grants(on_account); end if;
  update accounts set balance = balance + moved, entry_count = entry_count + 1 where id = on_account returning * into account;
  insert into ledger_entries (account_id, number, kind, amount, balance_after, memo, reference, reference_text, concerns_entry)
  values (on_account, account.entry_count, of_kind, moved, account.balance, with_words, with_reference, with_reference_text,
    case when account.grants_due_at is not null then about_entry end);
  if with_grant is not null then
    perform add_grant(on_account, account.entry_count, moved, with_grant);
  elsif about_entry is not null then
    perform note_return_to_grants(on_account);
  end if;
  return true;
end $$;
comment on function book_own_movement is
  'Books a credit or a correction that nobody makes by hand, once for its reference. False if it was booked before. What is taken back of an entry is taken from the grant that came with it, as far as that goes.';

-- As before, except that what is taken back is taken from the grant that the payment had become, and what is given back goes
-- where it came from: one movement for each that had taken it, the last one first.
create or replace function collect_payment_reversals(of_order uuid) returns void language plpgsql as $$
declare
  concerned payment_orders;
  reversal payment_reversals;
  step numeric;
  part numeric;
  earlier record;
begin
  select * into concerned from payment_orders where id = of_order for update;
  -- What has expired is not there to be taken.
  perform refresh_grants(concerned.account_id);
  for reversal in select * from payment_reversals where order_id = of_order and due <> taken order by due - taken, id loop
    -- What is given back comes first, so that the rest can be taken from it.
    select least(reversal.due - reversal.taken, greatest(balance - held, 0)) into step
    from accounts where id = concerned.account_id for no key update;
    while step <> 0 loop
      part := step;
      if step > 0 then
        select number into earlier from credit_references where account_id = concerned.account_id and reference = of_order;
      else
        select took.number, took.amount + coalesce(given.amount, 0) as owed into earlier
        from generate_series(reversal.entry_count, 1, -1) as place
        join credit_references as took on took.account_id = concerned.account_id
          and took.reference = reference_id(reversal.id || '/' || place) and took.amount < 0
        left join lateral (
          select sum(back.amount) as amount from generate_series(place + 1, reversal.entry_count) as later
          join credit_references as back on back.account_id = concerned.account_id
            and back.reference = reference_id(reversal.id || '/' || later) and back.concerns_entry = took.number
        ) as given on true
        where took.amount + coalesce(given.amount, 0) < 0
        order by place desc limit 1;
        part := greatest(step, coalesce(earlier.owed, step));
      end if;
      reversal.entry_count := reversal.entry_count + 1;
      if not book_own_movement('correction', concerned.account_id, -part,
        case when step < 0 then case reversal.kind when 'refund' then 'A refund of a payment did not succeed'
            else 'The dispute of a payment has ended' end
          else case reversal.kind when 'refund' then 'A payment was refunded' else 'A payment is disputed' end end,
        reference_id(reversal.id || '/' || reversal.entry_count), reversal.id || '/' || reversal.entry_count,
        null, earlier.number) then
        raise exception 'the reference of a payment''s refund is in use' using errcode = 'unique_violation';
      end if;
      update payment_reversals set taken = taken + part, entry_count = reversal.entry_count, updated_at = now()
      where id = reversal.id;
      step := step - part;
    end loop;
  end loop;
end $$;

-- As before, and with the terms of a grant. Gateways that do not know them leave this argument out.
drop function book_movement(text, text, uuid, numeric, text, uuid, text, bigint, uuid, uuid, text, boolean);
create function book_movement(
  of_kind text, by_actor text, on_account uuid, wanted numeric, with_words text, with_reference uuid,
  with_reference_text text, about_entry bigint, about_generation uuid, change_id uuid, from_address text,
  is_preview boolean, with_grant jsonb default null
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
    if account.grants_due_at <= clock_timestamp() then
      perform settle_grants(on_account);
      select * into account from accounts where id = on_account;
    end if;
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
        and (actor_kind = 'shell' or earlier.memo is not distinct from with_words)
        and (with_grant is null or exists (
          select 1 from grants where grants.account_id = on_account and number = earlier.number
            and category = with_grant ->> 'category' and priority = (with_grant ->> 'priority')::smallint
            and (actor_kind = 'shell' or expires_at is not distinct from (with_grant ->> 'expires_at')::timestamptz))) then 'repeated' else 'different' end;
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
      select -(concerned.amount + coalesce(sum(corrections.amount), 0)) + coalesce((
        select lapsed from grants where grants.account_id = on_account and number = about_entry), 0) into amount from corrections;
    end if;
    possible := account.balance - account.held;
    outcome := case when amount = 0 then 'nothing_left' when amount < -possible then 'too_large' end;
  end if;
  if outcome is not null then return next; return; end if;

  balance := account.balance + amount;
  outcome := 'booked';
  if is_preview then return next; return; end if;

  entry_number := account.entry_count + 1;
  if with_grant is not null then perform begin_grants(on_account); end if;
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
  if with_grant is not null then
    perform add_grant(on_account, entry_number, amount, with_grant);
  elsif of_kind <> 'credit' then
    perform note_return_to_grants(on_account);
  end if;
  if wanted is null then
    update credit_references set is_rest = true
    where credit_references.account_id = on_account and reference = with_reference;
  end if;
  perform record_account_change(by_actor, change_id, from_address,
    case of_kind when 'credit' then 'credit_account' when 'correction' then 'correct_account' else 'refund_generation' end,
    on_account,
    jsonb_build_object('amount', amount::numeric(38,12)::text, case of_kind when 'credit' then 'memo' else 'reason' end,
      with_words, 'reference', coalesce(with_reference_text, with_reference::text), 'entry_number', entry_number)
    || jsonb_strip_nulls(jsonb_build_object('concerns_entry', about_entry,
      'request_id', 'req_' || replace(about_generation::text, '-', ''))) || coalesce(with_grant, '{}'));
  return next;
end $$;
comment on function book_movement is
  'Books a credit, a correction or a refund that someone makes by hand, once for its reference, under the lock of its '
  'account. One round trip, because requests of the account wait meanwhile. Without an amount it is the rest: of the charge '
  'that is refunded, or of the entry that is undone. Returns booked, repeated, different (the reference has another '
  'movement), too_large (with what is possible), nothing_left, no_account, no_generation, no_entry, not_undoable or denied.';

-- As before, and what is given back goes where it came from.
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
  perform note_return_to_grants(used.account_id);
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

-- As before, except that requests of an account whose grants are due are admitted only with its row locked.
create or replace function ledger_write_batch(at_ms double precision, account_rows ledger_account_delta[],
  key_rows ledger_key_delta[], claim_rows ledger_claim_row[], opened_rows ledger_opened_row[],
  settled_rows ledger_settled_row[], open_count integer, attempt_rows ledger_attempt_row[],
  write_off_rows ledger_write_off_row[], answer_rows ledger_answer_row[], metered_rows ledger_metered_row[],
  uncharged_rows ledger_uncharged_row[], attribution_rows ledger_attribution_row[], has_arrivals boolean,
  is_durable boolean, limit_rows ledger_limit_delta[] default null, limit_versions ledger_limit_version[] default null,
  opened_limits ledger_opened_limits[] default null)
returns json language plpgsql as $$
declare
  is_locked constant boolean := at_ms is not null;
  affected integer;
  unmet text;
  at timestamptz;
  now_ms double precision;
  this_month date;
  admitted text;
  limited text;
  limited_accounts uuid[];
begin
  if is_durable then
    set local synchronous_commit to default;
  end if;
  if limit_versions is not null then
    limited_accounts := array(select account_id from unnest(limit_versions));
  end if;

  update accounts
  set balance = accounts.balance + row.balance, held = accounts.held + row.held,
      entry_count = accounts.entry_count + row.entry_count, version = random_version()
  from unnest(account_rows) as row
  where accounts.id = row.id and (row.free is null or accounts.balance - accounts.held >= row.free)
    and not (row.is_admitting and (suspended_at is not null
      or not is_locked and grants_due_at <= clock_timestamp() is true
      or limit_version > 0 and accounts.id = any (limited_accounts) is not true))
    and (is_locked or accounts.held + row.held >= 0);
  get diagnostics affected = row_count;
  if affected < cardinality(account_rows) then
    select string_agg(row.id::text, ',') into unmet from unnest(account_rows) as row
    where not exists (select 1 from accounts where id = row.id and xmin = pg_current_xact_id()::xid);
    raise exception 'an account is not as the batch needs it' using errcode = 'TG001', table = 'accounts', detail = unmet;
  end if;

  if limit_versions is not null then
    select string_agg(row.account_id::text, ',') into unmet
    from unnest(limit_versions) as row join accounts on accounts.id = row.account_id
    where accounts.limit_version <> row.version;
    if unmet is not null then
      raise exception 'the limits of an account have changed' using errcode = 'TG001', table = 'accounts', detail = unmet;
    end if;
  end if;

  -- The clock is read when the accounts are locked: time must not seem to run backwards between two batches.
  at := coalesce(to_timestamp(at_ms / 1000), clock_timestamp());
  now_ms := extract(epoch from at)::float8 * 1000;
  this_month := date_trunc('month', at at time zone 'UTC');

  if has_arrivals then
    with written as (
      update api_key_meters as meter
      set held = meter.held + row.held,
          month = this_month,
          month_spent = case when meter.month = this_month then meter.month_spent else 0 end + row.month_spent,
          open_count = greatest(meter.open_count + row.open_count, 0),
          theoretical_arrival_at = case when row.arrivals = 0 then meter.theoretical_arrival_at else to_timestamp((
            greatest(extract(epoch from meter.theoretical_arrival_at)::float8 * 1000, now_ms)
              + row.arrivals * 60000::float8 / key.requests_per_minute) / 1000) end,
          last_used_at = now(),
          version = random_version()
      from unnest(key_rows) as row join api_keys as key on key.id = row.key_id
      where meter.key_id = row.key_id and (is_locked or meter.held + row.held >= 0) and not (row.is_admitting and (
        key.revoked_at <= at is true or key.expires_at <= at is true
        or meter.open_count + row.open > key.max_concurrent
        or key.monthly_limit - meter.held - case when meter.month = this_month then meter.month_spent else 0 end
          < row."left" is true
        or greatest(extract(epoch from meter.theoretical_arrival_at)::float8 * 1000, now_ms)
          + row.arrivals * 60000::float8 / key.requests_per_minute - now_ms - 60000 > 0.001))
      returning case when row.arrivals > 0 then concat_ws(' ', meter.key_id, key.account_id,
        (select balance - accounts.held from accounts where accounts.id = key.account_id),
        extract(epoch from meter.theoretical_arrival_at)::float8 * 1000, key.requests_per_minute, meter.open_count,
        key.max_concurrent, key.monthly_limit - meter.held - meter.month_spent) end as admitted
    )
    select count(*), string_agg(written.admitted, ',') into affected, admitted from written;
  else
    update api_key_meters as meter
    set held = meter.held + row.held,
        month = this_month,
        month_spent = case when meter.month = this_month then meter.month_spent else 0 end + row.month_spent,
        open_count = greatest(meter.open_count + row.open_count, 0),
        last_used_at = now(),
        version = random_version()
    from unnest(key_rows) as row
    where meter.key_id = row.key_id and (is_locked or meter.held + row.held >= 0);
    get diagnostics affected = row_count;
  end if;
  if affected < cardinality(key_rows) then
    select string_agg(row.key_id::text, ',') into unmet from unnest(key_rows) as row
    where not exists (select 1 from api_key_meters where key_id = row.key_id and xmin = pg_current_xact_id()::xid);
    raise exception 'a key is not as the batch needs it' using errcode = 'TG001', table = 'api_key_meters', detail = unmet;
  end if;

  if limit_rows is not null then
    if is_locked then
      insert into limit_meters (id, limit_id, end_user)
      select row.id, row.limit_id, row.end_user from unnest(limit_rows) as row join limits on limits.id = row.limit_id
      where row.end_user is not null
      on conflict (id) do nothing;
    end if;
    -- A clock that is behind does not begin a window anew.
    with written as (
      update limit_meters as meter
      set window_start = greatest(meter.window_start, this_window),
          used = greatest(0, case when meter.window_start >= this_window then meter.used else 0 end + row.used
            - case when to_timestamp(row.returned_ms / 1000) at time zone 'UTC' >= this_window then row.returned else 0 end),
          held = greatest(0, meter.held + row.held)
      from unnest(limit_rows) as row
        join limits on limits.id = row.limit_id
        cross join lateral (select limit_window(kind, at) as this_window) as current
      where meter.id = row.id and (row.needed is null or limit_amount(limits, at) - meter.held
        - case when meter.window_start >= this_window then meter.used else 0 end >= row.needed)
      returning row.needed, concat_ws(' ', meter.id, limit_amount(limits, at), meter.used) as shown
    )
    select count(needed), string_agg(shown, ',') into affected, limited from written;
    if affected < (select count(needed) from unnest(limit_rows)) then
      -- Their accounts, because clients choose how many end users there are.
      select string_agg(distinct limits.account_id::text, ',') into unmet
      from unnest(limit_rows) as row join limits on limits.id = row.limit_id
      where needed is not null
        and not exists (select 1 from limit_meters where id = row.id and xmin = pg_current_xact_id()::xid);
      raise exception 'a limit is not as the batch needs it' using errcode = 'TG001', table = 'limit_meters', detail = unmet;
    end if;
  end if;

  if claim_rows is not null then
    perform ledger_require_claims(claim_rows);
  end if;

  if opened_rows is not null then
    insert into open_generations (id, account_id, key_id, node_id, workload, model, provider, streaming, hold,
      price_list_id, attempts, created_at)
    select id, account_id, key_id, node_id, workload, model, provider, streaming, hold, price_list_id, attempts,
           to_timestamp(created_at_ms / 1000)
    from unnest(opened_rows);
  end if;
  if opened_limits is not null then
    update open_generations set limits = row.limits from unnest(opened_limits) as row
    where open_generations.id = row.generation_id;
  end if;

  if settled_rows is not null then
    delete from open_generations using unnest(settled_rows) as row
    where open_generations.id = row.id and open_generations.hold = row.hold;
    get diagnostics affected = row_count;
    if affected <> open_count then
      select string_agg(id::text, ',') into unmet from unnest(settled_rows);
      raise exception 'a Generation is not as the batch needs it'
        using errcode = 'TG001', table = 'open_generations', detail = unmet;
    end if;

    -- The number of an entry and the balance after it are counted from the last ones of this batch.
    with settled as materialized (
      select row.*, to_timestamp(completed_at_ms / 1000) as completed_at, cache_read_tokens, cache_write_tokens,
             cache_write_long_tokens, cost_cache_read, cost_cache_write, cost_cache_write_long, cache_saved, provider_cost
      from unnest(settled_rows) as row left join unnest(metered_rows) as metered on metered.generation_id = row.id
    ), used as (
      insert into usage_records (id, account_id, key_id, model, input_tokens, output_tokens, units, unit, tier, cost,
        price_list_id, month, billed_at, cache_read_tokens, cache_write_tokens, cache_write_long_tokens, cache_saved,
        provider, provider_cost)
      select id, account_id, key_id, model, input_tokens, output_tokens, units, unit, tier, cost_total, price_list_id,
             this_month, completed_at, cache_read_tokens, cache_write_tokens, cache_write_long_tokens, cache_saved,
             provider, provider_cost
      from settled where cost_total is not null
    ), charged as (
      insert into ledger_entries (account_id, number, kind, amount, balance_after, generation_id, is_estimated, created_at)
      select account_id, accounts.entry_count + entry_number, 'charge', -cost_total, accounts.balance + balance_after,
             settled.id, is_estimated, at
      from settled join accounts on accounts.id = account_id where cost_total is not null
    )
    insert into generations (id, account_id, key_id, workload, model, provider, status, streaming, fallback,
      attempt_count, hold, price_list_id, input_tokens, output_tokens, units, unit, tier, cost_input, cost_output,
      cost_total, latency_ms, time_to_first_token_ms, error_code, created_at, completed_at, cache_read_tokens,
      cache_write_tokens, cache_write_long_tokens, cost_cache_read, cost_cache_write, cost_cache_write_long)
    select id, account_id, key_id, workload, model, provider, status, streaming, attempt_count > 1, attempt_count,
           nullif(hold, 0), price_list_id, input_tokens, output_tokens, units, unit, tier, cost_input, cost_output,
           cost_total, latency_ms, time_to_first_token_ms, error_code, to_timestamp(created_at_ms / 1000), completed_at,
           cache_read_tokens, cache_write_tokens, cache_write_long_tokens, cost_cache_read, cost_cache_write,
           cost_cache_write_long
    from settled;

    insert into attempts (generation_id, index, provider, status, started_at, completed_at, upstream_status, error_code)
    select generation_id, index, provider, status, to_timestamp(started_at_ms / 1000),
           to_timestamp(completed_at_ms / 1000), upstream_status, error_code
    from unnest(attempt_rows);
  end if;

  if write_off_rows is not null then
    insert into write_offs (generation_id, account_id, reason, amount, reported_input_tokens, reported_output_tokens,
      reported)
    select row.*, metered.reported
    from unnest(write_off_rows) as row left join unnest(metered_rows) as metered using (generation_id);
  end if;

  if uncharged_rows is not null then
    insert into uncharged_attempts (generation_id, index, account_id, model, provider, ended_at, input_tokens,
      cache_read_tokens, cache_write_tokens, cache_write_long_tokens, output_tokens, cost, price_list_id)
    select generation_id, index, account_id, model, provider, to_timestamp(ended_at_ms / 1000), input_tokens,
           cache_read_tokens, cache_write_tokens, cache_write_long_tokens, output_tokens, cost, price_list_id
    from unnest(uncharged_rows)
    on conflict (generation_id, index) do nothing;
  end if;

  if answer_rows is not null then
    perform ledger_store_answers(answer_rows);
  end if;

  if attribution_rows is not null then
    insert into generation_attributions (generation_id, account_id, kind, label)
    select generation_id, account_id, kind, label from unnest(attribution_rows)
    -- A hold that was lost and made again, or a settlement whose hold was lost, may come with what is there already.
    on conflict (generation_id, kind, label) do nothing;
  end if;

  return case when has_arrivals then json_build_object('admitted', admitted, 'limited', limited, 'nowMs', now_ms) end;
end $$;

-- As before, and grants that are due are settled first.
create or replace function ledger_lock_rows(awaited uuid, account_ids uuid[], key_ids uuid[], generation_ids uuid[])
returns json language plpgsql as $$
declare
  free_accounts uuid[];
  due_accounts uuid[];
  ready uuid;
  free_keys uuid[];
  free_generations uuid[];
  at timestamptz;
  this_month date;
begin
  if awaited is not null then
    perform 1 from accounts where id = awaited for no key update;
    perform 1 from api_key_meters where key_id = awaited for no key update;
    perform 1 from open_generations where id = awaited for update;
  end if;
  select coalesce(array_agg(id), '{}'), array_agg(id) filter (where grants_due_at <= clock_timestamp())
  into free_accounts, due_accounts
  from (select id, grants_due_at from accounts where id = any (account_ids) order by id for no key update skip locked) as free;
  if due_accounts is not null then
    -- An account whose entries someone else is drawing, or that has many to draw, counts as locked.
    for ready in
      select progress.account_id from grant_progress as progress join accounts on id = account_id
      where account_id = any (due_accounts) and entry_count - entry_number <= 1000
      order by account_id for no key update of progress skip locked
    loop
      perform settle_grants(ready);
      due_accounts := array_remove(due_accounts, ready);
    end loop;
    free_accounts := array(select unnest(free_accounts) except select unnest(due_accounts));
  end if;
  free_keys := array(
    select key_id from api_key_meters where key_id = any (key_ids) order by key_id for no key update skip locked);
  free_generations := array(
    select id from open_generations where id = any (generation_ids) order by id for update skip locked);
  -- The clock is read when the locks are held: time must not seem to run backwards between two batches.
  at := clock_timestamp();
  this_month := date_trunc('month', at at time zone 'UTC');
  return json_build_object(
    'accounts', (
      select json_agg(row) from (
        select id, balance::text, held::text, entry_count::text as "entryCount",
               suspended_at is not null as "isSuspended", limit_version as "limitVersion"
        from accounts where id = any (free_accounts)
      ) as row),
    'keys', (
      select json_agg(row) from (
        select key_id as "keyId", held::text, monthly_limit::text as "monthlyLimit",
               (case when month = this_month then month_spent else 0 end)::text as "monthSpent",
               requests_per_minute as "requestsPerMinute", max_concurrent as "maxConcurrent",
               open_count as "openCount",
               extract(epoch from theoretical_arrival_at)::float8 * 1000 as "theoreticalArrivalMs",
               revoked_at <= at is true as "isRevoked", expires_at <= at is true as "isExpired"
        from api_key_meters join api_keys on api_keys.id = key_id where key_id = any (free_keys)
      ) as row),
    'open', (
      select json_agg(row) from (
        select id, hold::text from open_generations where id = any (free_generations)
      ) as row),
    'locked', (
      select json_agg(row.id) from (
        select id from accounts where id = any (account_ids) and id <> all (free_accounts)
        union all
        select key_id from api_key_meters where key_id = any (key_ids) and key_id <> all (free_keys)
        union all
        select id from open_generations where id = any (generation_ids) and id <> all (free_generations)
      ) as row),
    'nowMs', extract(epoch from at)::float8 * 1000);
end $$;
