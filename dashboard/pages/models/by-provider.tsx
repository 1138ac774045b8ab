/** How each provider of a model serves the requests of this account, over time and in sum. */
import { keepPreviousData, useQueries } from '@tanstack/react-query';
import { useState } from 'react';
import type { RequestFigures, RequestSeries } from '../../../src/console/request-contract.ts';
import { get } from '../../api/client.ts';
import { Card } from '../../kit/card.tsx';
import { Segmented } from '../../kit/choice.tsx';
import { formatEstimate, formatShare } from '../../kit/format-figures.ts';
import { QueryTable } from '../../kit/query-table.tsx';
import { Skeleton } from '../../kit/states.tsx';
import { distinctTones, TimeChart, TimeLegend, type TimeSeries } from '../../kit/time-chart.tsx';
import { durationMarks, shareMarks } from '../requests/measures.ts';
import { useGroupsOf } from '../requests/of-one-thing.tsx';
import { useScope } from '../requests/scope.ts';
import { figureColumns, ProviderName, successOf } from '../requests/top-groups.tsx';
import { filterQuery, isoOf, timesOf, type View } from '../requests/view.ts';

type Measure = Readonly<{
  label: string;
  of: (figures: RequestFigures) => number | null;
  format: (value: number) => string;
  formatMarks: (values: readonly number[]) => readonly string[];
}>;

const timed = (label: string, of: Measure['of']): Measure => ({
  label,
  of,
  format: formatEstimate,
  formatMarks: durationMarks,
});

const measures = {
  p50: timed('p50', (figures) => figures.duration_ms_p50),
  p95: timed('p95', (figures) => figures.duration_ms_p95),
  first_token: timed('First token', (figures) => figures.time_to_first_token_ms_p50),
  success: { label: 'Success', of: successOf, format: formatShare, formatMarks: shareMarks },
} as const satisfies Readonly<Record<string, Measure>>;
type MeasureName = keyof typeof measures;

export function ByProvider({ view }: Readonly<{ view: View }>) {
  const [name, choose] = useState<MeasureName>('p50');
  const groups = useGroupsOf(view, 'provider', 'requests');
  const providers = (groups.data?.data ?? []).flatMap(({ value }) => (value === null ? [] : [value]));
  return (
    <Card
      title="By provider"
      description="Of your requests in this range"
      actions={
        <Segmented
          label="Measure"
          value={name}
          options={(Object.keys(measures) as MeasureName[]).map((value) => ({
            value,
            label: measures[value].label,
          }))}
          onChange={choose}
        />
      }
      isFlush
    >
      {providers.length > 0 && (
        <div className="pt-3 pb-2">
          <Lines view={view} measure={measures[name]} providers={providers.slice(0, distinctTones.length)} />
        </div>
      )}
      <QueryTable
        query={groups}
        caption="Providers of this model"
        columns={[
          {
            key: 'provider',
            header: 'Provider',
            isBare: true,
            cell: ({ value }) => <ProviderName provider={value} />,
          },
          ...figureColumns,
        ]}
        rows={groups.data?.data}
        rowKey={({ value }) => value ?? ''}
        expectedRows={2}
        empty={<p className="py-3 text-ink-faint">No requests.</p>}
      />
    </Card>
  );
}

type LinesProps = Readonly<{ view: View; measure: Measure; providers: readonly string[] }>;

function Lines({ view, measure, providers }: LinesProps) {
  const found = useSeriesOf(view, providers);
  const [first] = found;
  if (first === undefined || found.length < providers.length) return <Skeleton className="h-42 w-full" />;
  const { points, step_seconds: seconds } = first;
  const series: readonly TimeSeries[] = found.map((one, at) => ({
    key: providers[at] ?? '',
    label: providers[at] ?? '',
    tone: distinctTones[at] ?? 'plain',
    values: one.points.map(measure.of),
    texts: one.points.map((point) => {
      const value = measure.of(point);
      return value === null ? '–' : measure.format(value);
    }),
  }));
  return (
    <div className="space-y-3">
      <TimeLegend series={series} />
      <TimeChart
        label={`${measure.label} by provider over time`}
        times={points.map(({ at }) => Date.parse(at))}
        stepMs={seconds * 1_000}
        shape="lines"
        series={series}
        formatMarks={measure.formatMarks}
        isUtc={view.isUtc}
      />
    </div>
  );
}

const minuteMs = 60_000;
const refreshMs = 30_000;

/** One for each provider. All end at the same minute, so that their steps are the same. */
function useSeriesOf({ range, filters }: View, providers: readonly string[]): readonly RequestSeries[] {
  const { queryKey, pathOf } = useScope();
  const queries = useQueries({
    queries: providers.map((provider) => ({
      queryKey: [...queryKey, 'requests', 'series', { range, filters, provider }],
      queryFn: ({ signal }: Readonly<{ signal: AbortSignal }>) => {
        const nowMs = Date.now();
        const to = isoOf(Math.ceil(nowMs / minuteMs) * minuteMs);
        const query = { ...filterQuery(filters), provider, to, ...timesOf(range, nowMs) };
        return get<RequestSeries>(pathOf('requests', 'series'), { query, signal });
      },
      placeholderData: keepPreviousData,
      refetchInterval: refreshMs,
    })),
  });
  return queries.flatMap(({ data }) => (data === undefined ? [] : [data]));
}
