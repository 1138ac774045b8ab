import { Link } from '@tanstack/react-router';
import type { LedgerEntry } from '../../../src/console/contract.ts';
import { Badge, type BadgeTone } from '../../kit/badge.tsx';
import { EstimatedMark } from '../../kit/estimated-mark.tsx';
import type { Column } from '../../kit/table.tsx';
import { textLinkClass } from '../../kit/text-link.ts';
import { Time } from '../../kit/time.tsx';
import { StatementAmount } from './statement-amount.tsx';

const kinds: Readonly<Record<LedgerEntry['kind'], Readonly<{ label: string; tone: BadgeTone }>>> = {
  credit: { label: 'Credit added', tone: 'good' },
  charge: { label: 'Request', tone: 'plain' },
  refund: { label: 'Refund', tone: 'good' },
  correction: { label: 'Correction', tone: 'warn' },
};

/** `digits` are those after the point that the amounts of this page need. */
export function entryColumnsFor(digits: number): Column<LedgerEntry>[] {
  return [
    {
      key: 'time',
      header: 'Time',
      width: 'w-48',
      isBare: true,
      cell: ({ created_at: createdAt }) => <Time at={createdAt} style="exact" />,
    },
    {
      key: 'kind',
      header: 'What',
      width: 'w-36',
      cell: ({ kind }) => <Badge tone={kinds[kind].tone}>{kinds[kind].label}</Badge>,
    },
    { key: 'details', header: 'Details', cell: (entry) => <Details entry={entry} /> },
    {
      key: 'amount',
      header: 'Amount',
      align: 'right',
      cell: ({ amount }) => <StatementAmount amount={amount} digits={digits} isMovement />,
    },
    {
      key: 'balance',
      header: 'Balance after',
      align: 'right',
      cell: ({ balance_after: balance }) => <StatementAmount amount={balance} digits={digits} />,
    },
  ];
}

function Details({ entry }: Readonly<{ entry: LedgerEntry }>) {
  const { kind, generation, memo, is_estimated: isEstimated } = entry;
  if (generation !== null) {
    return (
      <>
        <span className="inline-flex flex-wrap items-center gap-x-2 gap-y-1">
          <Link
            to="/generations/$id"
            params={{ id: generation.id }}
            title={generation.id}
            className={textLinkClass}
          >
            {generation.model ?? 'See the request'}
          </Link>
          {isEstimated && <EstimatedMark />}
        </span>
        {kind === 'refund' && (
          <span className="block text-xs text-ink-faint">The response could not be delivered.</span>
        )}
      </>
    );
  }
  return memo === null || memo === '' ? <span className="text-ink-faint">–</span> : memo;
}
