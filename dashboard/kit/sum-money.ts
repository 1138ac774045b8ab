/** Amounts as the API says them, added up without losing a digit. */
import { amountOf, unitsOf } from './money-units.ts';

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
