-- compatible-with: 0015
--
-- Gateways that do not know it give such credit without an end.
alter table credit_codes add column grant_days integer check (grant_days > 0);
comment on column credit_codes.grant_days is 'How many days the credit lasts once it was redeemed. Null: without an end.';
