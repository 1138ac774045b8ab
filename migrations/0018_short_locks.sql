-- compatible-with: 0015
--
-- A change of an account or a key locks what the ledger writes, and the operations of other customers wait behind it. So it
-- locks no more than it has to, and not for long when whoever makes the change is cut off before the end of the transaction.

create or replace function renew_version() returns trigger language plpgsql as $$
begin
  perform set_config('idle_in_transaction_session_timeout', '5s', true);
  new.version := random_version();
  return new;
end $$;

create or replace function renew_meter_version() returns trigger language plpgsql as $$
begin
  perform set_config('idle_in_transaction_session_timeout', '5s', true);
  update api_key_meters set version = random_version() where key_id = new.id;
  return null;
end $$;

drop trigger api_keys_renew_meter_version on api_keys;

-- Only what the ledger reads of a key: renaming one locks no meter.
create trigger api_keys_renew_meter_version after update on api_keys
  for each row when (
    (old.monthly_limit, old.requests_per_minute, old.max_concurrent, old.revoked_at, old.expires_at)
      is distinct from (new.monthly_limit, new.requests_per_minute, new.max_concurrent, new.revoked_at, new.expires_at)
  ) execute function renew_meter_version();
