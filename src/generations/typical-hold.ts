/** What a request of a key usually holds: half of the newest ones held no more. */
import type { SQL } from 'bun';

/** Few, because the list of keys asks for each of up to a thousand. */
const sampleSize = 20;
/** Older requests are in other partitions, and say little about the next one. Those of the future are empty. */
const sampleDays = 31;

/**
 * A scalar subquery for the key whose ID is in the column `keyId`, null without requests. Sorting by the key too, and comparing
 * it with an array, keeps the planner from using the primary key.
 */
export function typicalHold(sql: SQL, keyId: SQL.Query<unknown>) {
  return sql`(
    select percentile_disc(0.5) within group (order by hold) from (
      select hold from generations
      where key_id = any (array[${keyId}]) and status = 'completed'
        and id >= first_id_at(now() - make_interval(days => ${sampleDays}::int))
        and id < first_id_at(now() + interval '1 day')
      order by key_id desc, id desc limit ${sampleSize}::int
    ) as newest
  )`;
}
