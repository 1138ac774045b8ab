/**
 * What a provider asks of the operator for what it reported, by the price that the catalogue has for it. Null when the
 * catalogue does not say.
 */
import type { Meters } from '../lib/meters.ts';
import type { Money } from '../lib/money.ts';
import { costOfTokens } from './cost.ts';
import type { Price } from './price.ts';

/** All that was reported counts, also what a customer is not charged for. */
export function providerCostOfTokens(price: Price | null, reported: Meters, at: Date): Money | null {
  return price?.billingType === 'token' ? costOfTokens(price, reported, at).total : null;
}

/** `tier` is that of the requested size; null means the plain unit price. */
export function providerCostOfImages(price: Price | null, count: number, tier: string | null): Money | null {
  if (price?.billingType !== 'image') return null;
  const rate = tier === null ? price.unitPrice : price.tierRates?.get(tier);
  return rate === undefined ? null : BigInt(count) * rate;
}
