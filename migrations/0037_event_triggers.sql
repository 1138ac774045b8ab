-- compatible-with: 0015
-- no transaction
--
-- What writes events, whichever door a change comes through. Charges write none: they are told by day. One statement at a
-- time, and each can be repeated, because the tables are busy ones.

alter table account_details add column if not exists low_balance numeric(38,12);
alter table account_details drop constraint if exists account_details_low_balance_check,
  add constraint account_details_low_balance_check check (low_balance >= 0) not valid;
alter table account_details validate constraint account_details_low_balance_check;
comment on column account_details.low_balance is 'Below this balance the account is warned, by an event. Null for never.';
create index concurrently account_details_with_low_balance on account_details (account_id) where low_balance is not null;

create index concurrently api_keys_by_expiry on api_keys (expires_at) where expires_at is not null;
create index concurrently api_keys_by_end on api_keys (revoked_at) where revoked_at is not null;

-- What is so already is not told as if it had happened now.
insert into usage_told
select account_id, day, model, sum(requests), sum(input_tokens), sum(output_tokens), sum(images), sum(cache_read_tokens),
       sum(cache_write_tokens), sum(cost)
from usage_days where day between (now() at time zone 'UTC')::date - 31 and (now() at time zone 'UTC')::date - 1
group by account_id, day, model
on conflict do nothing;
insert into event_causes (kind, subject, account_id)
select 'key_expired', id::text, account_id from api_keys where expires_at between now() - interval '30 days' and now()
on conflict do nothing;
insert into event_causes (kind, subject, account_id)
select 'key_revoked', id::text, account_id from api_keys where revoked_at between now() - interval '30 days' and now()
on conflict do nothing;
insert into event_causes (kind, subject)
select 'node_lost', id::text from nodes
where stopped_at is null and heartbeat_at between now() - interval '30 days' and now() - interval '1 minute'
on conflict do nothing;

create or replace function tell_movement() returns trigger language plpgsql as $$
begin
  insert into events (account_id, type, data) values (
    new.account_id,
    case new.kind when 'credit' then 'credit.added' when 'refund' then 'charge.refunded' else 'balance.corrected' end,
    jsonb_build_object('entry_number', new.number, 'amount', new.amount::text, 'balance_after', new.balance_after::text,
      'memo', new.memo, 'reference', coalesce(new.reference_text, new.reference::text),
      'request_id', 'req_' || replace(coalesce(new.generation_id, new.concerns_generation_id)::text, '-', ''),
      'concerns_entry', new.concerns_entry));
  return null;
end $$;
comment on function tell_movement is 'Credits, corrections and refunds are events.';
create or replace trigger ledger_entries_told after insert on ledger_entries
  for each row when (new.kind <> 'charge') execute function tell_movement();

create or replace function tell_key() returns trigger language plpgsql as $$
declare
  key_data constant jsonb := jsonb_build_object('key_id', new.id, 'name', new.name, 'hint', new.hint);
begin
  if tg_op = 'INSERT' then
    insert into events (account_id, type, data)
    values (new.account_id, 'key.created', key_data || jsonb_build_object('expires_at', event_time(new.expires_at)));
  elsif new.revoked_at <= clock_timestamp() then
    -- One that is still valid for a while is told when that is over.
    insert into event_causes (kind, subject, account_id) values ('key_revoked', new.id::text, new.account_id) on conflict do nothing;
    insert into events (account_id, type, data)
    values (new.account_id, 'key.revoked', key_data || jsonb_build_object('revoked_at', event_time(new.revoked_at)));
  end if;
  return null;
end $$;
comment on function tell_key is 'New and revoked keys are events.';
create or replace trigger api_keys_told after insert on api_keys for each row execute function tell_key();
create or replace trigger api_keys_end_told after update of revoked_at on api_keys
  for each row when (new.revoked_at is not null and old.revoked_at is distinct from new.revoked_at)
  execute function tell_key();

create or replace function tell_suspension() returns trigger language plpgsql as $$
begin
  insert into events (account_id, type, data) values (
    new.id, case when new.suspended_at is null then 'account.resumed' else 'account.suspended' end, '{}');
  return null;
end $$;
comment on function tell_suspension is 'Accounts that are suspended or resumed are events.';
create or replace trigger accounts_suspension_told after update of suspended_at on accounts
  for each row when ((old.suspended_at is null) <> (new.suspended_at is null)) execute function tell_suspension();

create or replace function tell_dead_letter() returns trigger language plpgsql as $$
begin
  insert into events (type, data) values ('dead_letter.added', jsonb_build_object(
    'account_id', new.account_id, 'request_id', 'req_' || replace(new.generation_id::text, '-', ''),
    'refusal_code', new.refusal_code, 'refusal_about', new.refusal_about));
  return null;
end $$;
comment on function tell_dead_letter is 'Dead letters are events of the operator.';
create or replace trigger dead_letters_told after insert on dead_letters
  for each row execute function tell_dead_letter();

create or replace function tell_audit() returns trigger language plpgsql as $$
begin
  insert into events (type, data) values ('audit.failed', jsonb_build_object('audit_id', new.id, 'outcome', new.outcome));
  return null;
end $$;
comment on function tell_audit is 'Audits that find something, or do not get to their end, are events of the operator.';
create or replace trigger ledger_audits_told after update of outcome on ledger_audits
  for each row when (old.outcome is distinct from new.outcome and new.outcome in ('broken', 'failed'))
  execute function tell_audit();
