/** Stripe's own list of events, for those that were not delivered, or do not say what they are about. */
import type { SQL } from 'bun';
import { listedTypes, type Pointers, pointersOf } from './event.ts';
import { askForLook } from './order-store.ts';
import { pace } from './pace.ts';
import { checkCard } from './saved-card.ts';
import { isForbiddenByStripe, isRefusedByStripe, type Stripe, type StripeSettings } from './stripe-client.ts';

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
  const cards = new Map<string, Pointers>();
  for await (const event of events) {
    const pointers = pointersOf(event);
    if (pointers === null || pointers.isLive !== isLive) continue;
    await askForLook(sql, pointers);
    const changed = pointers.paymentMethod ?? pointers.customer;
    if (changed !== null) cards.set(changed, pointers);
  }
  // Once each, and after the orders, which must not wait for them.
  for (const pointers of cards.values()) await checkCard({ sql, stripe }, pointers).catch(unlessRefused);
  await sql`update payment_polls set polled_until = ${claimed.until} where is_live = ${isLive}`;
}

/** What Stripe refuses would keep the list from ever being read to its end. */
function unlessRefused(error: unknown): void {
  if (!isRefusedByStripe(error) && !isForbiddenByStripe(error)) throw error;
}

/** Has the list read with the next sweep. */
export async function readListSoon(sql: SQL, isLive: boolean): Promise<void> {
  await sql`update payment_polls set claimed_until = now() where is_live = ${isLive}`;
}
