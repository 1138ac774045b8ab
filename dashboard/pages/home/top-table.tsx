/** The keys, models or accounts with the most requests or the highest cost in a range. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { RequestGroups } from '../../../src/console/request-contract.ts';
import { LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { classNames, textLinkClass } from '../../kit/class-names.ts';
import { Dash } from '../../kit/figures.tsx';
import { formatCount, formatShare } from '../../kit/format-figures.ts';
import { QueryTable } from '../../kit/query-table.tsx';
import { type Column, moneyColumn } from '../../kit/table.tsx';
import type { Destination } from '../../links.ts';
import { countRequests, errorRateOf, toneOfErrors } from '../requests/figures.ts';
import type { useTop } from './queries.ts';

type Group = RequestGroups['data'][number];

type TopTableProps = Readonly<{
  title: string;
  /** Such as "Key". */
  header: string;
  query: ReturnType<typeof useTop>;
  name: (group: Group) => ReactNode;
  /** Its requests in the explorer. */
  requestsOf: (value: string) => Destination;
  all: Readonly<{ to: '/keys' | '/models' | '/operator/accounts'; label: string }>;
}>;

const shownRows = 6;
/** One may have no name. */
export const topLimit = shownRows + 1;

export function TopTable({ title, header, query, name, requestsOf, all }: TopTableProps) {
  const rows = query.data?.data.filter(({ value }) => value !== null).slice(0, shownRows);
  return (
    <Card
      title={title}
      isFlush
      actions={
        <LinkButton to={all.to} size="small">
          {all.label}
        </LinkButton>
      }
    >
      <QueryTable
        query={query}
        caption={title}
        columns={columnsOf(header, name, requestsOf)}
        rows={rows}
        rowKey={({ value }) => value ?? ''}
        expectedRows={3}
        empty={<p className="py-3 text-ink-faint">No requests in this range.</p>}
      />
    </Card>
  );
}

function columnsOf(
  header: string,
  name: TopTableProps['name'],
  requestsOf: TopTableProps['requestsOf'],
): readonly Column<Group>[] {
  return [
    { key: 'name', header, isBare: true, cell: name },
    {
      key: 'requests',
      header: 'Requests',
      align: 'right',
      width: 'w-24',
      cell: (group) => (
        <Link {...requestsOf(group.value ?? '')} className={classNames('figures', textLinkClass)}>
          {formatCount(countRequests(group))}
        </Link>
      ),
    },
    {
      key: 'errors',
      header: 'Errors',
      align: 'right',
      width: 'w-20',
      cell: (group) => <ErrorShare rate={errorRateOf(group)} />,
    },
    moneyColumn({
      key: 'cost',
      header: 'Spend',
      width: 'w-24',
      style: 'total',
      amountOf: ({ cost }) => cost,
    }),
  ];
}

export const errorTones = { bad: 'text-bad', warn: 'text-warn', plain: '' } as const;

/** Colour is for what is wrong. */
export function ErrorShare({ rate }: Readonly<{ rate: number | null }>) {
  if (rate === null) return <Dash />;
  return (
    <span className={classNames('figures', rate === 0 ? 'text-ink-faint' : errorTones[toneOfErrors(rate)])}>
      {formatShare(rate)}
    </span>
  );
}
