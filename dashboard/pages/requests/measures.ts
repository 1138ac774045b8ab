/** What the tabs of the histogram draw of the figures of each step. */
import type { RequestFigures, RequestSeries } from '../../../src/console/request-contract.ts';
import { formatMoney, unitsOf } from '../../kit/amounts.ts';
import { formatCountMarks, formatMoneyMarks } from '../../kit/chart-scale.ts';
import { formatCount, formatDuration, formatEstimate, formatShare } from '../../kit/format-figures.ts';
import type { TimeChartProps, TimeSeries } from '../../kit/time-chart.tsx';
import { countRequests, errorRateOf } from './figures.ts';
import type { ChartKind } from './view.ts';

type Points = RequestSeries['points'];

type Drawn = Pick<
  TimeChartProps,
  'label' | 'shape' | 'series' | 'totals' | 'before' | 'formatMarks' | 'isWhole'
>;

/** `before` has the points of the period before, if they are known and as many. */
export function drawSeries(kind: ChartKind, points: Points, before: Points | null): Drawn {
  const earlier = before !== null && before.length === points.length ? before : null;
  const compare = (figureOf: FigureOf, textOf: TextOf) =>
    earlier === null ? undefined : { values: earlier.map(figureOf), texts: earlier.map(textOf) };
  const measure = measures[kind];
  return {
    label: measure.label,
    shape: measure.shape,
    series: measure.series.map(({ figureOf, textOf, ...one }) => ({
      ...one,
      values: points.map(figureOf),
      texts: points.map(textOf),
    })),
    totals: measure.totalOf === undefined ? undefined : points.map(measure.totalOf),
    before: compare(measure.compared.figureOf, measure.compared.textOf),
    formatMarks: measure.formatMarks,
    isWhole: measure.isWhole,
  };
}

type FigureOf = (figures: RequestFigures) => number | null;
type TextOf = (figures: RequestFigures) => string;
type Measured = Readonly<{ figureOf: FigureOf; textOf: TextOf }>;

type Measure = Readonly<{
  label: string;
  shape: TimeChartProps['shape'];
  series: readonly (Pick<TimeSeries, 'key' | 'label' | 'tone'> & Measured)[];
  /** Which figure of the period before is drawn. */
  compared: Measured;
  totalOf?: TextOf;
  formatMarks: TimeChartProps['formatMarks'];
  isWhole: boolean;
}>;

const counted = (name: 'completed' | 'failed' | 'cancelled' | 'refused'): Measured => ({
  figureOf: (figures) => figures[name],
  textOf: (figures) => formatCount(figures[name]),
});

type DurationName =
  | 'duration_ms_p50'
  | 'duration_ms_p95'
  | 'time_to_first_token_ms_p50'
  | 'time_to_first_token_ms_p95';

const timed = (name: DurationName): Measured => ({
  figureOf: (figures) => figures[name],
  textOf: (figures) => durationText(figures[name]),
});

function durationText(ms: number | null): string {
  return ms === null ? '–' : formatEstimate(ms);
}

const requests: Measured = {
  figureOf: countRequests,
  textOf: (figures) => countText(countRequests(figures)),
};

export function countText(count: number): string {
  return count === 1 ? '1 request' : `${formatCount(count)} requests`;
}

const errors: Measured = {
  figureOf: errorRateOf,
  textOf: (figures) => {
    const rate = errorRateOf(figures);
    return rate === null ? '–' : formatShare(rate);
  },
};

/** For drawing only. */
const cost: Measured = {
  figureOf: (figures) => Number(unitsOf(figures.cost)) / 1e12,
  textOf: (figures) => formatMoney(figures.cost),
};

export const durationMarks = (values: readonly number[]) => values.map((ms) => markOfDuration(ms));

function markOfDuration(ms: number): string {
  if (ms === 0) return '0';
  if (ms < 1_000) return `${ms} ms`;
  return ms < 60_000 ? `${Number((ms / 1_000).toFixed(2))} s` : formatDuration(ms).replace(/ 0 s$/, '');
}

export const shareMarks = (values: readonly number[]) =>
  values.map((share) => `${Number((share * 100).toFixed(2))}%`);

const percentiles = (title: string, median: DurationName, high: DurationName): Measure => ({
  label: title,
  shape: 'lines',
  series: [
    { key: 'p50', label: 'p50', tone: 'plain', ...timed(median) },
    { key: 'p95', label: 'p95', tone: 'strong', ...timed(high) },
  ],
  compared: timed(high),
  formatMarks: durationMarks,
  isWhole: true,
});

const measures: Readonly<Record<ChartKind, Measure>> = {
  volume: {
    label: 'Requests over time',
    shape: 'bars',
    series: [
      { key: 'completed', label: 'Completed', tone: 'plain', ...counted('completed') },
      { key: 'cancelled', label: 'Cancelled', tone: 'faint', ...counted('cancelled') },
      { key: 'refused', label: 'Refused', tone: 'warn', ...counted('refused') },
      { key: 'failed', label: 'Failed', tone: 'bad', ...counted('failed') },
    ],
    compared: requests,
    totalOf: requests.textOf,
    formatMarks: formatCountMarks,
    isWhole: true,
  },
  errors: {
    label: 'Error rate over time',
    shape: 'bars',
    series: [{ key: 'errors', label: 'Failed or refused', tone: 'bad', ...errors }],
    compared: errors,
    formatMarks: shareMarks,
    isWhole: false,
  },
  duration: percentiles('Duration over time', 'duration_ms_p50', 'duration_ms_p95'),
  first_token: percentiles(
    'Time to first token over time',
    'time_to_first_token_ms_p50',
    'time_to_first_token_ms_p95',
  ),
  cost: {
    label: 'Cost over time',
    shape: 'bars',
    series: [{ key: 'cost', label: 'Cost', tone: 'plain', ...cost }],
    compared: cost,
    formatMarks: formatMoneyMarks,
    isWhole: false,
  },
};
