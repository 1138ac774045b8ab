/** Every single entry, the newest first. */
import type { UseQueryResult } from '@tanstack/react-query';
import { CreditCard } from 'lucide-react';
import type { Statement } from '../../../src/console/contract.ts';
import { Card } from '../../kit/card.tsx';
import { QueryTable, type useAddressCursors } from '../../kit/query-table.tsx';
import { EmptyState } from '../../kit/states.tsx';
import { AccountExportButton } from '../exports/export-button.tsx';
import { entryColumns } from './statement.tsx';

type EntriesViewProps = Readonly<{
  query: UseQueryResult<Statement>;
  cursors: ReturnType<typeof useAddressCursors>;
}>;

export function EntriesView({ query, cursors }: EntriesViewProps) {
  return (
    <Card
      title="Entries"
      description="Everything that moved the balance, newest first."
      actions={<AccountExportButton name="entries" />}
      isFlush
    >
      <QueryTable
        query={query}
        caption="Entries"
        columns={entryColumns()}
        rows={query.data?.data}
        rowKey={({ number }) => `${number}`}
        expectedRows={10}
        empty={
          <EmptyState icon={CreditCard} title="No entries yet">
            Credit and the cost of each request appear here.
          </EmptyState>
        }
        cursors={cursors}
        nextCursor={query.data?.next_cursor}
      />
    </Card>
  );
}
