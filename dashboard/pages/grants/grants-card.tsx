/** The grants of an account, and what it gets repeatedly. */
import type { UseQueryResult } from '@tanstack/react-query';
import { Gift } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Allowance, Grant, Grants } from '../../../src/console/grant-contract.ts';
import { formatMoneyExactly } from '../../kit/amounts.ts';
import { StatusBadge } from '../../kit/badge.tsx';
import { Card } from '../../kit/card.tsx';
import { Dash, Time } from '../../kit/figures.tsx';
import { NameWithNote } from '../../kit/name-with-note.tsx';
import { QueryTable, type useAddressCursors } from '../../kit/query-table.tsx';
import { EmptyState } from '../../kit/states.tsx';
import { type Column, Table } from '../../kit/table.tsx';
import { grantColumns } from './grant-columns.tsx';
import { periods } from './grant-words.ts';

const order =
  'Spent in this order: lowest priority, earliest expiry, allowances before promotional before paid, oldest.';

type GrantsCardProps = Readonly<{
  query: UseQueryResult<Grants>;
  cursors: ReturnType<typeof useAddressCursors>;
  columns?: readonly Column<Grant>[];
  actions?: ReactNode;
}>;

export function GrantsCard({ query, cursors, columns = grantColumns, actions }: GrantsCardProps) {
  return (
    <Card title="Grants" description={order} isFlush {...(actions === undefined ? {} : { actions })}>
      <QueryTable
        query={query}
        errorTitle="The grants could not be loaded"
        caption="Grants"
        columns={columns}
        rows={query.data?.data}
        rowKey={({ id }) => id}
        expectedRows={2}
        empty={
          <EmptyState icon={Gift} title="No grants">
            All credit of this account is paid for, and stays until it is spent.
          </EmptyState>
        }
        cursors={cursors}
        nextCursor={query.data?.next_cursor}
      />
    </Card>
  );
}

type AllowancesCardProps = Readonly<{
  allowances: readonly Allowance[];
  columns?: readonly Column<Allowance>[];
}>;

/** Where there are any. */
export function AllowancesCard({ allowances, columns = allowanceColumns }: AllowancesCardProps) {
  if (allowances.length === 0) return null;
  return (
    <Card title="Allowances" description="Each lasts until the next is given." isFlush>
      <Table caption="Allowances" columns={columns} rows={allowances} rowKey={({ id }) => id} />
    </Card>
  );
}

export const allowanceColumns: readonly Column<Allowance>[] = [
  {
    key: 'allowance',
    header: 'Allowance',
    isBare: true,
    cell: (allowance) => (
      <NameWithNote name={describeAllowance(allowance)} note={allowance.note} noteBetween="beside" />
    ),
  },
  {
    key: 'next',
    header: 'Next on',
    cell: ({ next_at: at }) => (at === null ? <Dash /> : <Time at={at} style="date" />),
  },
  { key: 'priority', header: 'Priority', cell: ({ priority }) => priority },
  {
    key: 'state',
    header: 'Status',
    cell: ({ ended_at: endedAt }) => <StatusBadge status={endedAt === null ? 'active' : 'ended'} />,
  },
];

export function describeAllowance({ amount, every }: Allowance): string {
  return `${formatMoneyExactly(amount)} ${periods[every]}`;
}
