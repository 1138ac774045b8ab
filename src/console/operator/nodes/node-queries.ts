import type { SQL } from 'bun';
import { leaseSeconds } from '../../../ledger/node-lease.ts';
import type { Node } from '../../operator-contract.ts';
import { type Found, rowsFound } from '../operator-queries.ts';

export type NodeRow = {
  id: string;
  name: string;
  state: Node['state'];
  started_at: Date;
  heartbeat_at: Date;
  report: unknown;
  open_generations: number;
  held: string;
};

/** A gateway that keeps failing at its start leaves a node each time. */
const mostNodes = 200;

/** By the database's clock, as the nodes judge one another. */
export async function findNodes(sql: SQL, operatorId: string): Promise<NodeRow[]> {
  const rows = await sql<Found<NodeRow, 'id'>[]>`
    select node.* from users left join lateral (
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
      order by state, started_at desc limit ${mostNodes}
    ) as node on true
    where users.id = ${operatorId} and is_operator
    order by state, started_at desc`;
  return rowsFound(rows, 'id');
}
