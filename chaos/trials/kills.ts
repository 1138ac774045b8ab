/**
 * Kills gateways and the database with SIGKILL, again and again, and measures the time until everything is ready again. Now
 * and then a gateway is frozen, or its clock jumps; nothing is killed meanwhile.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { leftoverPatienceMs } from '../../src/database/leftover-processes.ts';
import type { Random } from '../random.ts';
import { databaseKills } from '../world/database.ts';
import type { GatewayNode } from '../world/gateway-node.ts';
import type { World } from '../world/world.ts';
import { type ClockJump, chooseShiftMs, jumpClock } from './clock-jumps.ts';
import { type Freeze, freeze } from './freezes.ts';
import type { ChaosOptions } from './options.ts';

export type GatewayKill = Readonly<{ node: number; atMs: number }>;

/** From a kill of the database until it took connections again. */
export type Outage = Readonly<{ fromMs: number; untilMs: number }>;

export type KillLog = Readonly<{
  /**
   * From each kill of a gateway until it was ready. If it or the database is killed again meanwhile, the time counts
   * from that kill.
   */
  gatewayReadyMs: readonly number[];
  /** From each kill of the database until it took connections, and until both gateways were ready. */
  databaseUpMs: readonly number[];
  databaseReadyMs: readonly number[];
  gateways: readonly GatewayKill[];
  outages: readonly Outage[];
  freezes: readonly Freeze[];
  clockJumps: readonly ClockJump[];
  lastKillAtMs: number;
}>;

type Blow = 'gateway' | 'database' | 'freeze' | 'clock';

/** If no gateway becomes ready within this time, the run has failed and ends. */
const patienceMs = 60_000;
const millisecondsPerSecond = 1_000;
/** When only a time is given, one kill in six is the database's. */
const databaseShare = 1 / 6;
const freezeShare = 1 / 30;
const clockShare = 1 / 20;
/** As in the gateway: the number of heartbeats in each lease. */
const beatsPerLease = 5;

export async function killAgainAndAgain(
  world: World,
  options: ChaosOptions,
  random: Random,
  key: string,
): Promise<KillLog> {
  const killer = new Killer(world, options, random, key);
  for (const blow of blows(options, random)) {
    await Bun.sleep(pauseMs(random));
    await killer.strike(blow);
  }
  return await killer.whenRecovered();
}

class Killer {
  readonly #world: World;
  readonly #options: ChaosOptions;
  readonly #random: Random;
  readonly #key: string;
  /** Each way in turn, so that a run with three kills has all of them. */
  readonly #firstWay: number;
  readonly #gateways: GatewayKill[] = [];
  readonly #outages: { readonly fromMs: number; untilMs: number }[] = [];
  readonly #freezes: Freeze[] = [];
  readonly #clockJumps: ClockJump[] = [];
  readonly #gatewayReadyMs: number[] = [];
  readonly #databaseUpMs: number[] = [];
  readonly #databaseReadyMs: number[] = [];
  readonly #recoveries: Promise<void>[] = [];
  readonly #hitAt = new Map<GatewayNode, number>();
  #databaseHitAt = 0;
  #databaseIsBack: Promise<void> = Promise.resolve();
  #lastKillAtMs = Date.now();

  constructor(world: World, options: ChaosOptions, random: Random, key: string) {
    this.#world = world;
    this.#options = options;
    this.#random = random;
    this.#key = key;
    this.#firstWay = random.between(0, databaseKills.length - 1);
  }

  async strike(blow: Blow): Promise<void> {
    switch (blow) {
      case 'gateway':
        return await this.#killGateway();
      case 'database':
        return await this.#killDatabase();
      case 'freeze':
        return await this.#freezeGateway();
      case 'clock':
        return await this.#moveClock();
    }
  }

  async whenRecovered(): Promise<KillLog> {
    await Promise.all(this.#recoveries);
    return {
      gatewayReadyMs: this.#gatewayReadyMs,
      databaseUpMs: this.#databaseUpMs,
      databaseReadyMs: this.#databaseReadyMs,
      gateways: this.#gateways,
      outages: this.#outages,
      freezes: this.#freezes,
      clockJumps: this.#clockJumps,
      lastKillAtMs: this.#lastKillAtMs,
    };
  }

  async #killGateway(): Promise<void> {
    const node = await anyWithWork(this.#world.nodes, this.#random);
    node.kill();
    this.#note(`node-${node.index}`);
    this.#hitAt.set(node, performance.now());
    this.#lastKillAtMs = Date.now();
    this.#gateways.push({ node: node.index, atMs: this.#lastKillAtMs });
    this.#expectRecovery(
      node.whenReady().then(() => {
        this.#gatewayReadyMs.push(this.#sinceHit([node]));
      }),
    );
  }

