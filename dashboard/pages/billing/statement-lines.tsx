/** The statement of a month as one sum: from the balance at its beginning to that at its end. */
import type { MonthDetail, StatementLine } from '../../../src/console/billing-contract.ts';
import { signOfMoney } from '../../kit/amounts.ts';
import { classNames } from '../../kit/class-names.ts';
import { Money } from '../../kit/figures.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { formatMonth, nameOfLine } from './month-words.ts';
import { roundingOf } from './rounding.ts';

type StatementLinesProps = Readonly<{ month: string; closing: string; isOpen: boolean; detail: MonthDetail }>;

/** In cents, as everywhere: every digit is in the title of an amount, and in the file. */
export function StatementLines({ month, closing, isOpen, detail: { opening, lines } }: StatementLinesProps) {
  const rounding = roundingOf(
    opening,
    lines.map(({ amount }) => amount),
    closing,
  );
  return (
    <table aria-label={`Statement of ${formatMonth(month)}`} className="w-full text-left">
      <thead className="sr-only">
        <tr>
          <th scope="col">What</th>
          <th scope="col">Entries</th>
          <th scope="col">Amount in USD</th>
        </tr>
      </thead>
      <tbody>
        <BalanceRow name={`Opening balance, 1 ${formatMonth(month)}`} amount={opening} />
        {lines.length === 0 && (
          <tr>
            <td colSpan={3} className="border-b border-line py-2 text-ink-faint">
              Nothing has moved the balance{isOpen && ' yet'}.
            </td>
          </tr>
        )}
        {lines.map((line) => (
          <LineRow key={`${line.kind} ${line.category}`} line={line} />
        ))}
        {signOfMoney(rounding) !== 0 && (
          <tr className="text-ink-faint">
            <th scope="row" colSpan={2} className="border-b border-line py-2 pr-4 font-normal">
              Rounding
            </th>
            <td className="border-b border-line py-2 text-right">
              <Money amount={rounding} isTotal hasSign />
            </td>
          </tr>
        )}
      </tbody>
      <tfoot>
        <BalanceRow name={isOpen ? 'Balance now' : 'Closing balance'} amount={closing} isSum />
      </tfoot>
    </table>
  );
}

type BalanceRowProps = Readonly<{ name: string; amount: string; isSum?: boolean }>;

function BalanceRow({ name, amount, isSum = false }: BalanceRowProps) {
  return (
    <tr className={isSum ? 'font-semibold' : 'font-medium'}>
      <th
        scope="row"
        colSpan={2}
        className={classNames(
          'py-2 pr-4',
          isSum ? 'border-t-2 border-edge font-semibold' : 'border-b border-line font-medium',
        )}
      >
        {name}
      </th>
      <td
        className={classNames('py-2 text-right', isSum ? 'border-t-2 border-edge' : 'border-b border-line')}
      >
        <Money amount={amount} isBalance />
      </td>
    </tr>
  );
}

function LineRow({ line }: Readonly<{ line: StatementLine }>) {
  return (
    <tr>
      <th scope="row" className="border-b border-line py-2 pr-4 font-normal">
        {nameOfLine(line)}
      </th>
      <td className="border-b border-line py-2 pr-4 text-right text-ink-faint">
        × {formatCount(line.entries)}
      </td>
      <td className="border-b border-line py-2 text-right">
        <Money amount={line.amount} isTotal hasSign />
      </td>
    </tr>
  );
}
