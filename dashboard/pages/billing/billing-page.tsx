import { keepPreviousData } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CreditCard } from 'lucide-react';
import type { Statement } from '../../../src/console/contract.ts';
import { useAccountQuery, useMe } from '../../api/session.ts';
import { Callout } from '../../kit/callout.tsx';
import { Card } from '../../kit/card.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { Page } from '../../kit/page.tsx';
import { QueryTable, useAddressCursors } from '../../kit/query-table.tsx';
import { EmptyState } from '../../kit/states.tsx';
import { AccountExportButton } from '../exports/export-button.tsx';
import { MoneyFigures } from './money-figures.tsx';
import { digitsOf, entryColumns } from './statement.tsx';

export function BillingPage() {
  const cursors = useAddressCursors();
  const statement = useStatement(cursors.cursor);
  const hasFailed = statement.data === undefined && statement.isError;
  return (
    <Page
      title="Billing"
      description="Credit, charges and the remaining balance."
      actions={<AccountExportButton name="entries" />}
    >
      {!hasFailed && <MoneyFigures money={statement.data} />}
      <AboutMoney />
      <Card title="Statement" description="All transactions, newest first." isFlush>
        <QueryTable
          query={statement}
          caption="Statement"
          columns={entryColumns(digitsOf(statement.data?.data ?? []))}
          rows={statement.data?.data}
          rowKey={({ number }) => `${number}`}
          expectedRows={10}
          empty={
            <EmptyState icon={CreditCard} title="No transactions yet">
              Credit from the operator and the cost of each request appear here.
            </EmptyState>
          }
          cursors={cursors}
          nextCursor={statement.data?.next_cursor}
        />
      </Card>
    </Page>
  );
}

function AboutMoney() {
  const { user } = useMe();
  return (
    <div className="grid gap-3 lg:grid-cols-2">
      <Callout title="How to add credit">
        {user.is_operator ? (
          <>
            Card payments are not available. As an operator, you can add credit under{' '}
            <Link to="/operator/accounts" className={textLinkClass}>
              Operator → Accounts
            </Link>
            . It appears below immediately.
          </>
        ) : (
          'Ask the operator of this gateway for credit. Card payments are not available. Credit appears below as soon as the operator adds it.'
        )}
      </Callout>
      <Callout title="What “held” means">
        While a request is running, its maximum cost is set aside. When it ends, only its actual cost is
        charged, and the rest becomes available again.
      </Callout>
    </div>
  );
}

const pageSize = 50;
const newestEveryMs = 15_000;

function useStatement(cursor: string | null) {
  return useAccountQuery<Statement>('ledger', {
    query: { limit: pageSize, cursor },
    placeholderData: keepPreviousData,
    ...(cursor === null ? { refetchInterval: newestEveryMs } : {}),
  });
}
