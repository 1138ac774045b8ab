/**
 * A program exports what has happened, again and again, from gateways that are killed meanwhile. Whenever an export breaks
 * off, or the program itself is cut off, it goes on at the other gateway after the last whole line, until it is complete.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../random.ts';
import type { World } from '../world/world.ts';
import { AdminClient } from './admin-call.ts';

export const exportNames = ['entries', 'usage', 'generations'] as const;
export type ExportName = (typeof exportNames)[number];

export type Exported = Readonly<{
  name: ExportName;
  fromMs: number;
  toMs: number;
  /** When it was first asked for. What was committed before must be in it. */
  startedAtMs: number;
  /** How often it was asked for until it was complete, and how often of these after a line that was there already. */
  sent: number;
  goneOn: number;
  isComplete: boolean;
  /** The first column of each line. */
  cursors: readonly string[];
}>;

const pauseMs = 1_000;
const retryMs = 100;
const patienceMs = 120_000;
const unansweredMs = 60_000;
/** The program reads no further than this many lines, in some of its requests. */
const cutShare = 0.5;
const maxLinesBeforeCut = 200;
/** How far back one goes, except those that have everything, as the last ones do. */
const wholeShare = 0.3;
const minRangeMs = 10_000;
const maxRangeMs = 60_000;
/** It ends so long ago that what was booked until then is committed. The gateways export up to now. */
const settledMs = 5_000;

export function startExports(
  world: World,
  token: string,
  random: Random,
): { stop: () => Promise<readonly Exported[]> } {
  const client = new AdminClient(world.nodes, token, random);
  const beganAtMs = Date.now();
  const log: Exported[] = [];
  let isOver = false;

  async function run(name: ExportName, rangeMs: number): Promise<void> {
    const toMs = Date.now() - settledMs;
    const fromMs = Math.max(toMs - rangeMs, beganAtMs);
    if (fromMs >= toMs) return;
    const exported = await exportAll(client, { name, fromMs, toMs }, random);
    log.push(exported);
    const { cursors, ...line } = exported;
    const text = JSON.stringify({ at: new Date(), ...line, lines: cursors.length });
    appendFileSync(join(world.folder, 'exports.jsonl'), `${text}\n`);
  }

  async function exportAgainAndAgain(): Promise<void> {
    for (let number = 0; !isOver; number += 1) {
      await Bun.sleep(pauseMs);
      const rangeMs = random.happens(wholeShare) ? Infinity : random.between(minRangeMs, maxRangeMs);
      await run(exportNames[number % exportNames.length] ?? 'entries', rangeMs);
    }
    for (const name of exportNames) await run(name, Infinity);
  }

  const exporting = exportAgainAndAgain();
  return {
    stop: async () => {
      isOver = true;
      await exporting;
      return log;
    },
  };
}

async function exportAll(
  client: AdminClient,
  { name, fromMs, toMs }: Pick<Exported, 'name' | 'fromMs' | 'toMs'>,
  random: Random,
): Promise<Exported> {
  const startedAtMs = Date.now();
  const cursors: string[] = [];
  let goneOn = 0;
  const to = new Date(toMs).toISOString();
  for (let sent = 1; ; sent += 1) {
    const query = new URLSearchParams({ from: new Date(fromMs).toISOString(), to, format: 'ndjson' });
    const after = cursors.at(-1);
    if (after !== undefined) {
      query.set('after', after);
      goneOn += 1;
    }
    const maxLines = random.happens(cutShare) ? random.between(1, maxLinesBeforeCut) : Infinity;
    const isComplete = await readPart(client, { path: `/exports/${name}?${query}`, to, maxLines }, cursors);
    if (isComplete || Date.now() > startedAtMs + patienceMs)
      return { name, fromMs, toMs, startedAtMs, sent, goneOn, isComplete, cursors };
    await Bun.sleep(retryMs);
  }
}

/** Adds the first column of each whole line. True if the response came to its end. */
async function readPart(
  client: AdminClient,
  { path, to, maxLines }: Readonly<{ path: string; to: string; maxLines: number }>,
  cursors: string[],
): Promise<boolean> {
  const maxCursors = cursors.length + maxLines;
  const decoder = new TextDecoder();
  let rest = '';
  try {
    const response = await fetch(`${client.origin()}/admin/v1${path}`, {
      headers: { authorization: client.authorization },
      signal: AbortSignal.timeout(unansweredMs),
    });
    // If the clock of the database is behind, it ends earlier, and would leave out what is after that.
    if (response.status !== 200 || response.headers.get('x-export-to') !== to) {
      await response.body?.cancel();
      return false;
    }
    for await (const bytes of response.body ?? []) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (cursors.length >= maxCursors) return false;
        cursors.push(cursorOf(line));
      }
    }
    return rest === '';
  } catch {
    return false;
  }
}

function cursorOf(line: string): string {
  const [first] = Object.values(JSON.parse(line) as Record<string, unknown>);
  return `${first}`;
}
