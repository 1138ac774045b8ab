/** Looks at orders: claims one, asks Stripe, decides what follows, and writes it. No transaction is open meanwhile. */
import type { SQL } from 'bun';
import type { Log } from '../lib/log.ts';
import { within } from '../lib/within.ts';
import { type Advanced, advanceInvoice } from './automatic.ts';
import { saveCard } from './customers.ts';
import type { Facts } from './facts.ts';
import { judge, type Verdict } from './judge.ts';
import { readFacts } from './objects.ts';
import type { Order, OrderState } from './order.ts';
import {
  type Applied,
  applyLook,
  type ClaimedOrder,
  claimOrder,
  closeUnopened,
  collectDebts,
  nothingFound,
  recordWarnings,
  releaseOrder,
} from './order-store.ts';
import { pace } from './pace.ts';
import { codeOfStripe, describeFailure, type Stripe } from './stripe-client.ts';

type LookServices = Readonly<{
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
/** Nobody owes for more payments at a time; if so, the rest is for the sweep. */
const maxDebts = 20;

/** `busy` if another gateway is looking; it looks once more. */
export type LookOutcome = 'looked' | 'failed' | 'busy';

/** Looks until nobody has asked for another look meanwhile. */
export async function lookAt(services: LookServices, id: string): Promise<LookOutcome> {
  for (let count = 0; count < maxLooksInARow; count++) {
    const claimed = await claimOrder(services.sql, id);
    if (claimed === null) return count === 0 ? 'busy' : 'looked';
    try {
      await within(pace.maxLookMs, lookOnce(services, claimed));
    } catch (error) {
      services.log.warn('a payment could not be looked at yet', {
        accountId: claimed.order.accountId,
        paymentId: id,
        ...describeFailure(error),
      });
      await releaseOrder(services.sql, claimed, pauseAfter(claimed.lookFailures), codeOfStripe(error));
      return 'failed';
    }
  }
  return 'looked';
}

async function lookOnce(services: LookServices, claimed: ClaimedOrder): Promise<void> {
  const { sql, stripe } = services;
  const advanced = await advance(services, claimed.order);
  const { order } = advanced;
  const facts = advanced.ending?.hasNoInvoice === true ? null : await readFacts(stripe, order);
  if (facts === null && advanced.ending === null) {
    if (Date.now() - order.createdAt.getTime() > unopenedMs)
      await closeUnopened(sql, order.id, 'never opened');
    await releaseOrder(sql, claimed, minute);
    return;
  }
  const verdict = verdictOf(advanced, facts);
  // Not again with a refund a year later, when another card may be saved.
  const isFirst = claimed.order.state !== 'paid';
  if (isFirst && verdict.state === 'paid' && facts !== null && facts.card !== null && order.savesCard)
    await saveCard(sql, order.accountId, order.customer, facts.card);
  // Before the claim ends, so that a gateway that dies here leaves it to another one.
  const warned = await recordWarnings(sql, order.id, facts?.warnings ?? [], services.suspendsDisputed);
  if (warned > 0)
    services.log.error('a payment was reported as fraud', {
      accountId: order.accountId,
      paymentId: order.id,
    });
  const applied = await applyLook(sql, {
    claimed,
    facts: facts ?? nothingFound,
    verdict,
    suspends: services.suspendsDisputed,
    lookAgainSeconds: lookAgainAfter(order, verdict.state),
  });
  if (applied === null) return;
  logLook(services.log, claimed.order, verdict, applied);
  // Before it is spent.
  if (applied.wasCredited) await collectDebts(sql, maxDebts, notCollected(services.log), order.accountId);
}

export const notCollected = (log: Log) => (paymentId: string, error: unknown) =>
  log.error('what an account owes for a payment could not be collected', { paymentId, error });

async function advance(services: LookServices, order: Order): Promise<Advanced> {
  return order.kind === 'automatic' ? await advanceInvoice(services, order) : { order, ending: null };
}

/** Why an invoice was given up is not known to Stripe. */
function verdictOf({ order, ending }: Advanced, facts: Facts | null): Verdict {
  const verdict = facts === null ? null : judge(order, facts);
  if (ending === null || (verdict !== null && verdict.state !== 'failed'))
    return verdict ?? { state: order.state, problem: null, reversals: [] };
  return { state: ending.state, problem: ending.problem, reversals: [] };
}

function logLook(log: Log, order: Order, verdict: Verdict, applied: Applied): void {
  const ids = { accountId: order.accountId, paymentId: order.id };
  if (applied.wasCredited) log.info('a payment was credited', ids);
  if (applied.wasDisputed) log.error('a payment is disputed', ids);
  if (verdict.state === order.state) return;
  const problems = [verdict.problem ?? ''];
  if (verdict.state === 'contradicted')
    log.error('a payment does not fit its order, and was not credited', { ...ids, problems });
  if (verdict.state === 'failed' && order.kind === 'automatic')
    log.warn('an automatic top-up has failed', { ...ids, problems });
}

/** The older an order, the less often: an event tells of most changes at once. Null when there is nothing to wait for. */
function lookAgainAfter({ createdAt }: Pick<Order, 'createdAt'>, state: OrderState): number | null {
  if (state !== 'new' && state !== 'open' && state !== 'processing') return null;
  const ageSeconds = (Date.now() - createdAt.getTime()) / 1000;
  return Math.min(Math.max(ageSeconds / 2, minute), state === 'open' ? 60 * minute : day / 4);
}

function pauseAfter(failures: number): number {
  return Math.min(5 * 2 ** Math.min(failures, 10), 60 * minute);
}
