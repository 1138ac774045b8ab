/** One account, for operators: its limits, every movement of its balance, who made it, and what to do about a mistake. */
import { keepPreviousData, type UseQueryResult } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { CreditCard, Ellipsis, PencilLine, SearchX, Undo2, Wallet } from 'lucide-react';
import { useState } from 'react';
import type {
  OperatorAccount,
  OperatorEntry,
  OperatorStatement,
} from '../../../../src/console/operator-contract.ts';
import { ApiProblem } from '../../../api/client.ts';
import { Button, IconButton, LinkButton } from '../../../kit/button.tsx';
import { Card } from '../../../kit/card.tsx';
import { ShortId } from '../../../kit/copy-button.tsx';
import { Time } from '../../../kit/figures.tsx';
import { Menu, MenuItem } from '../../../kit/menu.tsx';
import { Page } from '../../../kit/page.tsx';
import { QueryTable, useAddressCursors } from '../../../kit/query-table.tsx';
import { EmptyState } from '../../../kit/states.tsx';
import { actionsColumn, type Column } from '../../../kit/table.tsx';
import { MoneyFigures } from '../../billing/money-figures.tsx';
import { digitsOf, entryColumns } from '../../billing/statement.tsx';
import { OperatorExportButton } from '../../exports/export-button.tsx';
import { LimitsCard } from '../../limits/limits-card.tsx';
import { MovementDialog } from '../movements/movement-dialog.tsx';
import type { Subject } from '../movements/queries.ts';
import { useOperatorQuery } from '../operator-query.ts';
import { CreditDialog } from './account-dialogs.tsx';
import { AccountGrants } from './account-grants.tsx';

const pageSize = 50;
const newestEveryMs = 15_000;

export function OperatorAccountPage() {
  const { id = '' } = useParams({ strict: false });
  const cursors = useAddressCursors();
  const statement = useOperatorQuery<OperatorStatement>(['accounts', id, 'ledger'], {
    query: { limit: pageSize, cursor: cursors.cursor },
    placeholderData: keepPreviousData,
    ...(cursors.cursor === null ? { refetchInterval: newestEveryMs } : {}),
  });
  const [subject, setSubject] = useState<Subject | null>(null);
  const [credited, setCredited] = useState<OperatorAccount | null>(null);
  const account = statement.data?.account;
  const isMissing = statement.error instanceof ApiProblem && statement.error.code === 'account_not_found';
  return (
    <Page
      title={account?.name ?? 'Account'}
      description={<ShortId id={id} label="Copy the ID of the account" />}
      back={{ to: '/operator/accounts', label: 'Accounts' }}
      actions={
        account && (
          <>
            <OperatorExportButton name="entries" account={account} />
            <Button
              icon={PencilLine}
              onClick={() => setSubject({ kind: 'correction', accountId: id, entryNumber: null })}
            >
              Correct balance
            </Button>
            <Button variant="primary" icon={Wallet} onClick={() => setCredited(account)}>
              Add credit
            </Button>
          </>
        )
      }
    >
      {isMissing ? (
        <NoAccount />
      ) : (
        <>
          <MoneyFigures money={account} />
          <AccountGrants accountId={id} />
          <LimitsCard
            source={{ accountId: id, isOperator: true, maySet: true }}
            title="Limits"
            cursorPrefix="limits-"
          />
          <StatementCard query={statement} cursors={cursors} accountId={id} onAction={setSubject} />
        </>
      )}
      {subject !== null && (
        <MovementDialog subject={subject} title={titleOf(subject)} onClose={() => setSubject(null)} />
      )}
      {credited !== null && <CreditDialog account={credited} onClose={() => setCredited(null)} />}
    </Page>
  );
}

type StatementCardProps = Readonly<{
  query: UseQueryResult<OperatorStatement>;
  cursors: ReturnType<typeof useAddressCursors>;
  accountId: string;
  onAction: (subject: Subject) => void;
}>;

function StatementCard({ query, cursors, accountId, onAction }: StatementCardProps) {
  return (
    <Card title="Statement" description="All transactions, newest first." isFlush>
      <QueryTable
        query={query}
        caption="Statement"
        columns={columnsFor(query.data?.data ?? [], accountId, onAction)}
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

function titleOf(subject: Subject): string {
  if (subject.kind === 'refund') return 'Refund request';
  if (subject.kind === 'undo') return `Undo entry ${subject.entryNumber}`;
  return subject.entryNumber === null ? 'Correct balance' : `Correct because of entry ${subject.entryNumber}`;
}

function columnsFor(
  entries: readonly OperatorEntry[],
  accountId: string,
  onAction: (subject: Subject) => void,
): Column<OperatorEntry>[] {
  const columns = entryColumns(digitsOf(entries), '/operator/requests/$id') as Column<OperatorEntry>[];
  return [
    ...columns.map((column) => (column.key === 'time' ? { ...column, cell: TimeAndActor } : column)),
    actionsColumn((entry) => <EntryMenu entry={entry} accountId={accountId} onAction={onAction} />),
  ];
}

function TimeAndActor({ created_at: createdAt, actor }: OperatorEntry) {
  return (
    <span className="block">
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
