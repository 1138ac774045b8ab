-- compatible-with: 0015
--
-- Which keys of an account asked most in a month, and which accounts: a million rows of hours would have to be read to find
-- out, most of them of keys that are not among the first. Triggers keep these sums equal to request_hours, whichever version
-- of the gateway writes there.

create table request_days (
  account_id uuid not null,
  key_id uuid not null,
  day date not null,
  status text not null,
  count bigint not null,
  cost numeric(38,12) not null,
  primary key (account_id, key_id, day, status)
) with (fillfactor = 70);
create index request_days_by_day on request_days (day);
comment on table request_days is
  'What request_hours has of a key, or of an account (key_id is the nil UUID), on a day (UTC): always the sum of its rows.';

-- Nobody writes in between.
lock table request_hours in share row exclusive mode;

create function add_to_request_days() returns trigger language plpgsql as $$
declare
  nobody constant uuid := '00000000-0000-0000-0000-000000000000';
begin
  -- Two nodes that store what was refused change rows of hours that differ, but may want the same days in another order.
  perform pg_advisory_xact_lock(7012018052) from changed_hours where status = 'refused' limit 1;
  insert into request_days as known (account_id, key_id, day, status, count, cost)
  select account_id, key_id, (hour at time zone 'UTC')::date, status, sum(count), sum(cost)
  from changed_hours where account_id <> nobody
  group by 1, 2, 3, 4 order by 1, 2, 3, 4
  on conflict (account_id, key_id, day, status)
    do update set count = known.count + excluded.count, cost = known.cost + excluded.cost;
  return null;
end $$;
comment on function add_to_request_days is 'Adds rows of request_hours that are new to their days.';

create function take_from_request_days() returns trigger language plpgsql as $$
declare
  nobody constant uuid := '00000000-0000-0000-0000-000000000000';
begin
  perform pg_advisory_xact_lock(7012018052) from changed_hours where status = 'refused' limit 1;
  insert into request_days as known (account_id, key_id, day, status, count, cost)
  select account_id, key_id, (hour at time zone 'UTC')::date, status, -sum(count), -sum(cost)
  from changed_hours where account_id <> nobody
  group by 1, 2, 3, 4 order by 1, 2, 3, 4
  on conflict (account_id, key_id, day, status)
    do update set count = known.count + excluded.count, cost = known.cost + excluded.cost;
  return null;
end $$;
comment on function take_from_request_days is 'Takes rows of request_hours that are gone from their days.';

create function change_request_days() returns trigger language plpgsql as $$
declare
  nobody constant uuid := '00000000-0000-0000-0000-000000000000';
begin
  perform pg_advisory_xact_lock(7012018052) from changed_hours where status = 'refused' limit 1;
  insert into request_days as known (account_id, key_id, day, status, count, cost)
  select account_id, key_id, (hour at time zone 'UTC')::date, status, sum(count), sum(cost)
  from (
    select account_id, key_id, hour, status, count, cost from changed_hours
    union all select account_id, key_id, hour, status, -count, -cost from hours_before
  ) as difference
  where account_id <> nobody
  group by 1, 2, 3, 4 order by 1, 2, 3, 4
  on conflict (account_id, key_id, day, status)
    do update set count = known.count + excluded.count, cost = known.cost + excluded.cost;
  return null;
end $$;
comment on function change_request_days is 'Adds what rows of request_hours have grown by to their days.';

create trigger added_hours after insert on request_hours
referencing new table as changed_hours for each statement execute function add_to_request_days();
create trigger removed_hours after delete on request_hours
referencing old table as changed_hours for each statement execute function take_from_request_days();
create trigger changed_hours after update on request_hours
referencing new table as changed_hours old table as hours_before
for each statement execute function change_request_days();

insert into request_days (account_id, key_id, day, status, count, cost)
select account_id, key_id, (hour at time zone 'UTC')::date, status, sum(count), sum(cost)
from request_hours where account_id <> '00000000-0000-0000-0000-000000000000'
group by 1, 2, 3, 4;
