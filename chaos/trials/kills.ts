/**
 * Kills gateways and the database with SIGKILL, again and again, and takes the time until all is ready again. Now and then
 * a gateway is frozen, or its clock jumps; nothing else is done meanwhile.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { orphanPatienceMs } from '../../src/database/orphans.ts';
import type { GatewayKill } from '../judge/evidence.ts';
import type { Random } from '../random.ts';
import { databaseKills } from '../world/database.ts';
import type { GatewayNode } from '../world/gateway-node.ts';
import type { World } from '../world/world.ts';
import { type ClockJump, chooseShiftMs, jumpClock } from './clock-jumps.ts';
import { type Freeze, freeze } from './freezes.ts';
import type { ChaosOptions } from './options.ts';

export type KillLog = Readonly<{
  /**
   * From each kill of a gateway until it was ready. When another blow falls meanwhile, its own or the database's, the
   * time is counted from that one.
   */
  gatewayReadyMs: readonly number[];
  /** From each kill of the database until it took connections, and until both gateways were ready. */
  databaseUpMs: readonly number[];
  databaseReadyMs: readonly number[];
  gateways: readonly GatewayKill[];
  databases: readonly number[];
  freezes: readonly Freeze[];
  clockJumps: readonly ClockJump[];
  lastKillAtMs: number;
}>;

type Target = 'gateway' | 'database' | 'freeze' | 'clock';

/** When no gateway becomes ready within this time, the run has failed and goes on no longer. */
const patienceMs = 60_000;
const millisecondsPerSecond = 1_000;
/** When only a time is given: of six kills one is the database's. */
const databaseShare = 1 / 6;
const freezeShare = 1 / 30;
const clockShare = 1 / 20;
/** As in the gateway: so many heartbeats in each lease. */
const beatsPerLease = 5;

