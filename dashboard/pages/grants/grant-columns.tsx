import type { Grant } from '../../../src/console/grant-contract.ts';
import { isInCents, shareOfLimit, signOfMoney } from '../../kit/amounts.ts';
import { Badge, StatusBadge } from '../../kit/badge.tsx';
import { Meter, Money, Time } from '../../kit/figures.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { NameWithNote } from '../../kit/name-with-note.tsx';
import type { Column } from '../../kit/table.tsx';
import { categories, defaultPriority, nameOfGrant } from './grant-words.ts';

export const grantColumns: readonly Column<Grant>[] = [
  { key: 'name', header: 'Grant', isBare: true, cell: (grant) => <GrantName grant={grant} /> },
  {
    key: 'category',
    header: 'Category',
    cell: ({ category, priority }) => (
      <span className="inline-flex items-baseline gap-1.5">
        <Badge tone={categories[category].tone}>{categories[category].label}</Badge>
        {priority !== defaultPriority && (
          <span className="whitespace-nowrap text-ink-faint">Priority {priority}</span>
        )}
      </span>
    ),
  },
  { key: 'left', header: 'Left', cell: (grant) => <Left grant={grant} /> },
  {
    key: 'expires',
    header: 'Expires',
    cell: ({ expires_at: at }) => <Time at={at} otherwise="Never" />,
  },
  {
    key: 'state',
    header: 'Status',
    cell: ({ state, void_reason: reason }) => (
      <NameWithNote name={<StatusBadge status={state} />} note={reason} />
    ),
  },
];

function GrantName({ grant }: Readonly<{ grant: Grant }>) {
  const { entry_number: number, created_at: createdAt } = grant;
  return (
    <NameWithNote
      name={nameOfGrant(grant)}
      note={
        number !== null && (
          <>
            Entry {formatCount(number)}, <Time at={createdAt} style="date" />
          </>
        )
      }
    />
  );
}

function Left({ grant }: Readonly<{ grant: Grant }>) {
  const { amount, remaining, state } = grant;
  const isKept = state !== 'active' && signOfMoney(remaining) > 0;
  return (
    <span className="inline-flex flex-wrap items-center gap-x-2 gap-y-1 md:flex md:flex-nowrap">
      {state === 'active' && (
        <Meter
          label={`Left of ${nameOfGrant(grant)}`}
          share={shareOfLimit(remaining, amount)}
          className="w-10 shrink-0 md:w-14"
        />
      )}
      <span className="md:whitespace-nowrap">
        {/* Rounded like the balances that it is a part of. */}
        <Money amount={remaining} isBalance={isInCents(amount)} />{' '}
        <span className="text-ink-faint">
          of <Money amount={amount} />
        </span>
      </span>
      {isKept && <span className="text-ink-faint">Held by requests in progress</span>}
    </span>
  );
}
