/**
 * A chart over time: thin bars that may be stacked, or lines, with the period before as a faint line. The pointer or the arrow
 * keys choose a step, whose figures are shown next to a crosshair. Dragging, or Shift and the arrow keys, selects several; releasing
 * it, or Enter, narrows the range to them. A hidden table holds the numbers for screen readers.
 */
import { type KeyboardEvent, type PointerEvent, useId, useState } from 'react';
import { marksOf } from './chart-scale.ts';
import { classNames } from './class-names.ts';
import { formatTime } from './format-figures.ts';
import {
  chartHeight,
  linePath,
  namedTimes,
  type Selection,
  selectionOf,
  stackBoxes,
  stepAt,
  stepByKey,
} from './time-chart-geometry.ts';

/** Colour is for what went wrong, and to tell several things apart that are drawn together. */
export type ChartTone = 'plain' | 'strong' | 'faint' | 'warn' | 'bad' | (typeof distinctTones)[number];

/** For lines or bars of different things, such as providers. */
export const distinctTones = ['first', 'second', 'third', 'fourth', 'fifth'] as const;

const tones: Readonly<Record<ChartTone, Readonly<{ fill: string; stroke: string; dot: string }>>> = {
  plain: { fill: 'fill-edge', stroke: 'stroke-edge', dot: 'bg-edge' },
  strong: { fill: 'fill-ink-soft', stroke: 'stroke-ink-soft', dot: 'bg-ink-soft' },
  faint: { fill: 'fill-edge/50', stroke: 'stroke-edge/50', dot: 'bg-edge/50' },
  warn: { fill: 'fill-chart-3', stroke: 'stroke-chart-3', dot: 'bg-chart-3' },
  bad: { fill: 'fill-bad-solid', stroke: 'stroke-bad-solid', dot: 'bg-bad-solid' },
  first: { fill: 'fill-chart-1', stroke: 'stroke-chart-1', dot: 'bg-chart-1' },
  second: { fill: 'fill-chart-4', stroke: 'stroke-chart-4', dot: 'bg-chart-4' },
  third: { fill: 'fill-chart-2', stroke: 'stroke-chart-2', dot: 'bg-chart-2' },
  fourth: { fill: 'fill-chart-7', stroke: 'stroke-chart-7', dot: 'bg-chart-7' },
  fifth: { fill: 'fill-chart-9', stroke: 'stroke-chart-9', dot: 'bg-chart-9' },
};

export type TimeSeries = Readonly<{
  key: string;
  label: string;
  tone: ChartTone;
  /** One for each step, for drawing only; null where there is none. */
  values: readonly (number | null)[];
  /** The exact values as text. */
  texts: readonly string[];
}>;

export type TimeChartProps = Readonly<{
  /** What is shown, such as "Requests over time". */
  label: string;
  /** When each step starts, oldest first. */
  times: readonly number[];
  stepMs: number;
  shape: 'bars' | 'lines';
  series: readonly TimeSeries[];
  /** The total of each step as text, where a stack has one. */
  totals?: readonly string[] | undefined;
  /** The same figure in the period before. */
  before?: Readonly<{ values: readonly (number | null)[]; texts: readonly string[] }> | undefined;
  formatMarks: (values: readonly number[]) => readonly string[];
  /** Counts have no marks between whole numbers. */
  isWhole?: boolean;
  /** Otherwise times are those of the viewer. */
  isUtc?: boolean;
  onNarrow?: ((fromMs: number, toMs: number) => void) | undefined;
}>;

const plotClass = 'h-36';
const maxNames = 8;
/** On a narrow screen only every other name fits. */
const narrowEvery = 2;

export function TimeChart(props: TimeChartProps) {
  const { times, stepMs, series, isUtc = false, isWhole = false, formatMarks } = props;
  const [chosen, choose] = useState<number | null>(null);
  const top = topOf(props);
  const marks = marksOf(top, isWhole);
  const at = chosen === null ? null : Math.min(chosen, times.length - 1);
  return (
    <figure className="min-w-0">
      <div className="flex gap-2">
        <MarkNames marks={marks} names={formatMarks(marks)} />
        <div className="min-w-0 flex-1">
          <div className={classNames('relative', plotClass)}>
            <Rules count={marks.length} />
            <Plot {...props} top={marks.at(-1) ?? 1} chosen={at} choose={choose} />
            {at !== null && at >= 0 && <StepNote {...props} at={at} />}
          </div>
          <TimeNames times={times} stepMs={stepMs} isUtc={isUtc} />
        </div>
      </div>
      {series.length > 0 && <NumbersTable {...props} />}
    </figure>
  );
}

