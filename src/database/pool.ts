/**
 * A client that can be replaced while others keep using it: its queries go to whichever client is current. Connections
 * that a broken network has swallowed never answer again, and after a failover the database is elsewhere.
 */
import type { SQL } from 'bun';

export type Pool = Readonly<{
  sql: SQL;
  /** Opens another client for everything that follows. What is still running gets some time to finish. */
  replace: () => void;
  close: () => Promise<void>;
}>;

const finishMs = 60_000;
const closeSeconds = 5;

export function openPool(open: () => SQL): Pool {
  let current = open();
  /** Those that were replaced and may still have something running. */
  const retired = new Set<SQL>();

  function end(old: SQL): void {
    if (retired.delete(old)) old.close({ timeout: 0 }).catch(() => undefined);
  }

  const sql = new Proxy((() => undefined) as unknown as SQL, {
    apply: (_, __, args) => Reflect.apply(current as never, undefined, args),
    get: (_, name) => {
      const value: unknown = Reflect.get(current, name);
      return typeof value === 'function' ? value.bind(current) : value;
    },
  });
  return {
    sql,
    replace: () => {
      const old = current;
      current = open();
      retired.add(old);
      setTimeout(() => end(old), finishMs).unref();
    },
    close: async () => {
      for (const old of retired) end(old);
      await current.close({ timeout: closeSeconds });
    },
  };
}
