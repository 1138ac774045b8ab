/** What a request of a key or an account usually holds: half of the newest ones held no more. */
import type { SQL } from 'bun';

/** Few, because the list of keys asks for each of up to a thousand. */
const sampleSize = 20;
/** Older requests are in other partitions, and say little about the next one. Those of the future are empty. */
const sampleDays = 31;

/** A scalar subquery for the key whose ID is in the column `keyId`, null without requests. */
export function typicalHoldOfKey(sql: SQL, keyId: SQL.Query<unknown>) {
  return medianHold(sql, 'key_id', keyId);
}

/** The same for an account. */
export function typicalHoldOfAccount(sql: SQL, accountId: SQL.Query<unknown>) {
  return medianHold(sql, 'account_id', accountId);
}

/** Sorting by the owner too, and comparing it with an array, keeps the planner from using the primary key. */
function medianHold(sql: SQL, owner: 'key_id' | 'account_id', id: SQL.Query<unknown>) {
  const column = sql(owner);
  return sql`(
    select percentile_disc(0.5) within group (order by hold) from (
      select hold from generations
      where ${column} = any (array[${id}]) and status = 'completed'
        and id >= first_id_at(now() - make_interval(days => ${sampleDays}::int))
        and id < first_id_at(now() + interval '1 day')
      order by ${column} desc, id desc limit ${sampleSize}::int
    ) as newest
  )`;
}
