/** What every node does about payments by itself, so that an event that never came loses nothing. */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { repeatedly } from '../lib/repeatedly.ts';
import { beginTopUps } from './automatic.ts';
import { finishDueSetups } from './card-setup.ts';
import { type LookOutcome, lookAt, notCollected } from './looks.ts';
import { readMissedEvents } from './missed-events.ts';
import { askForLook, collectDebts, findDueOrders } from './order-store.ts';
import { pace } from './pace.ts';
import { describeFailure, type Stripe, type StripeSettings } from './stripe-client.ts';

type SweepServices = Readonly<{
  sql: SQL;
  stripe: Stripe;
  settings: StripeSettings;
  log: Log;
}>;

const batch = 20;

export type Payments = Readonly<{
  stripe: Stripe;
  settings: StripeSettings;
  /** Looks at orders soon, without anyone waiting for it. */
  lookSoon: (orders: readonly string[]) => void;
  /** Looks at an order now, or has it looked at again by whoever does so already. */
  lookNow: (order: string) => Promise<LookOutcome>;
}>;

export function openPayments(services: SweepServices): Payments & Readonly<{ close: () => Promise<void> }> {
  const { sql, stripe, settings, log } = services;
  const { isLive, hasTax, suspendsDisputed } = settings;
  const looks = { sql, stripe, hasTax, suspendsDisputed, log };
  const look = (order: string) => lookAt(looks, order);
  const soon = openSoon(look, (error) =>
    log.warn('a payment could not be looked at yet', describeFailure(error)),
  );
  const keepDoing = (step: () => Promise<void>, problem: string) =>
    repeatedly(pace.sweepMs, step, ({ error, ...fields }) =>
      log.warn(problem, { ...fields, ...describeFailure(error) }),
    );
  /** Each by itself: one that fails or takes long must not keep the others from being done. */
  const stops = [
    keepDoing(
      async () => soon.add(await beginTopUps(sql, isLive, batch)),
      'automatic top-ups were not begun',
    ),
    keepDoing(
      async () => soon.add(await findDueOrders(sql, isLive, batch)),
      'payments that are due were not found',
    ),
    keepDoing(() => collectDebts(sql, batch, notCollected(log)), 'what accounts owe was not collected'),
    keepDoing(() => finishDueSetups(services, batch), 'pages that save cards were not looked at'),
    keepDoing(() => readMissedEvents(services), 'the list of Stripe’s events was not read'),
  ];
  return {
    stripe,
    settings,
    lookNow: async (order) => {
      await askForLook(sql, { isLive, orders: [order], objects: [] });
      return await look(order);
    },
    lookSoon: soon.add,
    close: async () => {
      await Promise.all([...stops.map((stop) => stop()), soon.close()]);
    },
  };
}

/** A burst of events must not take all connections. What is too much is left to the sweep. */
const maxRunning = 4;
const maxWaiting = 10_000;

function openSoon(look: (order: string) => Promise<unknown>, onError: (error: unknown) => void) {
  const waiting = new Set<string>();
  const running = new Set<Promise<void>>();
  let isClosed = false;

  async function work(): Promise<void> {
    for (const order of waiting) {
      waiting.delete(order);
      await look(order).catch(onError);
    }
  }

  return {
    add: (orders: readonly string[]) => {
      if (isClosed) return;
      for (const order of orders) if (waiting.size < maxWaiting) waiting.add(order);
      // Each takes one at once.
      while (waiting.size > 0 && running.size < maxRunning) {
        const worker: Promise<void> = work().finally(() => running.delete(worker));
        running.add(worker);
      }
    },
    close: async () => {
      isClosed = true;
      waiting.clear();
      await Promise.all(running);
    },
  };
}
