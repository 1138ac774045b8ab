/**
 * Whose files of the spool a process takes: those of processes that are gone, each by one process only. And what is written
 * to them when the disk is full.
 */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Subprocess } from 'bun';
import fc from 'fast-check';
import { openSpool, reserveBytes } from '../../src/ledger/spool.ts';
import { newId } from '../../src/lib/ids.ts';
import { temporaryFolder } from '../support/gateway.ts';
import { newGeneration, newSettlement } from '../support/ledger-operations.ts';

let folder: string;
/** A process that is running, and can be ended. */
let other: Subprocess;

beforeEach(() => {
  folder = temporaryFolder();
  other = Bun.spawn(['sleep', '600']);
});

afterEach(() => {
  other.kill();
});

/** More than any system assigns. */
const goneProcess = 2 ** 22 + 1;

const open = (processId: number) => openSpool(folder, processId, newId());
const files = () => readdirSync(join(folder, 'spool'));

function settlement() {
  return newSettlement(newGeneration({ accountId: newId(), keyId: newId(), priceListId: 1 }), 7n);
}

test('a process that is running keeps its file', () => {
  open(other.pid).keep(settlement());
  expect(open(process.pid).takeLeftBehind().settlements).toEqual([]);
  expect(files()).toHaveLength(1);
});

test('a file whose process ID was given to another process since then is left behind', () => {
  const left = settlement();
  open(other.pid).keep(left);
  const [name = ''] = files();
  expect(name).toMatch(new RegExp(`^${other.pid}-\\d+\\.`));
  // As if its owner had started at another time than the process that has its ID now.
  renameSync(join(folder, 'spool', name), join(folder, 'spool', name.replace(/-\d+/, '-1')));
  expect(open(process.pid).takeLeftBehind().settlements).toEqual([left]);
});

test('a file of a version that recorded no start time counts as left behind by the process ID alone', () => {
  const left = settlement();
  open(goneProcess).keep(left);
  expect(files()[0]).toStartWith(`${goneProcess}.`);
  const next = open(process.pid);
  expect(next.leftBehind().settlements).toEqual([left]);
  expect(next.takeLeftBehind().settlements).toEqual([left]);
});

test('what was settled before the process ended is not left behind, although other settlements are', () => {
  const [settled, left] = [settlement(), settlement()];
  const spool = open(goneProcess);
  spool.keep(settled);
  spool.keep(left);
  spool.forget(settled);
  expect(open(process.pid).takeLeftBehind()).toEqual({ settlements: [left], malformedCount: 0 });
});

test('of two processes that start at the same time, one takes a file; should it die, the next one does', async () => {
  const left = settlement();
  open(goneProcess).keep(left);
  const [first, second] = [open(other.pid), open(process.pid)];
  expect(first.takeLeftBehind().settlements).toEqual([left]);
  expect(second.takeLeftBehind().settlements).toEqual([]);
  // It has nothing to clear, so the file of the first stays.
  second.clearTaken();
  other.kill('SIGKILL');
  await other.exited;
  expect(second.takeLeftBehind().settlements).toEqual([left]);
  second.clearTaken();
  expect(files()).toEqual([]);
});

describe('a disk that is full', () => {
  /** Half a kilobyte each. */
  async function fill(blocks: number, ...options: string[]) {
    const script = join(import.meta.dir, '../support/full-disk.ts');
    const command = ['sh', '-c', `ulimit -f ${blocks}; exec "$0" "$@"`, process.execPath, script, folder];
    const { stdout, exited } = Bun.spawn([...command, ...options]);
    const text = await new Response(stdout).text();
    expect(await exited).toBe(0);
    return JSON.parse(text) as { problem: string | null; count: number; unstored: number };
  }

  test('keeps what fits, and what was cut off does not count as kept', async () => {
    const { count, unstored } = await fill(16);
    expect(count).toBeGreaterThan(5);
    expect(unstored).toBe(1);
    const { settlements, malformedCount } = open(process.pid).takeLeftBehind();
    expect({ kept: settlements.length, malformedCount }).toEqual({ kept: count, malformedCount: 0 });
  });

  test('still has the room that was set aside', async () => {
    // A ninth does not fit.
    const { problem, count } = await fill(reserveBytes / 512, 'reserve', `${reserveBytes / 8 - 4_096}`);
    expect([problem, count]).toEqual([null, 8]);
    expect(open(process.pid).takeLeftBehind().settlements).toHaveLength(8);
  });

  test('is reported when not even that can be set aside', async () => {
    const { problem, count, unstored } = await fill(0, 'reserve');
    expect([problem, count, unstored]).toEqual(['no room can be set aside (EFBIG)', 0, 1]);
    // Nor is a part of it left.
    expect(files().filter((name) => name.endsWith('.reserve'))).toEqual([]);
  });
});

