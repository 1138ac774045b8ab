/** Amounts in cents may not add up to the balance that they lead to. The difference is a line of its own, as on an invoice. */
import { amountOf, formatBalance, formatTotal, unitsOf } from '../../kit/amounts.ts';

/** What is missing between the shown opening balance, the shown lines and the shown closing balance. */
export function roundingOf(opening: string, lines: readonly string[], closing: string): string {
  const sum = lines.reduce((total, line) => total + shown(formatTotal(line)), shown(formatBalance(opening)));
  return amountOf(shown(formatBalance(closing)) - sum);
}

/** Less than a cent is shown as that, and counts as nothing. */
function shown(written: string): bigint {
  return written.includes('<') ? 0n : unitsOf(written.replace('−', '-').replaceAll(/[$,]/g, ''));
}
