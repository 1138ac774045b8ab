/** What the requests of a month were charged: by model, key or day, each leading to its requests. */
import { Link } from '@tanstack/react-router';
import { signOfMoney, unitsOf } from '../../kit/amounts.ts';
import { nameLinkClass } from '../../kit/class-names.ts';
import { Dash, Money } from '../../kit/figures.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { type Column, moneyColumn, Table } from '../../kit/table.tsx';
import { type ChargedRow, type Charges, netOf } from './charges.ts';

/** The list of requests. */
const requestsPath: string = '/requests';

export function ChargesTable({ caption, charges }: Readonly<{ caption: string; charges: Charges }>) {
  const { header, rows, total } = charges;
  const hasRefunds = signOfMoney(total.refunded) > 0;
  const columns: readonly Column<ChargedRow>[] = [
    {
      key: 'name',
      header,
      isBare: true,
      cell: ({ name, search }) =>
        search === null ? (
          name
        ) : (
          <Link to={requestsPath} search={search} className={nameLinkClass}>
            {name}
          </Link>
        ),
    },
    { key: 'requests', header: 'Requests', align: 'right', cell: ({ requests }) => formatCount(requests) },
    moneyColumn({ key: 'charged', header: 'Charged', amountOf: ({ charged }) => charged, style: 'total' }),
    ...(hasRefunds ? refundColumns : []),
    {
      key: 'share',
      header: 'Share',
      align: 'right',
      cell: ({ charged }) => shareOf(charged, total.charged),
    },
  ];
  const sums = [total.charged, ...(hasRefunds ? [total.refunded, netOf(total)] : [])];
  return (
    <Table
      caption={caption}
      columns={columns}
      rows={rows}
      rowKey={({ id }) => id}
      footer={[
        'Total',
        formatCount(total.requests),
        // biome-ignore lint/suspicious/noArrayIndexKey: the columns never move.
        ...sums.map((amount, place) => <Money key={place} amount={amount} isTotal />),
        null,
      ]}
    />
  );
}

const refundColumns: readonly Column<ChargedRow>[] = [
  moneyColumn({ key: 'refunded', header: 'Refunded', amountOf: ({ refunded }) => refunded, style: 'total' }),
  moneyColumn({ key: 'net', header: 'Net', amountOf: netOf, style: 'total' }),
];

const shareSteps = 10_000n;

function shareOf(part: string, whole: string) {
  const all = unitsOf(whole);
  if (all === 0n) return <Dash />;
  const percent = Number((unitsOf(part) * shareSteps) / all) / 100;
  return `${percent.toFixed(1)}%`;
}
