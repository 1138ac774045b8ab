import { keepPreviousData } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { ChartColumn, Download } from 'lucide-react';
import { useContext, useState } from 'react';
import type { Usage, UsageFigures } from '../../../src/console/contract.ts';
import { useSearchParameters, useSearchValue } from '../../address.ts';
import { addressOf } from '../../api/client.ts';
import { accountPath, useAccount, useAccountQuery } from '../../api/session.ts';
import { AnchorButton, LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Segmented } from '../../kit/choice.tsx';
import { nameLinkClass } from '../../kit/class-names.ts';
import { Dash, Money } from '../../kit/figures.tsx';
import { formatCount, formatDay, formatShare } from '../../kit/format-figures.ts';
import { CatalogueContext, ModelMark } from '../../kit/model-mark.tsx';
import { Page } from '../../kit/page.tsx';
import { Stat, StatGroup } from '../../kit/stat.tsx';
import { EmptyState, ErrorState } from '../../kit/states.tsx';
import { type Column, moneyColumn, Table } from '../../kit/table.tsx';
import { keyLink, modelLink } from '../../links.ts';
import { AccountExportButton } from '../exports/export-button.tsx';
import { CacheFigures } from './cache-figures.tsx';
import { hasCaches, shareOfInput } from './cache-words.ts';
import { type Dimension, groupUsage, type UsageGroup, usageColours } from './group-usage.ts';
import { dayOf, type Range, RangePicker, rangeIn } from './range-picker.tsx';
import { UsageChart, useChartChoice } from './usage-chart.tsx';

export function UsagePage() {
  const [today] = useState(() => dayOf(new Date()));
  const range = rangeIn(useSearchParameters(), today);
  const query = useUsage(range);
  const csvAddress = useCsvAddress(range);
  const usage = query.data;
  const hasFailed = usage === undefined && query.isError;
  return (
    <Page
      title="Usage"
      description="Usage and cost of charged requests, by model, key and day."
      actions={<AccountExportButton name="usage" />}
    >
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
              <CacheFigures totals={usage?.totals} />
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
      <Stat label="Cost" value={totals && <Money amount={totals.cost} isTotal />} />
      <Stat label="Requests" value={totals && formatCount(totals.requests)} />
      <Stat label="Input tokens" value={totals && formatCount(totals.input_tokens)} />
      <Stat label="Output tokens" value={totals && formatCount(totals.output_tokens)} />
      {hadImages(totals) && <Stat label="Images" value={formatCount(totals.images)} />}
    </StatGroup>
  );
}

/** Few accounts make images: for the others there is nothing to say of them. */
function hadImages(totals: Usage['totals'] | undefined): totals is Usage['totals'] {
  return totals !== undefined && totals.images > 0;
}

function NoUsage() {
  return (
    <Card>
      <EmptyState
        icon={ChartColumn}
        title="No usage on these days"
        action={<LinkButton to="/requests">View all requests</LinkButton>}
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
  const chart = useChartChoice();
  const catalogue = useContext(CatalogueContext);
  const shown = {
    isCached: usage !== undefined && hasCaches(usage.totals),
    hasImages: hadImages(usage?.totals),
    colours: chart.by === 'model' ? usageColours(usage?.rows ?? [], 'model', chart.measure, catalogue) : null,
  };
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
        columns={columnsOf(header, by, shown)}
        rows={usage && groupUsage(usage.rows, by)}
        rowKey={({ id }) => id}
        expectedRows={5}
        isDimmed={isDimmed}
        {...(usage === undefined ? {} : { footer: footerOf(usage.totals, shown) })}
      />
    </Card>
  );
}

/** Caches and images have columns only if there were any. */
type Shown = Readonly<{
  isCached: boolean;
  hasImages: boolean;
  /** Those of models in the chart; null next to one of keys, whose colours mean something else. */
  colours: ReadonlyMap<string, string> | null;
}>;

function columnsOf(header: string, by: Dimension, shown: Shown): Column<UsageGroup>[] {
  const { isCached, hasImages, colours } = shown;
  return [
    {
      key: 'name',
      header,
      isBare: true,
      width: 'min-w-40',
      cell: ({ id, label }) => (
        <span className="font-medium">
          {by === 'model' && colours !== null && <ModelMark model={id} colour={colours.get(id)} />}
          {by === 'day' ? (
            formatDay(label, true)
          ) : (
            <Link {...(by === 'model' ? modelLink(id) : keyLink(id))} className={nameLinkClass}>
              {label}
            </Link>
          )}
        </span>
      ),
    },
    { key: 'requests', header: 'Requests', align: 'right', cell: (row) => <Count of={row.requests} /> },
    { key: 'input', header: 'Input tokens', align: 'right', cell: (row) => <Count of={row.input_tokens} /> },
    {
      key: 'output',
      header: 'Output tokens',
      align: 'right',
      cell: (row) => <Count of={row.output_tokens} />,
    },
    ...(hasImages ? [imageColumn] : []),
    moneyColumn({ key: 'cost', header: 'Cost', amountOf: ({ cost }) => cost, style: 'total' }),
    ...(isCached ? cacheColumns : []),
  ];
}

/** In one line: where the table is wider than its place, it is scrolled. */
function Count({ of }: Readonly<{ of: number }>) {
  return <span className="whitespace-nowrap">{formatCount(of)}</span>;
}

const imageColumn: Column<UsageGroup> = {
  key: 'images',
  header: 'Images',
  align: 'right',
  cell: (row) => <Count of={row.images} />,
};

const cacheColumns: readonly Column<UsageGroup>[] = [
  { key: 'cached', header: 'From caches', align: 'right', cell: (row) => <CachedShare figures={row} /> },
  moneyColumn({
    key: 'saved',
    header: 'Saved by caches',
    amountOf: ({ cache_saved: saved }) => saved,
    style: 'total',
  }),
];

function CachedShare({ figures }: Readonly<{ figures: UsageFigures }>) {
  const share = shareOfInput(figures.cache_read_tokens, figures.input_tokens);
  if (share === null) return <Dash />;
  return <span title={`${formatCount(figures.cache_read_tokens)} tokens`}>{formatShare(share)}</span>;
}

function footerOf(totals: UsageFigures, { isCached, hasImages }: Shown) {
  return [
    'Total',
    <Count key="requests" of={totals.requests} />,
    <Count key="input" of={totals.input_tokens} />,
    <Count key="output" of={totals.output_tokens} />,
    ...(hasImages ? [<Count key="images" of={totals.images} />] : []),
    <Money key="cost" amount={totals.cost} isTotal />,
    ...(isCached
      ? [
          <CachedShare key="cached" figures={totals} />,
          <Money key="saved" amount={totals.cache_saved} isTotal />,
        ]
      : []),
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
