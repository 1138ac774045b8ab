/** One account, for operators: what it has and for how long, and what there is of it, part by part. */
import { keepPreviousData } from '@tanstack/react-query';
import { Navigate, useParams } from '@tanstack/react-router';
import { Ban, CirclePlay, CreditCard, Ellipsis, Eye, PencilLine, SearchX, Undo2, Wallet } from 'lucide-react';
import { useState } from 'react';
import type {
  OperatorAccount,
  OperatorAccountDetail,
  OperatorEntry,
  OperatorStatement,
} from '../../../../src/console/operator-contract.ts';
import { ApiProblem } from '../../../api/client.ts';
import { Badge, StatusBadge } from '../../../kit/badge.tsx';
import { Button, IconButton, LinkButton } from '../../../kit/button.tsx';
import { Card } from '../../../kit/card.tsx';
import { ShortId } from '../../../kit/copy-button.tsx';
import { Time } from '../../../kit/figures.tsx';
import { Menu, MenuItem } from '../../../kit/menu.tsx';
import { Page } from '../../../kit/page.tsx';
import { QueryTable, useAddressCursors } from '../../../kit/query-table.tsx';
import { EmptyState } from '../../../kit/states.tsx';
import { actionsColumn, type Column } from '../../../kit/table.tsx';
import { entryColumns } from '../../billing/statement.tsx';
import { OperatorExportButton } from '../../exports/export-button.tsx';
import { LimitsCard } from '../../limits/limits-card.tsx';
import { ChangesCard } from '../audit-log/audit-log-page.tsx';
import { MovementDialog } from '../movements/movement-dialog.tsx';
import type { Subject } from '../movements/queries.ts';
import { useOperatorQuery } from '../operator-query.ts';
import { AccountActivity } from './account-activity.tsx';
import { CreditDialog, SuspensionDialog } from './account-dialogs.tsx';
import { AccountFigures } from './account-figures.tsx';
import { AccountGrants } from './account-grants.tsx';
import { AccountKeys, AccountMembers } from './account-people.tsx';
import { type AccountTab, AccountTabs, requestsOf, useAccountTab } from './account-tabs.tsx';

const pageSize = 50;
const newestEveryMs = 15_000;
const refreshMs = 15_000;

type OpenDialog =
  | Readonly<{ kind: 'movement'; subject: Subject }>
  | Readonly<{ kind: 'credit' | 'suspend' | 'resume'; account: OperatorAccount }>;

export function OperatorAccountPage() {
  const { id = '' } = useParams({ strict: false });
  const tab = useAccountTab();
  const { data: account, error } = useOperatorQuery<OperatorAccountDetail>(['accounts', id], {
    refetchInterval: refreshMs,
  });
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  if (tab === 'requests') return <Navigate {...requestsOf(id)} replace />;
  const isMissing = error instanceof ApiProblem && error.code === 'account_not_found';
  return (
    <Page
      title={account?.name ?? 'Account'}
      description={
        <span className="inline-flex flex-wrap items-center gap-2">
          <ShortId id={id} label="Copy the ID of the account" />
          {account?.is_suspended === true && <StatusBadge status="suspended" />}
          {account !== undefined && account.price_group !== null && <Badge>{account.price_group}</Badge>}
        </span>
      }
      back={{ to: '/operator/accounts', label: 'Accounts' }}
      actions={account && <Actions account={account} onOpen={setDialog} />}
    >
      {isMissing ? (
        <NoAccount />
      ) : (
        <>
          <AccountFigures account={account} />
          <AccountTabs accountId={id} tab={tab} />
          <TabContent
            key={tab}
            tab={tab}
            accountId={id}
            onAction={(subject) => setDialog({ kind: 'movement', subject })}
          />
        </>
      )}
      {dialog !== null && (
        <AccountDialog
          dialog={dialog}
          name={account?.name ?? 'the account'}
          onClose={() => setDialog(null)}
        />
      )}
    </Page>
  );
}

type ActionsProps = Readonly<{ account: OperatorAccount; onOpen: (dialog: OpenDialog) => void }>;

function Actions({ account, onOpen }: ActionsProps) {
  const { id, is_suspended: isSuspended } = account;
  const correct = { kind: 'correction', accountId: id, entryNumber: null } as const;
  return (
    <>
      <LinkButton to="/" search={{ account: id }} icon={Eye}>
        See what they see
      </LinkButton>
      <OperatorExportButton name="entries" account={account} />
      <Button
        icon={isSuspended ? CirclePlay : Ban}
        onClick={() => onOpen({ kind: isSuspended ? 'resume' : 'suspend', account })}
      >
        {isSuspended ? 'Resume' : 'Suspend'}
      </Button>
      <Button icon={PencilLine} onClick={() => onOpen({ kind: 'movement', subject: correct })}>
        Correct balance
      </Button>
      <Button variant="primary" icon={Wallet} onClick={() => onOpen({ kind: 'credit', account })}>
        Add credit
      </Button>
    </>
  );
}

