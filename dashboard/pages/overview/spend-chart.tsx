import { useState } from 'react';
import type { Overview } from '../../../src/console/contract.ts';
import { Card } from '../../kit/card.tsx';
import { formatCountMarks, formatMoneyMarks } from '../../kit/chart-scale.ts';
import { DayChart } from '../../kit/day-chart.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { formatMoney } from '../../kit/format-money.ts';
import { Segmented } from '../../kit/segmented.tsx';

const measures = [
  { value: 'spend', label: 'Spend' },
  { value: 'requests', label: 'Requests' },
] as const;

export function SpendChart({ days }: Readonly<{ days: Overview['days'] }>) {
  const [measure, setMeasure] = useState<'spend' | 'requests'>('spend');
  return (
    <Card
      title="The last 30 days"
      description="By day, in UTC. Only requests that were charged count."
      actions={
        <Segmented label="What the chart shows" value={measure} options={measures} onChange={setMeasure} />
      }
    >
      <Chart days={days} measure={measure} />
    </Card>
  );
}

function Chart({ days, measure }: Readonly<{ days: Overview['days']; measure: 'spend' | 'requests' }>) {
  const isSpend = measure === 'spend';
  const texts = days.map(({ cost, requests }) => (isSpend ? formatMoney(cost) : formatCount(requests)));
  return (
    <DayChart
      label={isSpend ? 'Spend by day' : 'Requests by day'}
      days={days.map(({ day }) => day)}
      series={[
        {
          key: measure,
          label: isSpend ? 'Spend' : 'Requests',
          colour: isSpend ? 'bg-chart-1' : 'bg-chart-2',
          values: days.map(({ cost, requests }) => (isSpend ? Number(cost) : requests)),
          texts,
        },
      ]}
      totals={texts}
      formatMarks={isSpend ? formatMoneyMarks : formatCountMarks}
      isWhole={!isSpend}
    />
  );
}
