import { Link } from '@tanstack/react-router';
import type { DeadLetter } from '../../../../src/console/operator-contract.ts';
import { Money } from '../../../kit/money.tsx';
import type { Column } from '../../../kit/table.tsx';
import { textLinkClass } from '../../../kit/text-link.ts';
import { Time } from '../../../kit/time.tsx';

export const deadLetterColumns: readonly Column<DeadLetter>[] = [
  {
    key: 'time',
    header: 'Set aside',
    isBare: true,
    cell: ({ at }) => <Time at={at} style="exact" />,
  },
  {
    key: 'request',
    header: 'Request',
    cell: ({ request_id: id }) => (
      <Link
        to="/operator/generations/$id"
        params={{ id }}
        title={id}
        className={`${textLinkClass} font-mono text-xs`}
      >
        {id.slice(0, 12)}…{id.slice(-4)}
      </Link>
    ),
  },
  {
    key: 'account',
    header: 'Account',
    cell: ({ account }) => (
      <Link to="/operator/accounts" search={{ search: account.id }} className={textLinkClass}>
        {account.name}
      </Link>
    ),
  },
  {
    key: 'amount',
    header: 'To be charged',
    align: 'right',
    cell: ({ amount }) => <Money amount={amount} isExact />,
  },
  {
    key: 'refusal',
    header: 'Refused because of',
    cell: ({ refusal: { code, about } }) => (
      <span className="font-mono text-xs">
        {code} <span className="text-ink-faint">{about}</span>
      </span>
    ),
  },
];
