import { Link } from '@tanstack/react-router';
import type { Providers } from '../../../../src/console/operator-contract.ts';
import type { Column } from '../../../kit/table.tsx';
import { textLinkClass } from '../../../kit/text-link.ts';
import { Time } from '../../../kit/time.tsx';

type Failure = Providers['failures'][number];

/** The first column leads to the request. */
export const failureColumns: readonly Column<Failure>[] = [
  { key: 'at', header: 'Time', isBare: true, cell: ({ at }) => <Time at={at} style="exact" /> },
  {
    key: 'provider',
    header: 'Provider',
    cell: ({ provider, attempt }) => <span title={`Attempt ${attempt} of the request`}>{provider}</span>,
  },
  {
    key: 'model',
    header: 'Model',
    cell: ({ model }) => <code className="font-mono text-[0.8125rem]">{model}</code>,
  },
  {
    key: 'error',
    header: 'Error',
    cell: ({ error }) => <code className="font-mono text-[0.8125rem] text-bad">{error}</code>,
  },
  {
    key: 'status',
    header: 'Status',
    align: 'right',
    cell: ({ upstream_status: status }) => status ?? <span className="text-ink-faint">–</span>,
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
];