export async function killAgainAndAgain(
  world: World,
  options: ChaosOptions,
  random: Random,
  key: string,
): Promise<KillLog> {
  const gateways: GatewayKill[] = [];
  const databases: number[] = [];
  const freezes: Freeze[] = [];
  const clockJumps: ClockJump[] = [];
  const gatewayReadyMs: number[] = [];
  const databaseUpMs: number[] = [];
  const databaseReadyMs: number[] = [];
  const recoveries: Promise<void>[] = [];
  let databaseIsBack: Promise<void> = Promise.resolve();
  let lastKillAtMs = Date.now();
  let databaseHitAt = 0;
  const hitAt = new Map<GatewayNode, number>();
  const sinceHit = (nodes: readonly GatewayNode[]) =>
    performance.now() - Math.max(databaseHitAt, ...nodes.map((node) => hitAt.get(node) ?? 0));

  /** For whoever has to find out what happened around a request. */
  function note(killed: string): void {
    const line = { at: new Date().toISOString(), killed };
    appendFileSync(join(world.folder, 'kills.jsonl'), `${JSON.stringify(line)}\n`);
  }

  /** A recovery that fails is told when all are awaited, not in the middle of something else. */
  function expectRecovery(recovery: Promise<void>): void {
    recovery.catch(() => undefined);
    recoveries.push(recovery);
  }

  async function killGateway(): Promise<void> {
    const node = await anyWithWork(world.nodes, random);
    node.kill();
    note(`node-${world.nodes.indexOf(node)}`);
    hitAt.set(node, performance.now());
    lastKillAtMs = Date.now();
    gateways.push({ node: node.index, atMs: lastKillAtMs });
    expectRecovery(
      node.whenReady().then(() => {
        gatewayReadyMs.push(sinceHit([node]));
      }),
    );
  }

  /** Each way in its turn, so that a run with three kills has every one of them. */
  const firstWay = random.between(0, databaseKills.length - 1);
  async function killDatabase(): Promise<void> {
    await databaseIsBack;
    const how = databaseKills[(firstWay + databases.length) % databaseKills.length] ?? 'all';
    world.database.kill(how);
    databases.push(Date.now());
    note(`database ${how}`);
    // What is asked for as time away is not time that anything took.
    const awayMs = databases.length % 2 === 0 ? options.awayMs : 0;
    const blockedMs = how === 'all but one' ? orphanPatienceMs : 0;
    databaseHitAt = performance.now() + awayMs + blockedMs;
    lastKillAtMs = Date.now() + awayMs + blockedMs;
    databaseIsBack = Bun.sleep(awayMs).then(async () => {
      await world.database.start();
      databaseUpMs.push(performance.now() - databaseHitAt);
    });
    expectRecovery(
      databaseIsBack.then(async () => {
        await Promise.all(world.nodes.map((node) => node.whenReady()));
        databaseReadyMs.push(sinceHit(world.nodes));
      }),
    );
  }

  /** Both gateways and the database must be well: who is to take over has to be there. */
  async function freezeGateway(): Promise<void> {
    await Promise.all(recoveries);
    const node = await anyWithWork(world.nodes, random);
    const sql = world.database.open(1);
    try {
      note(`freezing node-${node.index}`);
      freezes.push(await freeze(sql, node, options.leaseMs));
      note(`thawed node-${node.index}`);
    } finally {
      await sql.close({ timeout: 1 });
    }
    lastKillAtMs = Date.now();
    await node.whenReady();
  }

  async function moveClock(): Promise<void> {
    await Promise.all(recoveries);
    const node = await anyWithWork(world.nodes, random);
    const shiftMs = chooseShiftMs(clockJumps.length, random);
    note(`node-${node.index} clock ${shiftMs}`);
    const beatMs = options.leaseMs / beatsPerLease;
    clockJumps.push(await jumpClock(node, key, clockJumps.length, shiftMs, beatMs));
    note(`node-${node.index} clock 0`);
  }

  const blows: Readonly<Record<Target, () => Promise<void>>> = {
    gateway: killGateway,
    database: killDatabase,
    freeze: freezeGateway,
    clock: moveClock,
  };
  for (const target of targets(options, random)) {
    await Bun.sleep(pauseMs(random));
    await blows[target]();
  }
  await Promise.all(recoveries);
  return {
    gatewayReadyMs,
    databaseUpMs,
    databaseReadyMs,
    gateways,
    databases,
    freezes,
    clockJumps,
    lastKillAtMs,
  };
}

function* targets(options: ChaosOptions, random: Random): Generator<Target> {
  if (options.seconds !== null) {
    const endsAtMs = Date.now() + options.seconds * millisecondsPerSecond;
    while (Date.now() < endsAtMs) yield anyTarget(random.next());
    return;
  }
  const left: Target[] = [
    ...Array<Target>(options.gatewayKills).fill('gateway'),
    ...Array<Target>(options.databaseKills).fill('database'),
    ...Array<Target>(options.freezes).fill('freeze'),
    ...Array<Target>(options.clockJumps).fill('clock'),
  ];
  while (left.length > 0) yield* left.splice(random.between(0, left.length - 1), 1);
}

function anyTarget(chance: number): Target {
  if (chance < databaseShare) return 'database';
  if (chance < databaseShare + freezeShare) return 'freeze';
  return chance < databaseShare + freezeShare + clockShare ? 'clock' : 'gateway';
}

/** Mostly there is time to recover; sometimes the next blow falls in the middle of it. */
function pauseMs(random: Random): number {
  return random.happens(0.25) ? random.between(20, 300) : random.between(1_000, 3_000);
}

/** A gateway that has been ready since its last start: one that never was has nothing to lose. */
async function anyWithWork(nodes: readonly GatewayNode[], random: Random): Promise<GatewayNode> {
  const deadline = Date.now() + patienceMs;
  while (Date.now() < deadline) {
    const [first, ...rest] = nodes.filter((node) => node.hasBeenReady);
    if (first) return random.pick([first, ...rest]);
    await Bun.sleep(10);
  }
  throw new Error('No gateway becomes ready any more.');
}
