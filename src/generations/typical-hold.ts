/** What a request of a key or an account usually holds: half of the newest ones held no more. */
import type { SQL } from 'bun';

/** Few, because the list of keys asks for each of up to a thousand. */
const sampleSize = 20;
/** Older requests are in other partitions, and say little about the next one. Those of the future are empty. */
const sampleDays = 31;

/** A scalar subquery for the key whose ID is in the column `keyId`, null without requests. */
export function typicalHoldOfKey(sql: SQL, keyId: SQL.Query<unknown>) {
  return sql`(
    select percentile_disc(0.5) within group (order by hold) from (${newestHolds(sql, 'key_id', keyId)}) as newest
  )`;
}

/**
 * The same for an account, with requests that its balance refused. Without them the few that still fit would be the typical ones, and
 * an account that is out of money would seem to last for weeks.
 */
export function typicalHoldOfAccount(sql: SQL, accountId: SQL.Query<unknown>) {
  return sql`(
    select percentile_disc(0.5) within group (order by hold) from (
      select hold from (
        (${newestHolds(sql, 'account_id', accountId)})
        union all
        (select id, case when short_of = 'balance' then needed::numeric(38,12) end from refusals
         where account_id = ${accountId} and code = 'insufficient_balance' and ${isRecent(sql)}
         order by id desc limit ${sampleSize}::int)
      ) as either where hold is not null order by id desc limit ${sampleSize}::int
    ) as newest
  )`;
}

/** Sorting by the owner too, and comparing it with an array, keeps the planner from using the primary key. */
function newestHolds(sql: SQL, owner: 'key_id' | 'account_id', id: SQL.Query<unknown>) {
  const column = sql(owner);
  return sql`
    select id, hold from generations
    where ${column} = any (array[${id}]) and status = 'completed' and ${isRecent(sql)}
    order by ${column} desc, id desc limit ${sampleSize}::int`;
}

function isRecent(sql: SQL) {
  return sql`id >= first_id_at(now() - make_interval(days => ${sampleDays}::int))
    and id < first_id_at(now() + interval '1 day')`;
}
