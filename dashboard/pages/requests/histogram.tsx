/** The requests of the range over time, and their totals next to those of the period before. */
import type { ReactNode } from 'react';
import type { RequestFigures, RequestSeries } from '../../../src/console/request-contract.ts';
import { useReplaceSearch } from '../../address.ts';
import { formatMoneyExactly, formatSmallTotal } from '../../kit/amounts.ts';
import { Segmented } from '../../kit/choice.tsx';
import { classNames } from '../../kit/class-names.ts';
import {
  estimateHint,
  formatCount,
  formatCountShort,
  formatEstimate,
  formatShare,
  formatTime,
} from '../../kit/format-figures.ts';
import { Skeleton } from '../../kit/states.tsx';
import { TimeChart, TimeLegend } from '../../kit/time-chart.tsx';
import {
  changeOf,
  countRequests,
  countTimed,
  errorRateOf,
  formatChange,
  formatPoints,
  isMoreErrors,
  isSlower,
} from './figures.ts';
import { drawSeries } from './measures.ts';
import { useSeriesBefore } from './queries.ts';
import { type ChartKind, chartKinds, type Filter, type View, withFilter, withTimes } from './view.ts';

type HistogramProps = Readonly<{
  view: View;
  series: RequestSeries | undefined;
  /** While that of another range or other filters is being loaded. */
  isBusy: boolean;
  /** Instead of the chart, such as an error. */
  replacement?: ReactNode;
  /** Whether there are rules above and beneath. */
  isFramed?: boolean;
  /** Otherwise an outcome that is picked filters what is shown. */
  onPick?: (filter: Filter) => void;
}>;

export function Histogram({ view, series, isBusy, replacement, isFramed = true, onPick }: HistogramProps) {
  const replace = useReplaceSearch();
  return (
    <section aria-label="Over time" className={isFramed ? 'border-y border-line py-3' : undefined}>
      <div className="mb-4 flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <Segmented
          label="Chart"
          value={view.chart}
          options={chartKinds}
          onChange={(kind) =>
            replace((before) => ({ ...before, chart: kind === 'volume' ? undefined : kind }))
          }
          className="max-w-full overflow-x-auto max-sm:w-full max-sm:[&>label]:px-1"
        />
        {series !== undefined &&
          (view.chart === 'volume' ? (
            <OutcomeLegend series={series} onPick={onPick} />
          ) : (
            <TimeLegend
              series={drawSeries(view.chart, [], null).series}
              hasBefore={series.before !== null}
              before={beforeNames[view.chart]}
            />
          ))}
      </div>
      {series === undefined ? (
        (replacement ?? <Skeleton className="h-42 w-full" />)
      ) : (
        <Drawn view={view} series={series} isBusy={isBusy} />
      )}
      {series !== undefined && <CountedFrom series={series} isUtc={view.isUtc} />}
    </section>
  );
}

/** Of two lines, the period before has one. */
const beforeNames: Readonly<Partial<Record<ChartKind, string>>> = {
  duration: 'p95 of the period before',
  first_token: 'p95 of the period before',
};

const outcomes = ['completed', 'cancelled', 'refused', 'failed'] as const;

/** Only the outcomes that occur; each filters. */
function OutcomeLegend({
  series,
  onPick,
}: Readonly<{ series: RequestSeries; onPick: HistogramProps['onPick'] }>) {
  const replace = useReplaceSearch();
  const filterBy = (filter: Filter) => replace((before) => withFilter(before, filter));
  const { series: drawn } = drawSeries('volume', [], null);
  const occurring = new Set<string>(outcomes.filter((outcome) => series.totals[outcome] > 0));
  return (
    <TimeLegend
      series={drawn.filter(({ key }) => occurring.has(key))}
      onPick={(value) => (onPick ?? filterBy)({ name: 'status', value })}
      hasBefore={series.before !== null}
    />
  );
}

type DrawnProps = Readonly<{ view: View; series: RequestSeries; isBusy: boolean }>;

