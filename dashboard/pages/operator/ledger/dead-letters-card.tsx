/** Settlements that the database refused for good. There should be none, so without any nothing is shown. */
import { Link } from '@tanstack/react-router';
import type { DeadLetter, DeadLetters } from '../../../../src/console/operator-contract.ts';
import { Callout } from '../../../kit/callout.tsx';
import { Card } from '../../../kit/card.tsx';
import { textLinkClass } from '../../../kit/class-names.ts';
import { CodeBlock } from '../../../kit/code-block.tsx';
import { Money, Time } from '../../../kit/figures.tsx';
import { formatCount } from '../../../kit/format-figures.ts';
import { type Column, Table } from '../../../kit/table.tsx';

export function DeadLettersCard({ letters: { data, total } }: Readonly<{ letters: DeadLetters }>) {
  if (total === 0) return null;
  return (
    <Card
      title="Refused settlements"
      description={data.length < total ? `The oldest ${data.length} of ${formatCount(total)}.` : undefined}
      isFlush
    >
      <div className="space-y-3 border-b border-line p-4 sm:px-5">
        <Callout
          tone="bad"
          title={
            total === 1
              ? 'The database refused to settle a request'
              : `The database refused to settle ${formatCount(total)} requests`
          }
        >
          Such a request is set aside: nothing is charged for it, and nothing is held any more. The code is
          PostgreSQL’s, with the constraint, column or function that it is about. Once the reason is mended,
          settle what is set aside with the command below.
        </Callout>
        <CodeBlock
          label="the command to try again"
          samples={[{ label: 'Shell', code: 'tollgate ledger retry' }]}
        />
      </div>
      <Table
        caption="Refused settlements"
        columns={deadLetterColumns}
        rows={data}
        rowKey={({ request_id: id }) => id}
      />
    </Card>
  );
}

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
