/** Whether the money is right, and what operators did with it. */
import { ClipboardList } from 'lucide-react';
import { Card } from '../../../kit/card.tsx';
import { EmptyState } from '../../../kit/empty-state.tsx';
import { ErrorState } from '../../../kit/error-state.tsx';
import { Page } from '../../../kit/page.tsx';
import { Table } from '../../../kit/table.tsx';
import { actionColumns } from './action-columns.tsx';
import { AuditCard } from './audit-card.tsx';
import { DeadLettersCard } from './dead-letters-card.tsx';
import { useActions, useDeadLetters } from './queries.ts';

export function OperatorLedgerPage() {
  const actions = useActions();
  const letters = useDeadLetters();
  return (
    <Page title="Ledger" description="Whether every amount is accounted for, and what operators did.">
      {letters.data !== undefined && <DeadLettersCard letters={letters.data} />}
      {letters.data === undefined && letters.isError && (
        <Card title="Refused settlements">
          <ErrorState error={letters.error} onRetry={letters.refetch} />
        </Card>
      )}
      <AuditCard />
      <Card title="What operators did" description="The newest 100." isFlush>
        {actions.data === undefined && actions.isError ? (
          <ErrorState error={actions.error} onRetry={actions.refetch} />
        ) : (
          <Table
            caption="What operators did"
            columns={actionColumns}
            rows={actions.data?.data}
            rowKey={({ id }) => id}
            expectedRows={6}
            empty={
              <EmptyState icon={ClipboardList} title="Nothing has been done on these pages yet">
                Credits, suspensions, new accounts and changes of users are noted here.
              </EmptyState>
            }
          />
        )}
      </Card>
    </Page>
  );
}
