/**
 * Removes Generations and their attempts that are older than the operator keeps them: month by month, whole partitions,
 * and without a lock that readers or writers would notice. Usage records and the ledger stay.
 *
 * A partition is detached `concurrently`, which marks it, waits for whoever still uses the table, and then lets go of it.
 * What is interrupted on the way is found again by the next run, in whatever state it was left.
 */
import type { ReservedSQL, SQL } from 'bun';
import type { Log } from '../lib/log.ts';

const everyMs = 24 * 60 * 60 * 1000;
const retentionLock = 7_012_018_005;

/** Where a partition stands on its way out. At most one of a table can be pending. */
type Partition = {
  state: 'attached' | 'pending' | 'detached';
  is_expired: boolean;
  detach: string;
  finalize: string;
  drop: string;
};

/** Removes what has expired now and once a day from now on. */
export function keepRetention(
  openConnection: () => SQL,
  retentionDays: number,
  log: Log,
): () => Promise<void> {
  let current: SQL | null = null;
  let isStopped = false;

  async function run(): Promise<void> {
    if (current !== null) return;
    const sql = openConnection();
    current = sql;
    try {
      const count = await removeExpiredMonths(sql, retentionDays);
      if (count > 0) log.info('removed months that are past their retention', { count });
    } catch (error) {
      if (!isStopped) log.error('months past their retention not removed', { error });
    } finally {
      current = null;
      await sql.close({ timeout: 1 });
    }
  }

  const runLogged = () => {
    run().catch((error: unknown) => log.warn('a connection was not closed', { error }));
  };
  const timer = setInterval(runLogged, everyMs);
  runLogged();
  return async () => {
    isStopped = true;
    clearInterval(timer);
    // Who waits for the users of a table may wait long. The next start goes on from there.
    await current?.close({ timeout: 0 });
  };
}

/**
 * Returns how many partitions were removed. Needs a client with one connection, whose session holds the lock that lets
 * only one node do this at a time.
 */
export async function removeExpiredMonths(sql: SQL, retentionDays: number): Promise<number> {
  const connection = await sql.reserve();
  try {
    const [{ is_mine: isMine }] = await connection<[{ is_mine: boolean }]>`
      select pg_try_advisory_lock(${retentionLock}) as is_mine`;
    if (!isMine) return 0;
    const partitions = await findPartitions(connection, retentionDays);
    // A pending one stands in the way of every other, so it goes first, expired or not.
    for (const partition of partitions.filter(({ state }) => state === 'pending'))
      await connection.unsafe(partition.finalize);
    const expired = partitions.filter((partition) => partition.is_expired);
    for (const partition of expired) {
      // This cannot run inside a transaction, and so in no function of the database either.
      if (partition.state === 'attached') await connection.unsafe(partition.detach);
      await connection.unsafe(partition.drop);
    }
    await connection`select pg_advisory_unlock(${retentionLock})`;
    return expired.length;
  } finally {
    await connection.release();
  }
}

/**
 * The partitions of both tables, the oldest first, by the names that create_partitions gives them: one that was detached
 * and not dropped is known by its name only. A month has expired when all of it is older than what is kept, with two
 * exceptions. The months that create_partitions makes sure of stay, for a node whose clock is slow; and so does one
 * that a Generation is still open in, because settling it needs its partition.
 */
async function findPartitions(connection: ReservedSQL, retentionDays: number): Promise<Partition[]> {
  return await connection<Partition[]>`
    with partitions as (
      select base.place, base.name as parent, pg_class.relname as name, pg_class.oid,
             to_date(right(pg_class.relname, 7), 'YYYY_MM') as month
      from (values (1, 'generations'), (2, 'attempts')) as base (place, name)
      join pg_class as parent_class on parent_class.oid = to_regclass(base.name)
      join pg_class on pg_class.relnamespace = parent_class.relnamespace and pg_class.relkind = 'r'
        and pg_class.relname ~ ('^' || base.name || '_[0-9]{4}_(0[1-9]|1[0-2])$')
    ), bounded as (
      select *, month::timestamp at time zone 'UTC' as begins_at, (month + interval '1 month') at time zone 'UTC' as ends_at
      from partitions
    )
    select case when inhrelid is null then 'detached' when inhdetachpending then 'pending' else 'attached' end as state,
           ends_at <= now() - make_interval(days => ${retentionDays}::int)
             and ends_at <= date_trunc('month', now() - interval '31 days', 'UTC')
             and not exists (select 1 from open_generations where open_generations.id >= first_id_at(begins_at)
                             and open_generations.id < first_id_at(ends_at))
             as is_expired,
           format('alter table %I detach partition %I concurrently', parent, name) as detach,
           format('alter table %I detach partition %I finalize', parent, name) as finalize,
           format('drop table %I', name) as drop
    from bounded left join pg_inherits on inhrelid = bounded.oid
    order by month, place`;
}
