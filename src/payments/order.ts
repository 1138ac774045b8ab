import type { Money } from '../lib/money.ts';

export type OrderKind = 'checkout' | 'automatic';

/** What Stripe's objects say about an order. Nothing was credited for one that is contradicted. */
export type OrderState = 'new' | 'open' | 'processing' | 'paid' | 'failed' | 'expired' | 'contradicted';

export type Order = Readonly<{
  id: string;
  accountId: string;
  kind: OrderKind;
  /** What is credited: the price before tax, in whole cents. */
  amount: Money;
  currency: string;
  isLive: boolean;
  state: OrderState;
  /** The account's ID at Stripe. The others are Stripe's too; null until they are known. */
  customer: string;
  session: string | null;
  invoice: string | null;
  /** The card that an automatic top-up charges. */
  paymentMethod: string | null;
  savesCard: boolean;
  createdAt: Date;
}>;

const unitsPerCent: Money = 10n ** 10n;

/** Stripe counts cents. Null for an amount that is not in whole ones. */
export function centsOf(amount: Money): bigint | null {
  return amount % unitsPerCent === 0n ? amount / unitsPerCent : null;
}

export function moneyOfCents(cents: bigint): Money {
  return cents * unitsPerCent;
}

/** Less costs more in fees than it brings; Stripe itself takes nothing below 0.50 USD. */
export const leastAmount: Money = 100n * unitsPerCent;
/** Whoever wants to pay more talks to the operator. */
export const greatestAmount: Money = 1_000_000n * unitsPerCent;

export function isPayable(amount: Money): boolean {
  return centsOf(amount) !== null && amount >= leastAmount && amount <= greatestAmount;
}
