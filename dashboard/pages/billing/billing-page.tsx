import { CreditCard } from 'lucide-react';
import type { Statement } from '../../../src/console/contract.ts';
import { Card } from '../../kit/card.tsx';
import { EmptyState } from '../../kit/empty-state.tsx';
import { FailedList } from '../../kit/failed-list.tsx';
import { Money } from '../../kit/money.tsx';
import { Page } from '../../kit/page.tsx';
import { Pager } from '../../kit/pager.tsx';
import { Stat, StatGroup } from '../../kit/stat.tsx';
import { signOfMoney, subtractMoney } from '../../kit/sum-money.ts';
import { Table } from '../../kit/table.tsx';
import { useAddressCursors } from '../../kit/use-address-cursors.ts';
import { AboutMoney } from './about-money.tsx';
import { entryColumnsFor } from './entry-columns.tsx';
import { useStatement } from './queries.ts';
import { digitsOf } from './statement-digits.ts';

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
