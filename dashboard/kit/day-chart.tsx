/**
 * A bar chart by day, stacked if there are several series. The bars are plain boxes, so they follow the theme and need no
 * measuring. Each day can be reached with the pointer or the arrow keys, and a hidden table holds the numbers for screen
 * readers.
 */
import { type KeyboardEvent, useState } from 'react';
import { marksOf, namedDays } from './chart-scale.ts';
import { classNames } from './class-names.ts';
import { formatDay } from './format-figures.ts';

export type ChartSeries = Readonly<{
  key: string;
  label: string;
  /** Such as `bg-chart-1`. */
  colour: string;
  /** One for each day, for drawing only. */
  values: readonly number[];
  /** The exact values as text. */
  texts: readonly string[];
}>;

type DayChartProps = Readonly<{
  /** What is shown, such as "Spend by day". */
  label: string;
  /** `YYYY-MM-DD`, oldest first. */
  days: readonly string[];
  series: readonly ChartSeries[];
  /** The total of each day as text. */
  totals: readonly string[];
  formatMarks: (values: readonly number[]) => readonly string[];
  /** Counts have no marks between whole numbers. */
  isWhole?: boolean;
}>;

const maxLabels = 10;
/** On a narrow screen only every third label fits. */
const narrowEvery = 3;

export function DayChart(props: DayChartProps) {
  const { label, days, series, totals, formatMarks, isWhole = false } = props;
  const [chosen, choose] = useState<number | null>(null);
  const sums = days.map((_, at) => series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0));
  const marks = marksOf(Math.max(0, ...sums), isWhole);
  const top = marks.at(-1) ?? 1;
  return (
    <figure className="min-w-0 pr-3">
      <div className="flex gap-2">
        <MarkNames marks={marks} names={formatMarks(marks)} />
        <div className="min-w-0 flex-1">
          <div className="relative h-56">
            <Lines count={marks.length} />
            <Bars {...props} sums={sums} top={top} chosen={chosen} choose={choose} />
            {chosen !== null && chosen < days.length && (
              <DayNote
                day={days[chosen] ?? ''}
                total={totals[chosen] ?? ''}
                series={series}
                at={chosen}
                count={days.length}
              />
            )}
          </div>
          <DayNames days={days} />
        </div>
      </div>
      <NumbersTable label={label} days={days} series={series} totals={totals} />
    </figure>
  );
}

type BarsProps = DayChartProps &
  Readonly<{
    sums: readonly number[];
    top: number;
    chosen: number | null;
    choose: (at: number | null) => void;
  }>;

/** A slider, because stepping through values is what screen readers expect of one. */
function Bars({ label, days, series, totals, sums, top, chosen, choose }: BarsProps) {
  const last = days.length - 1;
  const step = (event: KeyboardEvent) => {
    const next = stepTo(event.key, chosen ?? last, last);
    if (next === null) return;
    event.preventDefault();
    choose(next);
  };
  const at = Math.min(chosen ?? last, last);
  return (
    <div
      role="slider"
      tabIndex={0}
      aria-label={`${label}, day`}
      aria-valuemin={1}
      aria-valuemax={days.length}
      aria-valuenow={at + 1}
      aria-valuetext={`${formatDay(days[at] ?? '1970-01-01', true)}: ${totals[at] ?? ''}`}
      onKeyDown={step}
      onFocus={(event) => event.currentTarget.matches(':focus-visible') && choose(at)}
      onBlur={() => choose(null)}
      onPointerLeave={() => choose(null)}
      className="absolute inset-0 flex touch-pan-y rounded-sm"
    >
      {days.map((day, index) => (
        <div
          key={day}
          onPointerEnter={() => choose(index)}
          className={classNames('flex h-full min-w-0 flex-1 items-end', index === chosen && 'bg-hover/70')}
        >
          <div
            style={{ height: `${((sums[index] ?? 0) / top) * 100}%` }}
            className={classNames(
              'mx-auto flex max-w-8 flex-col-reverse overflow-hidden rounded-t-xs',
              days.length <= 100 ? 'w-3/4' : 'w-full',
              (sums[index] ?? 0) > 0 && 'min-h-0.5',
            )}
          >
            {series.map(({ key, colour, values }) =>
              (values[index] ?? 0) > 0 ? (
                <div
                  key={key}
                  // Relative to the day: flex items whose factors add up to less than 1 do not fill the bar.
                  style={{ flexGrow: (values[index] ?? 0) / (sums[index] ?? 1) }}
                  className={classNames('basis-0', colour)}
                />
              ) : null,
            )}
          </div>
        </div>
      ))}
    </div>
  );
}

