/** Who changed what in the account, for its owners. */
import { keepPreviousData } from '@tanstack/react-query';
import { ClipboardList } from 'lucide-react';
import type { AccountAuditLog, AccountChange } from '../../../src/console/contract.ts';
import { useAccountQuery } from '../../api/session.ts';
import { Card } from '../../kit/card.tsx';
import { NameWithNote } from '../../kit/name-with-note.tsx';
import { Page } from '../../kit/page.tsx';
import { QueryTable, useAddressCursors } from '../../kit/query-table.tsx';
import { EmptyState } from '../../kit/states.tsx';
import type { Column } from '../../kit/table.tsx';
import { AccountExportButton } from '../exports/export-button.tsx';
import { actionColumn, detailsColumn, timeColumn } from './change-view.tsx';

const pageSize = 50;

const columns: readonly Column<AccountChange>[] = [
  timeColumn,
  {
    key: 'actor',
    header: 'By',
    cell: ({ actor, address }) => <NameWithNote name={actor ?? 'The operator'} note={address} />,
  },
  actionColumn(),
  detailsColumn,
];

export function AuditLogPage() {
  const cursors = useAddressCursors();
  const changes = useAccountQuery<AccountAuditLog>('audit-log', {
    query: { limit: pageSize, cursor: cursors.cursor },
    placeholderData: keepPreviousData,
  });
  return (
    <Page
      title="Audit log"
      description="Who changed what in this account. It cannot be edited."
      actions={<AccountExportButton name="audit_log" />}
    >
      <Card title="Changes" description="Newest first." isFlush>
        <QueryTable
          query={changes}
          caption="Changes"
          columns={columns}
          rows={changes.data?.data}
          rowKey={({ id }) => id}
          expectedRows={10}
          empty={
            <EmptyState icon={ClipboardList} title="No changes yet">
              New keys, limits, members and credits appear here.
            </EmptyState>
          }
          cursors={cursors}
          nextCursor={changes.data?.next_cursor}
        />
      </Card>
    </Page>
  );
}
