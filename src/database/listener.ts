/**
 * LISTEN on a connection of its own. When it is lost or replaced, the subscriptions move to a new one. The driver would
 * subscribe again by itself, but it prints each failure in its own words instead of logging it.
 */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';

type Listen = SQL['listen'];
type Subscription = { args: Parameters<Listen>; current: Awaited<ReturnType<Listen>> | null };

export type Listener = Readonly<{ listen: Listen; replace: () => void; close: () => Promise<void> }>;

const retryMs = 1_000;

export function openListener(open: (onclose: () => void) => SQL, log?: Log): Listener {
  let sql: SQL | null = null;
  const subscriptions = new Set<Subscription>();

  function openClient(): SQL {
    const client: SQL = open(() => {
      if (client === sql) replace();
    });
    return client;
  }

  async function listen(...args: Parameters<Listen>) {
    sql ??= openClient();
    const subscription: Subscription = { args, current: await sql.listen(...args) };
    subscriptions.add(subscription);
    return {
      unlisten: async () => {
        subscriptions.delete(subscription);
        await subscription.current?.unlisten();
      },
    };
  }

  function replace(): void {
    if (sql === null) return;
    sql.close({ timeout: 0 }).catch(() => undefined);
    const client = openClient();
    sql = client;
    for (const subscription of subscriptions) {
      subscription.current = null;
      subscribeAgain(client, subscription).catch(() => undefined);
    }
  }

  /** The database may still be away, so this goes on until it is back or the client is replaced again. */
  async function subscribeAgain(client: SQL, subscription: Subscription): Promise<void> {
    for (let isFirst = true; client === sql && subscriptions.has(subscription); isFirst = false) {
      try {
        subscription.current = await client.listen(...subscription.args);
        return;
      } catch (error) {
        if (isFirst && client === sql)
          log?.warn('changes in the database are not announced here, subscribing again', { error });
        await Bun.sleep(retryMs);
      }
    }
  }

  return {
    listen: listen as Listen,
    replace,
    close: async () => {
      const client = sql;
      sql = null;
      await client?.close({ timeout: 0 });
    },
  };
}
