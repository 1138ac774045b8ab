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
