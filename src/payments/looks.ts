/** Looks at orders: claims one, asks Stripe, decides what follows, and writes it. No transaction is open meanwhile. */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { within } from '../lib/within.ts';
import { advanceInvoice } from './automatic.ts';
import { saveCard } from './customers.ts';
import { judge } from './judge.ts';
import { readFacts } from './objects.ts';
import type { Order, OrderState } from './order.ts';
import { applyLook, type ClaimedOrder, claimOrder, closeUnopened, releaseOrder } from './order-store.ts';
import { pace } from './pace.ts';
import { describeFailure, type Stripe } from './stripe-client.ts';

export type LookServices = Readonly<{
  sql: SQL;
  stripe: Stripe;
  hasTax: boolean;
  suspendsDisputed: boolean;
  log: Log;
}>;

const minute = 60;
const day = 24 * 60 * minute;
/** A checkout that was never opened cannot be paid: nobody has its address. */
const unopenedMs = 60 * minute * 1000;
/** Someone may keep asking; the rest is for the sweep. */
const maxLooksInARow = 5;

/** Looks until nobody has asked for another look meanwhile. */
export async function lookAt(services: LookServices, id: string): Promise<void> {
  for (let count = 0; count < maxLooksInARow; count++) {
    const claimed = await claimOrder(services.sql, id);
    if (claimed === null) return;
    try {
      await within(pace.maxLookMs, lookOnce(services, claimed));
    } catch (error) {
      services.log.warn('a payment could not be looked at yet', {
        accountId: claimed.order.accountId,
        ...describeFailure(error),
      });
      await releaseOrder(services.sql, claimed, pauseAfter(claimed.lookFailures));
      return;
    }
  }
}

async function lookOnce(services: LookServices, claimed: ClaimedOrder): Promise<void> {
  const { sql, stripe, log } = services;
  const order =
    claimed.order.kind === 'automatic' ? await advanceInvoice(services, claimed.order) : claimed.order;
  const facts = await readFacts(stripe, order);
  if (facts === null) {
    if (Date.now() - order.createdAt.getTime() > unopenedMs)
      await closeUnopened(sql, order.id, 'never opened');
    await releaseOrder(sql, claimed, minute);
    return;
  }
  const verdict = judge(order, facts);
  // Not again with a refund a year later, when another card may be saved.
  const isFirst = claimed.order.state !== 'paid';
  if (isFirst && verdict.state === 'paid' && facts.card !== null && order.savesCard)
    await saveCard(sql, order.accountId, order.customer, facts.card);
  const lookAgainSeconds = lookAgainAfter(order, verdict.state);
  const applied = await applyLook(sql, {
    claimed,
    facts,
    verdict,
    suspends: services.suspendsDisputed,
    lookAgainSeconds,
  });
  if (applied === null) return;
  const { accountId } = order;
  if (applied.wasCredited) log.info('a payment was credited', { accountId });
  if (applied.wasDisputed) log.error('a payment is disputed', { accountId });
  if (verdict.state === 'contradicted' && order.state !== 'contradicted')
    log.error('a payment does not fit its order, and was not credited', {
      accountId,
      problems: [verdict.problem ?? ''],
    });
}

/** The older an order, the less often: an event tells of most changes at once. Null when there is nothing to wait for. */
export function lookAgainAfter({ createdAt }: Pick<Order, 'createdAt'>, state: OrderState): number | null {
  if (state !== 'new' && state !== 'open' && state !== 'processing') return null;
  const ageSeconds = (Date.now() - createdAt.getTime()) / 1000;
  return Math.min(Math.max(ageSeconds / 2, minute), state === 'open' ? 60 * minute : day / 4);
}

function pauseAfter(failures: number): number {
  return Math.min(5 * 2 ** Math.min(failures, 10), 60 * minute);
}
