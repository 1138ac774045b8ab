/** The gateways that share this database, with their open requests. */
import { Server } from 'lucide-react';
import type { Node, Nodes } from '../../../../src/console/operator-contract.ts';
import { Badge, StatusBadge } from '../../../kit/badge.tsx';
import { Callout } from '../../../kit/callout.tsx';
import { Card } from '../../../kit/card.tsx';
import { CodeBlock } from '../../../kit/code-block.tsx';
import { ShortId } from '../../../kit/copy-button.tsx';
import { Dash, Time, titleOf } from '../../../kit/figures.tsx';
import { formatCount, formatDistance, formatTime } from '../../../kit/format-figures.ts';
import { Page } from '../../../kit/page.tsx';
import { QueryTable } from '../../../kit/query-table.tsx';
import { EmptyState } from '../../../kit/states.tsx';
import { type Column, moneyColumn } from '../../../kit/table.tsx';
import { useOperatorQuery } from '../operator-query.ts';

export function OperatorNodesPage() {
  const nodes = useNodes();
  const seconds = nodes.data?.lease_seconds;
  return (
    <Page
      title="Nodes"
      description="The gateways that share this database. Stopped nodes are listed for a day."
    >
      <Card isFlush>
        <QueryTable
          query={nodes}
          caption="Nodes"
          columns={nodeColumns(new Date(nodes.dataUpdatedAt))}
          rows={nodes.data?.data}
          rowKey={({ id }) => id}
          expectedRows={2}
          empty={
            <EmptyState icon={Server} title="No nodes in the last day">
              This node appears here with its first heartbeat.
            </EmptyState>
          }
        />
      </Card>
      <CatalogErrors nodes={nodes.data?.data ?? []} />
      <p className="text-xs text-ink-faint">
        A node without a heartbeat for {seconds === undefined ? 'a while' : `${seconds} seconds`} is lost.
        Another node then ends its open requests and releases their holds.
      </p>
    </Page>
  );
}

function CatalogErrors({ nodes }: Readonly<{ nodes: readonly Node[] }>) {
  return nodes
    .filter(({ state, catalog_error: error }) => state === 'alive' && error !== null)
    .map(({ id, name, catalog_error: error }) => (
      <section key={id} className="space-y-3" aria-label={`Catalogue of ${name}`}>
        <Callout tone="bad" title={`${name} could not load the catalogue file`}>
          It keeps using its current prices.
        </Callout>
        <CodeBlock label={`Error of ${name}`} samples={[{ label: name, code: error ?? '' }]} />
      </section>
    ));
}

/** `fetchedAt` is when the gateway responded. */
function nodeColumns(fetchedAt: Date): readonly Column<Node>[] {
  return [
    {
      key: 'name',
      header: 'Node',
      isBare: true,
      cell: ({ id, name, is_this: isThis }) => (
        <span className="flex flex-wrap items-center gap-x-2 md:flex-nowrap">
          <span className="flex items-center gap-x-2 font-medium">
            {name}
            {isThis && <Badge tone="accent">This node</Badge>}
          </span>
          <ShortId id={id} label={`Copy ID of ${name}`} />
        </span>
      ),
    },
    { key: 'state', header: 'Status', cell: ({ state }) => <StatusBadge status={state} /> },
    {
      key: 'heartbeat',
      header: 'Heartbeat',
      cell: ({ heartbeat_at: at }) => <Heartbeat at={at} fetchedAt={fetchedAt} />,
    },
    {
      key: 'started',
      header: 'Started',
      isOptional: true,
      cell: ({ started_at: at }) => <Time at={at} style="distance" />,
    },
    {
      key: 'open',
      header: 'Open requests',
      align: 'right',
      cell: ({ open_generations: count }) => formatCount(count),
    },
    moneyColumn({ key: 'held', header: 'Held', amountOf: ({ held }) => held, style: 'total' }),
    {
      key: 'prices',
      header: 'Prices',
      cell: ({ price_version: version, catalog_error: error }) => (
        <span className="inline-flex flex-wrap items-center gap-1.5">
          {version ?? <Dash />}
          {error !== null && <Badge tone="bad">Catalogue not loaded</Badge>}
        </span>
      ),
    },
  ];
}

function Heartbeat({ at, fetchedAt }: Readonly<{ at: string; fetchedAt: Date }>) {
  const instant = new Date(at);
  return (
    <time dateTime={at} title={titleOf(instant, 'distance')} className="whitespace-nowrap">
      {heartbeatAge(instant, fetchedAt)}
    </time>
  );
}

/** In seconds at first, because the lease is short. */
export function heartbeatAge(heartbeatAt: Date, now: Date): string {
  // The clock of the database may be slightly ahead of the viewer's.
  const ageSeconds = Math.max(0, Math.round((now.getTime() - heartbeatAt.getTime()) / 1000));
  if (ageSeconds < 60) return `${ageSeconds} s ago`;
  return formatDistance(heartbeatAt, now) ?? formatTime(heartbeatAt, 'date');
}

const refreshMs = 3_000;

function useNodes() {
  return useOperatorQuery<Nodes>(['nodes'], { refetchInterval: refreshMs });
}
