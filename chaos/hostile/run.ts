/** A hostile run: one gateway, one database, and a million malformed and hostile requests, each answer judged. */
import { join } from 'node:path';
import type { SQL } from 'bun';
import { residentBytes } from '../../bench/cpu.ts';
import type { Truth } from '../judge/truth.ts';
import { createWorld } from '../world/world.ts';
import { hostileCatalog } from './catalog.ts';
import {
  judgeGaps,
  judgeLedger,
  judgeLog,
  judgeMemory,
  judgeProcess,
  type Memory,
  readGaps,
  readLog,
} from './judge-gateway.ts';
import { createKeys } from './keys.ts';
import type { Gap } from './loop-watch.ts';
import { Sender } from './sender.ts';

export type HostileOptions = Readonly<{
  requests: number;
  connections: number;
  seed: number;
  preparedFolder?: string;
}>;

export const hostileForm: HostileOptions = { requests: 1_000_000, connections: 64, seed: 1 };

export type HostileResult = Readonly<{
  options: HostileOptions;
  seconds: number;
  /** How often each request was sent, and how often each outcome came back. */
  sent: ReadonlyMap<string, number>;
  answered: ReadonlyMap<string, number>;
  truths: readonly Truth[];
  memory: Memory;
  gaps: readonly Gap[];
  /** What the gateway logged as an error, by event and code. */
  logged: ReadonlyMap<string, number>;
  idempotency: Readonly<{ rows: number; bytes: number }>;
  postgresVersion: string;
  folder: string;
  remove: () => void;
}>;

const watchFile = 'loop-gaps.jsonl';
const warmUpShare = 0.1;
/** Unused memory is returned to the system after a while; a short run does not wait as long. */
const restMs = 5_000;
const shortRestMs = 500;
const shortRequests = 10_000;
const sampleMs = 250;
const atRestDeadlineMs = 30_000;

export async function runHostile(options: HostileOptions): Promise<HostileResult> {
  const world = await createWorld({
    preparedFolder: options.preparedFolder,
    nodeCount: 1,
    preloads: [join(import.meta.dir, 'loop-watch.ts')],
    wordsFor: (folder) => ['--gaps', join(folder, watchFile)],
    settings: { LOG_LEVEL: 'error' },
    catalog: hostileCatalog,
  });
  const [node] = world.nodes;
  if (node === undefined) throw new Error('There is no gateway.');
  const sql = world.database.open(1);
  try {
    const keys = await createKeys(sql);
    const sender = new Sender(node.port, options, keys);
    const pauseMs = options.requests < shortRequests ? shortRestMs : restMs;
    const memory = { afterWarmUp: 0, most: 0, atEnd: 0 };
    const residentNow = () => {
      const bytes = residentBytes(node.processId);
      memory.most = Math.max(memory.most, bytes);
      return bytes;
    };
    const sampling = setInterval(residentNow, sampleMs);
    const startedAtMs = Date.now();
    await sender.sendUntil(Math.ceil(options.requests * warmUpShare));
    memory.afterWarmUp = await atRest(sql, residentNow, pauseMs);
    await sender.sendUntil(options.requests);
    const endedAtMs = Date.now();
    memory.atEnd = await atRest(sql, residentNow, pauseMs);
    clearInterval(sampling);
    const gaps = readGaps(join(world.folder, watchFile)).filter(
      ({ atMs }) => atMs >= startedAtMs && atMs <= endedAtMs,
    );
    const logged = readLog(node.logFile);
    return {
      options,
      seconds: sender.seconds,
      sent: sender.sent,
      answered: sender.answered,
      truths: [
        sender.truth(),
        judgeLog(logged),
        judgeMemory(memory),
        judgeGaps(gaps, (gap) => sender.suspectsOf(gap)),
        judgeProcess(node.ownEnds, node.logFile),
        ...(await judgeLedger(sql, world)),
      ],
      memory,
      gaps,
      logged,
      idempotency: await idempotencyOf(sql),
      postgresVersion: await versionOf(sql),
      folder: world.folder,
      remove: world.remove,
    };
  } finally {
    await sql.close({ timeout: 1 });
    await world.stop();
  }
}

/** The lowest resident memory within a moment after the last open request. */
async function atRest(sql: SQL, residentNow: () => number, pauseMs: number): Promise<number> {
  const deadline = Date.now() + atRestDeadlineMs;
  while (Date.now() < deadline) {
    const [row] = await sql<{ open: bigint }[]>`select count(*) as open from open_generations`;
    if (row?.open === 0n) break;
    await Bun.sleep(sampleMs);
  }
  let least = Number.POSITIVE_INFINITY;
  for (const until = Date.now() + pauseMs; Date.now() < until; await Bun.sleep(sampleMs))
    least = Math.min(least, residentNow());
  return least;
}

async function idempotencyOf(sql: SQL): Promise<HostileResult['idempotency']> {
  const [row] = await sql<{ rows: bigint; bytes: bigint }[]>`
    select (select count(*) from idempotent_requests) as rows, pg_total_relation_size('idempotent_requests') as bytes`;
  return { rows: Number(row?.rows ?? 0), bytes: Number(row?.bytes ?? 0) };
}

async function versionOf(sql: SQL): Promise<string> {
  const [row] = await sql<{ version: string }[]>`select current_setting('server_version') as version`;
  return row?.version ?? '';
}
