import { keepPreviousData } from '@tanstack/react-query';
import { ChartColumn, Download } from 'lucide-react';
import { useState } from 'react';
import type { Usage } from '../../../src/console/contract.ts';
import { useSearchParameters, useSearchValue } from '../../address.ts';
import { addressOf } from '../../api/client.ts';
import { accountPath, useAccount, useAccountQuery } from '../../api/session.ts';
import { AnchorButton, LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Segmented } from '../../kit/choice.tsx';
import { Money } from '../../kit/figures.tsx';
import { formatCount, formatDay } from '../../kit/format-figures.ts';
import { Page } from '../../kit/page.tsx';
import { Stat, StatGroup } from '../../kit/stat.tsx';
import { EmptyState, ErrorState } from '../../kit/states.tsx';
import { type Column, moneyColumn, Table } from '../../kit/table.tsx';
import { type Dimension, groupUsage, type UsageGroup } from './group-usage.ts';
import { dayOf, type Range, RangePicker, rangeIn } from './range-picker.tsx';
import { UsageChart } from './usage-chart.tsx';

export function UsagePage() {
  const [today] = useState(() => dayOf(new Date()));
  const range = rangeIn(useSearchParameters(), today);
  const query = useUsage(range);
  const csvAddress = useCsvAddress(range);
  const usage = query.data;
  const hasFailed = usage === undefined && query.isError;
  return (
    <Page title="Usage" description="Usage and cost by model, key and day.">
      <RangePicker range={range} />
      {hasFailed ? (
        <Card>
          <ErrorState error={query.error} onRetry={query.refetch} />
        </Card>
      ) : (
        <>
          <Totals totals={usage?.totals} />
          {usage?.rows.length === 0 ? (
            <NoUsage />
          ) : (
            <>
              <UsageChart usage={usage} />
              <UsageTable usage={usage} csvAddress={csvAddress} isDimmed={query.isPlaceholderData} />
            </>
          )}
        </>
      )}
    </Page>
  );
}

function Totals({ totals }: Readonly<{ totals: Usage['totals'] | undefined }>) {
  return (
    <StatGroup>
      <Stat label="Cost" value={totals && <Money amount={totals.cost} />} />
      <Stat label="Requests" value={totals && formatCount(totals.requests)} />
      <Stat label="Input tokens" value={totals && formatCount(totals.input_tokens)} />
      <Stat label="Output tokens" value={totals && formatCount(totals.output_tokens)} />
      <Stat label="Images" value={totals && formatCount(totals.images)} />
    </StatGroup>
  );
}

function NoUsage() {
  return (
    <Card>
      <EmptyState
        icon={ChartColumn}
        title="No usage on these days"
        action={<LinkButton to="/generations">View all requests</LinkButton>}
      >
        Choose another date range, or send a request: it appears here as soon as it is charged.
      </EmptyState>
    </Card>
  );
}

const dimensions = [
  { value: 'model', label: 'Model', header: 'Model' },
  { value: 'key', label: 'Key', header: 'Key' },
  { value: 'day', label: 'Day', header: 'Day (UTC)' },
] as const;

type UsageTableProps = Readonly<{ usage: Usage | undefined; csvAddress: string; isDimmed: boolean }>;

function UsageTable({ usage, csvAddress, isDimmed }: UsageTableProps) {
  const [byText, setBy] = useSearchValue('table', 'model');
  const { value: by, header } = dimensions.find(({ value }) => value === byText) ?? dimensions[0];
  return (
    <Card
      title="Breakdown"
      isFlush
      actions={
        <>
          <Segmented label="Group by" value={by} options={dimensions} onChange={setBy} />
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
    moneyColumn({ key: 'cost', header: 'Cost', amountOf: ({ cost }) => cost }),
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

function useUsage({ from, to }: Range) {
  return useAccountQuery<Usage>('usage', { query: { from, to }, placeholderData: keepPreviousData });
}

/** The same rows as a file. */
function useCsvAddress({ from, to }: Range): string {
  const { id } = useAccount();
  return addressOf(accountPath(id, 'usage.csv'), { from, to });
}
