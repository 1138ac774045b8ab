/** Amounts as people read them. They arrive as decimal texts and stay exact: no number with a rounding error is made. */
import { amountOf, scaleDigits, sizeOf, unitsOf } from './money-units.ts';

const significantDigits = 4;
const leastDecimals = 2;

/** Short: cents from a dollar on, four digits that count below it. `$12.35`, `$0.50`, `$0.00001235`. */
export function formatMoney(amount: string): string {
  const units = unitsOf(amount);
  const size = sizeOf(units);
  return withSign(units, roundHalfUp(size, shortScale(size)));
}

/** As short, for what there is to spend: never more than that, so that nobody counts on what is not there. */
export function formatBalance(amount: string): string {
  const units = unitsOf(amount);
  const size = sizeOf(units);
  return withSign(units, (units < 0n ? roundUp : roundDown)(size, shortScale(size)));
}

/** Everything there is, with at least two digits after the point. */
export function formatMoneyExactly(amount: string): string {
  const units = unitsOf(amount);
  return withSign(units, sizeOf(units));
}

/** How many digits after the point are worth showing. */
function shortScale(size: bigint): number {
  const digits = size.toString().length;
  if (size === 0n || digits > scaleDigits) return leastDecimals;
  return Math.min(scaleDigits, Math.max(leastDecimals, scaleDigits - digits + significantDigits));
}

function roundHalfUp(size: bigint, scale: number): bigint {
  return roundDown(size + stepOf(scale) / 2n, scale);
}

function roundDown(size: bigint, scale: number): bigint {
  const step = stepOf(scale);
  return (size / step) * step;
}

function roundUp(size: bigint, scale: number): bigint {
  return roundDown(size + stepOf(scale) - 1n, scale);
}

function stepOf(scale: number): bigint {
  return 10n ** BigInt(scaleDigits - scale);
}

function withSign(units: bigint, shownSize: bigint): string {
  const [whole = '', fraction = ''] = amountOf(shownSize).split('.');
  const dollars = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return `${units < 0n ? '−' : ''}$${dollars}.${fraction.replace(/0+$/, '').padEnd(leastDecimals, '0')}`;
}
