/** The gateways on this database, and what each has open. */
import type { SQL } from 'bun';
import { readQuery } from '../../http/query.ts';
import { leaseSeconds } from '../../nodes/lease.ts';
import { readReport } from '../../routing/node-report.ts';
import { type Found, type OperatorReader, operatorOnly, rowsForOperator } from '../access.ts';
import { boundedRead } from '../bounded-read.ts';
import type { Unsent } from '../contract.ts';
import type { ConsoleHandler, Routes } from '../guard.ts';
import type { Node, Nodes } from '../operator-contract.ts';

export function nodesPage({ sql, nodeId }: Readonly<{ sql: SQL; nodeId: string }>): Routes<ConsoleHandler> {
  return {
    '/nodes': {
      GET: async (request, { signedIn }) => {
        readQuery(request.url, []);
        const nodes = await boundedRead(sql, (read) => findNodes(read, signedIn));
        return Response.json({
          data: nodes.map((node) => presentNode(node, nodeId)),
          lease_seconds: leaseSeconds,
        } satisfies Unsent<Nodes>);
      },
    },
  };
}

type NodeRow = Omit<Unsent<Node>, 'price_version' | 'catalog_error' | 'is_this'> & { report: unknown };

export function presentNode({ report, ...node }: NodeRow, thisNodeId: string): Unsent<Node> {
  const known = readReport(report);
  return {
    ...node,
    price_version: known?.price_version ?? null,
    catalog_error: known?.catalog_error ?? null,
    is_this: node.id === thisNodeId,
  };
}

/** A gateway that keeps failing at startup leaves a node behind each time. */
const maxNodes = 200;

/** By the database's clock, which the nodes themselves go by. */
export async function findNodes(sql: SQL, reader: OperatorReader): Promise<NodeRow[]> {
  const rows = await sql<Found<NodeRow, 'id'>[]>`
    select node.* from ${operatorOnly(sql, reader)} as allowed left join lateral (
      select id, name, started_at, heartbeat_at, report,
             case when stopped_at is not null then 'stopped'
                  when heartbeat_at < now() - make_interval(secs => ${leaseSeconds}) then 'lost'
                  else 'alive' end as state,
             coalesce(open_generations, 0) as open_generations, coalesce(held, 0)::numeric(38,12) as held
      from nodes
      left join (
        select node_id, count(*)::int as open_generations, sum(hold) as held from open_generations group by node_id
      ) as open on node_id = id
      where heartbeat_at > now() - interval '24 hours'
      order by state, started_at desc limit ${maxNodes}
    ) as node on true
    order by state, started_at desc`;
  return rowsForOperator(rows, 'id');
}
