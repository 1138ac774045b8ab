import type { GenerationRow } from '../../../src/console/contract.ts';
import { StatusBadge } from '../../kit/badge.tsx';
import { LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Money } from '../../kit/money.tsx';
import { type Column, Table } from '../../kit/table.tsx';
import { Duration, Time } from '../../kit/time.tsx';

const columns: readonly Column<GenerationRow>[] = [
  { key: 'model', header: 'Model', isBare: true, cell: ({ model }) => model },
  { key: 'status', header: 'Status', width: 'w-32', cell: ({ status }) => <StatusBadge status={status} /> },
  {
    key: 'cost',
    header: 'Cost',
    align: 'right',
    width: 'w-36',
    cell: ({ cost }) => <Money amount={cost?.total ?? null} />,
  },
  {
    key: 'latency',
    header: 'Took',
    align: 'right',
    width: 'w-28',
    cell: ({ status, latency_ms: latencyMs }) => (
      <Duration ms={status === 'in_progress' ? null : latencyMs} />
    ),
  },
  {
    key: 'time',
    header: 'When',
    align: 'right',
    width: 'w-40',
    cell: ({ created_at: createdAt }) => <Time at={createdAt} style="distance" />,
  },
];

export function LatestGenerations({ rows }: Readonly<{ rows: readonly GenerationRow[] }>) {
  return (
    <Card
      title="Latest requests"
      isFlush
      actions={
        <LinkButton to="/generations" size="small">
          See all
        </LinkButton>
      }
    >
      <Table
        caption="Latest requests"
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        rowLink={({ id }) => ({ to: '/generations/$id', params: { id } })}
      />
    </Card>
  );
}
