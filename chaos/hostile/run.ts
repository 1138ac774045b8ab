/** A hostile run: one gateway, one database, and malformed and hostile requests by the million, each answer judged. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SQL } from 'bun';
import { residentBytes } from '../../bench/cpu.ts';
import type { HostileOptions } from '../options.ts';
import { tollgate } from '../program.ts';
import { Random } from '../random.ts';
import type { Finding } from '../truths.ts';
import { createWorld, type World } from '../world.ts';
import { hostileCatalog } from './catalog.ts';
import { HostileConnection } from './connection.ts';
import { judgeExchange } from './judge.ts';
import { createKeys } from './keys.ts';
import type { Gap } from './loop-watch.ts';
import type { HostileRequest } from './request.ts';
import { hostileRequest, type Keys } from './requests.ts';

export type Memory = Readonly<{ afterWarmUp: number; most: number; atEnd: number }>;

export type HostileResult = Readonly<{
  options: HostileOptions;
  seconds: number;
  /** How often what was sent, and how often it was answered how. */
  sent: ReadonlyMap<string, number>;
  answered: ReadonlyMap<string, number>;
  findings: readonly Finding[];
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
/** Memory that is not needed any more is given back after a while; a short run does not wait as long. */
const restMs = 5_000;
const shortRestMs = 500;
const shortRequests = 10_000;
const mostGrowthBytes = 100 * 1024 * 1024;
export const longestStallMs = 100;
const mostExamples = 200;
const sampleMs = 250;
const atRestDeadlineMs = 30_000;

