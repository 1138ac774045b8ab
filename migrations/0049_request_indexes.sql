-- compatible-with: 0015
-- no transaction
--
-- Operators list what failed, and what was cancelled, of all accounts. Most requests are completed, so they cost nothing here.
create index concurrently generations_unsuccessful on generations (status, id) where status <> 'completed';
