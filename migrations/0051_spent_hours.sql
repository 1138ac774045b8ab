-- compatible-with: 0015
-- no transaction
--
-- Which accounts run dry first follows from what each of them spent in the hours of a week.
create index concurrently request_hours_spent on request_hours (hour, account_id) include (cost)
  where key_id = '00000000-0000-0000-0000-000000000000' and account_id <> '00000000-0000-0000-0000-000000000000' and cost > 0;
