/**
 * What other customers get done while a transaction keeps an account or a key locked and its clients go on calling: their
 * holds and settlements with the lock as a share of those without it, in the same run. A control gateway, which gets no
 * requests for the locked account, works beside them, so that other load on the machine does not change the ratio. Prints
 * a table. By hand: `bun bench/locked-account.ts SECONDS`, the time of each measurement.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SQL } from 'bun';
import { readConfig } from '../src/config.ts';
import { openDatabase } from '../src/database/connection.ts';
import { migrate } from '../src/database/migrate.ts';
import { type Ledger, openLedger } from '../src/ledger/ledger.ts';
import type { GenerationFacts } from '../src/ledger/operations.ts';
import { openSpool } from '../src/ledger/spool.ts';
import { newId } from '../src/lib/ids.ts';
import { createLog } from '../src/lib/log.ts';
import { storePriceList } from '../src/pricing/price-list-store.ts';
import { newGeneration, newHold, newSettlement } from '../tests/support/ledger-operations.ts';
import { createAccounts } from './accounts.ts';

type Owner = Pick<GenerationFacts, 'accountId' | 'keyId' | 'priceListId'>;
type Case = Readonly<{
  operation: 'holds' | 'settlements';
  row: 'account' | 'key';
  gateways: number;
  clients: number;
}>;

const nodeId = newId();
const amount = 300_000_000n;
const rounds = 3;
/** Customers on each gateway whose rows nobody locks, with one client each. */
const otherCount = 4;
const cases: Case[] = (['holds', 'settlements'] as const).flatMap((operation) =>
  (['account', 'key'] as const).flatMap((row) =>
    [1, 2].flatMap((gateways) => [1, 5, 30].map((clients) => ({ operation, row, gateways, clients }))),
  ),
);

/** An interrupted run still stops its PostgreSQL and removes its folder. */
let isInterrupted = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    isInterrupted = true;
  });
}

async function bench(dataFolder: string, runMs: number): Promise<void> {
  const log = createLog('error', () => undefined);
  const database = await openDatabase(readConfig({ TOLLGATE_DATA: dataFolder }));
  try {
    await migrate(database.sql);
    const [control, ...ledgers] = [0, 1, 2].map(() =>
      openLedger(database.openDedicated, openSpool(dataFolder, process.pid, newId()), log),
    );
    const priceListId = await storePriceList(database.sql, {
      version: 'bench',
      digest: '00'.repeat(32),
      content: {},
    });
    const accounts = await createAccounts(database.sql, 1 + 3 * otherCount);
    const [locked, ...others] = accounts.map(({ accountId, keyId }) => ({ accountId, keyId, priceListId }));
    if (locked === undefined || control === undefined) throw new Error('There is no account.');
    process.stdout.write(
      '| operations | locked | gateways | clients | without | control | with | control | ratio |\n',
    );
    process.stdout.write('|---|---|---:|---:|---:|---:|---:|---:|---:|\n');
    for (const one of cases) {
      if (isInterrupted) break;
      const used = [control, ...ledgers.slice(0, one.gateways)];
      const run = () => runOthers(used, others, runMs);
      let without = [0, 0];
      let during = [0, 0];
      await run();
      for (let round = 0; round < rounds; round += 1) {
        without = added(without, await run());
        during = added(during, await whileLocked(database.sql, one, used.slice(1), locked, run));
      }
      const ratio = (shareOf(during) / shareOf(without)).toFixed(2);
      const figures = [without, during].map(([control, others]) => `${others} | ${control}`).join(' | ');
      process.stdout.write(
        `| ${one.operation} | ${one.row} | ${one.gateways} | ${one.clients} | ${figures} | ${ratio} |\n`,
      );
    }
    await Promise.all([control, ...ledgers].map((ledger) => ledger.close()));
  } finally {
    await database.close();
  }
}

type Pairs = readonly number[];

const added = (one: Pairs, other: Pairs) => one.map((pairs, index) => pairs + (other[index] ?? 0));
const shareOf = ([control = 0, others = 0]: Pairs) => others / control;

/** Pairs of a hold and a settlement that were completed: on the first gateway, and on the others. */
async function runOthers(
  ledgers: readonly Ledger[],
  others: readonly Owner[],
  runMs: number,
): Promise<Pairs> {
  const endsAtMs = performance.now() + runMs;
  const pairs = [0, 0] as [number, number];
  const loop = async (ledger: Ledger, owner: Owner, at: 0 | 1) => {
    while (performance.now() < endsAtMs) {
      const generation = newGeneration(owner);
      const isHeld = await ledger.hold(newHold(generation, nodeId, amount)).then(
        ({ outcome }) => outcome === 'held',
        () => false,
      );
      if (!isHeld) continue;
      const result = await ledger.settle(newSettlement(generation, 1_000_000n));
      if (result === 'settled' && performance.now() < endsAtMs) pairs[at] += 1;
    }
  };
  await Promise.all(
    ledgers.flatMap((ledger, at) =>
      others
        .slice(at * otherCount, (at + 1) * otherCount)
        .map((owner) => loop(ledger, owner, at === 0 ? 0 : 1)),
    ),
  );
  return pairs;
}

async function whileLocked(
  sql: SQL,
  { operation, row, clients }: Case,
  ledgers: readonly Ledger[],
  locked: Owner,
  work: () => Promise<Pairs>,
): Promise<Pairs> {
  const ledgerOf = (client: number) => ledgers[client % ledgers.length] as Ledger;
  const generations = Array.from({ length: clients }, () => newGeneration(locked));
  if (operation === 'settlements')
    await Promise.all(
      generations.map((generation, client) => ledgerOf(client).hold(newHold(generation, nodeId, amount))),
    );
  const locking = await sql.reserve();
  await locking.unsafe('begin');
  if (row === 'account') await locking`select 1 from accounts where id = ${locked.accountId} for update`;
  else await locking`select 1 from api_key_meters where key_id = ${locked.keyId} for update`;
  let isOver = false;
  const calling = generations.map(async (generation, client) => {
    const ledger = ledgerOf(client);
    if (operation === 'settlements') return await ledger.settle(newSettlement(generation, 1_000_000n));
    while (!isOver) await ledger.hold(newHold(newGeneration(locked), nodeId, amount)).catch(() => undefined);
  });
  const done = await work();
  isOver = true;
  await locking.unsafe('rollback');
  await locking.release();
  await Promise.all(calling);
  return done;
}

const seconds = Number(process.argv[2] ?? 2);
const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-locked-'));
try {
  await bench(folder, seconds * 1000);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
