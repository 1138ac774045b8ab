/** Stripe's own list of events, for those that were not delivered, or do not say what they are about. */
import type { SQL } from 'bun';
import { listedTypes, pointersOf } from './event.ts';
import { askForLook } from './order-store.ts';
import { pace } from './pace.ts';
import type { Stripe, StripeSettings } from './stripe-client.ts';

type PollServices = Readonly<{ sql: SQL; stripe: Stripe; settings: Pick<StripeSettings, 'isLive'> }>;

/** Stripe keeps them for 30 days. */
const keptDays = 29;

/** Reads the list of Stripe's events now and then, on one node: some may not have been delivered. */
export async function readMissedEvents({ sql, stripe, settings: { isLive } }: PollServices): Promise<void> {
  const [claimed] = await sql<{ since: Date; until: Date }[]>`
    insert into payment_polls as poll (is_live, polled_until, claimed_until)
    values (${isLive}, now(), now() + make_interval(secs => ${pace.pollSeconds}::int))
    on conflict (is_live) do update set claimed_until = excluded.claimed_until
    where poll.claimed_until is null or poll.claimed_until < now()
    returning greatest(polled_until - make_interval(secs => ${pace.overlapSeconds}::int),
      now() - make_interval(days => ${keptDays}::int)) as since, now() as until`;
  if (claimed === undefined) return;
  const events = stripe.events.list({
    types: listedTypes,
    created: { gte: Math.floor(claimed.since.getTime() / 1000) },
    limit: 100,
  });
  for await (const event of events) {
    const pointers = pointersOf(event);
    if (pointers !== null && pointers.isLive === isLive) await askForLook(sql, pointers);
  }
  await sql`update payment_polls set polled_until = ${claimed.until} where is_live = ${isLive}`;
}

/** Has the list read with the next sweep. */
export async function readListSoon(sql: SQL, isLive: boolean): Promise<void> {
  await sql`update payment_polls set claimed_until = now() where is_live = ${isLive}`;
}
