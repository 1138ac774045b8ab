/** What every node does about payments by itself, so that an event that never came loses nothing. */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { beginTopUps } from './automatic.ts';
import { pointersOf } from './event.ts';
import { lookAt } from './looks.ts';
import { askForLook, collectDebts, findDueOrders } from './order-store.ts';
import { pace } from './pace.ts';
import { describeFailure, type Stripe, type StripeSettings } from './stripe-client.ts';

type SweepServices = Readonly<{
  sql: SQL;
  stripe: Stripe;
  settings: StripeSettings;
  log: Log;
}>;

/** An account that needs credit waits for it no longer than this. */
const everyMs = 5_000;
const batch = 20;

export type Payments = Readonly<{
  stripe: Stripe;
  settings: StripeSettings;
  /** Looks at orders soon, without anyone waiting for it. */
  lookSoon: (orders: readonly string[]) => void;
  /** Looks at an order now. */
  look: (order: string) => Promise<void>;
}>;

export function openPayments(services: SweepServices): Payments & Readonly<{ close: () => Promise<void> }> {
  const { sql, stripe, settings, log } = services;
  const { isLive, hasTax, suspendsDisputed } = settings;
  const looks = { sql, stripe, hasTax, suspendsDisputed, log };
  const look = (order: string) => lookAt(looks, order);
  const soon = openSoon(look, (error) =>
    log.warn('a payment could not be looked at yet', describeFailure(error)),
  );
  const onError = (error: unknown) => log.warn('payments not looked at yet', describeFailure(error));
  /** Each by itself: one that fails or takes long must not keep the others from being done. */
  const loops = [
    async () => soon.add(await beginTopUps(sql, isLive, batch)),
    async () => soon.add(await findDueOrders(sql, isLive, batch)),
    () => collectDebts(sql, batch),
    () => readMissedEvents(services),
  ].map((step) => keepDoing(step, onError));
  return {
    stripe,
    settings,
    look,
    lookSoon: soon.add,
    close: async () => {
      await Promise.all([...loops.map(({ stop }) => stop()), soon.close()]);
    },
  };
}

/** Now and regularly, never twice at once. */
function keepDoing(step: () => Promise<void>, onError: (error: unknown) => void) {
  let inProgress: Promise<void> | null = null;
  const run = () => {
    inProgress ??= step()
      .catch(onError)
      .finally(() => {
        inProgress = null;
      });
  };
  const timer = setInterval(run, everyMs);
  run();
  return {
    stop: async () => {
      clearInterval(timer);
      await inProgress;
    },
  };
}

/** A burst of events must not take all connections. What is too much is left to the sweep. */
const maxRunning = 4;
const maxWaiting = 10_000;

function openSoon(look: (order: string) => Promise<void>, onError: (error: unknown) => void) {
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

/** Stripe keeps them for 30 days. */
const keptDays = 29;

const followedTypes = [
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
  'payment_intent.succeeded',
  'charge.refunded',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'charge.dispute.created',
  'charge.dispute.updated',
  'charge.dispute.closed',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
  'invoice.paid',
];

/** Reads the list of Stripe's events now and then, on one node: some may not have been delivered. */
async function readMissedEvents({ sql, stripe, settings: { isLive } }: SweepServices): Promise<void> {
  const [claimed] = await sql<{ since: Date; until: Date }[]>`
    insert into payment_polls as poll (is_live, polled_until, claimed_until)
    values (${isLive}, now(), now() + make_interval(secs => ${pace.pollSeconds}::int))
    on conflict (is_live) do update set claimed_until = excluded.claimed_until
    where poll.claimed_until is null or poll.claimed_until < now()
    returning greatest(polled_until - make_interval(secs => ${pace.overlapSeconds}::int),
      now() - make_interval(days => ${keptDays}::int)) as since, now() as until`;
  if (claimed === undefined) return;
  const events = stripe.events.list({
    types: followedTypes,
    created: { gte: Math.floor(claimed.since.getTime() / 1000) },
    limit: 100,
  });
  for await (const event of events) {
    const pointers = pointersOf(event);
    if (pointers !== null && pointers.isLive === isLive) await askForLook(sql, pointers);
  }
  await sql`update payment_polls set polled_until = ${claimed.until} where is_live = ${isLive}`;
}