function topOf({ shape, series, before, times }: TimeChartProps): number {
  const sums = times.map((_, at) => series.reduce((sum, { values }) => sum + (values[at] ?? 0), 0));
  const highest = shape === 'bars' ? sums : series.flatMap(({ values }) => values.map((one) => one ?? 0));
  return Math.max(0, ...highest, ...(before?.values ?? []).map((one) => one ?? 0));
}

type PlotProps = TimeChartProps &
  Readonly<{ top: number; chosen: number | null; choose: (at: number | null) => void }>;

/** A slider, because stepping through values is what screen readers expect of one. */
function Plot(props: PlotProps) {
  const { label, times, chosen, onNarrow } = props;
  const { selection, ...handlers } = useSelection(props);
  const hintId = useId();
  const last = times.length - 1;
  const at = chosen ?? last;
  return (
    <>
      <div
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-describedby={onNarrow === undefined ? undefined : hintId}
        aria-valuemin={1}
        aria-valuemax={Math.max(1, times.length)}
        aria-valuenow={at + 1}
        aria-valuetext={describeSteps(props, selection ?? { first: at, last: at })}
        {...handlers}
        className={classNames(
          'absolute inset-0 touch-pan-y rounded-sm select-none',
          onNarrow !== undefined && 'cursor-crosshair',
        )}
      >
        <Marks {...props} selection={selection} />
      </div>
      {onNarrow !== undefined && (
        <span id={hintId} hidden>
          Shift and the arrow keys select a range; Enter narrows to it.
        </span>
      )}
    </>
  );
}

/** Which steps are chosen, and what the pointer and the keys do about it. */
function useSelection({ times, stepMs, chosen, choose, onNarrow }: PlotProps) {
  const [anchor, setAnchor] = useState<number | null>(null);
  const count = times.length;
  const selection = anchor === null || chosen === null ? null : selectionOf(anchor, chosen);
  const reset = () => {
    setAnchor(null);
    choose(null);
  };
  const narrowTo = ({ first, last }: Selection) => {
    const [from, to] = [times[first], times[last]];
    reset();
    if (from !== undefined && to !== undefined) onNarrow?.(from, to + stepMs);
  };
  const stepOf = (event: PointerEvent<HTMLElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    return stepAt(event.clientX - left, width, count);
  };
  return {
    selection,
    onPointerDown: (event: PointerEvent<HTMLElement>) => {
      // A finger first shows the figures of a step, and opens it when it is tapped again.
      if (event.button !== 0 || (event.pointerType === 'touch' && stepOf(event) !== chosen)) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      choose(stepOf(event));
      if (onNarrow !== undefined) setAnchor(stepOf(event));
    },
    onPointerMove: (event: PointerEvent<HTMLElement>) => choose(stepOf(event)),
    onPointerUp: (event: PointerEvent<HTMLElement>) => {
      if (anchor !== null) narrowTo(selectionOf(anchor, stepOf(event)));
    },
    onPointerCancel: reset,
    onPointerLeave: () => {
      if (anchor === null) choose(null);
    },
    onFocus: (event: { currentTarget: HTMLElement }) => {
      if (event.currentTarget.matches(':focus-visible')) choose(chosen ?? count - 1);
    },
    onBlur: reset,
    onKeyDown: (event: KeyboardEvent) => {
      const from = chosen ?? count - 1;
      if (event.key === 'Enter' && onNarrow !== undefined) {
        event.preventDefault();
        narrowTo(selection ?? { first: from, last: from });
      } else if (event.key === 'Escape' && anchor !== null) {
        event.stopPropagation();
        setAnchor(null);
      } else {
        const next = stepByKey(event.key, from, count);
        if (next === null) return;
        event.preventDefault();
        setAnchor(event.shiftKey && onNarrow !== undefined ? (anchor ?? from) : null);
        choose(next);
      }
    },
  };
}

/** The least height of a bar, so that a single request among thousands is still seen. */
const leastHeight = 1.5;
/** With fewer steps, bars stay thin and the room between them grows. */
const stepsOfFullWidth = 70;

