-- compatible-with: 0015
--
-- Payments are events, too. What is credited and taken back for them is told by the ledger's own.

create function tell_payment() returns trigger language plpgsql as $$
begin
  insert into events (account_id, type, data) values (
    new.account_id,
    case when new.state = 'paid' then 'payment.succeeded' else 'payment.failed' end,
    jsonb_build_object('payment_id', new.id, 'kind', new.kind, 'amount', new.amount::text,
      'paid', case when new.state in ('paid', 'contradicted') then (new.paid_minor * 0.01)::numeric(38,12)::text end)
    || case new.state when 'paid' then '{}' when 'failed' then jsonb_build_object('reason', coalesce(new.problem, 'failed'))
      else '{"reason": "contradicted"}' end);
  return null;
end $$;
comment on function tell_payment is 'Payments that were credited, or failed, or were made but do not fit their order, are events.';
create trigger payment_orders_credit_told after update of credited_at on payment_orders
  for each row when (old.credited_at is null and new.credited_at is not null) execute function tell_payment();
-- Nobody could pay a checkout whose page the provider refused to open.
create trigger payment_orders_failure_told after update of state on payment_orders
  for each row when (old.state <> new.state and (new.state = 'contradicted'
    or new.state = 'failed' and (new.kind = 'automatic' or new.session is not null)))
  execute function tell_payment();

create function tell_payment_reversal() returns trigger language plpgsql as $$
begin
  insert into events (account_id, type, data)
  select account_id, case new.kind when 'refund' then 'payment.refunded' else 'payment.disputed' end,
         jsonb_build_object('payment_id', new.order_id, 'reversal_id', new.id, 'status', new.status,
           'amount', (new.amount_minor * 0.01)::numeric(38,12)::text, 'credit', new.due::text)
  from payment_orders where id = new.order_id;
  return null;
end $$;
comment on function tell_payment_reversal is
  'Refunds are events when they begin to take credit, and disputes when they take money, even if no credit is left to take. What one gives back is told as a correction.';
create trigger payment_reversals_told after insert on payment_reversals
  for each row when (new.kind = 'refund' and new.due > 0 or new.told_at is not null) execute function tell_payment_reversal();
create trigger payment_reversals_change_told after update on payment_reversals
  for each row when (new.kind = 'refund' and old.due = 0 and new.due > 0 or old.told_at is null and new.told_at is not null)
  execute function tell_payment_reversal();
