/**
 * What other customers get done while another transaction keeps an account or a key locked and its clients go on calling:
 * their holds and settlements with the lock as a share of those without it, in the same run. Prints a table. By hand:
 * `bun bench/locked-account.ts SECONDS`, the time of each measurement.
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

async function bench(dataFolder: string, runMs: number): Promise<void> {
  const log = createLog('error', () => undefined);
  const database = await openDatabase(readConfig({ TOLLGATE_DATA: dataFolder }));
  try {
    await migrate(database.sql);
    const ledgers = [1, 2].map(() =>
      openLedger(database.openDedicated, openSpool(dataFolder, process.pid, newId()), log),
    );
    const priceListId = await storePriceList(database.sql, {
      version: 'bench',
      digest: '00'.repeat(32),
      content: {},
    });
    const accounts = await createAccounts(database.sql, 1 + 2 * otherCount);
    const [locked, ...others] = accounts.map(({ accountId, keyId }) => ({ accountId, keyId, priceListId }));
    if (locked === undefined) throw new Error('There is no account.');
    process.stdout.write('| operations | locked | gateways | clients | others without | with | ratio |\n');
    process.stdout.write('|---|---|---:|---:|---:|---:|---:|\n');
    for (const one of cases) {
      const used = ledgers.slice(0, one.gateways);
      let without = 0;
      let during = 0;
      await runOthers(used, others, runMs / 4);
      // In turn, because a machine that does something else as well is not equally fast all the time.
      for (let round = 0; round < rounds; round += 1) {
        without += await runOthers(used, others, runMs);
        during += await whileLocked(database.sql, one, used, locked, () => runOthers(used, others, runMs));
      }
      const ratio = (during / without).toFixed(2);
      process.stdout.write(
        `| ${one.operation} | ${one.row} | ${one.gateways} | ${one.clients} | ${without} | ${during} | ${ratio} |\n`,
      );
    }
    await Promise.all(ledgers.map((ledger) => ledger.close()));
  } finally {
    await database.close();
  }
}

/** Pairs of a hold and a settlement that were completed. */
async function runOthers(
  ledgers: readonly Ledger[],
  others: readonly Owner[],
  runMs: number,
): Promise<number> {
  const endsAtMs = performance.now() + runMs;
  let pairs = 0;
  const loop = async (ledger: Ledger, owner: Owner) => {
    while (performance.now() < endsAtMs) {
      const generation = newGeneration(owner);
      const isHeld = await ledger.hold(newHold(generation, nodeId, amount)).then(
        ({ outcome }) => outcome === 'held',
        () => false,
      );
      if (!isHeld) continue;
      const result = await ledger.settle(newSettlement(generation, 1_000_000n));
      if (result === 'settled' && performance.now() < endsAtMs) pairs += 1;
    }
  };
  await Promise.all(
    ledgers.flatMap((ledger, at) =>
      others.slice(at * otherCount, (at + 1) * otherCount).map((owner) => loop(ledger, owner)),
    ),
  );
  return pairs;
}

async function whileLocked(
  sql: SQL,
  { operation, row, clients }: Case,
  ledgers: readonly Ledger[],
  locked: Owner,
  work: () => Promise<number>,
): Promise<number> {
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
  locking.release();
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