function Marks(props: PlotProps & Readonly<{ selection: Selection | null }>) {
  const { times, shape, series, before, top, chosen, selection } = props;
  const toneOf = new Map(series.map(({ key, tone }) => [key, tones[tone]]));
  const barWidth = Math.min(0.7, Math.max(0.2, times.length / stepsOfFullWidth));
  return (
    <svg
      aria-hidden="true"
      viewBox={`0 0 ${Math.max(1, times.length)} ${chartHeight}`}
      preserveAspectRatio="none"
      className="size-full overflow-visible"
    >
      {selection !== null && (
        <rect
          x={selection.first}
          y={0}
          width={selection.last - selection.first + 1}
          height={chartHeight}
          className="fill-accent/20"
        />
      )}
      {chosen !== null && selection === null && (
        <rect x={chosen} y={0} width={1} height={chartHeight} className="fill-hover" />
      )}
      {shape === 'bars'
        ? stackBoxes(series, top, leastHeight).map(({ key, at, top: y, height }) => (
            <rect
              key={`${key} ${at}`}
              x={at + (1 - barWidth) / 2}
              y={y}
              width={barWidth}
              height={height}
              className={toneOf.get(key)?.fill}
            />
          ))
        : series.map(({ key, values }) => (
            <Line key={key} values={values} top={top} className={toneOf.get(key)?.stroke} />
          ))}
      {before !== undefined && <Line values={before.values} top={top} className="stroke-edge/60" isFaint />}
      {chosen !== null && (
        <path
          d={`M${chosen + 0.5} 0V${chartHeight}`}
          vectorEffect="non-scaling-stroke"
          strokeDasharray="2 2"
          className="stroke-ink-faint"
        />
      )}
    </svg>
  );
}

type LineProps = Readonly<{
  values: readonly (number | null)[];
  top: number;
  className: string | undefined;
  isFaint?: boolean;
}>;

function Line({ values, top, className, isFaint = false }: LineProps) {
  return (
    <path
      d={linePath(values, top)}
      fill="none"
      strokeWidth={isFaint ? 1 : 1.5}
      strokeLinejoin="round"
      strokeDasharray={isFaint ? '3 2' : undefined}
      vectorEffect="non-scaling-stroke"
      className={className}
    />
  );
}

function MarkNames({ marks, names }: Readonly<{ marks: readonly number[]; names: readonly string[] }>) {
  return (
    <div
      aria-hidden
      className={classNames(
        'figures flex min-w-8 flex-col-reverse justify-between text-right text-2xs text-ink-faint',
        plotClass,
      )}
    >
      {marks.map((mark, at) => (
        <span key={mark} className="-my-2 whitespace-nowrap">
          {names[at]}
        </span>
      ))}
    </div>
  );
}

function Rules({ count }: Readonly<{ count: number }>) {
  return (
    <div aria-hidden className="absolute inset-0 flex flex-col justify-between">
      {Array.from({ length: count }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all the same and never move.
        <div key={at} className={classNames('h-px', at === count - 1 ? 'bg-edge/60' : 'bg-line')} />
      ))}
    </div>
  );
}

/** From here on a name would cross the edge of the page. */
const lastShare = 0.97;

type AxisProps = Readonly<{ times: readonly number[]; stepMs: number; isUtc: boolean }>;

function TimeNames({ times, stepMs, isUtc }: AxisProps) {
  const offsetMs = (ms: number) => (isUtc ? 0 : -new Date(ms).getTimezoneOffset() * 60_000);
  return (
    <div aria-hidden className="figures relative mt-1.5 h-4 text-2xs text-ink-faint">
      {namedTimes({ times, stepMs, offsetMs, maxNames }).map(({ at, ms, isDay }, order) => (
        <span
          key={ms}
          style={{ left: `${(at / times.length) * 100}%` }}
          className={classNames(
            'absolute whitespace-nowrap',
            at === 0 ? '' : at / times.length > lastShare ? '-translate-x-full' : '-translate-x-1/2',
            order % narrowEvery !== 0 && 'max-sm:hidden',
          )}
        >
          {formatTime(new Date(ms), isDay ? 'day' : 'clock', isUtc ? 'UTC' : undefined)}
        </span>
      ))}
    </div>
  );
}

/** `17 Nov, 14:00 to 14:15`. */
function nameOfSteps(
  { times, stepMs, isUtc = false }: Pick<TimeChartProps, 'times' | 'stepMs' | 'isUtc'>,
  { first, last }: Selection,
): string {
  const zone = isUtc ? 'UTC' : undefined;
  const from = new Date(times[first] ?? 0);
  const to = new Date((times[last] ?? 0) + stepMs);
  const isSameDay = formatTime(from, 'day', zone) === formatTime(to, 'day', zone);
  return `${formatTime(from, 'minute', zone)} to ${formatTime(to, isSameDay ? 'clock' : 'minute', zone)}`;
}