export async function runHostile(options: HostileOptions): Promise<HostileResult> {
  const world = await createWorld({
    nodeCount: 1,
    preloads: [join(import.meta.dir, 'loop-watch.ts')],
    settings: (folder) => ({ LOG_LEVEL: 'error', LOOP_WATCH_FILE: join(folder, watchFile) }),
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
      findings: [
        sender.finding(),
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

/** A request that took long enough to be what the event loop was busy with. */
type Slow = Readonly<{ fromMs: number; toMs: number; bytes: number; says: string }>;

const slowMs = 40;
const mostSlow = 20_000;
const mostSuspects = 3;

class Sender {
  readonly sent = new Map<string, number>();
  readonly answered = new Map<string, number>();
  seconds = 0;
  readonly #slow: Slow[] = [];
  readonly #wrong: string[] = [];
  readonly #connections: readonly HostileConnection[];
  readonly #random: Random;
  readonly #keys: Keys;
  #wrongCount = 0;
  #next = 0;

  constructor(port: number, { connections, seed }: HostileOptions, keys: Keys) {
    this.#connections = Array.from({ length: connections }, () => new HostileConnection(port));
    this.#random = new Random(seed);
    this.#keys = keys;
  }

  /** Sends up to this number, and closes all connections. */
  async sendUntil(end: number): Promise<void> {
    const startedAt = performance.now();
    await Promise.all(this.#connections.map((connection) => this.#sendOn(connection, end)));
    this.seconds += (performance.now() - startedAt) / 1_000;
  }

  finding(): Finding {
    const more = this.#wrongCount - this.#wrong.length;
    return {
      says: 'every answer has a status and a code that the request explains, and gives nothing away',
      checked: this.#next,
      wrong: more > 0 ? [...this.#wrong, `… and ${more} more`] : this.#wrong,
    };
  }

  /** The largest requests that were under way in a gap. */
  suspectsOf({ atMs, gapMs }: Gap): string[] {
    return this.#slow
      .filter(({ fromMs, toMs }) => fromMs <= atMs && toMs >= atMs - gapMs)
      .toSorted((a, b) => b.bytes - a.bytes)
      .slice(0, mostSuspects)
      .map(({ says }) => says);
  }

  async #sendOn(connection: HostileConnection, end: number): Promise<void> {
    while (this.#next < end) {
      const number = this.#next;
      this.#next += 1;
      const request = hostileRequest(number, this.#random.fork(number), this.#keys);
      const { previous } = connection;
      const fromMs = Date.now();
      const exchange = await connection.perform(number, request);
      const toMs = Date.now();
      if (toMs - fromMs > slowMs && this.#slow.length < mostSlow) {
        const bytes = request.bytes.length;
        this.#slow.push({ fromMs, toMs, bytes, says: `${number} ${request.name}, ${bytes} bytes` });
      }
      count(this.sent, request.name);
      for (const { status } of exchange.answers) count(this.answered, `${status}`);
      if (exchange.answers.length === 0) count(this.answered, exchange.ended);
      const wrong = judgeExchange(request, exchange);
      if (wrong !== null) this.#note(number, request, previous, wrong);
    }
    connection.close();
  }

  #note(number: number, request: HostileRequest, previous: string | null, wrong: string): void {
    this.#wrongCount += 1;
    if (this.#wrong.length >= mostExamples) return;
    const sent = JSON.stringify(withoutKeys(request.bytes.toString('latin1', 0, 900)));
    const before = previous === null ? 'the first on its connection' : `after ${previous}`;
    this.#wrong.push(`request ${number} (${request.name}, ${before}): ${wrong}; it was ${sent}`);
  }
}

function withoutKeys(text: string): string {
  return text.replace(/svc_sk_\w+/g, 'svc_sk_…');
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

/** Once nothing is open any more and a moment has passed: the least that was resident within it. */
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

function readGaps(file: string): Gap[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Gap);
  } catch {
    return [];
  }
}

function readLog(file: string): ReadonlyMap<string, number> {
  const logged = new Map<string, number>();
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (line === '') continue;
    count(logged, eventOf(line));
  }
  return logged;
}

function eventOf(line: string): string {
  try {
    const { event, code } = JSON.parse(line) as { event?: string; code?: string };
    return [event, code].filter((part) => part !== undefined).join(' ');
  } catch {
    return `no JSON: ${line.slice(0, 100)}`;
  }
}

/** What is refused with a status of 5xx is logged; that the request explains it, its answer was held against already. */
function judgeLog(logged: ReadonlyMap<string, number>): Finding {
  const own = [...logged].filter(
    ([event]) => !event.startsWith('request failed ') || event.endsWith(' internal_error'),
  );
  return {
    says: 'the gateway logged no error of its own',
    checked: [...logged.values()].reduce((sum, times) => sum + times, 0),
    wrong: own.map(([event, times]) => `${times} times: ${event}`),
    mayBeUntested: true,
  };
}

function judgeMemory({ afterWarmUp, atEnd }: Memory): Finding {
  const grown = atEnd - afterWarmUp;
  return {
    says: `memory at rest grew by no more than ${megabytes(mostGrowthBytes)} since the first tenth`,
    checked: 1,
    wrong: grown <= mostGrowthBytes ? [] : [`from ${megabytes(afterWarmUp)} to ${megabytes(atEnd)}`],
  };
}

export function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MB`;
}

/** For how long the event loop was kept from everything else by work, whatever else made the gap longer. */
export function workedMs({ gapMs, cpuMs }: Gap): number {
  return Math.min(gapMs, cpuMs);
}

function judgeGaps(gaps: readonly Gap[], suspectsOf: (gap: Gap) => readonly string[]): Finding {
  return {
    says: `no work kept the event loop for more than ${longestStallMs} ms`,
    checked: gaps.length,
    wrong: gaps
      .filter((gap) => workedMs(gap) > longestStallMs)
      .toSorted((a, b) => workedMs(b) - workedMs(a))
      .map((gap) => `${describeGap(gap)}; under way: ${suspectsOf(gap).join('; ') || 'nothing long'}`),
    mayBeUntested: true,
    isTiming: true,
  };
}

export function describeGap({ gapMs, cpuMs, waitedMs }: Gap): string {
  const rounded = (ms: number) => `${Math.round(ms)} ms`;
  const waited = waitedMs === null ? '' : `, ${rounded(waitedMs)} waiting for a processor`;
  return `${rounded(gapMs)}, ${rounded(cpuMs)} of them at work${waited}`;
}

function judgeProcess(ownEnds: number, logFile: string): Finding {
  return {
    says: 'the gateway never ended',
    checked: 1,
    wrong: ownEnds === 0 ? [] : [`${ownEnds} times, see ${logFile}`],
  };
}

async function judgeLedger(sql: SQL, world: World): Promise<Finding[]> {
  const [row] = await sql<{ open: bigint; dead: bigint; generations: bigint }[]>`
    select (select count(*) from open_generations) + (select count(*) from accounts where held <> 0) as open,
           (select count(*) from dead_letters) as dead, (select count(*) from generations) as generations`;
  const audit = await tollgate(['ledger', 'audit'], world.environment);
  return [
    {
      says: 'nothing is open, held or set aside',
      checked: Number(row?.generations ?? 0),
      wrong: row?.open === 0n && row.dead === 0n ? [] : [`${row?.open} open or held, ${row?.dead} set aside`],
    },
    {
      says: '`tollgate ledger audit` finds the ledger sound',
      checked: audit.stdout.match(/^holds/gm)?.length ?? 0,
      wrong: audit.exitCode === 0 ? [] : [`${audit.stdout}${audit.stderr}`],
    },
  ];
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
