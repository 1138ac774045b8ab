import { CornerDownRight } from 'lucide-react';
import type { GenerationRow } from '../../../src/console/contract.ts';
import { StatusBadge } from '../../kit/badge.tsx';
import { formatCount } from '../../kit/format-figures.ts';
import { Money } from '../../kit/money.tsx';
import type { Column } from '../../kit/table.tsx';
import { Duration, Time } from '../../kit/time.tsx';

export const columns: readonly Column<GenerationRow>[] = [
  {
    key: 'time',
    header: 'Time',
    isBare: true,
    cell: ({ created_at: createdAt }) => <Time at={createdAt} style="brief" />,
  },
  { key: 'model', header: 'Model', cell: ({ model }) => model },
  { key: 'status', header: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  {
    key: 'key',
    header: 'Key',
    cell: ({ key }) => (
      <span title={key.name} className="block truncate text-ink-soft md:max-w-36">
        {key.name}
      </span>
    ),
  },
  {
    key: 'provider',
    header: 'Provider',
    isOptional: true,
    cell: ({ provider, fallback }) => (
      <span className="inline-flex items-center gap-1">
        {fallback && (
          <span title="Another provider was asked first">
            <CornerDownRight aria-hidden className="size-3.5 text-warn" />
            <span className="sr-only">Fell back to </span>
          </span>
        )}
        {provider}
      </span>
    ),
  },
  {
    key: 'tokens',
    header: 'Tokens',
    align: 'right',
    cell: ({ usage }) => <Usage usage={usage} />,
  },
  {
    key: 'cost',
    header: 'Cost',
    align: 'right',
    cell: ({ cost }) => <Money amount={cost?.total ?? null} />,
  },
  {
    key: 'latency',
    header: 'Latency',
    align: 'right',
    cell: ({ latency_ms: latencyMs }) => <Duration ms={latencyMs} />,
  },
];

function Usage({ usage }: Pick<GenerationRow, 'usage'>) {
  if (usage === null) return <span className="text-ink-faint">–</span>;
  if (usage.unit === 'images')
    return `${formatCount(Number(usage.units))} ${usage.units === '1' ? 'image' : 'images'}`;
  return (
    <span
      title={`${formatCount(usage.input_tokens)} input, ${formatCount(usage.output_tokens)} output`}
      className="whitespace-nowrap"
    >
      {formatCount(usage.total_tokens)}
    </span>
  );
}
