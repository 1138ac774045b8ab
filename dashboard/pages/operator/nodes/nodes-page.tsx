/** The gateways on this database, and what each of them has open. */
import { Server } from 'lucide-react';
import type { Node } from '../../../../src/console/operator-contract.ts';
import { Callout } from '../../../kit/callout.tsx';
import { Card } from '../../../kit/card.tsx';
import { CodeBlock } from '../../../kit/code-block.tsx';
import { EmptyState } from '../../../kit/empty-state.tsx';
import { ErrorState } from '../../../kit/error-state.tsx';
import { Page } from '../../../kit/page.tsx';
import { Table } from '../../../kit/table.tsx';
import { nodeColumns } from './node-columns.tsx';
import { useNodes } from './queries.ts';

export function OperatorNodesPage() {
  const nodes = useNodes();
  const seconds = nodes.data?.lease_seconds;
  return (
    <Page
      title="Nodes"
      description="The gateways that share this database. Those that ended are kept for a day."
    >
      <Card isFlush>
        {nodes.data === undefined && nodes.isError ? (
          <ErrorState error={nodes.error} onRetry={nodes.refetch} />
        ) : (
          <Table
            caption="Nodes"
            columns={nodeColumns(new Date(nodes.dataUpdatedAt))}
            rows={nodes.data?.data}
            rowKey={({ id }) => id}
            expectedRows={2}
            empty={
              <EmptyState icon={Server} title="No node has been seen for a day">
                The one that answers this page appears here with its first heartbeat.
              </EmptyState>
            }
          />
        )}
      </Card>
      <CatalogErrors nodes={nodes.data?.data ?? []} />
      <p className="max-w-2xl text-[0.8125rem] text-ink-soft">
        A node without a heartbeat for {seconds === undefined ? 'a while' : `${seconds} seconds`} is lost.
        Another node then ends its open requests and frees what was held for them.
      </p>
    </Page>
  );
}

/** What a node could not load, in its own words. */
function CatalogErrors({ nodes }: Readonly<{ nodes: readonly Node[] }>) {
  return nodes
    .filter(({ state, catalog_error: error }) => state === 'alive' && error !== null)
    .map(({ id, name, catalog_error: error }) => (
      <section key={id} className="space-y-3" aria-label={`The catalogue of ${name}`}>
        <Callout tone="bad" title={`${name} could not load the catalogue file`}>
          It goes on with the prices that it has.
        </Callout>
        <CodeBlock label={`the error of ${name}`} samples={[{ label: name, code: error ?? '' }]} />
      </section>
    ));
}
