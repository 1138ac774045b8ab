-- compatible-with: 0011
-- no transaction
--
-- A list is one range of an index per status, for a key and for an account alike. Lists without a status read one range
-- for each, so the indexes without it are not needed, and a Generation still has as many index entries as before. They are
-- built while requests go on; nodes of the previous version find their rows by the new ones too.

create index concurrently generations_by_key_status_and_model on generations (key_id, status, model, id);
create index concurrently generations_by_account_and_status on generations (account_id, status, id);
create index concurrently generations_by_account_status_and_model on generations (account_id, status, model, id);
drop index if exists generations_by_key, generations_by_key_and_model, generations_by_account;
