/** Whether the money is right, and what operators did with it. */
import { Link } from '@tanstack/react-router';
import { ClipboardList } from 'lucide-react';
import type { OperatorAction } from '../../../../src/console/operator-contract.ts';
import { Card } from '../../../kit/card.tsx';
import { textLinkClass } from '../../../kit/class-names.ts';
import { Money, Time } from '../../../kit/figures.tsx';
import { Page } from '../../../kit/page.tsx';
import { EmptyState, ErrorState } from '../../../kit/states.tsx';
import { type Column, Table } from '../../../kit/table.tsx';
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

export const actionColumns: readonly Column<OperatorAction>[] = [
  {
    key: 'action',
    header: 'What',
    isBare: true,
    cell: ({ action }) => <span className="font-medium md:whitespace-nowrap">{describeAction(action)}</span>,
  },
  { key: 'subject', header: 'About', cell: (action) => <Subject action={action} /> },
  {
    key: 'amount',
    header: 'Amount',
    align: 'right',
    cell: ({ amount }) => <Money amount={amount} isExact />,
  },
  {
    key: 'operator',
    header: 'By',
    cell: ({ operator, at }) => (
      <span className="block">
        <span className="block">{operator.email}</span>
        <span className="block text-xs text-ink-faint">
          <Time at={at} style="exact" />
        </span>
      </span>
    ),
  },
];

function Subject({ action: { account, user } }: Readonly<{ action: OperatorAction }>) {
  return (
    <span className="inline-flex flex-col">
      {user !== null && (
        <Link to="/operator/users" search={{ search: user.email }} className={textLinkClass}>
          {user.email}
        </Link>
      )}
      {account !== null && (
        <Link to="/operator/accounts" search={{ search: account.id }} className={textLinkClass}>
          {account.name}
        </Link>
      )}
      {user === null && account === null && <span className="text-ink-faint">–</span>}
    </span>
  );
}

// biome-ignore format: one line an action is what makes this table readable.
const words: Readonly<Record<OperatorAction['action'], string>> = {
  create_account: 'Created the account',
  credit_account: 'Added credit',
  suspend_account: 'Suspended the account',
  resume_account: 'Resumed the account',
  create_user: 'Created the user',
  make_reset_link: 'Made a password link',
  sign_user_out: 'Signed the user out everywhere',
  make_operator: 'Made an operator',
  unmake_operator: 'Removed as operator',
  add_member: 'Added to an account',
};

export function describeAction(action: OperatorAction['action']): string {
  return words[action];
}
