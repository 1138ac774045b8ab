/** The requests of one thing, such as a key or a model, on its own page: over time, in sum, and by what they have in common. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { ArrowUpRight } from 'lucide-react';
import type { ReactNode } from 'react';
import type { RequestGrouping, RequestGroups } from '../../../src/console/request-contract.ts';
import { useReplaceSearch, useSearchParameters } from '../../address.ts';
import { get } from '../../api/client.ts';
import { LinkButton } from '../../kit/button.tsx';
import { Card } from '../../kit/card.tsx';
import { Segmented } from '../../kit/choice.tsx';
import { classNames, textLinkClass } from '../../kit/class-names.ts';
import { formatCount } from '../../kit/format-figures.ts';
import { QueryTable } from '../../kit/query-table.tsx';
import { ErrorState } from '../../kit/states.tsx';
import type { Column } from '../../kit/table.tsx';
import type { Destination } from '../../links.ts';
import { Histogram, Totals } from './histogram.tsx';
import { useSeries } from './queries.ts';
import { fixes, type Place } from './refusal-fixes.ts';
import { useScope } from './scope.ts';
import { type Filter, filterQuery, type RangeKind, rangeKinds, timesOf, type View, viewIn } from './view.ts';

const pageParameters = ['range', 'from', 'to', 'tz', 'chart'];

/** As the explorer would show them, of a week unless the address says otherwise. */
export function useViewOf(filter: Filter): View {
  const { isOperator } = useScope();
  const given = Object.entries(useSearchParameters()).filter(([name]) => pageParameters.includes(name));
  const search = Object.fromEntries(given);
  const hasRange = ['range', 'from', 'to'].some((name) => name in search);
  return { ...viewIn(hasRange ? search : { ...search, range: '7d' }, isOperator), filters: [filter] };
}

/** The same range and filters in the explorer, and more of these. */
export function explorerLink(
  { range, filters, isUtc }: View,
  list: Destination['to'],
  more: Readonly<Record<string, string>> = {},
): Destination {
  const times =
    range.kind === 'custom'
      ? { from: range.from ?? undefined, to: range.to ?? undefined }
      : { range: range.kind };
  return {
    to: list,
    search: { ...filterQuery(filters), ...more, ...times, ...(isUtc ? { tz: 'utc' } : {}) },
  };
}

const rangeOptions = rangeKinds.map(({ value, label, name }) => ({ value, label, name }));

export function RangePicker({ view }: Readonly<{ view: Pick<View, 'range'> }>) {
  const replace = useReplaceSearch();
  const isCustom = view.range.kind === 'custom';
  return (
    <Segmented<RangeKind | 'custom'>
      label="Range"
      value={view.range.kind}
      options={isCustom ? [...rangeOptions, { value: 'custom', label: 'Custom' }] : rangeOptions}
      onChange={(range) => {
        if (range !== 'custom') replace(({ from: _from, to: _to, ...rest }) => ({ ...rest, range }));
      }}
    />
  );
}

/** The chart and the totals. What is picked in the chart is looked at in the explorer. */
export function FiguresOverTime({ view }: Readonly<{ view: View }>) {
  const { list } = useScope();
  const navigate = useNavigate();
  const series = useSeries(view);
  const pick = ({ name, value }: Filter) => {
    navigate(explorerLink(view, list, { [name]: value })).catch(() => {});
  };
  return (
    <Card
      title="Requests"
      actions={
        <>
          <RangePicker view={view} />
          <LinkButton {...explorerLink(view, list)} size="small" icon={ArrowUpRight}>
            Explore
          </LinkButton>
        </>
      }
      isFlush
    >
      <div className="space-y-3 pt-3">
        <Histogram
          view={view}
          series={series.data}
          isBusy={series.isPlaceholderData}
          isFramed={false}
          onPick={pick}
          replacement={
            series.isError ? <ErrorState error={series.error} onRetry={series.refetch} /> : undefined
          }
        />
        <Totals series={series.data} />
      </div>
    </Card>
  );
}

type Order = 'requests' | 'cost' | 'errors';

export function useGroupsOf({ range, filters }: View, by: RequestGrouping, order: Order, limit = 50) {
  const { queryKey, pathOf } = useScope();
  return useQuery<RequestGroups>({
    queryKey: [...queryKey, 'requests', 'groups', { by, order, limit, range, filters }],
    queryFn: ({ signal }) =>
      get<RequestGroups>(pathOf('requests', 'groups'), {
        query: { by, order, limit, ...filterQuery(filters), ...timesOf(range, Date.now()) },
        signal,
      }),
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
  });
}

type Group = RequestGroups['data'][number];

/** What failed and was refused, by code, and what to do about each. `placeLink` leads to where it is fixed. */
export function ProblemsByCode({
  view,
  placeLink,
}: Readonly<{ view: View; placeLink: (place: Place) => Destination | null }>) {
  const { list } = useScope();
  const groups = useGroupsOf(view, 'error_code', 'errors');
  const rows = groups.data?.data.filter(
    ({ value, failed, refused }) => value !== null && failed + refused > 0,
  );
  const columns: readonly Column<Group>[] = [
    {
      key: 'code',
      header: 'Error code',
      isBare: true,
      width: 'md:w-56',
      cell: ({ value }) => <code className={classNames('font-mono text-xs', textLinkClass)}>{value}</code>,
    },
    countColumn('refused', 'Refused', ({ refused }) => refused),
    countColumn('failed', 'Failed', ({ failed }) => failed),
    {
      key: 'fix',
      header: 'What to do',
      isWrapping: true,
      width: 'md:w-full',
      isBare: true,
      cell: ({ value }) => <FixOf code={value ?? ''} placeLink={placeLink} />,
    },
  ];
  return (
    <Card title="Problems" description="Failed and refused requests, by error code" isFlush>
      <QueryTable
        query={groups}
        caption="Problems by code"
        columns={columns}
        rows={rows}
        rowKey={({ value }) => value ?? ''}
        rowLink={({ value }) => explorerLink(view, list, { error_code: value ?? '' })}
        expectedRows={2}
        empty={<p className="py-3 text-ink-faint">Nothing failed, and nothing was refused.</p>}
      />
    </Card>
  );
}

const placeNames: Readonly<Record<Place, string>> = {
  billing: 'Go to billing',
  key: 'Go to the key',
  limits: 'Go to limits',
  models: 'See the models',
  docs: 'Read the docs',
};

function FixOf({
  code,
  placeLink,
}: Readonly<{ code: string; placeLink: (place: Place) => Destination | null }>) {
  const fix = fixes.get(code);
  if (fix === undefined) return null;
  const link = placeLink(fix.place);
  return (
    <>
      <span className="text-ink-soft">{fix.what}</span> {fix.todo}
      {link !== null && (
        <>
          {' '}
          <Link {...link} className={textLinkClass}>
            {placeNames[fix.place]}
          </Link>
        </>
      )}
    </>
  );
}

export function countColumn<Row>(
  key: string,
  header: string,
  countOf: (row: Row) => number | null,
  className = '',
): Column<Row> {
  return {
    key,
    header,
    align: 'right',
    cell: (row): ReactNode => {
      const count = countOf(row);
      return count === null || count === 0 ? (
        <span className="text-ink-faint">{count === null ? '–' : '0'}</span>
      ) : (
        <span className={`figures ${className}`}>{formatCount(count)}</span>
      );
    },
  };
}
