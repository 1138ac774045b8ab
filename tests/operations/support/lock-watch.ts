/** How long exclusive locks are held, and waited for, by looking again and again. */
import { SQL } from 'bun';

const everyMs = 4;

type Locked = { name: string; granted: boolean };

export type LockTimes = Readonly<{
  /** The longest time for which a table was locked, and which one it was. */
  held: Readonly<{ name: string; ms: number }>;
  /** The longest time for which everyone who needs the table waited behind one that is still to be locked. */
  waited: Readonly<{ name: string; ms: number }>;
}>;

/** Partitions count as their table. Temporary tables and the catalogues of the database do not count. */
export function watchLocks(url: string): { stop: () => Promise<LockTimes> } {
  const sql = new SQL(url, { max: 1 });
  const since = { held: new Map<string, number>(), waited: new Map<string, number>() };
  const longest = { held: { name: '', ms: 0 }, waited: { name: '', ms: 0 } };
  let isOver = false;

  function note(kind: 'held' | 'waited', names: ReadonlySet<string>, atMs: number): void {
    for (const name of names) {
      const ms = atMs - (since[kind].get(name) ?? atMs);
      if (!since[kind].has(name)) since[kind].set(name, atMs);
      if (ms > longest[kind].ms) longest[kind] = { name, ms };
    }
    for (const name of since[kind].keys()) if (!names.has(name)) since[kind].delete(name);
  }

  async function watch(): Promise<void> {
    while (!isOver) {
      const rows = await sql<Locked[]>`
        select coalesce(pg_partition_root(relation), relation)::regclass::text as name, granted
        from pg_locks join pg_class on pg_class.oid = relation
        where mode = 'AccessExclusiveLock' and database = (select oid from pg_database where datname = current_database())
          and relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v')`;
      const atMs = performance.now();
      const waiting = new Set(rows.flatMap(({ name, granted }) => (granted ? [] : [name])));
      note('waited', waiting, atMs);
      note('held', new Set(rows.flatMap(({ name, granted }) => (granted ? [name] : []))), atMs);
      await Bun.sleep(everyMs);
    }
    await sql.close();
  }

  const watching = watch();
  return {
    stop: async () => {
      isOver = true;
      await watching;
      return longest;
    },
  };
}
