/**
 * Stops a gateway with SIGSTOP in the middle of its work until the other one has closed its Generations as interrupted;
 * then lets it go on. What it settles after that must still be charged, once.
 */
import type { SQL } from 'bun';
import { requestIdFromUuid } from '../../src/lib/ids.ts';
import type { GatewayNode } from '../world/gateway-node.ts';

export type Freeze = Readonly<{
  node: number;
  atMs: number;
  frozenMs: number;
  /** The request IDs of what was open when it stopped. */
  open: readonly string[];
  /** How many of them the other gateway had not closed when it went on. */
  leftOpen: number;
}>;

/** A freeze waits for this many open requests; after this time it happens with fewer. */
const enoughOpen = 5;
const lookForWorkMs = 5_000;
const pollMs = 20;

/** The other gateway may need a whole lease to be sure of itself before it gives this one up. */
export const maxFreezeMs = (leaseMs: number) => 3 * leaseMs + 5_000;

export async function freeze(sql: SQL, node: GatewayNode, leaseMs: number): Promise<Freeze> {
  const nodeId = await whenBusy(sql, node);
  node.freeze();
  const atMs = Date.now();
  const startedAt = performance.now();
  const open = await openOn(sql, nodeId);
  let leftOpen = open.length;
  try {
    do {
      await Bun.sleep(pollMs);
      const stillOpen = new Set(await openOn(sql, nodeId));
      leftOpen = open.filter((id) => stillOpen.has(id)).length;
    } while (leftOpen > 0 && performance.now() - startedAt < maxFreezeMs(leaseMs));
  } finally {
    node.thaw();
  }
  return {
    node: node.index,
    atMs,
    frozenMs: performance.now() - startedAt,
    open: open.map(requestIdFromUuid),
    leftOpen,
  };
}

/** The ID of the process that runs now, once it has something open. */
async function whenBusy(sql: SQL, node: GatewayNode): Promise<string> {
  const deadline = performance.now() + lookForWorkMs;
  for (;;) {
    const nodeId = await idOf(sql, node);
    const open = nodeId === null ? [] : await openOn(sql, nodeId);
    const isLate = performance.now() > deadline;
    if (nodeId !== null && (open.length >= enoughOpen || isLate)) return nodeId;
    if (isLate) throw new Error(`The database does not know gateway ${node.index}.`);
    await Bun.sleep(pollMs);
  }
}

/** Each process has its own ID; they share the name, which ends with the port. */
async function idOf(sql: SQL, node: GatewayNode): Promise<string | null> {
  const [row] = await sql<{ id: string }[]>`
    select id from nodes where name like ${`%:${node.port}`} order by heartbeat_at desc limit 1`;
  return row?.id ?? null;
}

async function openOn(sql: SQL, nodeId: string): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`select id from open_generations where node_id = ${nodeId}`;
  return rows.map(({ id }) => id);
}
