/** Who changed what about a key, for owners. */
import { keepPreviousData } from '@tanstack/react-query';
import type { AccountAuditLog } from '../../../src/console/contract.ts';
import { useAccountQuery } from '../../api/session.ts';
import { Card } from '../../kit/card.tsx';
import { QueryTable, useAddressCursors } from '../../kit/query-table.tsx';
import { accountChangeColumns } from '../audit-log/audit-log-page.tsx';

const pageSize = 10;

export function KeyHistory({ keyId }: Readonly<{ keyId: string }>) {
  const cursors = useAddressCursors('history_');
  const changes = useAccountQuery<AccountAuditLog>('audit-log', {
    query: { key: keyId, limit: pageSize, cursor: cursors.cursor },
    placeholderData: keepPreviousData,
  });
  return (
    <Card title="History" description="Changes to the key and its limits, newest first" isFlush>
      <QueryTable
        query={changes}
        errorTitle="The history could not be loaded"
        caption="History of this key"
        columns={accountChangeColumns}
        rows={changes.data?.data}
        rowKey={({ id }) => id}
        expectedRows={2}
        empty={<p className="py-3 text-ink-faint">Nothing was recorded.</p>}
        cursors={cursors}
        nextCursor={changes.data?.next_cursor}
      />
    </Card>
  );
}
