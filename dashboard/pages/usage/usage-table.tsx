import { Download } from 'lucide-react';
import type { Usage } from '../../../src/console/contract.ts';
import { AnchorButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { formatCount, formatDay } from '../../kit/format-figures.ts';
import { Money } from '../../kit/money.tsx';
import { Segmented } from '../../kit/segmented.tsx';
import { type Column, Table } from '../../kit/table.tsx';
import { useSearchValue } from '../../kit/use-search-value.ts';
import { type Dimension, groupUsage, type UsageGroup } from './group-usage.ts';

const dimensions = [
  { value: 'model', label: 'Model', header: 'Model' },
  { value: 'key', label: 'Key', header: 'Key' },
  { value: 'day', label: 'Day', header: 'Day (UTC)' },
] as const;

type UsageTableProps = Readonly<{ usage: Usage | undefined; csvAddress: string; isDimmed: boolean }>;

export function UsageTable({ usage, csvAddress, isDimmed }: UsageTableProps) {
  const [byText, setBy] = useSearchValue('table', 'model');
  const { value: by, header } = dimensions.find(({ value }) => value === byText) ?? dimensions[0];
  return (
    <Card
      title="In figures"
      isFlush
      actions={
        <>
          <Segmented label="Rows of the table" value={by} options={dimensions} onChange={setBy} />
          <AnchorButton href={csvAddress} download icon={Download} size="small">
            CSV
          </AnchorButton>
        </>
      }
    >
      <Table
        caption={`Usage by ${by}`}
        columns={columnsOf(header, by)}
        rows={usage && groupUsage(usage.rows, by)}
        rowKey={({ id }) => id}
        expectedRows={5}
        isDimmed={isDimmed}
        {...(usage === undefined ? {} : { footer: footerOf(usage.totals) })}
      />
    </Card>
  );
}

function columnsOf(header: string, by: Dimension): Column<UsageGroup>[] {
  return [
    {
      key: 'name',
      header,
      isBare: true,
      cell: ({ label }) => (
        <span className="font-medium">{by === 'day' ? formatDay(label, true) : label}</span>
      ),
    },
    { key: 'requests', header: 'Requests', align: 'right', cell: (row) => formatCount(row.requests) },
    { key: 'input', header: 'Input tokens', align: 'right', cell: (row) => formatCount(row.input_tokens) },
    { key: 'output', header: 'Output tokens', align: 'right', cell: (row) => formatCount(row.output_tokens) },
    { key: 'images', header: 'Images', align: 'right', cell: (row) => formatCount(row.images) },
    { key: 'cost', header: 'Cost', align: 'right', cell: (row) => <Money amount={row.cost} /> },
  ];
}

function footerOf({ requests, input_tokens: input, output_tokens: output, images, cost }: Usage['totals']) {
  return [
    'Total',
    formatCount(requests),
    formatCount(input),
    formatCount(output),
    formatCount(images),
    <Money key="cost" amount={cost} />,
  ];
}
