/** Usage rows, grouped and summed for the table and the chart. */
import type { Usage, UsageFigures } from '../../../src/console/contract.ts';
import { compareMoneyDown, formatTotal, sumMoney } from '../../kit/amounts.ts';
import type { ChartSeries } from '../../kit/day-chart.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { colourCount, modelColours, othersColour } from '../../kit/model-colours.ts';

type UsageRow = Usage['rows'][number];

export type Dimension = 'model' | 'key' | 'day';
export type UsageGroup = UsageFigures & Readonly<{ id: string; label: string }>;

/** The highest cost first; for days, the newest first. */
export function groupUsage(rows: readonly UsageRow[], by: Dimension): UsageGroup[] {
  const groups = [...Map.groupBy(rows, (row) => idOf(row, by))].map(([id, members]) => ({
    id,
    label: labelOf(members[0], by),
    ...addUp(members),
  }));
  return by === 'day'
    ? groups.toSorted((left, right) => (left.id < right.id ? 1 : -1))
    : groups.toSorted(
        (left, right) => compareMoneyDown(left.cost, right.cost) || right.requests - left.requests,
      );
}

function addUp(rows: readonly UsageFigures[]): UsageFigures {
  const sum = (pick: (row: UsageFigures) => number) => rows.reduce((total, row) => total + pick(row), 0);
  return {
    requests: sum(({ requests }) => requests),
    input_tokens: sum(({ input_tokens: tokens }) => tokens),
    output_tokens: sum(({ output_tokens: tokens }) => tokens),
    images: sum(({ images }) => images),
    cost: sumMoney(rows.map(({ cost }) => cost)),
    cache_read_tokens: sum(({ cache_read_tokens: tokens }) => tokens),
    cache_write_tokens: sum(({ cache_write_tokens: tokens }) => tokens),
    cache_saved: sumMoney(rows.map(({ cache_saved: saved }) => saved)),
  };
}

function idOf(row: UsageRow, by: Dimension): string {
  return by === 'model' ? row.model : by === 'key' ? row.key_id : row.day;
}

function labelOf(row: UsageRow | undefined, by: Dimension): string {
  if (row === undefined) return '';
  return by === 'model' ? row.model : by === 'key' ? row.key_name : row.day;
}

export type Measure = 'cost' | 'requests' | 'tokens';
type Stack = Readonly<{ series: readonly ChartSeries[]; totals: readonly string[] }>;

export const maxSeries = colourCount;

/** The colour of each group in the chart: the largest have their own, and the rest share one. */
export function usageColours(
  rows: readonly UsageRow[],
  by: 'model' | 'key',
  measure: Measure,
  catalogue: readonly string[] = [],
): ReadonlyMap<string, string> {
  const ids = rankUsage(rows, by, measure).map(({ id }) => id);
  const colours = modelColours(ids.slice(0, maxSeries), catalogue);
  return new Map(ids.map((id) => [id, colours.get(id) ?? othersColour]));
}

function rankUsage(rows: readonly UsageRow[], by: 'model' | 'key', measure: Measure): UsageGroup[] {
  return groupUsage(rows, by).toSorted((left, right) => figureOf(right, measure) - figureOf(left, measure));
}

/** The series of the chart. */
export function stackUsage(
  rows: readonly UsageRow[],
  days: readonly string[],
  by: 'model' | 'key',
  measure: Measure,
  catalogue: readonly string[] = [],
): Stack {
  const ranked = rankUsage(rows, by, measure);
  const places = new Map(ranked.map(({ id }, at) => [id, Math.min(at, maxSeries)]));
  const placeOf = (row: UsageRow) => places.get(by === 'model' ? row.model : row.key_id) ?? maxSeries;
  const colours = usageColours(rows, by, measure, catalogue);
  const members = Map.groupBy(rows, placeOf);
  const series = [...members.entries()]
    .toSorted(([left], [right]) => left - right)
    .map(([place, own]): ChartSeries => {
      const byDay = Map.groupBy(own, ({ day }) => day);
      const figures = days.map((day) => addUp(byDay.get(day) ?? []));
      return {
        key: place < maxSeries ? `of ${ranked[place]?.id}` : 'others',
        label: place < maxSeries ? (ranked[place]?.label ?? '') : othersLabel(ranked.length - maxSeries),
        colour: colours.get(ranked[place]?.id ?? '') ?? othersColour,
        values: figures.map((figure) => figureOf(figure, measure)),
        texts: figures.map((figure) => textOf(figure, measure)),
      };
    });
  const byDay = Map.groupBy(rows, ({ day }) => day);
  return { series, totals: days.map((day) => textOf(addUp(byDay.get(day) ?? []), measure)) };
}

function othersLabel(count: number): string {
  return count === 1 ? '1 other' : `${count} others`;
}

/** For drawing only: the text next to it is exact. */
function figureOf(figures: UsageFigures, measure: Measure): number {
  if (measure === 'cost') return Number(figures.cost);
  return measure === 'requests' ? figures.requests : figures.input_tokens + figures.output_tokens;
}

function textOf(figures: UsageFigures, measure: Measure): string {
  return measure === 'cost' ? formatTotal(figures.cost) : formatCount(figureOf(figures, measure));
}
