/** Settlements that the database rejected permanently. There should be none, so the card is hidden without any. */
import { Link } from '@tanstack/react-router';
import type { DeadLetter, DeadLetters } from '../../../../src/console/operator-contract.ts';
import { Callout } from '../../../kit/callout.tsx';
import { Card } from '../../../kit/card.tsx';
import { textLinkClass } from '../../../kit/class-names.ts';
import { CodeBlock } from '../../../kit/code-block.tsx';
import { Time } from '../../../kit/figures.tsx';
import { formatCount } from '../../../kit/format-figures.ts';
import { type Column, moneyColumn, Table } from '../../../kit/table.tsx';
import { accountLink } from '../../../links.ts';

export function DeadLettersCard({ letters: { data, total } }: Readonly<{ letters: DeadLetters }>) {
  if (total === 0) return null;
  return (
    <Card
      title="Failed settlements"
      description={data.length < total ? `The oldest ${data.length} of ${formatCount(total)}.` : undefined}
      isFlush
    >
      <div className="space-y-3 border-b border-line py-4">
        <Callout
          tone="bad"
          title={
            total === 1
              ? 'The database rejected the settlement of a request'
              : `The database rejected the settlement of ${formatCount(total)} requests`
          }
        >
          Such a request is set aside: nothing is charged for it, and its hold is released. The error shows
          PostgreSQL’s code and the constraint, column or function concerned. Once the cause is fixed, settle
          these requests with the command below.
        </Callout>
        <CodeBlock label="Retry command" samples={[{ label: 'Shell', code: 'tollgate ledger retry' }]} />
      </div>
      <Table
        caption="Failed settlements"
        columns={deadLetterColumns}
        rows={data}
        rowKey={({ request_id: id }) => id}
      />
    </Card>
  );
}

const deadLetterColumns: readonly Column<DeadLetter>[] = [
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
        to="/operator/requests/$id"
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
      <Link {...accountLink(account.id)} className={textLinkClass}>
        {account.name}
      </Link>
    ),
  },
  moneyColumn({ key: 'amount', header: 'Charge', amountOf: ({ amount }) => amount, style: 'exact' }),
  {
    key: 'refusal',
    header: 'Error',
    cell: ({ refusal: { code, about } }) => (
      <span className="font-mono text-xs">
        {code} <span className="text-ink-faint">{about}</span>
      </span>
    ),
  },
];
