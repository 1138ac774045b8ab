/** A whole run: build the world, load it, break it, let it come to rest, and judge. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { SQL } from 'bun';
import { readEvents } from './judge/event-log.ts';
import { type Evidence, joinCalls } from './judge/evidence.ts';
import { readExportable } from './judge/export-log.ts';
import { readEndedGrants } from './judge/grant-log.ts';
import { judge } from './judge/judge.ts';
import { readLedger } from './judge/ledger-log.ts';
import { readLimits } from './judge/limit-log.ts';
import { readPayments } from './judge/payment-log.ts';
import type { ChaosResult } from './judge/report.ts';
import { judgeBystanders, judgeFreezes, judgeJumps } from './judge/trial-truths.ts';
import type { Truth } from './judge/truth.ts';
import { startWatcher, type Watched } from './judge/watcher.ts';
import { Random } from './random.ts';
import { type Accounts, createAccounts, keepSpending } from './trials/accounts.ts';
import type { Seen } from './trials/client-call.ts';
import { type Exported, startExports } from './trials/exports.ts';
import { type Bystanders, measureBystanders } from './trials/honest-clients.ts';
import { type KillLog, killAgainAndAgain } from './trials/kills.ts';
import { startLimitChanges } from './trials/limit-changes.ts';
import { type AskedLimit, startLimits } from './trials/limits.ts';
import { startLoad } from './trials/load.ts';
import { type AskedMovement, openMovementLog } from './trials/movement-log.ts';
import { startMovements } from './trials/movements.ts';
import type { ChaosOptions } from './trials/options.ts';
import { type Outside, prepareOutside, startOutside, whenOutsideAtRest } from './trials/outside.ts';
import { startRowLocks } from './trials/row-locks.ts';
import { readHolds } from './world/hold-log.ts';
import { type Environment, tollgate } from './world/program.ts';
import { type Surroundings, startSurroundings } from './world/surroundings.ts';
import { createWorld, type World } from './world/world.ts';

/** Load goes on for a while after the last kill and the last fault, to show that all works again. */
const afterLastKillMs = 1_500;
const restDeadlineMs = 90_000;
const restPollMs = 50;

export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const startedAt = performance.now();
  const random = new Random(options.seed);
  const surroundings = await startSurroundings(random.fork(9));
  try {
    const { leaseMs, preparedFolder } = options;
    const world = await createWorld({ leaseMs, preparedFolder, ...surroundings.options });
    try {
      const result = await runIn(world, surroundings, options, random);
      return { ...result, seconds: (performance.now() - startedAt) / 1000 };
    } finally {
      await world.stop();
    }
  } finally {
    await surroundings.stop();
  }
}

async function runIn(
  world: World,
  surroundings: Surroundings,
  options: ChaosOptions,
  random: Random,
): Promise<Omit<ChaosResult, 'seconds'>> {
  const setUp = world.database.open(1);
  const accounts = await createAccounts(setUp);
  const outside = await prepareOutside(world, setUp, accounts, surroundings);
  await setUp.close({ timeout: 1 });

  const broken = await breakUnderLoad(world, accounts, outside, options, random);
  const { kills, orphansMs, bystanders } = broken;
  const sql = world.database.open(1);
  const evidence = await gather(world, sql, { accounts, outside, broken });
  const [version] = await sql<{ version: string }[]>`select current_setting('server_version') as version`;
  await sql.close({ timeout: 1 });
  return {
    options,
    evidence,
    kills,
    bystanders,
    truths: [
      ...judge(evidence),
      judgeFreezes(kills.freezes),
      ...judgeJumps(kills.clockJumps),
      judgeBystanders(bystanders),
      ...(await judgeCommands(world.environment, accounts)),
      judgeProcesses(world),
    ],
    orphansMs,
    failedStarts: total(world.nodes.map((node) => node.failedStarts)),
    commands: { count: accounts.commands, failed: accounts.failedCommands },
    spooledFiles: total(
      world.nodes.map((_, index) => countSpooled(join(world.folder, `node-${index}/spool`))),
    ),
    postgresVersion: version?.version ?? '',
    folder: world.folder,
    remove: world.remove,
  };
}

async function gather(
  world: World,
  sql: SQL,
  { accounts, outside, broken }: Readonly<{ accounts: Accounts; outside: Outside; broken: Broken }>,
): Promise<Evidence> {
  const { kills, bystanders, watched, movements, askedLimits, exports } = broken;
  const seen = [
    ...broken.seen,
    ...kills.clockJumps.flatMap(({ during, after }) => [...during, ...after]),
    ...Object.values(bystanders.honest).flat(),
    ...bystanders.hostile,
  ];
  const holds = await readHolds(sql);
  return {
    seen,
    asked: new Map(seen.map((line) => [line.token, line])),
    calls: joinCalls(world.upstream.calls()),
    ledger: await readLedger(sql),
    holds,
    watched,
    movements,
    askedLimits,
    limits: await readLimits(sql, accounts.steadyLimits),
    exports,
    exportable: await readExportable(sql, holds),
    events: await readEvents(sql, outside.endpoints, outside.receiver.log),
    payments: await readPayments(sql, outside.stripe),
    endedGrants: await readEndedGrants(sql),
    outside: broken.outside,
    network: world.network.log(),
    kills: kills.gateways,
    outages: kills.outages,
    freezes: kills.freezes,
  };
}

