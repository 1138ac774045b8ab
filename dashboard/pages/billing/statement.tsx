import { Link } from '@tanstack/react-router';
import type { LedgerEntry, StatementEntry } from '../../../src/console/contract.ts';
import { decimalsOf, formatMoneyExactly, signOfMoney } from '../../kit/amounts.ts';
import { Badge, type BadgeTone, EstimatedMark } from '../../kit/badge.tsx';
import { classNames, textLinkClass } from '../../kit/class-names.ts';
import { Dash, PaddingZeros, Time } from '../../kit/figures.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import type { Column } from '../../kit/table.tsx';
import { EntryDraws } from '../grants/draws.tsx';

const kinds: Readonly<Record<LedgerEntry['kind'], Readonly<{ label: string; tone: BadgeTone }>>> = {
  credit: { label: 'Credit added', tone: 'good' },
  charge: { label: 'Request', tone: 'plain' },
  refund: { label: 'Refund', tone: 'good' },
  correction: { label: 'Correction', tone: 'warn' },
  expiry: { label: 'Expired', tone: 'plain' },
  void: { label: 'Voided', tone: 'plain' },
};

type GenerationPath = '/requests/$id' | '/operator/requests/$id';

/** `digits` is the number of decimals that the amounts on this page need. */
export function entryColumns(
  digits: number,
  generationPath: GenerationPath = '/requests/$id',
): Column<StatementEntry>[] {
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
      width: 'w-48',
      cell: ({ created_at: createdAt }) => <Time at={createdAt} style="exact" />,
    },
    {
      key: 'kind',
      header: 'Type',
      width: 'w-36',
      cell: ({ kind }) => <Badge tone={kinds[kind].tone}>{kinds[kind].label}</Badge>,
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
      cell: ({ amount }) => <StatementAmount amount={amount} digits={digits} hasSign />,
    },
    {
      key: 'balance',
      header: 'Balance after',
      align: 'right',
      cell: ({ balance_after: balance }) => <StatementAmount amount={balance} digits={digits} />,
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

type StatementAmountProps = Readonly<{
  amount: string;
  /** The number of decimals. Zeros that only pad the amount are faint. */
  digits: number;
  /** Whether a positive amount gets its sign and stands out, as credit does. */
  hasSign?: boolean;
}>;

function StatementAmount({ amount, digits, hasSign = false }: StatementAmountProps) {
  const exact = formatMoneyExactly(amount);
  const isIncome = hasSign && signOfMoney(amount) > 0;
  return (
    <span
      title={`${isIncome ? '+' : ''}${exact} USD`}
      className={classNames('figures whitespace-nowrap', isIncome && 'font-semibold text-good')}
    >
      {isIncome && '+'}
      {exact}
      <PaddingZeros written={exact} decimals={digits} />
    </span>
  );
}

/** Both columns have as many decimals as any amount on the page needs. */
export function digitsOf(entries: readonly Pick<LedgerEntry, 'amount' | 'balance_after'>[]): number {
  return decimalsOf(
    entries.flatMap(({ amount, balance_after: balance }) => [amount, balance]),
    'exact',
  );
}
