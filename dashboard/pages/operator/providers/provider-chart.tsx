/** The calls to a provider over time: their outcomes, its errors by code, and how long they took. */
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { ProviderSeries } from '../../../../src/console/request-contract.ts';
import { Card } from '../../../kit/card.tsx';
import { formatCountMarks } from '../../../kit/chart-scale.ts';
import { Segmented } from '../../../kit/choice.tsx';
import { formatCount, formatEstimate, formatShare } from '../../../kit/format-figures.ts';
import {
  distinctTones,
  TimeChart,
  type TimeChartProps,
  TimeLegend,
  type TimeSeries,
} from '../../../kit/time-chart.tsx';
import { durationMarks, shareMarks } from '../../requests/measures.ts';
import { isoOf } from '../../requests/view.ts';
import { successOfCalls } from './provider-figures.ts';

const kinds = [
  { value: 'calls', label: 'Calls' },
  { value: 'success', label: 'Success' },
  { value: 'errors', label: 'Errors by code' },
  { value: 'duration', label: 'p50/p95' },
] as const;
type Kind = (typeof kinds)[number]['value'];

type ProviderChartProps = Readonly<{ series: ProviderSeries; provider: string }>;

export function ProviderChart({ series, provider }: ProviderChartProps) {
  const navigate = useNavigate();
  const [kind, choose] = useState<Kind>('calls');
  const drawn = draw(kind, series);
  return (
    <Card
      title="Calls"
      description="One for each attempt, at the time of its request."
      actions={<Segmented label="Chart" value={kind} options={kinds} onChange={choose} />}
    >
      <div className="space-y-3">
        <TimeLegend series={drawn.series} />
        <TimeChart
          {...drawn}
          times={series.points.map(({ at }) => Date.parse(at))}
          stepMs={series.step_seconds * 1_000}
          onNarrow={(fromMs, toMs) =>
            void navigate({
              to: '/operator/requests',
              search: { provider, from: isoOf(fromMs), to: isoOf(toMs) },
            })
          }
        />
      </div>
    </Card>
  );
}

type Drawn = Pick<TimeChartProps, 'label' | 'shape' | 'series' | 'formatMarks'> &
  Readonly<{ isWhole: boolean }>;

export function draw(kind: Kind, { points, errors }: ProviderSeries): Drawn {
  switch (kind) {
    case 'calls':
      return {
        ...counts,
        label: 'Calls over time',
        series: [
          counted(
            'succeeded',
            'Succeeded',
            'plain',
            points.map(({ succeeded }) => succeeded),
          ),
          counted(
            'cancelled',
            'Cancelled',
            'faint',
            points.map(({ cancelled }) => cancelled),
          ),
          counted(
            'rejected',
            'Rejected as invalid',
            'warn',
            points.map(({ rejected }) => rejected),
          ),
          counted(
            'failed',
            'Failed',
            'bad',
            points.map(({ failed, rejected }) => failed - rejected),
          ),
        ],
      };
    case 'errors':
      return { ...counts, label: 'Errors by code over time', series: errorSeries(errors, points.length) };
    case 'success':
      return {
        label: 'Success over time',
        shape: 'lines',
        series: [measured('success', 'Success', 'strong', points.map(successOfCalls), formatShare)],
        formatMarks: shareMarks,
        isWhole: false,
      };
    case 'duration':
      return {
        label: 'Duration over time',
        shape: 'lines',
        series: [
          measured(
            'p50',
            'p50',
            'plain',
            points.map((point) => point.duration_ms_p50),
            formatEstimate,
          ),
          measured(
            'p95',
            'p95',
            'strong',
            points.map((point) => point.duration_ms_p95),
            formatEstimate,
          ),
        ],
        formatMarks: durationMarks,
        isWhole: true,
      };
  }
}

const counts = { shape: 'bars', formatMarks: formatCountMarks, isWhole: true } as const;

function counted(
  key: string,
  label: string,
  tone: TimeSeries['tone'],
  values: readonly number[],
): TimeSeries {
  return { key, label, tone, values, texts: values.map(formatCount) };
}

function measured(
  key: string,
  label: string,
  tone: TimeSeries['tone'],
  values: readonly (number | null)[],
  format: (value: number) => string,
): TimeSeries {
  return { key, label, tone, values, texts: values.map((value) => (value === null ? '–' : format(value))) };
}

/** The most frequent, each in its own colour; the others together. */
function errorSeries(errors: ProviderSeries['errors'], stepCount: number): readonly TimeSeries[] {
  const shown = errors.slice(0, distinctTones.length);
  const others = errors.slice(distinctTones.length);
  const rest = Array.from({ length: stepCount }, (_, step) =>
    others.reduce((sum, { points }) => sum + (points[step] ?? 0), 0),
  );
  return [
    ...shown.map(({ code, points }, at) => counted(code, code, distinctTones[at] ?? 'plain', points)),
    ...(others.length === 0 ? [] : [counted('', 'Others', 'plain', rest)]),
  ];
}
