/**
 * Removes Generations, their attempts and whom they were for after the retention period: month by month, as whole partitions. Usage records and
 * the ledger stay.
 *
 * Detaching a partition locks the whole table for a moment, because there is a default partition. So the lock is requested
 * again and again, each time too briefly for a request to notice, until nobody is reading the table.
 */
import type { ReservedSQL, SQL } from 'bun';
import type { Log } from '../lib/log.ts';

const everyMs = 24 * 60 * 60 * 1000;
const retentionLock = 7_012_018_005;

const lockTimeoutMs = 100;
const retryPauseMs = 500;
/** About an hour. The next run, a day later, tries again. */
const maxTries = 6_000;

/**
 * `detach` and `drop` are statements. One partition may be detached but not dropped yet, and another half detached by an
 * earlier version.
 */
type Partition = { is_expired: boolean; detach: string | null; drop: string };

/** Runs now and once a day. */
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
      if (count > 0) log.info('expired partitions removed', { count });
    } catch (error) {
      if (!isStopped) log.error('expired partitions not removed', { error });
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
    // Waiting for the lock may take long. The next start continues from here.
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
    const expired = (await findPartitions(connection, retentionDays)).filter(({ is_expired }) => is_expired);
    for (const partition of expired) await removePartition(connection, partition);
    await removeStrays(connection, retentionDays);
    await connection`select pg_advisory_unlock(${retentionLock})`;
    return expired.length;
  } finally {
    await connection.release();
  }
}

/** Rows in the default partitions are as old as their IDs. */
async function removeStrays(connection: ReservedSQL, retentionDays: number): Promise<void> {
  await connection`
    delete from generation_attributions_default
    where generation_id < first_id_at(now() - make_interval(days => ${retentionDays}::int))`;
  await connection`
    delete from generations_default where id < first_id_at(now() - make_interval(days => ${retentionDays}::int))`;
  await connection`
    delete from attempts_default where generation_id < first_id_at(now() - make_interval(days => ${retentionDays}::int))`;
}

async function removePartition(connection: ReservedSQL, { detach, drop }: Partition): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await connection.unsafe('begin');
      await connection.unsafe(`set local lock_timeout = ${lockTimeoutMs}`);
      if (detach !== null) await connection.unsafe(detach);
      await connection.unsafe(drop);
      await connection.unsafe('commit');
      return;
    } catch (error) {
      await connection.unsafe('rollback');
      if (!isLockTimeout(error) || tries === maxTries) throw error;
      await Bun.sleep(retryPauseMs);
    }
  }
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && 'errno' in error && error.errno === '55P03';
}

/**
 * The partitions of the three tables, the oldest first, by the names that create_partitions gives them: a detached one is known
 * by its name only. A month has expired when all of it is older than the retention period, with two exceptions. The months
 * that create_partitions ensures stay, for a node whose clock is slow; and so does a month with an open Generation, because
 * settling it needs its partition.
 */
async function findPartitions(connection: ReservedSQL, retentionDays: number): Promise<Partition[]> {
  return await connection<Partition[]>`
    with partitions as (
      select base.place, base.name as parent, pg_class.relname as name, pg_class.oid,
             to_date(right(pg_class.relname, 7), 'YYYY_MM') as month
      from (values (1, 'generation_attributions'), (2, 'generations'), (3, 'attempts')) as base (place, name)
      join pg_class as parent_class on parent_class.oid = to_regclass(base.name)
      join pg_class on pg_class.relnamespace = parent_class.relnamespace and pg_class.relkind = 'r'
        and pg_class.relname ~ ('^' || base.name || '_[0-9]{4}_(0[1-9]|1[0-2])$')
    ), bounded as (
      select *, month::timestamp at time zone 'UTC' as begins_at, (month + interval '1 month') at time zone 'UTC' as ends_at
      from partitions
    )
    select
           ends_at <= now() - make_interval(days => ${retentionDays}::int)
             and ends_at <= date_trunc('month', now() - interval '31 days', 'UTC')
             and not exists (select 1 from open_generations where open_generations.id >= first_id_at(begins_at)
                             and open_generations.id < first_id_at(ends_at))
             as is_expired,
           case when inhrelid is not null
             then format('alter table %I detach partition %I', parent, name) || case when inhdetachpending then ' finalize' else '' end
           end as detach,
           format('drop table %I', name) as drop
    from bounded left join pg_inherits on inhrelid = bounded.oid
    order by month, place`;
}
