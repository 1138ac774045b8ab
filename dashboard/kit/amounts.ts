/** Amounts as the API says them, as whole numbers of 1e-12 USD: exact, and back to text without losing a digit. */
export const scaleDigits = 12;

export function unitsOf(amount: string): bigint {
  const match = /^(-?)(\d+)(?:\.(\d{1,12}))?$/.exec(amount);
  if (match === null) throw new TypeError('This is not an amount of money.');
  const [, sign, whole = '0', fraction = ''] = match;
  const units = BigInt(`${whole}${fraction.padEnd(scaleDigits, '0')}`);
  return sign === '-' ? -units : units;
}

/** With all of its digits, as the API would say it. */
export function amountOf(units: bigint): string {
  const digits = sizeOf(units)
    .toString()
    .padStart(scaleDigits + 1, '0');
  return `${units < 0n ? '-' : ''}${digits.slice(0, -scaleDigits)}.${digits.slice(-scaleDigits)}`;
}

/** Without the sign. */
export function sizeOf(units: bigint): bigint {
  return units < 0n ? -units : units;
}

/** Amounts as the API says them, added up without losing a digit. */
export function sumMoney(amounts: Iterable<string>): string {
  let sum = 0n;
  for (const amount of amounts) sum += unitsOf(amount);
  return amountOf(sum);
}

export function subtractMoney(amount: string, less: string): string {
  return amountOf(unitsOf(amount) - unitsOf(less));
}

/** Below, at or above nothing, as a number below, at or above 0. */
export function signOfMoney(amount: string): -1 | 0 | 1 {
  const units = unitsOf(amount);
  return units < 0n ? -1 : units > 0n ? 1 : 0;
}

/** The greater amount first. */
export function compareMoneyDown(left: string, right: string): number {
  return signOfMoney(subtractMoney(right, left));
}

/** Amounts as people read them. They arrive as decimal texts and stay exact: no number with a rounding error is made. */
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

/**
 * How much of a monthly limit is used up, by what was spent and what is held for requests under way together: both count
 * when a request is refused. The amounts are exact texts; only the share, which is drawn, is a number.
 */
/** From here on a limit is near, as the overview of the gateway has it too. */
export const nearLimitPercent = 80;

const steps = 1_000_000n;

/** From 0 on; 1 and more is all of it. A limit of nothing is used up from the start. */
export function shareOfLimit(used: string, limit: string): number {
  const most = unitsOf(limit);
  return most === 0n ? 1 : Number((unitsOf(used) * steps) / most) / Number(steps);
}

/** Green says that all is well, which a bar that fills up should not: it is plain until it matters. */
export function toneOfShare(share: number): 'accent' | 'warn' | 'bad' {
  if (share >= 1) return 'bad';
  return share * 100 >= nearLimitPercent ? 'warn' : 'accent';
}
