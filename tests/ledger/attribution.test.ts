/** Whom a Generation was for: stored next to the ledger, on every way into the database. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { SQL } from 'bun';
import { retryDeadLetters } from '../../src/ledger/dead-letters.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { Attribution, Hold } from '../../src/ledger/operations.ts';
import { openSpool } from '../../src/ledger/spool.ts';
import { newId } from '../../src/lib/ids.ts';
import { findOrphans } from '../../src/nodes/dead-nodes.ts';
import { LedgerFixture } from '../support/ledger-fixture.ts';
import { newAttempt } from '../support/ledger-operations.ts';

let fixture: LedgerFixture;
let ledger: Ledger;
let sql: SQL;

beforeAll(async () => {
  fixture = await LedgerFixture.open();
  ledger = fixture.openLedger();
  ({ sql } = fixture.database);
}, 60_000);

afterAll(async () => {
  await fixture.expectSound();
  await ledger.close();
  await fixture.close();
});

const attribution: Attribution = {
  endUser: 'a "quoted", (odd) \\ user 😀',
  session: 's-1',
  tags: [
    ['team', 'search'],
    ['note', 'a=b, {c}'],
  ],
};
const stored = [
  ['end_user', 'a "quoted", (odd) \\ user 😀'],
  ['session', 's-1'],
  ['tag', 'note=a=b, {c}'],
  ['tag', 'team=search'],
];

async function newHold(): Promise<Hold> {
  const held = fixture.hold(await fixture.customer(1_000n), 200n, { node: newId() });
  return { ...held, generation: { ...held.generation, attribution } };
}

async function open(): Promise<Hold> {
  const held = await newHold();
  expect(await ledger.hold(held)).toMatchObject({ outcome: 'held' });
  return held;
}

async function labelsOf({ generation: { id, accountId } }: Hold): Promise<unknown[]> {
  return await sql`
    select kind, label from generation_attributions
    where generation_id = ${id} and account_id = ${accountId} order by kind, label`.values();
}

test('it is there as soon as the money is held, and once, however often it is sent', async () => {
  const held = await open();
  expect(await labelsOf(held)).toEqual(stored);
  expect(await ledger.hold(held)).toMatchObject({ outcome: 'held' });
  const settlement = fixture.settlement(held, 30n);
  expect(await ledger.settle(settlement)).toBe('settled');
  expect(await ledger.settle(settlement)).toBe('settled');
  expect(await labelsOf(held)).toEqual(stored);
});

test('a denied request leaves nothing', async () => {
  const held = await newHold();
  expect(await ledger.hold({ ...held, min: 5_000n, max: 5_000n })).toMatchObject({ outcome: 'denied' });
  expect(await labelsOf(held)).toEqual([]);
});

test('what a dead node left open keeps it', async () => {
  const held = await open();
  const orphan = (await findOrphans(sql, newId(), 60)).find(
    ({ generation }) => generation.id === held.generation.id,
  );
  if (orphan === undefined) throw new Error('It was not found.');
  expect(await ledger.settleOnce(orphan)).toBe('settled');
  expect(await labelsOf(held)).toEqual(stored);
  // The node was alive after all: its own settlement replaces the record.
  expect(await ledger.settle(fixture.settlement(held, 30n))).toBe('settled');
  expect(await labelsOf(held)).toEqual(stored);
});

test('a settlement brings it back when the database has lost the hold', async () => {
  const held = await newHold();
  // Nothing of the hold is there, as after a crash.
  const settlement = fixture.settlement(held, 30n, { isHeld: true });
  expect(await ledger.settle(settlement)).toBe('settled');
  expect(await labelsOf(held)).toEqual(stored);
});

test('it survives the spool', async () => {
  const held = await newHold();
  openSpool(fixture.folder, 2 ** 22 + 9, newId()).keep(fixture.settlement(held, 30n, { isHeld: true }));
  const next = openSpool(fixture.folder, process.pid, newId());
  for (const one of next.takeLeftBehind().settlements) expect(await ledger.settle(one)).toBe('settled');
  next.clearTaken();
  expect(await labelsOf(held)).toEqual(stored);
});

test('a dead letter does not contain it: that would outlive the Generation', async () => {
  const held = await open();
  const impossible = {
    attempts: [newAttempt({ index: 40_000 })],
    onInsufficientBalance: 'write_off',
  } as const;
  expect(await ledger.settle(fixture.settlement(held, 30n, impossible))).toBe('set_aside');
  const [{ letter }] = await sql`
    select settlement::text as letter from dead_letters where generation_id = ${held.generation.id}`;
  expect(letter).not.toContain('odd');
  expect(letter).not.toContain('search');
  await sql`update dead_letters set settlement = jsonb_set(settlement, '{attempts}', '[]')`;
  expect(await retryDeadLetters(sql, ledger)).toEqual({ settled: 1, refused: 0 });
  expect(await labelsOf(held)).toEqual(stored);
});
