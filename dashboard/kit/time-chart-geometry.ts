/** Where the marks of a chart over time are. Across, a step is 1 wide; upwards, the axis is 100 high and counts from the top. */
export const chartHeight = 100;

export type Box = Readonly<{ key: string; at: number; top: number; height: number }>;

type Stacked = Readonly<{ key: string; values: readonly (number | null)[] }>;

/** The pieces of all bars, the first series at the bottom. A bar that is not empty is at least `least` high. */
export function stackBoxes(series: readonly Stacked[], top: number, least = 0): Box[] {
  const count = Math.max(0, ...series.map(({ values }) => values.length));
  return Array.from({ length: count }, (_, at) => at).flatMap((at) => {
    const sum = series.reduce((total, { values }) => total + (values[at] ?? 0), 0);
    if (sum <= 0 || top <= 0) return [];
    const scale = Math.max((sum / top) * chartHeight, least) / sum;
    let reached = chartHeight;
    return series.flatMap(({ key, values }) => {
      const height = (values[at] ?? 0) * scale;
      if (height <= 0) return [];
      reached -= height;
      return [{ key, at, top: reached, height }];
    });
  });
}

/** A line through the middles of the steps. Steps without a value interrupt it, and a single one is a short dash. */
export function linePath(values: readonly (number | null)[], top: number): string {
  const runs: string[] = [];
  let run: [x: number, y: number][] = [];
  const finish = () => {
    const [first] = run;
    if (first !== undefined && run.length === 1)
      runs.push(`M${first[0] - 0.5} ${first[1]}H${first[0] + 0.5}`);
    else if (run.length > 1) runs.push(`M${run.map(([x, y]) => `${x} ${y}`).join('L')}`);
    run = [];
  };
  for (const [at, value] of values.entries()) {
    if (value === null) finish();
    else run.push([at + 0.5, rounded(top <= 0 ? chartHeight : chartHeight * (1 - value / top))]);
  }
  finish();
  return runs.join('');
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

/** The step under a point of the chart, which may be dragged beyond its edges. */
export function stepAt(x: number, width: number, count: number): number {
  if (width <= 0 || count <= 0) return 0;
  return Math.min(count - 1, Math.max(0, Math.floor((x / width) * count)));
}

export type Selection = Readonly<{ first: number; last: number }>;

export function selectionOf(one: number, other: number): Selection {
  return { first: Math.min(one, other), last: Math.max(one, other) };
}

/** What a key does: it moves the chosen step; with Shift, the other end of the selection stays. Null for other keys. */
export function stepByKey(key: string, from: number, count: number): number | null {
  if (key === 'ArrowLeft' || key === 'ArrowDown') return Math.max(0, from - 1);
  if (key === 'ArrowRight' || key === 'ArrowUp') return Math.min(count - 1, from + 1);
  if (key === 'Home') return 0;
  return key === 'End' ? count - 1 : null;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const roundSteps = [
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * minuteMs),
  ...[1, 2, 3, 6, 12].map((hours) => hours * hourMs),
  ...[1, 2, 5, 7, 14, 30, 60].map((days) => days * dayMs),
];

export type NamedTime = Readonly<{ at: number; ms: number; isDay: boolean }>;

type Axis = Readonly<{
  times: readonly number[];
  stepMs: number;
  /** How far the clock on the wall is ahead of UTC at a time. */
  offsetMs: (ms: number) => number;
  maxNames: number;
}>;

/** Which steps have their time below them: those in which a round time of the clock on the wall begins. */
export function namedTimes({ times, stepMs, offsetMs, maxNames }: Axis): NamedTime[] {
  const lengthMs = times.length * stepMs;
  const everyMs =
    roundSteps.find((roundMs) => roundMs >= stepMs && lengthMs / roundMs <= maxNames) ?? lengthMs;
  return times.flatMap((ms, at) => {
    const wallMs = ms + offsetMs(ms);
    const roundMs = Math.ceil(wallMs / everyMs) * everyMs;
    if (roundMs >= wallMs + stepMs) return [];
    return [
      { at: at + (roundMs - wallMs) / stepMs, ms: ms + roundMs - wallMs, isDay: roundMs % dayMs === 0 },
    ];
  });
}
