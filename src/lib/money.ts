/**
 * Money is a bigint that counts units of 1e-12 USD, the same scale as the database's numeric(38,12).
 * Floats never touch it: a charge that is off by one unit is a wrong charge.
 */
export type Money = bigint;

export const moneyScaleDigits = 12;
const unitsPerDollar = 10n ** BigInt(moneyScaleDigits);

/** A trillion USD: anything larger was mistyped. */
export const largestAmount: Money = 10n ** 12n * unitsPerDollar;

const decimalPattern = /^(-?)(\d{1,20})(?:\.(\d{1,12}))?$/;

/** Reads a plain decimal such as `0.15` or `-3`; null when it is not one or has more than 12 decimals. */
export function parseMoney(text: string): Money | null {
  const match = decimalPattern.exec(text);
  if (!match) return null;
  const [, sign, whole = '0', fraction = ''] = match;
  const units = BigInt(whole) * unitsPerDollar + BigInt(fraction.padEnd(moneyScaleDigits, '0'));
  return sign === '-' ? -units : units;
}

/** Reads what PostgreSQL printed for a numeric(38,12) column, which is always well formed. */
export function moneyFromDatabase(text: string): Money {
  const point = text.length - moneyScaleDigits - 1;
  if (text[point] === '.') return BigInt(text.slice(0, point) + text.slice(point + 1));
  const money = parseMoney(text);
  if (money === null) throw new TypeError('The database returned an amount that is not a decimal.');
  return money;
}

/** The wire and database form: always 12 fractional digits. */
export function formatMoney(money: Money): string {
  const magnitude = sizeOf(money);
  const whole = magnitude / unitsPerDollar;
  const fraction = (magnitude % unitsPerDollar).toString().padStart(moneyScaleDigits, '0');
  return `${money < 0n ? '-' : ''}${whole}.${fraction}`;
}

/** The shortest exact decimal, for people and for JSON numbers: `0.15`, `20`. */
export function formatMoneyShort(money: Money): string {
  return formatMoney(money).replace(/\.?0+$/, '');
}

/** For a sentence, such as `$0.3075`: rounded as asked, to four digits, or six for less than a cent. */
export function formatDollars(money: Money, rounding: 'up' | 'down'): string {
  const digits = money < unitsPerDollar / 100n ? 6 : 4;
  const step = 10n ** BigInt(moneyScaleDigits - digits);
  const steps = rounding === 'up' ? (money + step - 1n) / step : money / step;
  return `$${formatMoney(steps * step).slice(0, digits - moneyScaleDigits)}`;
}

/** Without the sign. */
export function sizeOf(money: Money): Money {
  return money < 0n ? -money : money;
}

/** Divides and rounds half up: the one place where money is ever rounded. Neither number may be negative. */
export function divideHalfUp(numerator: bigint, denominator: bigint): bigint {
  return (numerator * 2n + denominator) / (denominator * 2n);
}
