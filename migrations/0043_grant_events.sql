-- compatible-with: 0015
--
-- What becomes of grants is told, too.

create or replace function tell_movement() returns trigger language plpgsql as $$
begin
  if new.kind in ('expiry', 'void') then
    insert into events (account_id, type, data)
    select new.account_id, case new.kind when 'expiry' then 'grant.expired' else 'grant.voided' end,
      jsonb_build_object('entry_number', new.number, 'grant_id', id, 'category', category, 'amount', new.amount::text,
        'balance_after', new.balance_after::text)
    from grants where account_id = new.account_id and number = new.concerns_entry;
    return null;
  end if;
  insert into events (account_id, type, data) values (
    new.account_id,
    case new.kind when 'credit' then 'credit.added' when 'refund' then 'charge.refunded' else 'balance.corrected' end,
    jsonb_build_object('entry_number', new.number, 'amount', new.amount::text, 'balance_after', new.balance_after::text,
      'memo', new.memo, 'reference', coalesce(new.reference_text, new.reference::text),
      'request_id', 'req_' || replace(coalesce(new.generation_id, new.concerns_generation_id)::text, '-', ''),
      'concerns_entry', new.concerns_entry));
  return null;
end $$;
comment on function tell_movement is 'All entries but charges are events.';

-- For those that end soon, of whatever account.
create index grants_by_expiry on grants (expires_at) where ended_at is null;

create or replace function mail_kind_of(event_type text) returns text language sql immutable as $$
  select case
    when event_type = 'balance.low' then 'low_balance'
    when event_type in ('budget.reached', 'key.used_up') then 'budget'
    when event_type = 'key.expired' then 'key_expiry'
    when event_type in ('payment.succeeded', 'payment.failed', 'payment.refunded', 'payment.disputed') then 'payment'
    when event_type = 'grant.expiring' then 'grant_expiry'
  end
$$;

alter table mail_choices drop constraint mail_choices_kinds_check,
  add constraint mail_choices_kinds_check
    check (kinds <@ array['low_balance', 'budget', 'key_expiry', 'payment', 'grant_expiry']);
-- Owners who have chosen could not choose this before.
update mail_choices set kinds = kinds || 'grant_expiry'::text
from memberships where memberships.user_id = mail_choices.user_id and memberships.account_id = mail_choices.account_id
  and role = 'owner';
