import { ArrowUp, Download, ListTree } from 'lucide-react';
import type { GenerationRow } from '../../../src/console/contract.ts';
import { useSearchParameters } from '../../address.ts';
import { addressOf } from '../../api/client.ts';
import { accountPath, useAccount } from '../../api/session.ts';
import { FallbackMark, StatusBadge } from '../../kit/badge.tsx';
import { AnchorButton, Button, LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Dash, Duration, Time } from '../../kit/figures.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { Page } from '../../kit/page.tsx';
import { QueryTable, useAddressCursors } from '../../kit/query-table.tsx';
import { EmptyState } from '../../kit/states.tsx';
import { type Column, moneyColumn } from '../../kit/table.tsx';
import { useHasKey } from '../overview/queries.ts';
import { attributionColumns } from './attribution.tsx';
import { filterIn, type GenerationFilter, isFiltered, queryOf } from './filter.ts';
import { Filters } from './filters.tsx';
import { FindRequest } from './find-request.tsx';
import { usePinnedRows } from './pinned-rows.ts';
import { useGenerations } from './queries.ts';

export function GenerationsPage() {
  const filter = filterIn(useSearchParameters());
  const cursors = useAddressCursors();
  const csvAddress = useCsvAddress(filter);
  const generations = useGenerations(filter, cursors.cursor);
  const fetched = generations.data?.data;
  const { rows, newCount } = usePinnedRows(fetched, JSON.stringify([filter, cursors.cursor]));
  return (
    <Page
      title="Generations"
      description="All requests to models, newest first."
      actions={
        <>
          <AnchorButton href={csvAddress} download icon={Download}>
            CSV of 30 days
          </AnchorButton>
          <FindRequest to="/generations/$id" />
        </>
      }
    >
      <Card isFlush>
        <Filters filter={filter} rows={fetched} />
        <QueryTable
          query={generations}
          caption="Generations"
          columns={columnsFor(rows)}
          rows={rows}
          rowKey={({ id }) => id}
          rowLink={({ id }) => ({ to: '/generations/$id', params: { id } })}
          expectedRows={12}
          empty={
            isFiltered(filter) ? <NoMatches hasMore={generations.data?.has_more === true} /> : <NoRequests />
          }
          cursors={cursors}
          nextCursor={generations.data?.next_cursor}
        />
      </Card>
      <NewRows count={newCount} />
    </Page>
  );
}

/** Fixed to the window, so that it does not shift the page. */
function NewRows({ count }: Readonly<{ count: number }>) {
  return (
    <div
      role="status"
      className="pointer-events-none fixed inset-x-0 bottom-6 z-20 flex justify-center lg:pl-60"
    >
      {count > 0 && (
        <span className="pointer-events-auto rounded-md shadow-float">
          <Button variant="primary" icon={ArrowUp} onClick={() => window.scrollTo({ top: 0 })}>
            {count === 1 ? '1 new request' : `${count} new requests`}
          </Button>
        </span>
      )}
    </div>
  );
}

function NoRequests() {
  const hasKey = useHasKey();
  return (
    <EmptyState
      icon={ListTree}
      title="No requests yet"
      action={hasKey === undefined ? null : <NextStep hasKey={hasKey} />}
    >
      Requests to models appear here within two seconds, with their cost and outcome.
    </EmptyState>
  );
}

/** The playground needs a key as well. */
function NextStep({ hasKey }: Readonly<{ hasKey: boolean }>) {
  const { role } = useAccount();
  if (role === 'operator') return null;
  if (hasKey)
    return (
      <LinkButton to="/playground" variant="primary">
        Try the playground
      </LinkButton>
    );
  if (role !== 'owner')
    return <p className="text-ink-soft">This account has no key yet. An owner can create one.</p>;
  return (
    <LinkButton to="/keys" variant="primary">
      Create a key
    </LinkButton>
  );
}

/** With several filters, a page looks at a limited number of requests. */
export function NoMatches({ hasMore }: Readonly<{ hasMore: boolean }>) {
  return hasMore ? (
    <EmptyState icon={ListTree} title="None of the last 10,000 match all filters">
      Go on with “Older”, or use fewer filters.
    </EmptyState>
  ) : (
    <EmptyState icon={ListTree} title="No requests match these filters">
      Change the filters, or clear them to see all requests.
    </EmptyState>
  );
}

/** The days of the file end today. */
function useCsvAddress(filter: GenerationFilter): string {
  const { id } = useAccount();
  return addressOf(accountPath(id, 'generations.csv'), queryOf(filter));
}

/** Whom requests were for has a column only where that is known. */
export function columnsFor(rows: readonly GenerationRow[] | undefined): readonly Column<GenerationRow>[] {
  return columns.flatMap((column) =>
    column.key === 'provider' ? [...attributionColumns(rows), column] : [column],
  );
}

export const columns: readonly Column<GenerationRow>[] = [
  {
    key: 'time',
    header: 'Time',
    isBare: true,
    cell: ({ created_at: createdAt }) => <Time at={createdAt} style="brief" />,
  },
  {
    key: 'model',
    header: 'Model',
    // Otherwise a name would be broken inside a word before the other columns give way.
    cell: ({ model }) => <span className="wrap-break-word">{model}</span>,
  },
  {
    key: 'status',
    header: 'Status',
    cell: ({ status, fallback }) => (
      <span className="inline-flex flex-wrap items-center gap-1.5">
        <StatusBadge status={status} />
        {/* No provider served a request that failed. */}
        {fallback && status !== 'failed' && <FallbackMark />}
      </span>
    ),
  },
  {
    key: 'key',
    header: 'Key',
    cell: ({ key }) => (
      <span title={key.name} className="block truncate text-ink-soft md:max-w-36">
        {key.name}
      </span>
    ),
  },
  {
    key: 'provider',
    header: 'Provider',
    isOptional: true,
    cell: ({ provider }) => provider,
  },
  {
    key: 'usage',
    header: 'Usage',
    align: 'right',
    cell: ({ usage }) => <Usage usage={usage} />,
  },
  moneyColumn({ key: 'cost', header: 'Cost', amountOf: ({ cost }) => cost?.total ?? null }),
  {
    key: 'duration',
    header: 'Duration',
    align: 'right',
    cell: ({ latency_ms: latencyMs }) => <Duration ms={latencyMs} />,
  },
];

function Usage({ usage }: Pick<GenerationRow, 'usage'>) {
  if (usage === null) return <Dash />;
  if (usage.unit === 'images')
    return `${formatCount(Number(usage.units))} ${usage.units === '1' ? 'image' : 'images'}`;
  return (
    <span
      title={`${formatCount(usage.input_tokens)} input, ${formatCount(usage.output_tokens)} output`}
      className="whitespace-nowrap"
    >
      {formatCount(usage.total_tokens)}
    </span>
  );
}