type Broken = Readonly<{
  seen: readonly Seen[];
  movements: readonly AskedMovement[];
  askedLimits: readonly AskedLimit[];
  exports: readonly Exported[];
  outside: Evidence['outside'];
  kills: KillLog;
  bystanders: Bystanders;
  orphansMs: number;
  watched: Watched;
}>;

async function breakUnderLoad(
  world: World,
  accounts: Accounts,
  outside: Outside,
  options: ChaosOptions,
  random: Random,
): Promise<Broken> {
  let isOver = false;
  const watcher = startWatcher(
    world.database,
    accounts.steadyLimits.map(({ id }) => id),
  );
  const load = startLoad(world, accounts, options.connections, random.fork(1));
  const network = world.network.play(random.fork(3));
  const movementLog = openMovementLog(world.folder);
  const spending = keepSpending(accounts, world.environment, movementLog, () => isOver);
  const moving = startMovements(world, accounts, movementLog, load.log, random.fork(6));
  const limiting = startLimits(world, accounts, random.fork(7));
  const telling = startOutside(world, outside, { accounts, log: movementLog }, random.fork(10));
  const exporting = startExports(world, accounts.token, random.fork(8));
  const { richAccount, poorAccount, changingKeyId } = accounts;
  const locks = startRowLocks(world.database, [richAccount, richAccount, poorAccount], random.fork(4));
  const limits = startLimitChanges(world.database, changingKeyId, random.fork(5));
  try {
    const kills = await killAgainAndAgain(world, options, random.fork(2), accounts.keys.rich);
    await network.stop();
    await locks.stop();
    await limits.stop();
    await Bun.sleep(afterLastKillMs);
    await moving.stop();
    const outsideLog = telling.stop();
    const askedLimits = await limiting.stop();
    const exports = await exporting.stop();
    const seen = await load.stop();
    const orphansMs = await whenAtRest(world, kills.lastKillAtMs);
    const bystanders = await bystandersOf(world, options);
    await whenAtRest(world, Date.now());
    isOver = true;
    await spending;
    const doneOutside = await outsideLog;
    const rest = await whenOutsideAtRest(world);
    const { asked: movements } = movementLog;
    const watched = await watcher.stop();
    const own = { movements, askedLimits, exports, outside: { ...doneOutside, rest } };
    return { ...own, seen, kills, bystanders, orphansMs, watched };
  } finally {
    isOver = true;
    await network.stop();
    await locks.stop();
    await limits.stop();
    await moving.stop();
    await limiting.stop();
    await exporting.stop();
    await telling.stop();
    await load.stop();
    await spending;
    movementLog.close();
    await watcher.stop();
  }
}

async function bystandersOf(world: World, options: ChaosOptions): Promise<Bystanders> {
  const sql = world.database.open(1);
  try {
    return await measureBystanders(world, sql, options);
  } finally {
    await sql.close({ timeout: 1 });
  }
}

/** Nothing but the gateways closes the requests of clients that left and the Generations of killed gateways. */
async function whenAtRest(world: World, lastKillAtMs: number): Promise<number> {
  const sql = world.database.open(1);
  const deadline = Date.now() + restDeadlineMs;
  let orphansMs: number | null = null;
  try {
    for (;;) {
      const [row] = await sql<{ open: bigint; orphans: bigint }[]>`
        select count(*) as open,
               count(*) filter (where created_at <= to_timestamp(${lastKillAtMs}::float8 / 1000)) as orphans
        from open_generations`;
      if (row?.orphans === 0n) orphansMs ??= Date.now() - lastKillAtMs;
      if (row?.open === 0n || Date.now() > deadline) return orphansMs ?? Number.POSITIVE_INFINITY;
      await Bun.sleep(restPollMs);
    }
  } finally {
    await sql.close({ timeout: 1 });
  }
}

async function judgeCommands(environment: Environment, accounts: Accounts): Promise<Truth[]> {
  const lists = [
    ['account', 'list', '--json'],
    ['key', 'list', '--account', accounts.richAccount, '--json'],
    ['catalog', 'check', '--json'],
  ];
  const listed = await Promise.all(lists.map((words) => tollgate(words, environment)));
  const audit = await tollgate(['ledger', 'audit', '--full'], environment);
  return [
    {
      says: 'the command line works',
      checked: lists.length,
      wrong: listed.filter(({ exitCode }) => exitCode !== 0).map(({ stderr }) => stderr),
    },
    {
      says: '`tollgate ledger audit` finds the ledger sound',
      checked: audit.stdout.match(/^holds/gm)?.length ?? 0,
      wrong: audit.exitCode === 0 ? [] : [`${audit.stdout}${audit.stderr}`],
    },
  ];
}

function judgeProcesses(world: World): Truth {
  return {
    says: 'no gateway that was ready ended by itself',
    checked: world.nodes.length,
    wrong: world.nodes
      .filter(({ ownEnds }) => ownEnds > 0)
      .map(({ ownEnds, logFile }) => `${ownEnds} times, see ${logFile}`),
  };
}

/** Does not count the empty room that running gateways have set aside. */
function countSpooled(folder: string): number {
  try {
    return readdirSync(folder).filter((name) => !name.endsWith('.reserve')).length;
  } catch {
    return 0;
  }
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}
