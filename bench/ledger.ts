/**
 * Hold and settle on one account and on a thousand, straight into the ledger of the gateway: what its database work alone
 * can do. Prints one line of JSON. By hand: `bun bench/ledger.ts SECONDS`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SQL } from 'bun';
import { auditLedger } from '../src/audit/audit.ts';
import { readConfig } from '../src/config.ts';
import { openDatabase } from '../src/database/connection.ts';
import { migrate } from '../src/database/migrate.ts';
import { type Ledger, openLedger } from '../src/ledger/ledger.ts';
import type { GenerationFacts } from '../src/ledger/operations.ts';
import { openSpool } from '../src/ledger/spool.ts';
import { newId } from '../src/lib/ids.ts';
import { createLog } from '../src/lib/log.ts';
import { storePriceList } from '../src/pricing/price-list-store.ts';
import {
  newAttempt,
  newGeneration,
  newHold,
  newSettlement,
  succeeded,
} from '../tests/support/ledger-operations.ts';
import { createAccounts } from './accounts.ts';
import { countCharges } from './charges.ts';
import { postgresCpuMicroseconds } from './cpu.ts';
import { percentile } from './statistics.ts';

export type LedgerSample = Readonly<{
  /** Pairs take them in turn. */
  accounts: number;
  concurrency: number;
  pairsPerSecond: number;
  cpuMicroseconds: number;
  postgresMicroseconds: number;
  p50Ms: number;
  p99Ms: number;
  errors: number;
}>;

export type LedgerReport = Readonly<{
  samples: LedgerSample[];
  pairs: number;
  charges: number;
  /** Of the write-ahead log, per pair: what a primary writes to its disk and sends to each replica. */
  walBytesPerPair: number;
  holds: boolean;
}>;

type Owner = Pick<GenerationFacts, 'accountId' | 'keyId' | 'priceListId'> & Readonly<{ nodeId: string }>;

const concurrencies = [1, 64, 256];
const accountCounts = [1, 1_000];
const warmUpMs = 500;

/** An interrupted run still stops its PostgreSQL and removes its folder. */
let isInterrupted = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    isInterrupted = true;
  });
}

async function benchLedger(dataFolder: string, runMs: number): Promise<LedgerReport> {
  const log = createLog('warn', (line) => process.stderr.write(line));
  const database = await openDatabase(readConfig({ TOLLGATE_DATA: dataFolder }));
  try {
    await migrate(database.sql);
    const nodeId = newId();
    const owners = await createOwners(database.sql, nodeId, Math.max(...accountCounts));
    const ledger = openLedger(database.openDedicated, openSpool(dataFolder, process.pid, nodeId), log);
    const samples: LedgerSample[] = [];
    const walBefore = await readWalBytes(database.sql);
    let pairs = 0;
    for (const accounts of accountCounts) {
      const nextOwner = inTurn(owners.slice(0, accounts));
      for (const concurrency of concurrencies) {
        const warmUp = await runPairs(ledger, nextOwner, concurrency, Math.min(warmUpMs, runMs));
        const { count, sample } = await measurePairs(ledger, nextOwner, concurrency, runMs, dataFolder);
        pairs += warmUp.latenciesMs.length + count;
        samples.push({ accounts, ...sample });
      }
    }
    while (ledger.isBusy()) await Bun.sleep(20);
    await ledger.close();
    const walBytesPerPair = ((await readWalBytes(database.sql)) - walBefore) / pairs;
    const findings = await auditLedger(database.sql);
    const holds = findings.every(({ violations }) => violations === 0);
    return { samples, pairs, charges: await countCharges(database.sql), walBytesPerPair, holds };
  } finally {
    await database.close();
  }
}

async function createOwners(sql: SQL, nodeId: string, count: number): Promise<Owner[]> {
  const priceListId = await storePriceList(sql, { version: 'bench', digest: '00'.repeat(32), content: {} });
  const owners = await createAccounts(sql, count);
  return owners.map(({ accountId, keyId }) => ({ accountId, keyId, priceListId, nodeId }));
}

async function readWalBytes(sql: SQL): Promise<number> {
  const [{ bytes }] = await sql<[{ bytes: number }]>`
    select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 as bytes`;
  return bytes;
}

function inTurn(owners: readonly Owner[]): () => Owner {
  let next = 0;
  return () => {
    const owner = owners[next % owners.length];
    next += 1;
    if (owner === undefined) throw new Error('There is no account.');
    return owner;
  };
}

async function measurePairs(
  ledger: Ledger,
  nextOwner: () => Owner,
  concurrency: number,
  runMs: number,
  dataFolder: string,
): Promise<{ sample: Omit<LedgerSample, 'accounts'>; count: number }> {
  const cpuBefore = process.cpuUsage();
  const postgresBefore = postgresCpuMicroseconds(dataFolder);
  const { latenciesMs, errors, elapsedMs } = await runPairs(ledger, nextOwner, concurrency, runMs);
  const cpu = process.cpuUsage(cpuBefore);
  const count = latenciesMs.length;
  const sample = {
    concurrency,
    pairsPerSecond: (count * 1000) / elapsedMs,
    cpuMicroseconds: (cpu.user + cpu.system) / count,
    postgresMicroseconds: (postgresCpuMicroseconds(dataFolder) - postgresBefore) / count,
    p50Ms: percentile(latenciesMs, 0.5),
    p99Ms: percentile(latenciesMs, 0.99),
    errors,
  };
  return { sample, count };
}

async function runPairs(ledger: Ledger, nextOwner: () => Owner, concurrency: number, runMs: number) {
  const latenciesMs: number[] = [];
  let errors = 0;
  const startedAtMs = performance.now();
  async function loop(): Promise<void> {
    while (performance.now() - startedAtMs < runMs && !isInterrupted) {
      const pairStartedAtMs = performance.now();
      if (await runPair(ledger, nextOwner())) latenciesMs.push(performance.now() - pairStartedAtMs);
      else errors += 1;
    }
  }
  await Promise.all(Array.from({ length: concurrency }, loop));
  return { latenciesMs, errors, elapsedMs: performance.now() - startedAtMs };
}

/** What the gateway says to the ledger for one request that is answered. */
async function runPair(ledger: Ledger, { nodeId, ...owner }: Owner): Promise<boolean> {
  const attempt = newAttempt();
  const generation = newGeneration(owner, { model: 'bench' });
  const held = await ledger.hold(newHold(generation, nodeId, 300_000_000n, { attempts: [attempt] }));
  if (held.outcome !== 'held') return false;
  const completedAtMs = Date.now();
  const settlement = newSettlement(generation, 66_300_000n, {
    attempts: [succeeded(attempt, completedAtMs)],
    completedAtMs,
    latencyMs: completedAtMs - generation.createdAtMs,
  });
  return (await ledger.settle(settlement)) === 'settled';
}

const seconds = Number(process.argv[2] ?? 3);
const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-ledger-'));
try {
  process.stdout.write(`${JSON.stringify(await benchLedger(folder, seconds * 1000))}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
