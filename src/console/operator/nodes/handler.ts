/** GET /api/console/operator/nodes: the gateways on this database, and what each has open. */
import { readQuery } from '../../../http/query.ts';
import { leaseSeconds } from '../../../ledger/node-lease.ts';
import type { ConsoleContext } from '../../guard.ts';
import type { Nodes } from '../../operator-contract.ts';
import { findNodes } from './node-queries.ts';
import { presentNode } from './present.ts';

export async function listNodes(request: Request, { services, signedIn }: ConsoleContext): Promise<Response> {
  readQuery(request.url, []);
  const nodes = await findNodes(services.sql, signedIn.userId);
  return Response.json({
    data: nodes.map((node) => presentNode(node, services.nodeId)),
    lease_seconds: leaseSeconds,
  } satisfies Nodes);
}
