/** How the amounts of a statement are written so that their points stand under each other. */
import type { LedgerEntry } from '../../../src/console/contract.ts';

const leastDigits = 2;

/** As many digits after the point as any amount on the page needs. */
export function digitsOf(entries: readonly Pick<LedgerEntry, 'amount' | 'balance_after'>[]): number {
  const needed = entries.flatMap(({ amount, balance_after: balance }) => [amount, balance].map(neededDigits));
  return Math.max(leastDigits, ...needed);
}

function neededDigits(amount: string): number {
  return (amount.split('.')[1] ?? '').replace(/0+$/, '').length;
}

/** The zeros that an amount lacks. `written` is the amount as it is shown, with at least two digits after the point. */
export function missingZeros(written: string, digits: number): string {
  return '0'.repeat(Math.max(0, digits - (written.split('.')[1] ?? '').length));
}
