/** A node that is slow is not dead: what keeps a lease, what loses it, and who may give up whom. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { SQL } from 'bun';
import { openLedger } from '../../src/ledger/ledger.ts';
import { openSpool } from '../../src/ledger/spool.ts';
import { newId } from '../../src/lib/ids.ts';
import { createLog } from '../../src/lib/log.ts';
import { newestMigration, softwareVersion } from '../../src/lib/software-version.ts';
import type { LeaseTimings } from '../../src/nodes/heartbeat.ts';
import { takeLease } from '../../src/nodes/lease.ts';
import { Steadiness } from '../../src/nodes/steadiness.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { launchGateway, temporaryFolder } from '../support/gateway.ts';
import { quickTimings } from '../support/quick-lease.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
}, 60_000);

afterAll(() => database.close());

type NodeRow = { beat_ms: number; silent_ms: number; stopped: boolean };

async function nodeRow(id: string): Promise<NodeRow> {
  const [row] = await database.sql<[NodeRow]>`
    select extract(epoch from heartbeat_at)::float8 * 1000 as beat_ms,
           extract(epoch from clock_timestamp() - heartbeat_at)::float8 * 1000 as silent_ms,
           stopped_at is not null as stopped
    from nodes where id = ${id}`;
  return row;
}

/** Waits until the lease is renewed after this moment of the database's clock. */
const beatAfter = (id: string, ms: number) =>
  eventually('the lease is renewed', async () => (await nodeRow(id)).beat_ms > ms);

describe('a main thread that stands still', () => {
  async function startBusyNode(settings: Record<string, string> = {}) {
    const id = newId();
    const folder = temporaryFolder();
    const freeFile = join(folder, 'free');
    const program = launchGateway(
      { DATABASE_URL: database.url, NODE_ID: id, FOLDER: folder, FREE_FILE: freeFile, ...settings },
      { command: [process.execPath, join(import.meta.dir, '../support/busy-node.ts')] },
    );
    // It is not a gateway and never listens.
    program.listening.catch(() => undefined);
    await eventually('the node is busy', () => program.output().includes('busy\n'));
    return {
      id,
      free: async () => {
        expect(program.output()).not.toContain('free\n');
        writeFileSync(freeFile, '');
        await eventually('the node is free', () => program.output().includes('free\n'));
      },
      stop: async () => {
        program.process.kill('SIGTERM');
        expect(await program.ended()).toBe(0);
        expect((await nodeRow(id)).stopped).toBe(true);
      },
    };
  }

  test('keeps its lease for longer than one period, and releases it in the end', async () => {
    const node = await startBusyNode();
    const { beat_ms } = await nodeRow(node.id);
    await beatAfter(node.id, beat_ms + quickTimings.leaseMs);
    await node.free();
    await node.stop();
  });

  test('loses its lease when it is silent for too long, and has it again when it is back', async () => {
    const node = await startBusyNode({ SILENCE_MS: '500' });
    await eventually(
      'the lease has run out',
      async () => (await nodeRow(node.id)).silent_ms > quickTimings.leaseMs,
    );
    const { beat_ms } = await nodeRow(node.id);
    await node.free();
    await beatAfter(node.id, beat_ms);
    await node.stop();
  });
});

