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
 * The same for an account, whose requests may have grown since it was last served: those that were refused because the balance
 * did not cover them would have held something, too.
 */
export function typicalHoldOfAccount(sql: SQL, accountId: SQL.Query<unknown>) {
  return sql`(
    select percentile_disc(0.5) within group (order by hold) from (
      select hold from (
        (${newestHolds(sql, 'account_id', accountId)})
        union all
        (select id, needed::numeric from refusals
         where account_id = ${accountId} and code = 'insufficient_balance' and short_of = 'balance'
         order by account_id desc, code desc, id desc limit ${sampleSize}::int)
      ) as wanted order by id desc limit ${sampleSize}::int
    ) as newest
  )`;
}

/** Sorting by the owner too, and comparing it with an array, keeps the planner from using the primary key. */
function newestHolds(sql: SQL, owner: 'key_id' | 'account_id', ownerId: SQL.Query<unknown>) {
  const column = sql(owner);
  return sql`
    select id, hold from generations
    where ${column} = any (array[${ownerId}]) and status = 'completed'
      and id >= first_id_at(now() - make_interval(days => ${sampleDays}::int))
      and id < first_id_at(now() + interval '1 day')
    order by ${column} desc, id desc limit ${sampleSize}::int`;
}
