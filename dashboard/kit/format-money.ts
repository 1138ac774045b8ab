/** Amounts as people read them. They arrive as decimal texts and stay exact: no number with a rounding error is made. */
const significantDigits = 4;
const scaleDigits = 12;

type Parts = Readonly<{ isNegative: boolean; units: bigint }>;

function partsOf(text: string): Parts {
  const match = /^(-?)(\d+)(?:\.(\d{1,12}))?$/.exec(text);
  if (match === null) throw new TypeError('This is not an amount of money.');
  const [, sign, whole = '0', fraction = ''] = match;
  const units = BigInt(`${whole}${fraction.padEnd(scaleDigits, '0')}`);
  return { isNegative: sign === '-' && units !== 0n, units };
}

/** Short: cents from a dollar on, four digits that count below it. `$12.35`, `$0.50`, `$0.00001235`. */
export function formatMoney(text: string): string {
  const { isNegative, units } = partsOf(text);
  return withSign(isNegative, decimalOf(roundHalfUp(units, shortScale(units)), 2));
}

/** Everything there is, with at least two digits after the point. */
export function formatMoneyExactly(text: string): string {
  const { isNegative, units } = partsOf(text);
  return withSign(isNegative, decimalOf(units, 2));
}

/** How many digits after the point are worth showing. */
function shortScale(units: bigint): number {
  const digits = units.toString().length;
  if (units === 0n || digits > scaleDigits) return 2;
  return Math.min(scaleDigits, Math.max(2, scaleDigits - digits + significantDigits));
}

function roundHalfUp(units: bigint, scale: number): bigint {
  const step = 10n ** BigInt(scaleDigits - scale);
  return ((units + step / 2n) / step) * step;
}

function decimalOf(units: bigint, leastDecimals: number): string {
  const text = units.toString().padStart(scaleDigits + 1, '0');
  const whole = text.slice(0, -scaleDigits).replace(/\B(?=(\d{3})+$)/g, ',');
  const fraction = text.slice(-scaleDigits).replace(/0+$/, '').padEnd(leastDecimals, '0');
  return `$${whole}.${fraction}`;
}

function withSign(isNegative: boolean, amount: string): string {
  return isNegative ? `−${amount}` : amount;
}
