/** Failed settlements, the audit, and what operators did. */
import { Link } from '@tanstack/react-router';
import { ClipboardList } from 'lucide-react';
import type { OperatorAction } from '../../../../src/console/operator-contract.ts';
import { Card } from '../../../kit/card.tsx';
import { textLinkClass } from '../../../kit/class-names.ts';
import { Dash, Time } from '../../../kit/figures.tsx';
import { Page } from '../../../kit/page.tsx';
import { QueryTable } from '../../../kit/query-table.tsx';
import { EmptyState, ErrorState } from '../../../kit/states.tsx';
import { type Column, moneyColumn } from '../../../kit/table.tsx';
import { useDeadLetters, useOperatorQuery } from '../operator-query.ts';
import { AuditCard } from './audit-card.tsx';
import { DeadLettersCard } from './dead-letters-card.tsx';

export function OperatorLedgerPage() {
  const actions = useOperatorQuery<{ data: OperatorAction[] }>(['actions']);
  const letters = useDeadLetters();
  return (
    <Page title="Ledger" description="Audit the ledger, and review what operators did.">
      {letters.data !== undefined && <DeadLettersCard letters={letters.data} />}
      {letters.data === undefined && letters.isError && (
        <Card title="Failed settlements">
          <ErrorState error={letters.error} onRetry={letters.refetch} />
        </Card>
      )}
      <AuditCard />
      <Card title="Operator actions" description="The newest 100." isFlush>
        <QueryTable
          query={actions}
          caption="Operator actions"
          columns={actionColumns}
          rows={actions.data?.data}
          rowKey={({ id }) => id}
          expectedRows={6}
          empty={
            <EmptyState icon={ClipboardList} title="No actions yet">
              Credits, suspensions, new accounts and keys, and changes to users appear here.
            </EmptyState>
          }
        />
      </Card>
    </Page>
  );
}

const actionColumns: readonly Column<OperatorAction>[] = [
  {
    key: 'action',
    header: 'Action',
    isBare: true,
    cell: ({ action }) => <span className="font-medium md:whitespace-nowrap">{actionLabels[action]}</span>,
  },
  { key: 'subject', header: 'Subject', cell: (action) => <Subject action={action} /> },
  moneyColumn({ key: 'amount', header: 'Amount', amountOf: ({ amount }) => amount, style: 'exact' }),
  {
    key: 'operator',
    header: 'By',
    cell: ({ operator, shell_user: shellUser, at }) => (
      <span className="block">
        <span className="block">{operator?.email ?? shellUser}</span>
        <span className="block text-xs text-ink-faint">
          {operator === null && 'Command line, '}
          <Time at={at} style="exact" />
        </span>
      </span>
    ),
  },
];

function Subject({ action: { account, user, key, provider } }: Readonly<{ action: OperatorAction }>) {
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
      {key !== null && <span>{key.name}</span>}
      {provider !== null && (
        <Link to="/operator/reconciliation" className={textLinkClass}>
          {provider}
        </Link>
      )}
      {[user, account, key, provider].every((subject) => subject === null) && <Dash />}
    </span>
  );
}

// biome-ignore format: one line per action makes this table readable.
const actionLabels: Readonly<Record<OperatorAction['action'], string>> = {
  create_account: 'Created the account',
  credit_account: 'Added credit',
  correct_account: 'Corrected the balance',
  refund_generation: 'Refunded a request',
  set_price_group: 'Changed the prices',
  suspend_account: 'Suspended the account',
  resume_account: 'Resumed the account',
  create_user: 'Created the user',
  make_reset_link: 'Created a password link',
  sign_user_out: 'Signed the user out everywhere',
  make_operator: 'Made the user an operator',
  unmake_operator: 'Removed the user as operator',
  add_member: 'Added the user to an account',
  create_key: 'Created an API key',
  update_key: 'Changed an API key',
  revoke_key: 'Revoked an API key',
  retry_settlements: 'Retried failed settlements',
  repair_ledger: 'Corrected counters of the ledger',
  reconcile_bill: 'Reconciled the bill',
};