function describeSteps(props: TimeChartProps, selection: Selection): string {
  const { series, totals, times } = props;
  if (times.length === 0) return 'Nothing';
  const name = nameOfSteps(props, selection);
  if (selection.first !== selection.last) return `${name}, selected`;
  const parts = series.map(({ label, texts }) => `${label} ${texts[selection.first] ?? ''}`);
  return `${name}: ${totals?.[selection.first] ?? parts.join(', ')}`;
}

/** Next to the chosen step, on the side with more room. */
function StepNote(props: TimeChartProps & Readonly<{ at: number }>) {
  const { times, series, totals, before, at } = props;
  const share = ((at + 0.5) / times.length) * 100;
  const isRight = share > 50;
  const total = totals?.[at];
  const parts = totals === undefined ? series : series.filter(({ values }) => (values[at] ?? 0) > 0);
  return (
    <div
      aria-hidden
      style={isRight ? { right: `calc(${100 - share}% + 0.75rem)` } : { left: `calc(${share}% + 0.75rem)` }}
      className="pointer-events-none absolute top-1 z-20 max-w-64 min-w-40 rounded-md bg-raised px-3 py-2 text-xs shadow-float"
    >
      <p className="figures whitespace-nowrap text-ink-soft">{nameOfSteps(props, { first: at, last: at })}</p>
      {total !== undefined && <p className="figures font-semibold">{total}</p>}
      {parts.toReversed().map(({ key, label, tone, texts }) => (
        <p key={key} className="mt-1 flex items-center gap-1.5">
          <span className={classNames('size-2 shrink-0 rounded-xs', tones[tone].dot)} />
          <span className="min-w-0 flex-1 truncate text-ink-soft">{label}</span>
          <span className="figures pl-2">{texts[at]}</span>
        </p>
      ))}
      {before?.texts[at] !== undefined && (
        <p className="mt-1 flex items-center gap-1.5 text-ink-faint">
          <span className="w-2 shrink-0 border-t border-dashed border-edge" />
          <span className="flex-1 whitespace-nowrap">Period before</span>
          <span className="figures pl-2">{before.texts[at]}</span>
        </p>
      )}
    </div>
  );
}

function NumbersTable(props: TimeChartProps) {
  const { label, times, series, totals, before } = props;
  return (
    // A table does not shrink below its content, so a wrapper hides it.
    <div className="sr-only">
      <table>
        <caption>{label}</caption>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {series.map(({ key, label: name }) => (
              <th key={key} scope="col">
                {name}
              </th>
            ))}
            {totals !== undefined && <th scope="col">Total</th>}
            {before !== undefined && <th scope="col">Period before</th>}
          </tr>
        </thead>
        <tbody>
          {times.map((ms, at) => (
            <tr key={ms}>
              <th scope="row">{nameOfSteps(props, { first: at, last: at })}</th>
              {series.map(({ key, texts }) => (
                <td key={key}>{texts[at]}</td>
              ))}
              {totals !== undefined && <td>{totals[at]}</td>}
              {before !== undefined && <td>{before.texts[at]}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

type LegendProps = Readonly<{
  series: readonly Pick<TimeSeries, 'key' | 'label' | 'tone'>[];
  /** Makes each entry a button, such as one that filters. */
  onPick?: ((key: string) => void) | undefined;
  hasBefore?: boolean;
  /** What the line of the period before shows. */
  before?: string | undefined;
}>;

export function TimeLegend({ series, onPick, hasBefore = false, before = 'Period before' }: LegendProps) {
  return (
    <ul className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-ink-soft">
      {series.map(({ key, label, tone }) => {
        const content = (
          <>
            <span aria-hidden className={classNames('size-2 shrink-0 rounded-xs', tones[tone].dot)} />
            {label}
          </>
        );
        return (
          <li key={key}>
            {onPick === undefined ? (
              <span className="inline-flex items-center gap-1.5">{content}</span>
            ) : (
              <button
                type="button"
                onClick={() => onPick(key)}
                className="inline-flex items-center gap-1.5 rounded hover:text-ink hover:underline hover:underline-offset-2"
              >
                {content}
              </button>
            )}
          </li>
        );
      })}
      {hasBefore && (
        <li className="inline-flex items-center gap-1.5 text-ink-faint">
          <span aria-hidden className="w-3 border-t border-dashed border-edge" />
          {before}
        </li>
      )}
    </ul>
  );
}
