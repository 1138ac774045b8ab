/** How entries, grants, payments and keys should be written in the tables that list them: their figures alone. */
import {
  formatBalance,
  formatMoney,
  formatMoneyExactly,
  formatTotal,
  isInCents,
  shareOfLimit,
  signOfMoney,
  sumMoney,
} from '../../dashboard/kit/amounts.ts';
import { formatCount, formatShare } from '../../dashboard/kit/format-figures.ts';
import type { Payment, StatementEntry } from '../../src/console/contract.ts';
import type { Grant } from '../../src/console/grant-contract.ts';

export const signed = (amount: string, text: string) => (signOfMoney(amount) > 0 ? `+${text}` : text);

/** What someone chose is shown with every digit. */
export const entryTexts = ({ number, kind, amount, balance_after: balance }: StatementEntry) => ({
  'No.': formatCount(number),
  Amount: signed(
    amount,
    kind === 'charge' || kind === 'refund' ? formatMoney(amount) : formatMoneyExactly(amount),
  ),
  'Balance after': formatBalance(balance),
});

export const grantTexts = ({ amount, remaining }: Pick<Grant, 'amount' | 'remaining'>) => ({
  Left: `${isInCents(amount) ? formatBalance(remaining) : formatMoney(remaining)} of ${formatMoney(amount)}`,
});

/** The status as far as it is about what was given back. */
export const paymentTexts = ({ amount, paid, reversals }: Payment) => ({
  Credit: formatMoney(amount),
  'Paid with tax': paid === null ? '–' : formatMoney(paid),
  Refunded: reversals.map((reversal) => `Refund ${formatMoneyExactly(reversal.amount)}`).join(),
});

/** A row of a table of payments, in the same form. */
export const paymentOf = ({ Status = '', ...row }: Record<string, string>) => ({
  Credit: row.Credit ?? '',
  'Paid with tax': row['Paid with tax'] ?? '',
  Refunded: /Refund \S+/.exec(Status)?.[0] ?? '',
});

export function spentText(spent: string, held: string, limit: string | null): string {
  const isTotal = limit === null || isInCents(limit);
  const write = isTotal ? formatTotal : formatMoney;
  const more = signOfMoney(held) > 0 ? ` plus ${write(held)} held` : '';
  if (limit === null) return `${write(spent)} · no limit${more}`;
  const part = formatShare(Math.min(1, shareOfLimit(sumMoney([spent, held]), limit)));
  return `${part} ${write(spent)} of ${formatMoneyExactly(limit)}${more}`;
}
