import { useContext } from 'react';
import type { Usage } from '../../../src/console/contract.ts';
import { useSearchValue } from '../../address.ts';
import { Card } from '../../kit/card.tsx';
import { formatCountMarks, formatMoneyMarks } from '../../kit/chart-scale.ts';
import { Segmented } from '../../kit/choice.tsx';
import { ChartLegend, DayChart } from '../../kit/day-chart.tsx';
import { CatalogueContext } from '../../kit/model-mark.tsx';
import { Skeleton } from '../../kit/states.tsx';
import { type Measure, stackUsage } from './group-usage.ts';
import { daysBetween } from './range-picker.tsx';

const measures = [
  { value: 'cost', label: 'Cost' },
  { value: 'requests', label: 'Requests' },
  { value: 'tokens', label: 'Tokens' },
] as const;

const dimensions = [
  { value: 'model', label: 'By model' },
  { value: 'key', label: 'By key' },
] as const;

/** What the chart shows, which is in the address. */
export function useChartChoice() {
  const [measureText, setMeasure] = useSearchValue('measure', 'cost');
  const [byText, setBy] = useSearchValue('by', 'model');
  const measure = measures.find(({ value }) => value === measureText)?.value ?? 'cost';
  const by = dimensions.find(({ value }) => value === byText)?.value ?? 'model';
  return { measure, by, setMeasure, setBy };
}

export function UsageChart({ usage }: Readonly<{ usage: Usage | undefined }>) {
  const { measure, by, setMeasure, setBy } = useChartChoice();
  return (
    <Card
      title="By day"
      description="Days are in UTC."
      actions={
        <>
          <Segmented label="Chart value" value={measure} options={measures} onChange={setMeasure} />
          <Segmented label="Split by" value={by} options={dimensions} onChange={setBy} />
        </>
      }
    >
      {usage === undefined ? (
        <Skeleton className="h-68 w-full" />
      ) : (
        <Chart usage={usage} measure={measure} by={by} />
      )}
    </Card>
  );
}

type ChartProps = Readonly<{ usage: Usage; measure: Measure; by: 'model' | 'key' }>;

function Chart({ usage, measure, by }: ChartProps) {
  const days = daysBetween(usage.from, usage.to);
  const { series, totals } = stackUsage(usage.rows, days, by, measure, useContext(CatalogueContext));
  return (
    <div className="space-y-4">
      <DayChart
        label={`${measures.find(({ value }) => value === measure)?.label ?? ''} by day and ${by}`}
        days={days}
        series={series}
        totals={totals}
        formatMarks={measure === 'cost' ? formatMoneyMarks : formatCountMarks}
        isWhole={measure !== 'cost'}
      />
      <div className="min-h-4.5">
        <ChartLegend series={series} />
      </div>
    </div>
  );
}
