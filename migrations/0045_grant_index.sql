-- compatible-with: 0015
-- no transaction
--
-- Finds the accounts whose grants are due. Requests go on while it is built.
create index concurrently accounts_grants_due on accounts (grants_due_at, id) where grants_due_at is not null;
