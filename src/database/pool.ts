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

const finishSeconds = 60;
const closeSeconds = 5;

export function openPool(open: () => SQL): Pool {
  let current = open();
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
      old.close({ timeout: finishSeconds }).catch(() => undefined);
    },
    close: () => current.close({ timeout: closeSeconds }),
  };
}
