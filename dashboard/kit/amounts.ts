/** Amounts of money. The API sends decimal strings; they are computed as bigints in units of 1e-12 USD, so nothing is rounded. */
export const scaleDigits = 12;

export function unitsOf(amount: string): bigint {
  const match = /^(-?)(\d+)(?:\.(\d{1,12}))?$/.exec(amount);
  if (match === null) throw new TypeError('Not an amount of money.');
  const [, sign, whole = '0', fraction = ''] = match;
  const units = BigInt(`${whole}${fraction.padEnd(scaleDigits, '0')}`);
  return sign === '-' ? -units : units;
}

/** With all 12 decimals, as in the API. */
export function amountOf(units: bigint): string {
  const digits = sizeOf(units)
    .toString()
    .padStart(scaleDigits + 1, '0');
  return `${units < 0n ? '-' : ''}${digits.slice(0, -scaleDigits)}.${digits.slice(-scaleDigits)}`;
}

/** Without the sign. */
function sizeOf(units: bigint): bigint {
  return units < 0n ? -units : units;
}

export function sumMoney(amounts: Iterable<string>): string {
  let sum = 0n;
  for (const amount of amounts) sum += unitsOf(amount);
  return amountOf(sum);
}

export function subtractMoney(amount: string, less: string): string {
  return amountOf(unitsOf(amount) - unitsOf(less));
}

export function signOfMoney(amount: string): -1 | 0 | 1 {
  const units = unitsOf(amount);
  return units < 0n ? -1 : units > 0n ? 1 : 0;
}

/** For sorting the highest amount first. */
export function compareMoneyDown(left: string, right: string): number {
  return signOfMoney(subtractMoney(right, left));
}

const significantDigits = 4;
const minDecimals = 2;

/*
 * One rule for the whole dashboard: balances and totals in cents, what a single request cost with four significant digits,
 * and every digit where the money of one request is explained, or where someone chose the amount.
 */

/** What a request cost: cents from a dollar up, four significant digits below: `$12.35`, `$0.50`, `$0.00001235`. */
export function formatMoney(amount: string): string {
  const units = unitsOf(amount);
  const size = sizeOf(units);
  return withSign(units, roundHalfUp(size, shortScale(size)));
}

/** A sum in cents. Less than a cent is not nothing: `<$0.01`. */
export function formatTotal(amount: string): string {
  return inCents(unitsOf(amount), roundHalfUp);
}

/** What is used of a limit that someone chose: in cents if the limit is, because they say nothing next to `$0.002`. */
export function formatUsed(used: string, limit: string): string {
  return isInCents(limit) ? formatTotal(used) : formatMoney(used);
}

export function isInCents(amount: string): boolean {
  return countDecimals(formatMoneyExactly(amount)) === minDecimals;
}

/** A sum that may be of few requests: in cents, or below a cent with four significant digits. */
export function formatSmallTotal(amount: string): string {
  return sizeOf(unitsOf(amount)) < stepOf(minDecimals) ? formatMoney(amount) : formatTotal(amount);
}

/** In cents, rounded down, so that a balance never looks higher than it is. */
export function formatBalance(amount: string): string {
  const units = unitsOf(amount);
  return inCents(units, units < 0n ? roundUp : roundDown);
}

function inCents(units: bigint, round: (size: bigint, scale: number) => bigint): string {
  const size = sizeOf(units);
  if (size > 0n && size < stepOf(minDecimals)) return `${units < 0n ? '−' : ''}<$0.01`;
  return withSign(units, round(size, minDecimals));
}

/** All digits, with at least two decimals. */
export function formatMoneyExactly(amount: string): string {
  const units = unitsOf(amount);
  return withSign(units, sizeOf(units));
}

export type AmountStyle = 'short' | 'total' | 'balance' | 'exact';

const formats = {
  short: formatMoney,
  total: formatTotal,
  balance: formatBalance,
  exact: formatMoneyExactly,
} as const;

export function formatAmount(amount: string, style: AmountStyle): string {
  return formats[style](amount);
}

/** All digits without a sign of the currency, for whatever it is pasted into. */
export function plainAmount(amount: string): string {
  return formatMoneyExactly(amount).replace('−', '-').replaceAll(/[$,]/g, '');
}

/** As many decimals as any of these amounts is shown with, so that the decimal points of a column line up. */
export function decimalsOf(amounts: readonly string[], style: AmountStyle): number {
  return Math.max(minDecimals, ...amounts.map((amount) => countDecimals(formatAmount(amount, style))));
}

/** The zeros that an amount lacks. `written` is the amount as shown. */
export function missingZeros(written: string, decimals: number): string {
  return '0'.repeat(Math.max(0, decimals - countDecimals(written)));
}

function countDecimals(written: string): number {
  return (written.split('.')[1] ?? '').length;
}

/** How many decimals to show. */
function shortScale(size: bigint): number {
  const digits = size.toString().length;
  if (size === 0n || digits > scaleDigits) return minDecimals;
  return Math.min(scaleDigits, Math.max(minDecimals, scaleDigits - digits + significantDigits));
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
  return `${units < 0n ? '−' : ''}$${dollars}.${fraction.replace(/0+$/, '').padEnd(minDecimals, '0')}`;
}

/** Prices of tokens are for this many. */
export const ratedTokens = 1_000_000n;

/** Divides and rounds half up, as the gateway does. Neither number may be negative. */
export function divideHalfUp(numerator: bigint, denominator: bigint): bigint {
  return (numerator * 2n + denominator) / (denominator * 2n);
}

/** The gateway uses the same threshold in its overview. */
export const nearLimitPercent = 80;

const steps = 1_000_000n;

/** The used share of a limit, for drawing: 1 or more if it is used up, as a limit of 0 always is. */
export function shareOfLimit(used: string, limit: string): number {
  const max = unitsOf(limit);
  return max === 0n ? 1 : Number((unitsOf(used) * steps) / max) / Number(steps);
}

/** Neutral until the limit is near: green would suggest that more use is good. */
export function toneOfShare(share: number): 'accent' | 'warn' | 'bad' {
  if (share >= 1) return 'bad';
  return share * 100 >= nearLimitPercent ? 'warn' : 'accent';
}
