-- compatible-with: 0015
--
-- Payments and redeemable codes. An order of ours comes before anything that a payment provider does; its events only say
-- that an order should be looked at. Whoever looks claims the order, asks the provider, and writes what follows from the
-- answer while the claim is theirs. So an old answer never overwrites a newer one.

create table payment_customers (
  account_id uuid primary key references accounts,
  is_live boolean not null,
  customer text not null unique,
  payment_method text unique,
  default_method text,
  card_brand text,
  card_last4 text,
  card_expires text,
  is_automatic boolean not null default false,
  threshold numeric(38,12) check (threshold >= 0),
  top_up_amount numeric(38,12) check (top_up_amount > 0),
  top_up_target numeric(38,12) check (top_up_target > threshold),
  monthly_cap numeric(38,12) check (monthly_cap > 0),
  paused_reason text,
  paused_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  check (not is_automatic or (num_nulls(threshold, monthly_cap) = 0 and num_nonnulls(top_up_amount, top_up_target) = 1)),
  check ((paused_reason is null) = (paused_at is null))
);
create index payment_customers_automatic on payment_customers (account_id) where is_automatic;
comment on table payment_customers is
  'An account as the payment provider knows it, the card that it has saved there, and when that card is charged.';
comment on column payment_customers.is_live is 'Whether the provider moves real money for it. What was made with a test key is not used with another.';
comment on column payment_customers.default_method is
  'The card that was the default at the provider when it was last seen. When another one is chosen there, that one is charged from then on.';
comment on column payment_customers.card_expires is 'As YYYY-MM.';
comment on column payment_customers.threshold is 'Credit is added automatically when less than this is available.';
comment on column payment_customers.top_up_amount is 'How much is added. Null when it is as much as is missing to top_up_target.';
comment on column payment_customers.monthly_cap is 'The most that is added automatically in a month, in UTC.';
comment on column payment_customers.paused_reason is 'Why the card is not charged at the moment. An owner has to act.';

