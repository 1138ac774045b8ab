/** Reads amounts of a provider's bill. They come as JSON numbers or as strings, in dollars or in cents. */
import { divideHalfUp, largestAmount, type Money, moneyScaleDigits } from '../lib/money.ts';

export type AmountUnit = 'dollars' | 'cents';

/** With an exponent too, because a JSON number may be written as `1.5e-7`. */
const pattern = /^(-?)(\d{1,30})(?:\.(\d{1,60}))?(?:[eE]([+-]?\d{1,2}))?$/;

/**
 * Exact up to the twelfth decimal of a dollar, and rounded there: providers print more digits than they bill. `text` is the
 * amount as written, never a float. Null when it is no decimal, or larger than any bill.
 */
export function readAmount(text: string, unit: AmountUnit): Money | null {
  const match = pattern.exec(text);
  if (match === null) return null;
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  const digits = BigInt(whole + fraction);
  const shift =
    BigInt(moneyScaleDigits - (unit === 'cents' ? 2 : 0) - fraction.length) +
    BigInt(exponent.replace('+', ''));
  const size = shift >= 0n ? digits * 10n ** shift : divideHalfUp(digits, 10n ** -shift);
  if (size > largestAmount) return null;
  return sign === '-' ? -size : size;
}
