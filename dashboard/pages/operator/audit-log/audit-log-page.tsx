/** Who changed what, in all accounts. */
import { keepPreviousData } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ClipboardList } from 'lucide-react';
import type { ChangedObject } from '../../../../src/console/contract.ts';
import type { AuditLog, Change } from '../../../../src/console/operator-contract.ts';
import { Card } from '../../../kit/card.tsx';
import { textLinkClass } from '../../../kit/class-names.ts';
import { Dash } from '../../../kit/figures.tsx';
import { NameWithNote } from '../../../kit/name-with-note.tsx';
import { Page } from '../../../kit/page.tsx';
import { QueryTable, useAddressCursors } from '../../../kit/query-table.tsx';
import { EmptyState } from '../../../kit/states.tsx';
import type { Column } from '../../../kit/table.tsx';
import { accountLink, keyLink } from '../../../links.ts';
import { actionColumn, detailsColumn, nameOf, timeColumn } from '../../audit-log/change-view.tsx';
import { OperatorExportButton } from '../../exports/export-button.tsx';
import { useOperatorQuery } from '../operator-query.ts';

const pageSize = 25;

const doors: Readonly<Record<Change['door'], string>> = {
  api: 'Admin API',
  cli: 'Command line',
  dashboard: 'Dashboard',
};

const columns: readonly Column<Change>[] = [
  timeColumn,
  {
    key: 'actor',
    header: 'By',
    cell: ({ actor, door, address }) => (
      <NameWithNote
        isShort
        name={<span title={actor.name}>{actor.name}</span>}
        note={[doors[door], address].filter((text) => text !== null).join(', ')}
      />
    ),
  },
  {
    key: 'account',
    header: 'Account',
    cell: ({ account }) =>
      account === null ? (
        <Dash />
      ) : (
        <Link
          {...accountLink(account.id)}
          title={account.name}
          className={`${textLinkClass} md:block md:max-w-24 md:truncate xl:max-w-40`}
        >
          {account.name}
        </Link>
      ),
  },
  actionColumn((object, { account }) => <ObjectLink object={object} account={account} />),
  detailsColumn,
];

/** An account has a column of its own. */
function ObjectLink({ object, account }: Readonly<{ object: ChangedObject; account: Change['account'] }>) {
  const name = nameOf(object);
  switch (object.type) {
    case 'user':
      return (
        <Link to="/operator/users" search={{ search: name }} className={textLinkClass}>
          {name}
        </Link>
      );
    case 'key':
      return (
        <Link {...keyLink(object.id, account?.id)} className={textLinkClass}>
          {name}
        </Link>
      );
    case 'provider':
      return (
        <Link to="/operator/reconciliation" className={textLinkClass}>
          {name}
        </Link>
      );
    default:
      return name;
  }
}

export function OperatorAuditLogPage() {
  return (
    <Page
      title="Audit log"
      description="Who changed what, and from where. It cannot be edited."
      actions={<OperatorExportButton name="audit_log" />}
    >
      <ChangesCard accountId={null} />
    </Page>
  );
}

/** Of one account, or of all of them. */
export function ChangesCard({ accountId }: Readonly<{ accountId: string | null }>) {
  const cursors = useAddressCursors();
  const changes = useOperatorQuery<AuditLog>(['audit-log'], {
    query: { account: accountId, limit: pageSize, cursor: cursors.cursor },
    placeholderData: keepPreviousData,
  });
  return (
    <Card title={accountId === null ? undefined : 'Changes'} isFlush>
      <QueryTable
        query={changes}
        caption="Changes"
        columns={accountId === null ? columns : columns.filter(({ key }) => key !== 'account')}
        rows={changes.data?.data}
        rowKey={({ id }) => id}
        expectedRows={10}
        empty={
          <EmptyState icon={ClipboardList} title="No changes yet">
            Credits, suspensions, new accounts and keys, and changes to users appear here.
          </EmptyState>
        }
        cursors={cursors}
        nextCursor={changes.data?.next_cursor}
      />
    </Card>
  );
}
