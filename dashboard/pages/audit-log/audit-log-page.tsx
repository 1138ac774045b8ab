/** Who changed what in the account, for its owners. */
import { keepPreviousData } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ClipboardList } from 'lucide-react';
import type { AccountAuditLog, AccountChange, ChangedObject } from '../../../src/console/contract.ts';
import { useAccount, useAccountQuery } from '../../api/session.ts';
import { Card } from '../../kit/card.tsx';
import { textLinkClass } from '../../kit/class-names.ts';
import { NameWithNote } from '../../kit/name-with-note.tsx';
import { Page } from '../../kit/page.tsx';
import { QueryTable, useAddressCursors } from '../../kit/query-table.tsx';
import { EmptyState } from '../../kit/states.tsx';
import type { Column } from '../../kit/table.tsx';
import { keyLink } from '../../links.ts';
import { AccountExportButton } from '../exports/export-button.tsx';
import { actionColumn, detailsColumn, nameOf, timeColumn } from './change-view.tsx';

const pageSize = 50;

export const accountChangeColumns: readonly Column<AccountChange>[] = [
  timeColumn,
  {
    key: 'actor',
    header: 'By',
    cell: ({ actor, address }) => <NameWithNote name={actor ?? 'The operator'} note={address} />,
  },
  // An ID alone tells a person nothing.
  actionColumn((object) => object.name !== null && <ObjectName object={object} />),
  detailsColumn,
];

export function AuditLogPage() {
  const { role } = useAccount();
  return (
    <Page
      title="Audit log"
      description="Who changed what in this account, newest first. It cannot be edited."
      actions={<AccountExportButton name="audit_log" />}
    >
      {role === 'member' ? (
        <EmptyState icon={ClipboardList} title="For owners only">
          Only owners of this account see who changed what.
        </EmptyState>
      ) : (
        <Changes />
      )}
    </Page>
  );
}

function Changes() {
  const cursors = useAddressCursors();
  const changes = useAccountQuery<AccountAuditLog>('audit-log', {
    query: { limit: pageSize, cursor: cursors.cursor },
    placeholderData: keepPreviousData,
  });
  return (
    <Card isFlush>
      <QueryTable
        query={changes}
        caption="Changes"
        columns={accountChangeColumns}
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
  );
}

function ObjectName({ object }: Readonly<{ object: ChangedObject }>) {
  if (object.type !== 'key') return nameOf(object);
  return (
    <Link {...keyLink(object.id)} className={textLinkClass}>
      {nameOf(object)}
    </Link>
  );
}
