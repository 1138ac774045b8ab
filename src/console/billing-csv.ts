/** The statement of a month as comma-separated values: the amounts between the two balances lead from one to the other. */
import { lineOf, quoted, textCell } from '../lib/csv.ts';
import { formatMoney, type Money } from '../lib/money.ts';
import type { StatementSum } from './billing-queries.ts';

export const csvHeader = lineOf([
  'day',
  'line',
  'category',
  'model',
  'key_id',
  'key_name',
  'entries',
  'amount_usd',
  'balance_usd',
]);

/** The opening balance is that at the beginning of its day, the closing balance that at the end. */
export function balanceLine(which: 'opening' | 'closing', day: string, balance: Money): string {
  return lineOf([day, `${which}_balance`, '', '', '', '', '', '', formatMoney(balance)]);
}

export function sumLine({
  day,
  kind,
  category,
  model,
  keyId,
  keyName,
  entries,
  amount,
}: StatementSum): string {
  const hasKey = model !== null && model !== '';
  return lineOf([
    day ?? '',
    kind,
    category ?? '',
    hasKey ? textCell(model) : '',
    hasKey ? quoted(keyId ?? '') : '',
    hasKey ? textCell(keyName) : '',
    `${entries}`,
    formatMoney(amount),
    '',
  ]);
}
