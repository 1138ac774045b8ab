import type { Node } from '../../../../src/console/operator-contract.ts';
import { Badge, StatusBadge } from '../../../kit/badge.tsx';
import { formatCount, formatTime, formatUtc } from '../../../kit/format-figures.ts';
import { Money } from '../../../kit/money.tsx';
import type { Column } from '../../../kit/table.tsx';
import { Time } from '../../../kit/time.tsx';
import { ShortId } from '../short-id.tsx';
import { heartbeatAge } from './heartbeat-age.ts';

/** `askedAt` is when the gateway said so. */
export function nodeColumns(askedAt: Date): readonly Column<Node>[] {
  return [
    {
      key: 'name',
      header: 'Node',
      isBare: true,
      cell: ({ id, name, is_this: isThis }) => (
        <span className="block">
          <span className="flex flex-wrap items-center gap-x-2 gap-y-1 font-medium">
            {name}
            {isThis && <Badge tone="accent">This one</Badge>}
          </span>
          <ShortId id={id} label={`Copy the ID of ${name}`} />
        </span>
      ),
    },
    { key: 'state', header: 'State', cell: ({ state }) => <StatusBadge status={state} /> },
    {
      key: 'heartbeat',
      header: 'Heartbeat',
      cell: ({ heartbeat_at: at }) => <Heartbeat at={at} askedAt={askedAt} />,
    },
    {
      key: 'started',
      header: 'Started',
      cell: ({ started_at: at }) => <Time at={at} style="distance" />,
    },
    {
      key: 'open',
      header: 'Open requests',
      align: 'right',
      cell: ({ open_generations: count }) => formatCount(count),
    },
    { key: 'held', header: 'Held', align: 'right', cell: ({ held }) => <Money amount={held} /> },
    {
      key: 'prices',
      header: 'Prices',
      cell: ({ price_version: version, catalog_error: error }) => (
        <span className="inline-flex flex-wrap items-center gap-1.5">
          {version ?? <span className="text-ink-faint">–</span>}
          {error !== null && <Badge tone="bad">Catalogue not loaded</Badge>}
        </span>
      ),
    },
  ];
}

function Heartbeat({ at, askedAt }: Readonly<{ at: string; askedAt: Date }>) {
  const instant = new Date(at);
  return (
    <time
      dateTime={at}
      title={`${formatTime(instant, 'exact')} · ${formatUtc(instant)}`}
      className="whitespace-nowrap"
    >
      {heartbeatAge(instant, askedAt)}
    </time>
  );
}
