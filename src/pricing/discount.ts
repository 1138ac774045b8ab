/** A price less a percentage, in every tier, band and meter. Exact: a discount that would need rounding is none. */
import type { Money } from '../lib/money.ts';
import type { Price, PriceBasis, TokenPrice, TokenRates } from './price.ts';

/** A percentage with up to four decimals, as an integer of that scale: 12.5 % is 125,000. */
export type Discount = bigint;

const discountDigits = 4;
export const wholePrice: Discount = 100n * 10n ** BigInt(discountDigits);

/** Reads a percentage above 0 and up to 100; null when it is none. */
export function parseDiscount(text: string): Discount | null {
  const match = /^(\d{1,3})(?:\.(\d{1,4}))?$/.exec(text);
  if (match === null) return null;
  const [, whole = '', fraction = ''] = match;
  const discount = BigInt(`${whole}${fraction.padEnd(discountDigits, '0')}`);
  return discount > 0n && discount <= wholePrice ? discount : null;
}

/** Null when a rate would have more decimals than money has, or more digits than a JSON number keeps. */
export function discounted(price: Price, discount: Discount): Price | null {
  let isExact = true;
  const less = (rate: Money): Money => {
    const product = rate * (wholePrice - discount);
    const left = product / wholePrice;
    if (left * wholePrice !== product || significantDigits(left) > maxSignificantDigits) isExact = false;
    return left;
  };
  const changed = price.billingType === 'token' ? tokenPrice(price, less) : unitPrice(price, less);
  return isExact ? changed : null;
}

const maxSignificantDigits = 15;

function significantDigits(rate: Money): number {
  return `${rate}`.replace(/0+$/, '').length;
}

type Change = (rate: Money) => Money;

function tokenPrice(price: TokenPrice, change: Change): TokenPrice {
  const headlineOf = (headline: TokenRates | null) => headline && rates(headline, change);
  switch (price.form) {
    case 'flat':
      return { ...price, rates: rates(price.rates, change) };
    case 'tiers': {
      const [first, ...others] = price.inputTokenTiers;
      const inputTokenTiers = [rates(first, change), ...others.map((tier) => rates(tier, change))] as const;
      return { ...price, headline: headlineOf(price.headline), inputTokenTiers };
    }
    case 'bands': {
      const { peak, offPeak } = price.timeBands;
      const timeBands = { ...price.timeBands, peak: rates(peak, change), offPeak: rates(offPeak, change) };
      return { ...price, headline: headlineOf(price.headline), timeBands };
    }
  }
}

/** Only the rates that are given: one that is missing is charged as input. */
function rates<Given extends TokenRates>(given: Given, change: Change): Given {
  const { input, output, cacheRead, cacheWrite, cacheWriteLong } = given;
  return {
    ...given,
    input: change(input),
    output: change(output),
    ...(cacheRead === undefined ? {} : { cacheRead: change(cacheRead) }),
    ...(cacheWrite === undefined ? {} : { cacheWrite: change(cacheWrite) }),
    ...(cacheWriteLong === undefined ? {} : { cacheWriteLong: change(cacheWriteLong) }),
  };
}

function unitPrice<Given extends Exclude<Price, TokenPrice>>(price: Given, change: Change): Given {
  const { tierRates, basis } = price;
  return {
    ...price,
    unitPrice: change(price.unitPrice),
    tierRates: tierRates && byTier(tierRates, change),
    basis: basis && basisOf(basis, change),
  };
}

function basisOf(basis: PriceBasis, change: Change): PriceBasis {
  const changed = byTier(basis.rates, change);
  return basis.kind === 'image'
    ? { ...basis, rates: changed, inputPrice: change(basis.inputPrice) }
    : { ...basis, rates: changed, inputCap: basis.inputCap === null ? null : change(basis.inputCap) };
}

function byTier(given: ReadonlyMap<string, Money>, change: Change): ReadonlyMap<string, Money> {
  return new Map([...given].map(([tier, rate]) => [tier, change(rate)]));
}
