import { Link } from '@tanstack/react-router';
import type { OperatorAction } from '../../../../src/console/operator-contract.ts';
import { Money } from '../../../kit/money.tsx';
import type { Column } from '../../../kit/table.tsx';
import { textLinkClass } from '../../../kit/text-link.ts';
import { Time } from '../../../kit/time.tsx';
import { describeAction } from './describe-action.ts';

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
