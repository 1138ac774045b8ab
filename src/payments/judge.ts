/** Decides what follows for an order from what Stripe's objects say. Pure, so that it is the same whoever asks, and when. */
import type { Money } from '../lib/money.ts';
import type { Facts, Reversal } from './facts.ts';
import { centsOf, type Order, type OrderState } from './order.ts';

type JudgedReversal = Reversal & Readonly<{ due: Money; takesMoney: boolean }>;

export type Verdict = Readonly<{
  state: OrderState;
  /** Why it failed, or what does not fit, for the operator. */
  problem: string | null;
  reversals: readonly JudgedReversal[];
}>;

export function judge(order: Order, facts: Facts): Verdict {
  const { progress, failure } = facts;
  if (progress !== 'paid')
    return { state: progress, problem: progress === 'failed' ? (failure ?? 'failed') : null, reversals: [] };
  // What was credited stays so, and its refunds count, whatever is changed at Stripe afterwards.
  const problem = order.state === 'paid' ? null : contradictionOf(order, facts);
  if (problem !== null) {
    // Nothing was credited that could be taken back.
    const reversals = facts.reversals.map((one) => ({ ...one, due: 0n, takesMoney: hasTakenMoney(one) }));
    return { state: 'contradicted', problem, reversals };
  }
  return { state: 'paid', problem: null, reversals: judgeReversals(order.amount, facts) };
}

/** What of the object is not as the order says; null when it fits. */
function contradictionOf(order: Order, facts: Facts): string | null {
  const differing = Object.entries({
    order: facts.order === order.id,
    method: facts.isRightMethod,
    mode: facts.isLive === order.isLive,
    account: facts.customer === order.customer,
    currency: facts.currency === order.currency,
    amount: facts.subtotal !== null && facts.subtotal === centsOf(order.amount),
    discount: facts.discount === 0n,
    payment: facts.paymentIntent !== null && facts.subtotal !== null && facts.received >= facts.subtotal,
  }).flatMap(([name, isAsOrdered]) => (isAsOrdered ? [] : [name]));
  return differing.length === 0 ? null : `differs from the order: ${differing.join(', ')}`;
}

/**
 * Each takes the part of the credit that it is of the payment, rounded down, because the payment includes tax. All of the
 * payment is all of the credit, and nothing beyond: what a dispute takes after a refund is the operator's loss.
 */
function judgeReversals(credited: Money, { received, reversals }: Facts): JudgedReversal[] {
  let gone = 0n;
  let taken: Money = 0n;
  return reversals.toSorted(inOrder).map((reversal) => {
    if (!hasTakenMoney(reversal)) return { ...reversal, due: 0n, takesMoney: false };
    gone += reversal.amount;
    const left = credited - taken;
    const part = (credited * reversal.amount) / received;
    const due = gone >= received || part > left ? left : part;
    taken += due;
    return { ...reversal, due, takesMoney: true };
  });
}

/** Refunds first: what they have taken stays theirs when a dispute comes or goes. */
function inOrder(one: Reversal, other: Reversal): number {
  if (one.kind !== other.kind) return one.kind === 'refund' ? -1 : 1;
  return one.createdAtSeconds - other.createdAtSeconds || (one.id < other.id ? -1 : 1);
}

/** Stripe may add states. A refund that has not failed, and a dispute that is not known to be harmless, has taken money. */
function hasTakenMoney({ kind, status }: Reversal): boolean {
  if (kind === 'refund') return status !== 'failed' && status !== 'canceled';
  return status !== 'won' && status !== 'prevented' && !status.startsWith('warning_');
}
