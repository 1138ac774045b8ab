/** Requests over time by outcome. Every mark leads to its requests. */
import { useNavigate } from '@tanstack/react-router';
import type { RequestSeries } from '../../../src/console/request-contract.ts';
import { Card } from '../../kit/card.tsx';
import { ErrorState, Skeleton } from '../../kit/states.tsx';
import { TimeChart, TimeLegend } from '../../kit/time-chart.tsx';
import type { Destination } from '../../links.ts';
import { drawSeries } from '../requests/measures.ts';
import { type useSeries, useSeriesBefore } from '../requests/queries.ts';
import { useScope } from '../requests/scope.ts';
import { isoOf } from '../requests/view.ts';
import { type HomeView, inExplorer } from './view.ts';

type RequestChartProps = HomeView & Readonly<{ series: ReturnType<typeof useSeries> }>;

export function RequestChart({ range, view, series: query }: RequestChartProps) {
  const scope = useScope();
  const go = useGo();
  const series = query.data;
  return (
    <Card
      title="Requests"
      actions={
        series !== undefined && (
          <OutcomeLegend series={series} onPick={(status) => go(inExplorer(scope, range, { status }))} />
        )
      }
    >
      {series === undefined ? (
        query.isError ? (
          <ErrorState error={query.error} onRetry={query.refetch} />
        ) : (
          <Skeleton className="h-42 w-full" />
        )
      ) : (
        <Drawn view={view} series={series} />
      )}
    </Card>
  );
}

function useGo(): (destination: Destination) => void {
  const navigate = useNavigate();
  return (destination) => {
    navigate(destination).catch(() => {});
  };
}

const outcomes = ['completed', 'cancelled', 'refused', 'failed'] as const;

type LegendProps = Readonly<{ series: RequestSeries; onPick: (status: string) => void }>;

function OutcomeLegend({ series: { totals, before }, onPick }: LegendProps) {
  const occurring = new Set<string>(outcomes.filter((outcome) => totals[outcome] > 0));
  return (
    <TimeLegend
      series={drawSeries('volume', [], null).series.filter(({ key }) => occurring.has(key))}
      onPick={onPick}
      hasBefore={before !== null}
    />
  );
}

function Drawn({ view, series }: Readonly<{ view: HomeView['view']; series: RequestSeries }>) {
  const { list, search } = useScope();
  const go = useGo();
  const before = useSeriesBefore(view, series).data;
  return (
    <TimeChart
      {...drawSeries('volume', series.points, series.before === null ? null : (before?.points ?? null))}
      times={series.points.map(({ at }) => Date.parse(at))}
      stepMs={series.step_seconds * 1_000}
      onNarrow={(fromMs, toMs) =>
        go({ to: list, search: { ...search, from: isoOf(fromMs), to: isoOf(toMs) } })
      }
    />
  );
}
