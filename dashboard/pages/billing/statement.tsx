import { Link } from '@tanstack/react-router';
import type { LedgerEntry, StatementEntry } from '../../../src/console/contract.ts';
import { Badge, EstimatedMark } from '../../kit/badge.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { Dash, Money, Time } from '../../kit/figures.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import type { Column } from '../../kit/table.tsx';
import { EntryDraws } from '../grants/draws.tsx';

const kinds: Readonly<Record<LedgerEntry['kind'], string>> = {
  credit: 'Credit added',
  charge: 'Request',
  refund: 'Refund',
  correction: 'Correction',
  expiry: 'Expired',
  void: 'Voided',
};

type GenerationPath = '/requests/$id' | '/operator/requests/$id';

export function entryColumns(generationPath: GenerationPath = '/requests/$id'): Column<StatementEntry>[] {
  return [
    {
      key: 'number',
      header: 'No.',
      align: 'right',
      width: 'w-14',
      isWide: true,
      cell: ({ number }) => formatCount(number),
    },
    {
      key: 'time',
      header: 'Time',
      width: 'w-40 xl:w-48',
      cell: ({ created_at: createdAt }) => <Time at={createdAt} style="exact" />,
    },
    {
      key: 'kind',
      header: 'Type',
      width: 'w-24 xl:w-36',
      cell: ({ kind }) => (kind === 'correction' ? <Badge tone="warn">{kinds[kind]}</Badge> : kinds[kind]),
    },
    {
      key: 'details',
      header: 'Details',
      isWrapping: true,
      cell: (entry) => <Details entry={entry} generationPath={generationPath} />,
    },
    {
      key: 'amount',
      header: 'Amount',
      align: 'right',
      // What a request cost is rounded; what someone chose is not.
      cell: ({ kind, amount }) => (
        <Money amount={amount} isExact={kind !== 'charge' && kind !== 'refund'} hasSign />
      ),
    },
    {
      key: 'balance',
      header: 'Balance after',
      align: 'right',
      cell: ({ balance_after: balance }) => <Money amount={balance} isBalance />,
    },
  ];
}

type DetailsProps = Readonly<{ entry: StatementEntry; generationPath: GenerationPath }>;

function Details({ entry, generationPath }: DetailsProps) {
  const { kind, generation, memo, concerns_entry: concerned, is_estimated: isEstimated } = entry;
  const isUndelivered = kind === 'refund' && !entry.is_by_hand;
  const words = isUndelivered ? 'The response could not be delivered.' : memo;
  const hasSubject = generation !== null || concerned !== null;
  return (
    <>
      {hasSubject ? (
        <span className="inline-flex flex-wrap items-center gap-x-2 gap-y-1">
          {generation !== null && (
            <Link
              to={generationPath}
              params={{ id: generation.id }}
              title={generation.id}
              className={textLinkClass}
            >
              {generation.model ?? 'View request'}
            </Link>
          )}
          {concerned !== null && <span>{aboutEntry(kind, concerned)}</span>}
          {isEstimated && <EstimatedMark />}
        </span>
      ) : (
        words || <Dash />
      )}
      {hasSubject && words !== null && <span className="block text-xs text-ink-faint">{words}</span>}
      <EntryDraws kind={kind} draws={entry.draws} />
    </>
  );
}

function aboutEntry(kind: LedgerEntry['kind'], number: number): string {
  const entry = `entry ${formatCount(number)}`;
  return kind === 'expiry' || kind === 'void' ? `What was left of ${entry}` : `About ${entry}`;
}
