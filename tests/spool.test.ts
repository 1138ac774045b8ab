/** Whose files of the spool a process takes: those of processes that are gone, and each file for one process only. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { Subprocess } from 'bun';
import { openSpool } from '../src/ledger/spool.ts';
import { newId } from '../src/lib/ids.ts';
import { temporaryFolder } from './support/gateway.ts';
import { newGeneration, newSettlement } from './support/ledger-operations.ts';

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

/** More than any system gives out. */
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

test('a file of a version that noted no start is left behind by the process ID alone', () => {
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
