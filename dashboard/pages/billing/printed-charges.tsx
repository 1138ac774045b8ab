/** Charges as a plain table for paper. */
import type { Charged } from '../../../src/console/billing-contract.ts';
import { signOfMoney } from '../../kit/amounts.ts';
import { classNames } from '../../kit/class-names.ts';
import { Money } from '../../kit/figures.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { type Charges, netOf } from './charges.ts';

export function PrintedCharges({ title, charges }: Readonly<{ title: string; charges: Charges }>) {
  const { header, rows, total } = charges;
  const hasRefunds = signOfMoney(total.refunded) > 0;
  return (
    <section>
      <h2 className="mb-1 font-semibold">{title}</h2>
      <div className="overflow-x-auto">
        <table
          aria-label={title}
          className="w-full table-fixed text-left max-sm:table-auto [&_td]:text-right [&_td,&_th]:py-1 [&_td]:pl-4"
        >
          <thead className="text-xs text-ink-soft [&_th]:border-b [&_th]:border-edge [&_th]:font-medium">
            <tr>
              <th scope="col" className="w-2/5">
                {header}
              </th>
              {['Requests', 'Charged', ...(hasRefunds ? ['Refunded', 'Net'] : [])].map((name) => (
                <th key={name} scope="col" className="pl-4 text-right">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody className="[&_td,&_th]:border-b [&_td,&_th]:border-line">
            {rows.map((row) => (
              <ChargedLine key={row.id} name={row.name} row={row} hasRefunds={hasRefunds} />
            ))}
          </tbody>
          <tfoot className="font-semibold">
            <ChargedLine isTotal name="Total" row={total} hasRefunds={hasRefunds} />
          </tfoot>
        </table>
      </div>
    </section>
  );
}

type ChargedLineProps = Readonly<{
  name: string;
  row: Charged;
  hasRefunds: boolean;
  isTotal?: boolean;
}>;

function ChargedLine({ name, row, hasRefunds, isTotal = false }: ChargedLineProps) {
  const amounts = hasRefunds ? [row.charged, row.refunded, netOf(row)] : [row.charged];
  return (
    <tr>
      <th scope="row" className={classNames('wrap-anywhere', isTotal ? 'font-semibold' : 'font-normal')}>
        {name}
      </th>
      <td className="figures">{formatCount(row.requests)}</td>
      {amounts.map((amount, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the columns never move.
        <td key={place}>
          <Money amount={amount} isTotal />
        </td>
      ))}
    </tr>
  );
}
