import { readReport } from '../../../routing/node-report.ts';
import type { Node } from '../../operator-contract.ts';
import type { NodeRow } from './node-queries.ts';

export function presentNode(row: NodeRow, thisNodeId: string): Node {
  const report = readReport(row.report);
  return {
    id: row.id,
    name: row.name,
    state: row.state,
    started_at: row.started_at.toISOString(),
    heartbeat_at: row.heartbeat_at.toISOString(),
    open_generations: row.open_generations,
    held: row.held,
    price_version: report?.price_version ?? null,
    catalog_error: report?.catalog_error ?? null,
    is_this: row.id === thisNodeId,
  };
}