describe('the room that is set aside', () => {
  const sizes = () =>
    files().map((name) => [name.replace(/.*\./, ''), statSync(join(folder, 'spool', name)).size]);

  test('becomes the file, and room again once all is settled', () => {
    const spool = open(process.pid);
    expect(spool.problem()).toBeNull();
    expect(sizes()).toEqual([['reserve', reserveBytes]]);
    const one = settlement();
    spool.keep(one);
    expect(sizes()).toEqual([['jsonl', reserveBytes]]);
    expect(spool.problem()).toBeNull();
    spool.forget(one);
    expect(sizes()).toEqual([['reserve', reserveBytes]]);
    spool.close();
    expect(files()).toEqual([]);
  });

  test('stays with what is not settled, and is set aside again when it was deleted', () => {
    const spool = open(process.pid);
    spool.problem();
    rmSync(join(folder, 'spool'), { recursive: true });
    expect(spool.problem()).toBeNull();
    expect(sizes()).toEqual([['reserve', reserveBytes]]);
    spool.keep(settlement());
    spool.close();
    expect(sizes()).toEqual([['jsonl', reserveBytes]]);
  });

  test('of a process that died is freed, and counts as free', () => {
    const dead = open(goneProcess);
    const before = dead.freeBytes() ?? 0;
    dead.problem();
    expect(dead.freeBytes()).toBeGreaterThan(reserveBytes);
    expect(before).toBeGreaterThan(0);
    const next = open(process.pid);
    expect(next.takeLeftBehind()).toEqual({ settlements: [], malformedCount: 0 });
    next.clearTaken();
    expect(files()).toEqual([]);
  });

  test('is read too, because a crash of the machine may undo that it became the file', () => {
    const dead = open(goneProcess);
    dead.problem();
    const left = settlement();
    dead.keep(left);
    const [name = ''] = files();
    renameSync(join(folder, 'spool', name), join(folder, 'spool', name.replace('.jsonl', '.reserve')));
    expect(open(process.pid).takeLeftBehind().settlements).toEqual([left]);
  });

  const step = fc.record({ isKept: fc.boolean(), which: fc.nat(3), padding: fc.nat(20_000) });

  test('whatever is kept and settled in whatever order, the next process finds what is left', () => {
    fc.assert(
      fc.property(fc.boolean(), fc.array(step, { maxLength: 25 }), (isReserving, steps) => {
        folder = temporaryFolder();
        const spool = open(goneProcess);
        if (isReserving) spool.problem();
        const generations = Array.from({ length: 4 }, () => settlement().generation);
        const left = new Map<string, unknown>();
        for (const { isKept, which, padding } of steps) {
          const generation = generations[which] ?? settlement().generation;
          const one = newSettlement(generation, 7n, { provider: 'P'.repeat(padding) });
          if (isKept) spool.keep(one);
          else spool.forget(one);
          if (isKept) left.set(generation.id, one);
          else left.delete(generation.id);
        }
        expect(spool.count()).toBe(left.size);
        const { settlements, malformedCount } = open(process.pid).leftBehind();
        expect(new Map(settlements.map((one) => [one.generation.id, one as unknown]))).toEqual(left);
        expect(malformedCount).toBe(0);
      }),
      { numRuns: 30 },
    );
  });
});

test('a settlement that cannot be written counts as stored nowhere, until it is written or settled', () => {
  const spool = open(process.pid);
  const blocker = join(folder, 'spool');
  writeFileSync(blocker, '');
  const [written, settled] = [settlement(), settlement()];
  for (const one of [written, settled]) expect(() => spool.keep(one)).toThrow();
  expect([spool.count(), spool.unstoredCount()]).toEqual([0, 2]);
  expect(spool.problem()).toBe('2 settlements could not be written');
  spool.forget(settled);
  rmSync(blocker);
  spool.keep(written);
  expect([spool.count(), spool.unstoredCount()]).toEqual([1, 0]);
  expect(spool.problem()).toBeNull();
  spool.forget(written);
  expect(existsSync(blocker)).toBe(true);
  expect(files()).toEqual([]);
});