create table payment_orders (
  id uuid primary key,
  account_id uuid not null references accounts,
  kind text not null check (kind in ('checkout', 'automatic')),
  amount numeric(38,12) not null check (amount > 0),
  currency text not null,
  is_live boolean not null,
  state text not null default 'new'
    check (state in ('new', 'open', 'processing', 'paid', 'failed', 'expired', 'contradicted')),
  customer text not null,
  saves_card boolean not null default false,
  created_by uuid references users,
  session text unique,
  invoice text unique,
  payment_intent text unique,
  payment_method text,
  paid_minor bigint,
  receipt_url text,
  problem text,
  credited_at timestamptz,
  asked integer not null default 0,
  next_look_at timestamptz,
  look_failures integer not null default 0,
  look_problem text,
  claim uuid,
  claimed_until timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index payment_orders_by_account on payment_orders (account_id, id);
create index payment_orders_due on payment_orders (next_look_at) where next_look_at is not null;
create unique index payment_orders_one_automatic on payment_orders (account_id, is_live)
  where kind = 'automatic' and state in ('new', 'open', 'processing');
create index payment_orders_automatic on payment_orders (account_id, created_at) where kind = 'automatic';
create index payment_orders_in_trouble on payment_orders (id) where look_problem is not null or state = 'contradicted';
comment on table payment_orders is
  'Payments that were asked for. The ID is the reference of the credit, so that each is credited once.';
comment on column payment_orders.amount is 'What is credited: the price before tax.';
comment on column payment_orders.state is
  'What the provider''s objects say. A credited order stays paid. Contradicted: something was paid that does not fit the order, and nothing was credited.';
comment on column payment_orders.session is 'The provider''s ID of the checkout; so are customer, invoice and payment_intent.';
comment on column payment_orders.payment_method is 'The card that an automatic top-up charges: the one that was saved when it began.';
comment on column payment_orders.paid_minor is 'What the customer paid, with tax, in cents.';
comment on column payment_orders.asked is 'How often someone asked to have it looked at.';
comment on column payment_orders.next_look_at is 'When to ask the provider next. Null when only an event can change anything.';
comment on column payment_orders.look_problem is 'Why the last look failed; null when it did not.';
comment on column payment_orders.claim is 'Whose look at the provider''s objects may be written.';

create table payment_reversals (
  id text primary key,
  order_id uuid not null references payment_orders,
  kind text not null check (kind in ('refund', 'dispute')),
  amount_minor bigint not null,
  status text not null,
  due numeric(38,12) not null check (due >= 0),
  taken numeric(38,12) not null default 0 check (taken >= 0),
  entry_count integer not null default 0,
  told_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index payment_reversals_by_order on payment_reversals (order_id);
create index payment_reversals_due on payment_reversals (order_id) where due <> taken;
comment on table payment_reversals is 'Refunds and disputes of payments, by the provider''s ID.';
comment on column payment_reversals.amount_minor is 'In cents, with tax.';
comment on column payment_reversals.due is 'Which part of the credit it takes back. 0 when it has failed, or was won.';
comment on column payment_reversals.taken is 'What was taken so far: a balance does not fall below what is held. The rest is taken when there is credit again.';

comment on column payment_reversals.told_at is
  'When a dispute took money for the first time. It is told then, and suspends the account, once.';

create table payment_polls (
  is_live boolean primary key,
  polled_until timestamptz not null,
  claimed_until timestamptz
);
comment on table payment_polls is 'Up to when the provider''s list of events was read, in case some were not delivered.';

create table credit_codes (
  id uuid primary key,
  batch uuid not null,
  hash bytea not null unique,
  hint text not null,
  amount numeric(38,12) not null check (amount > 0),
  category text not null check (category in ('paid', 'promotional')),
  note text,
  expires_at timestamptz,
  voided_at timestamptz,
  redeemed_at timestamptz,
  account_id uuid references accounts,
  redeemed_by uuid references users,
  created_at timestamptz not null default now(),
  check (num_nulls(redeemed_at, account_id, redeemed_by) in (0, 3))
);
create index credit_codes_by_batch on credit_codes (batch);
comment on table credit_codes is 'Codes that give credit, once each. They are random, and only their hashes are stored.';

create function reference_id(text) returns uuid language plpgsql immutable as $$
declare
  bytes bytea := substr(sha256(convert_to(E'tollgate credit reference\n' || $1, 'UTF8')), 1, 16);
begin
  bytes := set_byte(bytes, 6, get_byte(bytes, 6) & 15 | 128);
  return encode(set_byte(bytes, 8, get_byte(bytes, 8) & 63 | 128), 'hex')::uuid;
end $$;
comment on function reference_id is 'The reference that stands for a text, as the gateway computes it.';

create function book_own_movement(
  of_kind text, on_account uuid, moved numeric, with_words text, with_reference uuid, with_reference_text text
) returns boolean language plpgsql as $$
begin
  perform 1 from accounts where id = on_account for no key update;
  if exists (select 1 from credit_references where account_id = on_account and reference = with_reference) then
    return false;
  end if;
  with account as (
    update accounts set balance = balance + moved, entry_count = entry_count + 1 where id = on_account
    returning id, balance, entry_count
  )
  insert into ledger_entries (account_id, number, kind, amount, balance_after, memo, reference, reference_text)
  select id, entry_count, of_kind, moved, balance, with_words, with_reference, with_reference_text from account;
  return true;
end $$;
comment on function book_own_movement is
  'Books a credit or a correction that nobody makes by hand, once for its reference. False if it was booked before.';

create function collect_payment_reversals(of_order uuid) returns void language plpgsql as $$
declare
  concerned payment_orders;
  reversal payment_reversals;
  step numeric;
begin
  select * into concerned from payment_orders where id = of_order for update;
  for reversal in select * from payment_reversals where order_id = of_order and due <> taken order by due - taken, id loop
    -- What is given back comes first, so that the rest can be taken from it.
    select least(reversal.due - reversal.taken, greatest(balance - held, 0)) into step
    from accounts where id = concerned.account_id for no key update;
    continue when step = 0;
    if not book_own_movement('correction', concerned.account_id, -step,
      case when step < 0 then case reversal.kind when 'refund' then 'A refund of a payment did not succeed'
          else 'The dispute of a payment has ended' end
        else case reversal.kind when 'refund' then 'A payment was refunded' else 'A payment is disputed' end end,
      reference_id(reversal.id || '/' || reversal.entry_count + 1), reversal.id || '/' || reversal.entry_count + 1) then
      raise exception 'the reference of a payment''s refund is in use' using errcode = 'unique_violation';
    end if;
    update payment_reversals set taken = taken + step, entry_count = entry_count + 1, updated_at = now()
    where id = reversal.id;
  end loop;
end $$;
comment on function collect_payment_reversals is
  'Makes the ledger say what refunds and disputes of an order take, as far as the balance allows.';

create function apply_payment_look(
  of_order uuid, with_claim uuid, seen integer, new_state text, new_problem text, new_invoice text,
  new_payment_intent text, new_paid_minor bigint, new_receipt text, reversal_rows jsonb, suspends boolean,
  look_again_seconds double precision, credit_words text
) returns table (was_credited boolean, was_disputed boolean) language plpgsql as $$
declare
  concerned payment_orders;
  was_refunded boolean;
  pause_reason text;
begin
  select * into concerned from payment_orders where id = of_order and claim = with_claim for update;
  if not found then return; end if;
  select coalesce(bool_or(given.kind = 'dispute' and takes_money and known.told_at is null), false),
         coalesce(bool_or(given.due > 0 and coalesce(known.due, 0) = 0), false)
  into was_disputed, was_refunded
  from jsonb_to_recordset(reversal_rows) as given (id text, kind text, due numeric, takes_money boolean)
  left join payment_reversals as known on known.id = given.id;
  -- Otherwise the card would be charged again, for what was just given back or could not be credited.
  pause_reason := case when was_disputed then 'disputed' when was_refunded then 'refunded'
    when concerned.kind = 'automatic' and concerned.credited_at is null then
      case new_state when 'failed' then coalesce(new_problem, 'failed') when 'contradicted' then 'contradicted' end end;
  if pause_reason is not null then
    update payment_customers set paused_reason = pause_reason, paused_at = now(), updated_at = now()
    where account_id = concerned.account_id and is_live = concerned.is_live and is_automatic and paused_at is null;
  end if;
  was_credited := false;
  if new_state = 'paid' and concerned.credited_at is null then
    was_credited := book_own_movement('credit', concerned.account_id, concerned.amount, credit_words, of_order, null);
    concerned.credited_at := now();
  end if;
  insert into payment_reversals as known (id, order_id, kind, amount_minor, status, due, told_at)
  select id, of_order, kind, amount_minor, status, due, case when kind = 'dispute' and takes_money then now() end
  from jsonb_to_recordset(reversal_rows)
    as given (id text, kind text, amount_minor bigint, status text, due numeric, takes_money boolean)
  on conflict (id) do update
  set amount_minor = excluded.amount_minor, status = excluded.status, due = excluded.due,
      told_at = coalesce(known.told_at, excluded.told_at), updated_at = now()
  where known.order_id = of_order and (known.amount_minor, known.status, known.due)
    is distinct from (excluded.amount_minor, excluded.status, excluded.due);
  update payment_orders
  set state = case when concerned.credited_at is null then new_state else 'paid' end, problem = new_problem,
      invoice = coalesce(new_invoice, invoice), payment_intent = coalesce(new_payment_intent, payment_intent),
      paid_minor = coalesce(new_paid_minor, paid_minor), receipt_url = coalesce(new_receipt, receipt_url),
      credited_at = concerned.credited_at, claim = null, claimed_until = null, look_failures = 0, look_problem = null,
      updated_at = now(),
      next_look_at = case when asked > seen then now() else now() + make_interval(secs => look_again_seconds) end
  where id = of_order;
  -- Once for each dispute, so that an operator can let the account go on meanwhile.
  if was_disputed and suspends then
    update accounts set suspended_at = now() where id = concerned.account_id and suspended_at is null;
  end if;
  perform collect_payment_reversals(of_order);
  return next;
end $$;
comment on function apply_payment_look is
  'Writes what follows from the provider''s objects, if the claim still holds: the state of the order, its credit, what refunds and disputes take back, and whether automatic top-ups pause. Returns a row if it does. Changes of the rows are what others are told of.';

create function has_failed_too_often(of_account uuid, with_live boolean) returns boolean language sql stable as $$
  select count(*) >= 3 from payment_orders
  where account_id = of_account and is_live = with_live and kind = 'automatic'
    and state in ('failed', 'contradicted') and created_at > now() - interval '1 day'
$$;
comment on function has_failed_too_often is
  'Whether the card of an account is not charged automatically for now: card networks punish repeated attempts.';

create function top_ups_this_month(of_account uuid, with_live boolean) returns numeric language sql stable as $$
  select coalesce(sum(amount), 0)::numeric(38,12) from payment_orders
  where account_id = of_account and is_live = with_live and kind = 'automatic' and state not in ('failed', 'expired')
    and created_at >= date_trunc('month', now(), 'UTC')
$$;
comment on function top_ups_this_month is 'What was added automatically in this month, in UTC, or is about to be.';

create function wanted_top_ups(with_live boolean, least_amount numeric)
returns table (account_id uuid, amount numeric, customer text, payment_method text) language sql stable as $$
  select settings.account_id, wanted.amount, settings.customer, settings.payment_method
  from payment_customers as settings
  join accounts on accounts.id = settings.account_id
  cross join lateral (
    select least(coalesce(top_up_amount, ceil(100 * (top_up_target - balance + accounts.held)) / 100),
      floor(100 * (monthly_cap - top_ups_this_month(settings.account_id, with_live))) / 100) as amount
  ) as wanted
  where settings.is_automatic and settings.is_live = with_live and settings.paused_at is null
    and settings.payment_method is not null and suspended_at is null and balance - accounts.held < threshold
    and wanted.amount >= least_amount and not has_failed_too_often(settings.account_id, with_live)
    and not exists (select 1 from payment_orders as running where running.account_id = settings.account_id
      and running.is_live = with_live and running.kind = 'automatic' and running.state in ('new', 'open', 'processing'))
    -- What was refunded or is disputed would be charged again.
    and not exists (select 1 from payment_orders as reversed join payment_reversals on order_id = reversed.id
      where reversed.account_id = settings.account_id and due > taken)
$$;
comment on function wanted_top_ups is
  'The accounts whose saved card should be charged now, and how much. All conditions are here: whoever cannot be charged takes no place of those who can.';

create function begin_automatic_top_up(of_account uuid, new_order uuid, with_live boolean, least_amount numeric)
returns uuid language plpgsql as $$
begin
  -- One at a time in an account, and what was chosen meanwhile counts.
  perform 1 from payment_customers where account_id = of_account for update skip locked;
  if not found then return null; end if;
  insert into payment_orders (id, account_id, kind, amount, currency, is_live, customer, payment_method, next_look_at)
  select new_order, account_id, 'automatic', amount, 'usd', with_live, customer, payment_method, now()
  from wanted_top_ups(with_live, least_amount) where account_id = of_account
  on conflict (account_id, is_live) where kind = 'automatic' and state in ('new', 'open', 'processing') do nothing;
  return case when found then new_order end;
end $$;
comment on function begin_automatic_top_up is
  'Makes the order of an automatic top-up if the account needs one and may have it, and has none in progress. Returns its ID, or null.';
