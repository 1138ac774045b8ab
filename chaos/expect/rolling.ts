/** Three gateways restarted one after the other behind a real balancer, with streams open whenever one gets its signal. */

import { createAccountWithKey } from '../world/account.ts';
import { plainModel } from '../world/catalog.ts';
import { tollgate } from '../world/program.ts';
import { until } from '../world/until.ts';
import { createWorld, type World } from '../world/world.ts';
import { type BalancerName, startBalancer } from './balancers.ts';
import { holdStream, SteadyLoad, type Target } from './load.ts';
import type { Form, Measurement, Row } from './measurement.ts';

const gateways = 3;
const streamsPerRestart = 6;
/** How long an operator waits between two gateways, so that the balancer sends requests to the first one again. */
const pauseMs = 5_000;

export const rolling = (balancer: BalancerName): Measurement => ({
  name: `rolling-${balancer}`,
  needs: [balancer],
  run: async (form) => {
    const world = await createWorld({
      nodeCount: gateways,
      settings: { DRAIN_DELAY_SECONDS: '5', DRAIN_SECONDS: '600', LOG_LEVEL: 'warn' },
    });
    try {
      return [await restartAll(world, balancer, form)];
    } finally {
      await world.stop();
      world.remove();
    }
  },
});

async function restartAll(world: World, name: BalancerName, form: Form): Promise<Row> {
  const ports = world.nodes.map(({ port }) => port);
  const balancer = await startBalancer(name, ports, world.folder);
  const sql = world.database.open(1);
  const { key } = await createAccountWithKey(sql, 'Rolling', '100000');
  const target: Target = { origin: balancer.origin, key, model: plainModel };
  const streams: Promise<string | null>[] = [];
  const load = new SteadyLoad(target, form.perSecond);
  try {
    for (let round = 0; round < form.rounds; round += 1) {
      for (const node of world.nodes) {
        const begun = Array.from({ length: streamsPerRestart }, () => holdStream(target, form.streamSeconds));
        streams.push(...begun);
        await until('the streams are open', async () => {
          const [row] = await sql`
            select count(*)::int as count from open_generations where streaming and created_at < now() - interval '1 s'`;
          return row.count >= streamsPerRestart;
        });
        const exitCode = await node.restart();
        if (exitCode !== 0) throw new Error(`A gateway ended with code ${exitCode}.`);
        await Bun.sleep(pauseMs);
      }
    }
    const result = await load.stop();
    const broken = (await Promise.all(streams)).filter((failure) => failure !== null);
    const { exitCode } = await tollgate(['ledger', 'audit', '--full'], world.environment);
    return {
      what: `${form.rounds} rolling restarts of ${gateways} gateways behind ${name}`,
      load: result,
      seen: `${broken.length} of ${streams.length} streams of ${form.streamSeconds} s broken${broken.length === 0 ? '' : `: ${[...new Set(broken)].join(', ')}`}`,
      isSound: exitCode === 0,
    };
  } finally {
    await load.stop();
    await Promise.allSettled(streams);
    await sql.close({ timeout: 1 });
    await balancer.stop();
  }
}