function stepTo(key: string, from: number, last: number): number | null {
  if (key === 'ArrowLeft' || key === 'ArrowDown') return Math.max(0, from - 1);
  if (key === 'ArrowRight' || key === 'ArrowUp') return Math.min(last, from + 1);
  if (key === 'Home') return 0;
  if (key === 'End') return last;
  return null;
}

function MarkNames({ marks, names }: Readonly<{ marks: readonly number[]; names: readonly string[] }>) {
  return (
    <div
      aria-hidden
      className="figures flex h-56 flex-col-reverse justify-between text-right text-2xs text-ink-faint"
    >
      {marks.map((mark, at) => (
        <span key={mark} className="-my-2 whitespace-nowrap">
          {names[at]}
        </span>
      ))}
    </div>
  );
}

function Lines({ count }: Readonly<{ count: number }>) {
  return (
    <div aria-hidden className="absolute inset-0 flex flex-col justify-between">
      {Array.from({ length: count }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all the same and never move.
        <div key={at} className={classNames('h-px', at === count - 1 ? 'bg-edge/60' : 'bg-line')} />
      ))}
    </div>
  );
}

function DayNames({ days }: Readonly<{ days: readonly string[] }>) {
  return (
    <div aria-hidden className="relative mt-2 h-4 text-2xs text-ink-faint">
      {namedDays(days.length, maxLabels)
        .toReversed()
        .map((at, order) => (
          <span
            key={days[at]}
            style={{ left: `${((at + 0.5) / days.length) * 100}%` }}
            className={classNames(
              'absolute -translate-x-1/2 whitespace-nowrap',
              order % narrowEvery !== 0 && 'max-sm:hidden',
            )}
          >
            {formatDay(days[at] ?? '1970-01-01')}
          </span>
        ))}
    </div>
  );
}

type DayNoteProps = Readonly<{
  day: string;
  total: string;
  series: readonly ChartSeries[];
  at: number;
  count: number;
}>;

/** Next to the selected day, on the side with more room. */
function DayNote({ day, total, series, at, count }: DayNoteProps) {
  const share = ((at + 0.5) / count) * 100;
  const isRight = share > 50;
  const parts = series.length > 1 ? series.filter(({ values }) => (values[at] ?? 0) > 0) : [];
  return (
    <div
      aria-hidden
      style={isRight ? { right: `calc(${100 - share}% + 0.75rem)` } : { left: `calc(${share}% + 0.75rem)` }}
      className="pointer-events-none absolute top-1 z-20 max-w-64 min-w-36 rounded-md bg-raised px-3 py-2 text-xs shadow-float"
    >
      <p className="flex justify-between gap-4">
        <span className="whitespace-nowrap text-ink-soft">{formatDay(day, true)}</span>
        <span className="figures font-semibold">{total}</span>
      </p>
      {parts.toReversed().map(({ key, label, colour, texts }) => (
        <p key={key} className="mt-1 flex items-center gap-1.5">
          <span className={classNames('size-2 shrink-0 rounded-xs', colour)} />
          <span className="min-w-0 flex-1 truncate text-ink-soft">{label}</span>
          <span className="figures pl-2">{texts[at]}</span>
        </p>
      ))}
    </div>
  );
}

function NumbersTable({
  label,
  days,
  series,
  totals,
}: Pick<DayChartProps, 'label' | 'days' | 'series' | 'totals'>) {
  const columns = series.length > 1 ? series : [];
  return (
    // A table does not shrink below its content, so a wrapper hides it.
    <div className="sr-only">
      <table>
        <caption>{label}</caption>
        <thead>
          <tr>
            <th scope="col">Day (UTC)</th>
            {columns.map((one) => (
              <th key={one.key} scope="col">
                {one.label}
              </th>
            ))}
            <th scope="col">Total</th>
          </tr>
        </thead>
        <tbody>
          {days.map((day, at) => (
            <tr key={day}>
              <th scope="row">{formatDay(day, true)}</th>
              {columns.map((one) => (
                <td key={one.key}>{one.texts[at]}</td>
              ))}
              <td>{totals[at]}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** For charts with several series. */
export function ChartLegend({
  series,
}: Readonly<{ series: readonly Pick<ChartSeries, 'key' | 'label' | 'colour'>[] }>) {
  return (
    <ul className="flex flex-wrap gap-x-4 gap-y-1.5 text-xs text-ink-soft">
      {series.map(({ key, label, colour }) => (
        <li key={key} className="inline-flex min-w-0 items-center gap-1.5">
          <span aria-hidden className={classNames('size-2.5 shrink-0 rounded-xs', colour)} />
          <span className="wrap-anywhere">{label}</span>
        </li>
      ))}
    </ul>
  );
}