  async #killDatabase(): Promise<void> {
    await this.#databaseIsBack;
    const { database, nodes } = this.#world;
    const how = databaseKills[(this.#firstWay + this.#outages.length) % databaseKills.length] ?? 'all';
    database.kill(how);
    const outage = { fromMs: Date.now(), untilMs: Number.POSITIVE_INFINITY };
    this.#outages.push(outage);
    this.#note(`database ${how}`);
    // The time that the database is kept away on purpose does not count.
    const awayMs = this.#outages.length % 2 === 0 ? this.#options.awayMs : 0;
    const blockedMs = how === 'all but one' ? leftoverPatienceMs : 0;
    this.#databaseHitAt = performance.now() + awayMs + blockedMs;
    this.#lastKillAtMs = Date.now() + awayMs + blockedMs;
    this.#databaseIsBack = Bun.sleep(awayMs).then(async () => {
      await database.start();
      outage.untilMs = Date.now();
      this.#databaseUpMs.push(performance.now() - this.#databaseHitAt);
    });
    this.#expectRecovery(
      this.#databaseIsBack.then(async () => {
        await Promise.all(nodes.map((node) => node.whenReady()));
        this.#databaseReadyMs.push(this.#sinceHit(nodes));
      }),
    );
  }

  /** Both gateways and the database must be up: the other one has to take over. */
  async #freezeGateway(): Promise<void> {
    await Promise.all(this.#recoveries);
    const node = await anyWithWork(this.#world.nodes, this.#random);
    const sql = this.#world.database.open(1);
    try {
      this.#note(`freezing node-${node.index}`);
      this.#freezes.push(await freeze(sql, node, this.#options.leaseMs));
      this.#note(`thawed node-${node.index}`);
    } finally {
      await sql.close({ timeout: 1 });
    }
    this.#lastKillAtMs = Date.now();
    await node.whenReady();
  }

  async #moveClock(): Promise<void> {
    await Promise.all(this.#recoveries);
    const node = await anyWithWork(this.#world.nodes, this.#random);
    const number = this.#clockJumps.length;
    const shiftMs = chooseShiftMs(number, this.#random);
    this.#note(`node-${node.index} clock ${shiftMs}`);
    const beatMs = this.#options.leaseMs / beatsPerLease;
    this.#clockJumps.push(await jumpClock(node, this.#key, number, shiftMs, beatMs));
    this.#note(`node-${node.index} clock 0`);
  }

  #sinceHit(nodes: readonly GatewayNode[]): number {
    const hits = nodes.map((node) => this.#hitAt.get(node) ?? 0);
    return performance.now() - Math.max(this.#databaseHitAt, ...hits);
  }

  /** A failed recovery is reported when all are awaited, not in the middle of something else. */
  #expectRecovery(recovery: Promise<void>): void {
    recovery.catch(() => undefined);
    this.#recoveries.push(recovery);
  }

  /** For finding out what happened around a request. */
  #note(killed: string): void {
    const line = { at: new Date().toISOString(), killed };
    appendFileSync(join(this.#world.folder, 'kills.jsonl'), `${JSON.stringify(line)}\n`);
  }
}

function* blows(options: ChaosOptions, random: Random): Generator<Blow> {
  if (options.seconds !== null) {
    const endsAtMs = Date.now() + options.seconds * millisecondsPerSecond;
    while (Date.now() < endsAtMs) yield anyBlow(random.next());
    return;
  }
  const left: Blow[] = [
    ...Array<Blow>(options.gatewayKills).fill('gateway'),
    ...Array<Blow>(options.databaseKills).fill('database'),
    ...Array<Blow>(options.freezes).fill('freeze'),
    ...Array<Blow>(options.clockJumps).fill('clock'),
  ];
  while (left.length > 0) yield* left.splice(random.between(0, left.length - 1), 1);
}

function anyBlow(chance: number): Blow {
  if (chance < databaseShare) return 'database';
  if (chance < databaseShare + freezeShare) return 'freeze';
  return chance < databaseShare + freezeShare + clockShare ? 'clock' : 'gateway';
}

/** Mostly there is time to recover; sometimes the next kill comes in the middle of it. */
function pauseMs(random: Random): number {
  return random.happens(0.25) ? random.between(20, 300) : random.between(1_000, 3_000);
}

/** A gateway that has been ready since its last start: others have nothing to lose. */
async function anyWithWork(nodes: readonly GatewayNode[], random: Random): Promise<GatewayNode> {
  const deadline = Date.now() + patienceMs;
  while (Date.now() < deadline) {
    const [first, ...rest] = nodes.filter((node) => node.hasBeenReady);
    if (first) return random.pick([first, ...rest]);
    await Bun.sleep(10);
  }
  throw new Error('No gateway becomes ready.');
}
