/** How honest clients fare alone and alongside hostile ones, in turn, on the same gateways. */
import type { SQL } from 'bun';
import { createAccountWithKey } from '../world/account.ts';
import { boundsOf } from '../world/bounds.ts';
import { plainModel } from '../world/catalog.ts';
import type { World } from '../world/world.ts';
import { call, type Seen } from './client-call.ts';
import { type HostileKeys, startHostileClients } from './hostile-clients.ts';
import type { ChaosOptions } from './options.ts';
import { outputLimit, type RequestPlan } from './request-plan.ts';

export type Company = 'alone' | 'with hostile clients';

export type Bystanders = Readonly<{
  /** What the honest ones saw. */
  honest: Readonly<Record<Company, readonly Seen[]>>;
  /** What the hostile ones did, the responses they got, and their requests that may have reached a provider. */
  deeds: ReadonlyMap<string, number>;
  hostile: readonly Seen[];
}>;

const clients = 8;

export async function measureBystanders(world: World, sql: SQL, options: ChaosOptions): Promise<Bystanders> {
  const honestKeys = await Promise.all(
    Array.from({ length: clients }, (_, index) => keyOf(sql, `Honest ${index}`, '100')),
  );
  const hostileKeys: HostileKeys = {
    broke: await keyOf(sql, 'Broke', '0'),
    funded: await keyOf(sql, 'Hostile', '20'),
  };
  const honest: Record<Company, Seen[]> = { alone: [], 'with hostile clients': [] };
  const deeds = new Map<string, number>();
  const hostile: Seen[] = [];
  for (let round = 0; round < options.hostileRounds; round++) {
    honest.alone.push(...(await serveFor(options.hostileMs, world, honestKeys, `a${round}`)));
    const attack = startHostileClients(world.nodes, hostileKeys, round);
    honest['with hostile clients'].push(
      ...(await serveFor(options.hostileMs, world, honestKeys, `b${round}`)),
    );
    const log = await attack.stop();
    for (const [deed, count] of log.answers) deeds.set(deed, (deeds.get(deed) ?? 0) + count);
    hostile.push(...log.seen);
  }
  return { honest, deeds, hostile };
}

async function serveFor(ms: number, world: World, keys: readonly string[], name: string): Promise<Seen[]> {
  const endsAt = performance.now() + ms;
  const seen = await Promise.all(
    keys.map(async (key, index) => {
      const lines: Seen[] = [];
      for (let number = 0; performance.now() < endsAt; number++) {
        const node = world.nodes[(index + number) % world.nodes.length];
        if (!node) throw new Error('There is no gateway.');
        lines.push(await call(node, key, plan(`${name}-${index}-${number}`, number % 2 === 0)));
      }
      return lines;
    }),
  );
  return seen.flat();
}

function plan(token: string, streaming: boolean): RequestPlan {
  const answer = `${token}${' word'.repeat(10)}`;
  const content = `[[say ${answer}]]`;
  return {
    token,
    kind: 'honest',
    keyName: 'honest',
    streaming,
    abortAfterMs: null,
    answer,
    bounds: boundsOf(content, outputLimit),
    body: {
      model: plainModel,
      max_tokens: outputLimit,
      messages: [{ role: 'user', content }],
      ...(streaming ? { stream: true } : {}),
    },
  };
}

async function keyOf(sql: SQL, name: string, balance: string): Promise<string> {
  return (await createAccountWithKey(sql, name, balance)).key;
}