describe('the thread that renews the lease', () => {
  async function openLease(timings: Partial<LeaseTimings> = {}) {
    const id = newId();
    const lines: string[] = [];
    const log = createLog('info', (line) => lines.push(line));
    const connection = {
      url: database.url,
      max: 1,
      bigint: true,
      connection: { application_name: `lease-${id}`.slice(0, 20) },
    };
    const ledger = openLedger(
      () => new SQL(database.url),
      openSpool(temporaryFolder(), process.pid, id),
      log,
    );
    const threads: Worker[] = [];
    const collect = (thread: Worker) => threads.push(thread);
    process.on('worker', collect);
    const lease = await takeLease({
      connection,
      ledger,
      node: { id, name: 'threaded' },
      log,
      timings: { ...quickTimings, ...timings },
    });
    return {
      id,
      threads,
      output: () => lines.join(''),
      stop: async () => {
        await lease.stop();
        await ledger.close();
        process.off('worker', collect);
        expect((await nodeRow(id)).stopped).toBe(true);
        const name = connection.connection.application_name;
        await eventually(
          'its connection is closed',
          async () =>
            (await database.sql`select 1 from pg_stat_activity where application_name = ${name}`).length ===
            0,
        );
      },
    };
  }

  test('is started again when it fails', async () => {
    const lease = await openLease();
    const { beat_ms } = await nodeRow(lease.id);
    // Nothing sends it this, and nothing in it expects it.
    lease.threads[0]?.postMessage(null);
    await eventually('it is started again', () =>
      lease.output().includes('the heartbeat thread ended, restarting it'),
    );
    expect(lease.output()).toContain('the heartbeat thread failed');
    await eventually('another thread runs', () => lease.threads.length === 2);
    await beatAfter(lease.id, beat_ms);
    const afterwards = await nodeRow(lease.id);
    await beatAfter(lease.id, afterwards.beat_ms);
    expect(lease.threads).toHaveLength(2);
    await lease.stop();
  });

  test('goes on with another connection when the database does not answer in time', async () => {
    const lease = await openLease({ patienceMs: 300 });
    const blocker = await database.sql.reserve();
    await blocker`begin`;
    await blocker`select 1 from nodes where id = ${lease.id} for update`;
    const { beat_ms } = await nodeRow(lease.id);
    await eventually('a heartbeat fails', () => lease.output().includes('heartbeat failed'));
    await blocker`rollback`;
    await blocker.release();
    await beatAfter(lease.id, beat_ms);
    // The late heartbeat may have been stored after all, so this waits for another one.
    const afterwards = await nodeRow(lease.id);
    await beatAfter(lease.id, afterwards.beat_ms);
    expect(lease.threads).toHaveLength(1);
    await lease.stop();
  });

  test('says which version the node is, also when its row was lost', async () => {
    const lease = await openLease();
    const find = () => database.sql`select version, newest_migration from nodes where id = ${lease.id}`;
    const own = [{ version: softwareVersion, newest_migration: newestMigration }];
    expect([...(await find())]).toEqual(own);
    await database.sql`delete from nodes where id = ${lease.id}`;
    await eventually('its row is back', async () => (await find()).length > 0);
    expect([...(await find())]).toEqual(own);
    await lease.stop();
  });

  test('is not started again once the lease is released', async () => {
    const lease = await openLease();
    lease.threads[0]?.postMessage(null);
    await eventually('it is started again', () => lease.output().includes('restarting it'));
    await lease.stop();
    expect(lease.threads).toHaveLength(1);
  });
});

describe('the silence of others is taken for their death', () => {
  const leaseMs = 100;

  /** Looks and beats every 10 ms until then, and says whether it is steady in the end. */
  function steadyAfter(
    steadiness: Steadiness,
    fromMs: number,
    toMs: number,
    { isBeating = true, isLooking = true } = {},
  ) {
    for (let nowMs = fromMs + 10; nowMs < toMs; nowMs += 10) {
      if (isBeating) steadiness.beat(nowMs, 10);
      if (isLooking) steadiness.isSteady(nowMs);
    }
    return steadiness.isSteady(toMs);
  }

  test('only by a node that has renewed its own lease for a whole period', () => {
    const steadiness = new Steadiness(leaseMs, 0);
    expect(steadyAfter(steadiness, 0, 90)).toBe(false);
    expect(steadyAfter(steadiness, 90, 100)).toBe(true);
  });

  const troubles: [string, (steadiness: Steadiness) => unknown][] = [
    [
      'after a heartbeat that failed',
      (steadiness) => {
        expect(steadyAfter(steadiness, 200, 490)).toBe(true);
        steadiness.disturb(500);
      },
    ],
    [
      'after its own lease ran out, by the clock of the database',
      (steadiness) => {
        expect(steadyAfter(steadiness, 200, 490)).toBe(true);
        steadiness.beat(500, leaseMs + 1);
      },
    ],
    [
      'after its main thread stood still, whatever beat meanwhile',
      (steadiness) => steadyAfter(steadiness, 200, 500, { isLooking: false }),
    ],
    [
      'after it heard of no heartbeat for a lease',
      (steadiness) => steadyAfter(steadiness, 200, 500, { isBeating: false }),
    ],
  ];
  test.each(troubles)('not %s, until a whole lease has passed', (_, disturb) => {
    const steadiness = new Steadiness(leaseMs, 0);
    expect(steadyAfter(steadiness, 0, 200)).toBe(true);
    disturb(steadiness);
    steadiness.beat(500, 10);
    expect(steadiness.isSteady(500)).toBe(false);
    expect(steadyAfter(steadiness, 500, 590)).toBe(false);
    expect(steadyAfter(steadiness, 590, 600)).toBe(true);
  });
});
