/** Amounts as the API says them, added up without losing a digit. */
const scaleDigits = 12;

function unitsOf(text: string): bigint {
  const match = /^(-?)(\d+)(?:\.(\d{1,12}))?$/.exec(text);
  if (match === null) throw new TypeError('This is not an amount of money.');
  const [, sign, whole = '0', fraction = ''] = match;
  const units = BigInt(`${whole}${fraction.padEnd(scaleDigits, '0')}`);
  return sign === '-' ? -units : units;
}

function textOf(units: bigint): string {
  const digits = (units < 0n ? -units : units).toString().padStart(scaleDigits + 1, '0');
  return `${units < 0n ? '-' : ''}${digits.slice(0, -scaleDigits)}.${digits.slice(-scaleDigits)}`;
}

export function sumMoney(amounts: Iterable<string>): string {
  let sum = 0n;
  for (const amount of amounts) sum += unitsOf(amount);
  return textOf(sum);
}

export function subtractMoney(amount: string, less: string): string {
  return textOf(unitsOf(amount) - unitsOf(less));
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