function Drawn({ view, series, isBusy }: DrawnProps) {
  const replace = useReplaceSearch();
  const before = useSeriesBefore(view, series).data;
  const { points, step_seconds: stepSeconds } = series;
  return (
    <div aria-busy={isBusy || undefined} className={classNames('transition-opacity', isBusy && 'opacity-60')}>
      <TimeChart
        {...drawSeries(view.chart, points, series.before === null ? null : (before?.points ?? null))}
        times={points.map(({ at }) => Date.parse(at))}
        stepMs={stepSeconds * 1_000}
        isUtc={view.isUtc}
        onNarrow={(fromMs, toMs) => replace((search) => withTimes(search, fromMs, toMs))}
      />
    </div>
  );
}

/** With some filters, and before they are added up, the gateway looks at requests one by one, and at no more than so many. */
function CountedFrom({
  series: { counted_from: from },
  isUtc,
}: Readonly<{ series: RequestSeries; isUtc: boolean }>) {
  if (from === null) return null;
  return (
    <p role="status" className="mt-2 text-xs text-warn">
      Requests before {formatTime(new Date(from), 'exact', isUtc ? 'UTC' : undefined)} are not included: there
      are too many to count one by one.
    </p>
  );
}

type Total = Readonly<{
  label: string;
  value: string;
  /** All digits, where the value is shortened, or how many are known. */
  exact?: string;
  change: string | null;
  /** What got much worse is coloured. */
  isWorse?: boolean;
}>;

export function totalsOf({ totals, before }: Pick<RequestSeries, 'totals' | 'before'>): Total[] {
  const compare = (figureOf: (figures: RequestFigures) => number | null) =>
    before === null ? null : formatChange(changeOf(figureOf(totals), figureOf(before)));
  const rate = errorRateOf(totals);
  const rateBefore = before === null ? null : errorRateOf(before);
  const durationTotal = (msOf: (figures: RequestFigures) => number | null) => {
    const ms = msOf(totals);
    return {
      value: ms === null ? '–' : formatEstimate(ms),
      exact: estimateHint,
      change: compare(msOf),
      isWorse: before !== null && isSlower(ms, msOf(before), [totals, before].map(countTimed)),
    };
  };
  const tokens = ({ input_tokens: input, output_tokens: output }: RequestFigures) => input + output;
  return [
    { label: 'Requests', value: formatCount(countRequests(totals)), change: compare(countRequests) },
    {
      label: 'Error rate',
      value: rate === null ? '–' : formatShare(rate),
      change: formatPoints(rate, rateBefore),
      isWorse: isMoreErrors(rate, rateBefore),
    },
    { label: 'p50', ...durationTotal((one) => one.duration_ms_p50) },
    { label: 'p95', ...durationTotal((one) => one.duration_ms_p95) },
    {
      label: 'Tokens',
      value: formatCountShort(tokens(totals)),
      exact: `${formatCount(totals.input_tokens)} input, ${formatCount(totals.output_tokens)} output`,
      change: compare(tokens),
    },
    {
      label: 'Cost',
      value: formatSmallTotal(totals.cost),
      exact: `${formatMoneyExactly(totals.cost)} USD`,
      change: compare((one) => Number(one.cost)),
    },
  ];
}

export function Totals({ series }: Readonly<{ series: RequestSeries | undefined }>) {
  if (series === undefined) return <Skeleton className="h-5 w-96 max-w-full" />;
  return (
    <dl className="grid grid-cols-2 gap-x-6 gap-y-1.5 text-[0.8125rem] sm:flex sm:flex-wrap">
      {totalsOf(series).map(({ label, value, exact, change, isWorse = false }) => (
        <div key={label} className="flex items-baseline gap-1.5">
          <dt className="text-ink-faint">{label}</dt>
          <dd className="figures font-medium" title={exact}>
            {value}
          </dd>
          {change !== null && (
            <dd
              title="Against the period before"
              className={classNames('figures text-xs', isWorse ? 'text-bad' : 'text-ink-faint')}
            >
              <span className="sr-only">against the period before: </span>
              {change}
            </dd>
          )}
        </div>
      ))}
      {series.in_progress > 0 && (
        <div className="flex items-baseline gap-1.5">
          <dt className="text-ink-faint">In progress</dt>
          <dd className="figures font-medium">{formatCount(series.in_progress)}</dd>
        </div>
      )}
    </dl>
  );
}
