/** Failed attempts, each leading to its request. */
import { Link } from '@tanstack/react-router';
import { CircleCheck } from 'lucide-react';
import { useState } from 'react';
import type { Providers } from '../../../../src/console/operator-contract.ts';
import { Card } from '../../../kit/card.tsx';
import { textLinkClass } from '../../../kit/class-names.ts';
import { Dash, Time } from '../../../kit/figures.tsx';
import { Pager, pageOfList } from '../../../kit/pager.tsx';
import { EmptyState } from '../../../kit/states.tsx';
import { BreakableCode, type Column, Table } from '../../../kit/table.tsx';
import { accountLink, modelLink, providerLink } from '../../../links.ts';

type FailuresProps = Readonly<{
  /** Undefined while they are being loaded. */
  failures: Providers['failures'] | undefined;
  description: string;
  /** Whether all of them are of one provider, whose page this is. */
  isOfOne?: boolean;
}>;

const pageSize = 10;

export function Failures({ failures, description, isOfOne = false }: FailuresProps) {
  const [pageNumber, setPageNumber] = useState(1);
  const page = failures && pageOfList(failures, pageNumber, pageSize);
  return (
    <Card title="Recent failures" description={description} isFlush>
      <Table
        caption="Recent failures"
        columns={isOfOne ? failureColumns.filter(({ key }) => key !== 'provider') : failureColumns}
        rows={page?.items}
        rowKey={({ request_id: id, attempt }) => `${id} ${attempt}`}
        rowLink={({ request_id: id }) => ({ to: '/operator/requests/$id', params: { id } })}
        expectedRows={5}
        empty={
          isOfOne ? (
            // Those of other providers may have taken the place of older ones of its own.
            <EmptyState icon={CircleCheck} title="No recent failures">
              None of the newest 50 failed attempts was a call to it.
            </EmptyState>
          ) : (
            <EmptyState icon={CircleCheck} title="No failures">
              No attempt failed in the last 24 hours.
            </EmptyState>
          )
        }
      />
      {page !== undefined && page.pageCount > 1 && (
        <Pager page={page} label="recent failures" onChange={setPageNumber} />
      )}
    </Card>
  );
}

type Failure = Providers['failures'][number];

const failureColumns: readonly Column<Failure>[] = [
  {
    key: 'at',
    header: 'Time',
    isBare: true,
    width: 'w-40',
    cell: ({ at }) => <Time at={at} style="brief" />,
  },
  {
    key: 'provider',
    header: 'Provider',
    cell: ({ provider, attempt }) => (
      <Link
        {...providerLink(provider)}
        title={`Attempt ${attempt} of the request`}
        className={`${textLinkClass} wrap-break-word`}
      >
        {provider}
      </Link>
    ),
  },
  {
    key: 'model',
    header: 'Model',
    cell: ({ model, account }) => (
      <Link {...modelLink(model, account.id)} className={textLinkClass}>
        <BreakableCode>{model}</BreakableCode>
      </Link>
    ),
  },
  {
    key: 'error',
    header: 'Error',
    cell: ({ error }) => <BreakableCode className="text-bad md:whitespace-nowrap">{error}</BreakableCode>,
  },
  {
    key: 'status',
    header: 'Status',
    align: 'right',
    cell: ({ upstream_status: status }) => status ?? <Dash />,
  },
  {
    key: 'account',
    header: 'Account',
    cell: ({ account }) => (
      <Link {...accountLink(account.id)} className={`${textLinkClass} wrap-break-word`}>
        {account.name}
      </Link>
    ),
  },
];
