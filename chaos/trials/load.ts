/** Many clients at once, each with one request after another, on both gateways in turn. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../random.ts';
import type { World } from '../world/world.ts';
import type { Accounts } from './accounts.ts';
import { call, type Seen } from './client-call.ts';
import { planRequest } from './request-plan.ts';

/** A client whose gateway is away waits a moment before the next request. */
const pauseWhenAwayMs = 100;

export type Load = Readonly<{
  /** What was seen so far, and grows. */
  log: readonly Seen[];
  /** Ends when every request in progress has ended. May be called again. */
  stop: () => Promise<readonly Seen[]>;
}>;

export function startLoad(world: World, accounts: Accounts, connections: number, random: Random): Load {
  const log: Seen[] = [];
  const file = openSync(join(world.folder, 'clients.jsonl'), 'a');
  let isOver = false;

  async function runClient(client: number): Promise<void> {
    const chance = random.fork(client);
    for (let number = client; !isOver; number++) {
      const node = world.nodes[number % world.nodes.length];
      if (!node) throw new Error('There is no gateway.');
      // One word, because the provider counts each word of its answer as a token.
      const plan = planRequest(`c${client}_${number}`, chance);
      const seen = await call(node, accounts.keys[plan.keyName], plan);
      log.push(seen);
      writeSync(file, `${JSON.stringify(seen)}\n`);
      if (seen.outcome === 'unreachable' || seen.outcome === 'cut') await Bun.sleep(pauseWhenAwayMs);
    }
  }

  const clients = Promise.all(Array.from({ length: connections }, (_, client) => runClient(client))).finally(
    () => closeSync(file),
  );
  return {
    log,
    stop: async () => {
      isOver = true;
      await clients;
      return log;
    },
  };
}
