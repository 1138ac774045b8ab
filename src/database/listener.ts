/** LISTEN on a connection of its own, which can be replaced: the subscriptions move to the new one. */
import type { SQL } from 'bun';

type Listen = SQL['listen'];
type Subscription = { args: Parameters<Listen>; current: Awaited<ReturnType<Listen>> | null };

export type Listener = Readonly<{ listen: Listen; replace: () => void; close: () => Promise<void> }>;

const retryMs = 1_000;

export function openListener(open: () => SQL): Listener {
  let sql: SQL | null = null;
  const subscriptions = new Set<Subscription>();

  async function listen(...args: Parameters<Listen>) {
    sql ??= open();
    const subscription: Subscription = { args, current: await sql.listen(...args) };
    subscriptions.add(subscription);
    return {
      unlisten: async () => {
        subscriptions.delete(subscription);
        await subscription.current?.unlisten();
      },
    };
  }

  /** The database may still be away, so this goes on until it is back or the client is replaced again. */
  async function subscribeAgain(client: SQL, subscription: Subscription): Promise<void> {
    while (client === sql && subscriptions.has(subscription)) {
      try {
        subscription.current = await client.listen(...subscription.args);
        return;
      } catch {
        await Bun.sleep(retryMs);
      }
    }
  }

  return {
    listen: listen as Listen,
    replace: () => {
      if (sql === null) return;
      sql.close({ timeout: 0 }).catch(() => undefined);
      const client = open();
      sql = client;
      for (const subscription of subscriptions) {
        subscription.current = null;
        subscribeAgain(client, subscription).catch(() => undefined);
      }
    },
    close: async () => {
      const client = sql;
      sql = null;
      await client?.close({ timeout: 0 });
    },
  };
}
