/** The bars of the chart: what weighs most has a colour of its own, and the rest is one more. */
import type { Usage, UsageFigures } from '../../../src/console/contract.ts';
import type { ChartSeries } from '../../kit/day-chart.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { formatMoney } from '../../kit/format-money.ts';
import { addUp, groupUsage } from './group-usage.ts';

type UsageRow = Usage['rows'][number];

export type Measure = 'cost' | 'requests' | 'tokens';
type Stack = Readonly<{ series: readonly ChartSeries[]; totals: readonly string[] }>;

export const mostSeries = 8;
const colours = [
  'bg-chart-1',
  'bg-chart-2',
  'bg-chart-3',
  'bg-chart-4',
  'bg-chart-5',
  'bg-chart-7',
  'bg-chart-8',
  'bg-chart-9',
] as const;
const othersColour = 'bg-chart-6';

export function stackUsage(
  rows: readonly UsageRow[],
  days: readonly string[],
  by: 'model' | 'key',
  measure: Measure,
): Stack {
  const ranked = groupUsage(rows, by).toSorted(
    (left, right) => amountOf(right, measure) - amountOf(left, measure),
  );
  const places = new Map(ranked.map(({ id }, at) => [id, Math.min(at, mostSeries)]));
  const placeOf = (row: UsageRow) => places.get(by === 'model' ? row.model : row.key_id) ?? mostSeries;
  const members = Map.groupBy(rows, placeOf);
  const series = [...members.entries()]
    .toSorted(([left], [right]) => left - right)
    .map(([place, own]): ChartSeries => {
      const byDay = Map.groupBy(own, ({ day }) => day);
      const figures = days.map((day) => addUp(byDay.get(day) ?? []));
      return {
        key: place < mostSeries ? `of ${ranked[place]?.id}` : 'others',
        label: place < mostSeries ? (ranked[place]?.label ?? '') : othersLabel(ranked.length - mostSeries),
        colour: colours[place] ?? othersColour,
        values: figures.map((figure) => amountOf(figure, measure)),
        texts: figures.map((figure) => textOf(figure, measure)),
      };
    });
  const byDay = Map.groupBy(rows, ({ day }) => day);
  return { series, totals: days.map((day) => textOf(addUp(byDay.get(day) ?? []), measure)) };
}

function othersLabel(count: number): string {
  return count === 1 ? '1 other' : `${count} others`;
}

/** For the picture only: what is told as text is exact. */
function amountOf(figures: UsageFigures, measure: Measure): number {
  if (measure === 'cost') return Number(figures.cost);
  return measure === 'requests' ? figures.requests : figures.input_tokens + figures.output_tokens;
}

function textOf(figures: UsageFigures, measure: Measure): string {
  return measure === 'cost' ? formatMoney(figures.cost) : formatCount(amountOf(figures, measure));
}
