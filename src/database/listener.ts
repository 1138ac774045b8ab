/**
 * LISTEN on a dedicated connection. When it is lost or replaced, the subscriptions move to a new one. The driver would
 * subscribe again by itself, but it prints each failure in its own words instead of logging it.
 */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { ReplaceableClient } from './replaceable-client.ts';

type Listen = SQL['listen'];
type Subscription = { args: Parameters<Listen>; current: Awaited<ReturnType<Listen>> | null };

export type Listener = Readonly<{ listen: Listen; replace: () => void; close: () => Promise<void> }>;

const retryMs = 1_000;

export function openListener(open: (onclose: () => void) => SQL, log?: Log): Listener {
  const client = new ReplaceableClient(() => {
    const opened: SQL = open(() => replace(opened));
    return opened;
  });
  const subscriptions = new Set<Subscription>();

  async function listen(...args: Parameters<Listen>) {
    const subscription: Subscription = { args, current: await client.current.listen(...args) };
    subscriptions.add(subscription);
    return {
      unlisten: async () => {
        subscriptions.delete(subscription);
        await subscription.current?.unlisten();
      },
    };
  }

  function replace(lost: SQL): void {
    if (!client.replace(lost)) return;
    for (const subscription of subscriptions) {
      subscription.current = null;
      subscribeAgain(client.current, subscription).catch(() => undefined);
    }
  }

  /** The database may still be away, so this is repeated until it is back or the client is replaced again. */
  async function subscribeAgain(current: SQL, subscription: Subscription): Promise<void> {
    const isNeeded = () => client.isCurrent(current) && subscriptions.has(subscription);
    for (let isFirst = true; isNeeded(); isFirst = false) {
      try {
        subscription.current = await current.listen(...subscription.args);
        return;
      } catch (error) {
        if (isFirst && client.isCurrent(current))
          log?.warn('changes in the database are not announced here, subscribing again', { error });
        await Bun.sleep(retryMs);
      }
    }
  }

  return {
    listen: listen as Listen,
    replace: () => replace(client.current),
    close: () => client.close(0),
  };
}
