-- compatible-with: 0015
-- no transaction
--
-- Accounts that pay other prices than those of the list: a group of the catalogue. Its prices are a price list of their own.

alter table accounts add column if not exists price_group text;
comment on column accounts.price_group is
  'The group of the catalogue whose prices the account pays; null for list prices. If the catalogue has no such group, its '
  'requests are refused.';

create or replace trigger accounts_announce_prices after update of price_group on accounts
  for each row when (old.price_group is distinct from new.price_group)
  execute function announce_account_change();

create or replace view account_overviews as
  select id, name, balance, held, suspended_at is not null as is_suspended, created_at,
         (select count(*)::integer from api_keys
          where account_id = accounts.id and coalesce(revoked_at > now(), true) and coalesce(expires_at > now(), true)) as keys_in_force,
         (select count(*)::integer from memberships where account_id = accounts.id) as members,
         (select coalesce(sum(month_spent), 0) from api_keys join api_key_meters on key_id = api_keys.id
          where account_id = accounts.id and month = date_trunc('month', now() at time zone 'UTC'))::numeric(38,12) as month_spent,
         price_group
  from accounts;