type AccountDialogProps = Readonly<{ dialog: OpenDialog; name: string; onClose: () => void }>;

function AccountDialog({ dialog, name, onClose }: AccountDialogProps) {
  switch (dialog.kind) {
    case 'movement':
      return (
        <MovementDialog subject={dialog.subject} title={titleOf(dialog.subject, name)} onClose={onClose} />
      );
    case 'credit':
      return <CreditDialog account={dialog.account} onClose={onClose} />;
    case 'suspend':
    case 'resume':
      return <SuspensionDialog account={dialog.account} action={dialog.kind} onClose={onClose} />;
  }
}

type TabContentProps = Readonly<{ tab: AccountTab; accountId: string; onAction: (subject: Subject) => void }>;

function TabContent({ tab, accountId, onAction }: TabContentProps) {
  switch (tab) {
    case 'activity':
      return <AccountActivity accountId={accountId} />;
    case 'keys':
      return <AccountKeys accountId={accountId} />;
    case 'statement':
      return <StatementCard accountId={accountId} onAction={onAction} />;
    case 'grants':
      return <AccountGrants accountId={accountId} />;
    case 'members':
      return <AccountMembers accountId={accountId} />;
    case 'limits':
      return (
        <LimitsCard
          source={{ accountId, isOperator: true, maySet: true }}
          title="Limits"
          cursorPrefix="limits-"
        />
      );
    case 'log':
      return <ChangesCard accountId={accountId} />;
  }
}

type StatementCardProps = Readonly<{ accountId: string; onAction: (subject: Subject) => void }>;

function StatementCard({ accountId, onAction }: StatementCardProps) {
  const cursors = useAddressCursors();
  const query = useOperatorQuery<OperatorStatement>(['accounts', accountId, 'ledger'], {
    query: { limit: pageSize, cursor: cursors.cursor },
    placeholderData: keepPreviousData,
    ...(cursors.cursor === null ? { refetchInterval: newestEveryMs } : {}),
  });
  return (
    <Card title="Statement" description="All transactions, newest first." isFlush>
      <QueryTable
        query={query}
        caption="Statement"
        columns={columnsFor(accountId, onAction)}
        rows={query.data?.data}
        rowKey={({ number }) => `${number}`}
        expectedRows={10}
        empty={
          <EmptyState icon={CreditCard} title="No transactions yet">
            Credits, corrections and the cost of each request appear here.
          </EmptyState>
        }
        cursors={cursors}
        nextCursor={query.data?.next_cursor}
      />
    </Card>
  );
}

function NoAccount() {
  return (
    <Card>
      <EmptyState
        icon={SearchX}
        title="There is no such account"
        action={<LinkButton to="/operator/accounts">Go to Accounts</LinkButton>}
      >
        Check the address.
      </EmptyState>
    </Card>
  );
}

function titleOf(subject: Subject, name: string): string {
  if (subject.kind === 'refund') return `Refund request of ${name}`;
  if (subject.kind === 'undo') return `Undo entry ${subject.entryNumber} of ${name}`;
  const because = subject.entryNumber === null ? '' : ` because of entry ${subject.entryNumber}`;
  return `Correct balance of ${name}${because}`;
}

function columnsFor(accountId: string, onAction: (subject: Subject) => void): Column<OperatorEntry>[] {
  const columns = entryColumns('/operator/requests/$id') as Column<OperatorEntry>[];
  return [
    ...columns.map((column) => (column.key === 'time' ? { ...column, cell: TimeAndActor } : column)),
    actionsColumn((entry) => <EntryMenu entry={entry} accountId={accountId} onAction={onAction} />),
  ];
}

function TimeAndActor({ created_at: createdAt, actor }: OperatorEntry) {
  return (
    <span className="md:block">
      <Time at={createdAt} style="exact" />
      {actor !== null && (
        <span className="block text-xs wrap-anywhere text-ink-faint">
          {actor.name}
          {doors[actor.kind]}
        </span>
      )}
    </span>
  );
}

const doors = { operator: '', shell: ' (command line)', token: ' (token)' } as const;

type EntryMenuProps = Readonly<{
  entry: OperatorEntry;
  accountId: string;
  onAction: (subject: Subject) => void;
}>;

function EntryMenu({ entry, accountId, onAction }: EntryMenuProps) {
  const { number, kind, generation } = entry;
  return (
    <Menu trigger={<IconButton icon={Ellipsis} label={`Actions for entry ${number}`} />}>
      {(kind === 'credit' || kind === 'correction') && (
        <MenuItem icon={Undo2} onSelect={() => onAction({ kind: 'undo', accountId, entryNumber: number })}>
          Undo
        </MenuItem>
      )}
      {kind === 'charge' && generation !== null && (
        <MenuItem icon={Undo2} onSelect={() => onAction({ kind: 'refund', requestId: generation.id })}>
          Refund
        </MenuItem>
      )}
      <MenuItem
        icon={PencilLine}
        onSelect={() => onAction({ kind: 'correction', accountId, entryNumber: number })}
      >
        Correct
      </MenuItem>
    </Menu>
  );
}
