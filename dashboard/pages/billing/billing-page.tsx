import { keepPreviousData } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CreditCard } from 'lucide-react';
import type { Statement } from '../../../src/console/contract.ts';
import { useAccountQuery, useMe } from '../../api/session.ts';
import { signOfMoney, subtractMoney } from '../../kit/amounts.ts';
import { Callout } from '../../kit/callout.tsx';
import { Card } from '../../kit/card.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { Money } from '../../kit/figures.tsx';
import { Page } from '../../kit/page.tsx';
import { Pager, useAddressCursors } from '../../kit/pager.tsx';
import { Stat, StatGroup } from '../../kit/stat.tsx';
import { EmptyState, FailedList } from '../../kit/states.tsx';
import { Table } from '../../kit/table.tsx';
import { digitsOf, entryColumnsFor } from './statement.tsx';

export function BillingPage() {
  const cursors = useAddressCursors();
  const statement = useStatement(cursors.cursor);
  const hasFailed = statement.data === undefined && statement.isError;
  return (
    <Page title="Billing" description="What was paid in, what was taken out, and what is left.">
      {!hasFailed && <MoneyFigures statement={statement.data} />}
      <AboutMoney />
      <Card title="Statement" description="Every movement of money, the newest first." isFlush>
        {hasFailed ? (
          <FailedList error={statement.error} onRetry={statement.refetch} goToStart={cursors.goToStart} />
        ) : (
          <>
            <Table
              caption="Statement"
              columns={entryColumnsFor(digitsOf(statement.data?.data ?? []))}
              rows={statement.data?.data}
              rowKey={({ number }) => `${number}`}
              expectedRows={10}
              isDimmed={statement.isPlaceholderData}
              empty={<NothingYet />}
            />
            <Pager
              cursors={cursors}
              nextCursor={statement.data?.next_cursor}
              isBusy={statement.isPlaceholderData}
              label="the statement"
            />
          </>
        )}
      </Card>
    </Page>
  );
}

function MoneyFigures({ statement }: Readonly<{ statement: Statement | undefined }>) {
  const free = statement && subtractMoney(statement.balance, statement.held);
  return (
    <StatGroup>
      <Stat label="Balance" value={statement && <Money amount={statement.balance} isBalance />} />
      <Stat label="Held" value={statement && <Money amount={statement.held} />} />
      <Stat
        label="Free to spend"
        value={free && <Money amount={free} isBalance />}
        tone={free !== undefined && signOfMoney(free) <= 0 ? 'bad' : 'plain'}
      />
    </StatGroup>
  );
}

function NothingYet() {
  return (
    <EmptyState icon={CreditCard} title="No money has moved yet">
      Credit from the operator and the cost of each request appear here.
    </EmptyState>
  );
}

/** The two things that people ask about. */
export function AboutMoney() {
  const { user } = useMe();
  return (
    <div className="grid gap-3 lg:grid-cols-2">
      <Callout title="How to add money">
        {user.is_operator ? (
          <>
            There is no card payment here. As an operator you add credit under{' '}
            <Link to="/operator/accounts" className={textLinkClass}>
              Operator → Accounts
            </Link>
            , and it appears below at once.
          </>
        ) : (
          'Ask the operator of this gateway for credit. There is no card payment here: the operator adds the credit, and it appears below at once.'
        )}
      </Callout>
      <Callout title="What “held” means">
        While a request runs, the most that it can cost is set aside. When it ends, only its real cost is
        taken, and the rest is free again.
      </Callout>
    </div>
  );
}

const pageSize = 50;
const newestEveryMs = 15_000;

export function useStatement(cursor: string | null) {
  return useAccountQuery<Statement>('ledger', {
    query: { limit: pageSize, cursor },
    placeholderData: keepPreviousData,
    ...(cursor === null ? { refetchInterval: newestEveryMs } : {}),
  });
}
