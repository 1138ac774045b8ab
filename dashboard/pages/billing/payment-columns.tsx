import type { Payment } from '../../../src/console/contract.ts';
import { formatMoneyExactly, signOfMoney } from '../../kit/amounts.ts';
import { Badge, type BadgeTone } from '../../kit/badge.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { Dash, Time } from '../../kit/figures.tsx';
import { type Column, moneyColumn } from '../../kit/table.tsx';

const states: Readonly<Record<Payment['state'], Readonly<{ label: string; tone: BadgeTone }>>> = {
  new: { label: 'Starting', tone: 'plain' },
  open: { label: 'Not paid yet', tone: 'plain' },
  processing: { label: 'On its way', tone: 'accent' },
  paid: { label: 'Paid', tone: 'good' },
  failed: { label: 'Failed', tone: 'bad' },
  expired: { label: 'Not paid', tone: 'plain' },
  contradicted: { label: 'In review', tone: 'warn' },
};

export function paymentColumns<Row extends Payment>(): Column<Row>[] {
  return [
    {
      key: 'time',
      header: 'Time',
      width: 'w-40',
      isBare: true,
      cell: ({ created_at: at }) => <Time at={at} style="exact" />,
    },
    {
      key: 'kind',
      header: 'Type',
      isOptional: true,
      cell: ({ kind }) => (
        <span className="whitespace-nowrap">{kind === 'automatic' ? 'Automatic top-up' : 'Payment'}</span>
      ),
    },
    {
      key: 'state',
      header: 'Status',
      cell: ({ state, reversals }) => (
        <span className="inline-flex flex-wrap items-center gap-x-2">
          <Badge tone={states[state].tone} hasDot>
            {states[state].label}
          </Badge>
          {reversals.map((reversal) => (
            <ReversalBadge key={reversal.id} reversal={reversal} />
          ))}
        </span>
      ),
    },
    moneyColumn({ key: 'amount', header: 'Credit', amountOf: ({ amount }) => amount }),
    moneyColumn({ key: 'paid', header: 'Paid with tax', amountOf: ({ paid }) => paid }),
    {
      key: 'receipt',
      header: 'Receipt',
      cell: ({ receipt_url: url }) =>
        url === null ? (
          <Dash />
        ) : (
          <a href={url} target="_blank" rel="noreferrer" className={textLinkClass}>
            View
          </a>
        ),
    },
  ];
}

function ReversalBadge({ reversal }: Readonly<{ reversal: Payment['reversals'][number] }>) {
  const { kind, amount, status, owed } = reversal;
  const hasEnded = ['failed', 'canceled', 'won', 'prevented', 'warning_closed'].includes(status);
  const isInquiry = status.startsWith('warning_');
  const label = kind === 'refund' ? 'Refund' : isInquiry ? 'Inquiry' : 'Dispute';
  const isOwed = signOfMoney(owed) > 0;
  return (
    <Badge tone={hasEnded ? 'plain' : kind === 'refund' ? 'accent' : isInquiry ? 'warn' : 'bad'}>
      {label} {formatMoneyExactly(amount)}
      {hasEnded && ` (${status.replaceAll('_', ' ')})`}
      {isOwed && `, ${formatMoneyExactly(owed)} owed`}
    </Badge>
  );
}
