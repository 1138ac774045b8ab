/** What must be true of the gateway itself after a hostile run: its log, its memory, its event loop, its ledger. */
import { readFileSync } from 'node:fs';
import type { SQL } from 'bun';
import type { Truth } from '../judge/truth.ts';
import { tollgate } from '../world/program.ts';
import type { World } from '../world/world.ts';
import type { Gap } from './loop-watch.ts';
import { count } from './sender.ts';

export type Memory = Readonly<{ afterWarmUp: number; most: number; atEnd: number }>;

const maxGrowthBytes = 100 * 1024 * 1024;
export const maxStallMs = 100;

export function readGaps(file: string): Gap[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Gap);
  } catch {
    return [];
  }
}

export function readLog(file: string): ReadonlyMap<string, number> {
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

/** A 5xx response is logged as well; whether the request explains it has been judged by the response. */
export function judgeLog(logged: ReadonlyMap<string, number>): Truth {
  const own = [...logged].filter(
    ([event]) => !event.startsWith('request failed ') || event.endsWith(' internal_error'),
  );
  return {
    says: 'the gateway logged no error that it caused itself',
    checked: [...logged.values()].reduce((sum, times) => sum + times, 0),
    wrong: own.map(([event, times]) => `${times} times: ${event}`),
    mayBeUntested: true,
  };
}

export function judgeMemory({ afterWarmUp, atEnd }: Memory): Truth {
  const grown = atEnd - afterWarmUp;
  return {
    says: `memory at rest grew by no more than ${megabytes(maxGrowthBytes)} since the first tenth`,
    checked: 1,
    wrong: grown <= maxGrowthBytes ? [] : [`from ${megabytes(afterWarmUp)} to ${megabytes(atEnd)}`],
  };
}

export function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MB`;
}

/** How long work alone blocked the event loop, whatever else made the gap longer. */
export function workedMs({ gapMs, cpuMs, stolenMs }: Gap): number {
  return Math.max(0, Math.min(gapMs, cpuMs) - (stolenMs ?? 0));
}

export function judgeGaps(gaps: readonly Gap[], suspectsOf: (gap: Gap) => readonly string[]): Truth {
  return {
    says: `no work blocked the event loop for more than ${maxStallMs} ms`,
    checked: gaps.length,
    wrong: gaps
      .filter((gap) => workedMs(gap) > maxStallMs)
      .toSorted((a, b) => workedMs(b) - workedMs(a))
      .map((gap) => `${describeGap(gap)}; under way: ${suspectsOf(gap).join('; ') || 'nothing long'}`),
    mayBeUntested: true,
    isTiming: true,
  };
}

export function describeGap({ gapMs, cpuMs, waitedMs, stolenMs }: Gap): string {
  const rounded = (ms: number) => `${Math.round(ms)} ms`;
  const waited = waitedMs === null ? '' : `, ${rounded(waitedMs)} waiting for a processor`;
  const stolen = stolenMs === null ? '' : `, ${rounded(stolenMs)} taken by the host of this machine`;
  return `${rounded(gapMs)}, ${rounded(cpuMs)} of them at work${waited}${stolen}`;
}

export function judgeProcess(ownEnds: number, logFile: string): Truth {
  return {
    says: 'the gateway never ended',
    checked: 1,
    wrong: ownEnds === 0 ? [] : [`${ownEnds} times, see ${logFile}`],
  };
}

export async function judgeLedger(sql: SQL, world: World): Promise<Truth[]> {
  const [row] = await sql<{ open: bigint; dead: bigint; generations: bigint }[]>`
    select (select count(*) from open_generations) + (select count(*) from accounts where held <> 0) as open,
           (select count(*) from dead_letters) as dead, (select count(*) from generations) as generations`;
  const audit = await tollgate(['ledger', 'audit', '--full'], world.environment);
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
