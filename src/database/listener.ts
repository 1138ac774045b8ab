/** LISTEN on a connection of its own, which can be replaced: the subscriptions move to the new one. */
import type { SQL } from 'bun';

type Listen = SQL['listen'];
type Subscription = Readonly<{ unlisten: () => Promise<void> }>;

export type Listener = Readonly<{ listen: Listen; replace: () => void; close: () => Promise<void> }>;

export function openListener(open: () => SQL): Listener {
  let sql: SQL | null = null;
  const subscriptions = new Set<{ args: Parameters<Listen>; current: Promise<Subscription> }>();

  async function listen(...args: Parameters<Listen>): Promise<Subscription> {
    sql ??= open();
    const subscription = { args, current: sql.listen(...args) };
    subscriptions.add(subscription);
    await subscription.current;
    return {
      unlisten: async () => {
        subscriptions.delete(subscription);
        await (await subscription.current).unlisten();
      },
    };
  }

  return {
    listen: listen as Listen,
    replace: () => {
      if (sql === null) return;
      sql.close({ timeout: 0 }).catch(() => undefined);
      const next = open();
      sql = next;
      for (const subscription of subscriptions) {
        subscription.current = next.listen(...subscription.args);
        subscription.current.catch(() => undefined);
      }
    },
    close: async () => {
      await sql?.close({ timeout: 0 });
    },
  };
}
