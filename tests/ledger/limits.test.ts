/** Limits of accounts, keys and end users, on two ledgers at once and at every kind of midnight. */
import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { windowEndMs } from '../../src/ledger/decide-limits.ts';
import { type Hold, type HoldResult, limitKinds } from '../../src/ledger/operations.ts';
import { newId } from '../../src/lib/ids.ts';
import { LimitsInForce } from '../../src/limits/applied-limits.ts';
import {
  createLimitAs,
  findLimit,
  type Limit,
  type LimitDraft,
  removeLimitAs,
  removeOldMeters,
  updateLimitAs,
} from '../../src/limits/limit-store.ts';
import { meterIdOf } from '../../src/limits/meter-id.ts';
import { findOrphans } from '../../src/nodes/dead-nodes.ts';
import { makeClockSettable, setClock, setClockToMinuteStart } from '../support/database-clock.ts';
import { type Customer, LedgerFixture } from '../support/ledger-fixture.ts';

const fixture = await LedgerFixture.open();
const { database, customer, anotherKey, hold, settlement, expectSound } = fixture;
const { sql } = database;
await makeClockSettable(sql);
const ledgers = [fixture.openLedger(), fixture.openLedger()] as const;
const [ledger] = ledgers;
const limits = new LimitsInForce(sql);

afterEach(() => shiftClockTo(null));

afterAll(async () => {
  for (const one of ledgers) await one.close();
  await fixture.close();
});

const shiftClockTo = (time: string | null) => setClock(sql, time);

const actor = { door: 'cli', shellUser: 'test@test' } as const;
/** One request, token or USD. */
const one = 10n ** 12n;

async function limit(owner: Customer, draft: Partial<LimitDraft>): Promise<Limit> {
  const common = {
    accountId: owner.accountId,
    scope: 'account',
    keyId: null,
    endUser: null,
    increase: null,
  } as const;
  return await sql.begin((transaction) =>
    createLimitAs(transaction, actor, {
      ...common,
      kind: 'spend_per_day',
      amount: one,
      setBy: 'operator',
      ...draft,
    }),
  );
}

async function limited(
  owner: Customer,
  endUser: string | null = null,
  changes: Partial<Hold> = {},
): Promise<Hold> {
  const made = { ...hold(owner, one), ...changes };
  const applied = await limits.renew(
    { id: owner.keyId, accountId: owner.accountId, limitVersion: 1 },
    endUser,
  );
  return { ...made, generation: { ...made.generation, limits: applied } };
}

function grantedOf(results: readonly HoldResult[]): number {
  return results.filter(({ outcome }) => outcome === 'held').length;
}

/** A hold takes one of everything. */
const oneToken = { tokens: { min: 1, max: 1 } };

describe('of a thousand holds at once on two ledgers', () => {
  for (const kind of limitKinds)
    test(`exactly those are granted that fit: ${kind}`, async () => {
      const owner = await customer(10_000n * one);
      await shiftClockTo('2028-05-05T12:00:01Z');
      await limit(owner, { kind, amount: 37n * one });
      const other = await anotherKey(owner.accountId);
      const holds = await Promise.all(
        Array.from({ length: 1_000 }, (_, place) => limited(place % 3 === 0 ? other : owner, null, oneToken)),
      );
      const results = await Promise.all(
        holds.map((held, place) => (ledgers[place % 2] as typeof ledger).hold(held)),
      );
      expect(grantedOf(results)).toBe(37);
      const denied = results.find(({ outcome }) => outcome === 'denied');
      expect(denied).toMatchObject({
        code: kind.startsWith('spend') ? 'spend_limit_exceeded' : 'rate_limit_exceeded',
        limit: { kind, scope: 'account', amount: 37n * one, left: 0n },
      });
    }, 60_000);
});

describe('a window that is over counts for nothing', () => {
  /** A Sunday, the last of a month and of a year. */
  const before = '2028-12-31T23:59:58Z';
  const midnight = '2029-01-01T00:00:00Z';
  for (const kind of limitKinds.filter((one) => one !== 'concurrent_requests'))
    test(`${kind}, without anything that resets it`, async () => {
      const owner = await customer(100n * one);
      const { id } = await limit(owner, { kind, amount: 3n * one });
      await shiftClockTo(before);
      const first = [];
      for (let count = 0; count < 4; count += 1) {
        const held = await limited(owner, null, oneToken);
        first.push({ held, result: await ledger.hold(held) });
      }
      expect(first.map(({ result }) => result.outcome)).toEqual(['held', 'held', 'held', 'denied']);
      expect(first[3]?.result).toMatchObject({ limit: { freesAtMs: Date.parse(midnight) } });
      for (const { held, result } of first.slice(0, 2)) {
        if (result.outcome !== 'held') throw new Error('It was denied.');
        const tokens = result.tokens
          ? { unusedTokens: { count: 0, countedAtMs: result.tokens.countedAtMs } }
          : {};
        await ledger.settle({ ...settlement(held, one), ...tokens });
      }
      await shiftClockTo(midnight);
      const second: HoldResult[] = [];
      for (let count = 0; count < 4; count += 1)
        second.push(await ledger.hold(await limited(owner, null, oneToken)));
      // What is still held counts in any window, and what was spent only in its own.
      expect(grantedOf(second)).toBe(kind.startsWith('spend') ? 2 : 3);
      expect((await meterOf(id)).held).toBe(kind.startsWith('spend') ? '3' : '0');
    });

  test('and what is settled afterwards counts in the new one', async () => {
    const owner = await customer(100n * one);
    const { id } = await limit(owner, { kind: 'spend_per_week', amount: 10n * one });
    await shiftClockTo(before);
    const held = await limited(owner);
    await ledger.hold(held);
    await shiftClockTo(midnight);
    await ledger.settle(settlement(held, one / 2n));
    expect(await meterOf(id)).toEqual({ window: '2029-01-01 00:00:00', used: '0.5', held: '0' });
  });

  test('the gateway and the database agree on when that is', async () => {
    const time = fc.date({ min: new Date('2026-01-01'), max: new Date('2031-01-01'), noInvalidDate: true });
    await fc.assert(
      fc.asyncProperty(time, fc.constantFrom(...limitKinds), async (at, kind) => {
        const endMs = windowEndMs(kind, at.getTime());
        if (endMs === null) return;
        const [row] = await sql`
          select limit_window(${kind}, ${at}) as here, limit_window(${kind}, ${new Date(endMs - 1)}) as last,
                 limit_window(${kind}, ${new Date(endMs)}) = ${new Date(endMs)} at time zone 'UTC' as begins`;
        expect(row).toEqual({ here: row.last, last: row.here, begins: true });
      }),
      { numRuns: 100 },
    );
  });
});

async function meterOf(id: string) {
  const [meter] = await sql<[{ window: string; used: string; held: string }]>`
    select window_start::text as window, trim_scale(used)::text as used, trim_scale(held)::text as held
    from limit_meters where id = ${id}`;
  return { ...meter };
}

test('several limits at once: the strictest decides, and the refusal names it', async () => {
  const owner = await customer(100n * one);
  await limit(owner, { kind: 'spend_per_month', amount: 5n * one });
  await limit(owner, { kind: 'spend_per_day', amount: 4n * one });
  await limit(owner, { scope: 'key', keyId: owner.keyId, kind: 'spend_per_day', amount: 3n * one });
  await limit(owner, { scope: 'each_end_user', kind: 'spend_per_day', amount: 2n * one });
  const scopes: unknown[] = [];
  for (const endUser of ['Ann', 'Ann', 'Ann', 'Bob', 'Bob']) {
    const result = await ledger.hold(await limited(owner, endUser));
    scopes.push(result.outcome === 'held' ? 'held' : result.limit?.scope);
  }
  expect(scopes).toEqual(['held', 'held', 'each_end_user', 'held', 'key']);
  const other = await anotherKey(owner.accountId);
  expect(await ledger.hold(await limited(other, 'Bob'))).toMatchObject({ outcome: 'held' });
  expect(await ledger.hold(await limited(other, 'Eve'))).toMatchObject({
    code: 'spend_limit_exceeded',
    limit: { scope: 'account', kind: 'spend_per_day', needed: one, left: 0n },
  });
});

test('a change counts for the next hold: raised, lowered, for a while, or removed', async () => {
  const owner = await customer(100n * one);
  const { id } = await limit(owner, { kind: 'spend_per_day', amount: one });
  const change = (changes: Parameters<typeof updateLimitAs>[3]) =>
    sql.begin((transaction) => updateLimitAs(transaction, actor, id, changes));
  const held = await limited(owner);
  const granted = async () => {
    const { outcome } = await ledger.hold({ ...held, generation: { ...held.generation, id: newId() } });
    return outcome === 'held';
  };
  expect(await granted()).toBe(true);
  expect(await granted()).toBe(false);
  await change({ amount: 2n * one });
  expect(await granted()).toBe(true);
  await change({ amount: one });
  expect(await granted()).toBe(false);
  await change({ increase: { amount: 5n * one, until: new Date(Date.now() + 3_600_000) } });
  expect(await granted()).toBe(true);
  await shiftClockTo(new Date(Date.now() + 3_601_000).toISOString());
  await change({ amount: 3n * one });
  expect(await granted()).toBe(false);
  await shiftClockTo(null);
  await sql.begin((transaction) => removeLimitAs(transaction, actor, id));
  // It was made with a limit that is gone, so it has to be made again.
  expect(await ledger.hold({ ...held, generation: { ...held.generation, id: newId() } })).toMatchObject({
    code: 'limits_changed',
  });
  expect(await ledger.hold(await limited(owner))).toMatchObject({ outcome: 'held' });
  await expectSound();
});

test('a ledger that knows of no limit cannot admit anything to an account that has one', async () => {
  const owner = await customer(100n * one);
  const unaware = hold(owner, one);
  expect(await ledger.hold(unaware)).toMatchObject({ outcome: 'held' });
  await limit(owner, { kind: 'spend_per_day', amount: 0n });
  expect(await ledger.hold(hold(owner, one))).toMatchObject({ outcome: 'denied', code: 'limits_changed' });
  // What was admitted before is settled as ever.
  expect(await ledger.settle(settlement(unaware, one))).toBe('settled');
});

test('a new limit counts what was spent in its window, less what was refunded', async () => {
  const owner = await customer(100n * one);
  const other = await anotherKey(owner.accountId);
  for (const [key, cost] of [
    [owner, 2n],
    [owner, 3n],
    [other, 4n],
  ] as const) {
    const held = hold(key, 10n * one);
    await ledger.hold(held);
    await ledger.settle(settlement(held, cost * one));
    if (cost === 3n) await ledger.settle({ ...settlement(held, null), onAlreadyCharged: 'refund' });
  }
  const used = async (draft: Partial<LimitDraft>) =>
    (await limit(owner, { amount: 50n * one, ...draft })).used;
  expect(await used({ kind: 'spend_per_day' })).toBe(6n * one);
  expect(await used({ kind: 'spend_per_month' })).toBe(6n * one);
  expect(await used({ scope: 'key', keyId: owner.keyId, kind: 'spend_per_week' })).toBe(2n * one);
  expect(await used({ kind: 'requests_per_minute' })).toBe(0n);
});

test('what is refunded counts no longer', async () => {
  const owner = await customer(100n * one);
  const { id } = await limit(owner, { kind: 'spend_per_day', amount: 50n * one });
  await limit(owner, { scope: 'each_end_user', kind: 'spend_per_day', amount: 50n * one });
  const held = await limited(owner, 'Ann');
  const generation = { ...held.generation, attribution: { endUser: 'Ann', session: null, tags: [] } };
  await ledger.hold({ ...held, generation });
  await ledger.settle({ ...settlement({ ...held, generation }, one) });
  expect((await meterOf(id)).used).toBe('1');
  await ledger.settle({ ...settlement({ ...held, generation }, null), onAlreadyCharged: 'refund' });
  const meters = held.generation.limits?.meters ?? [];
  expect(meters).toHaveLength(2);
  for (const meter of meters) expect((await meterOf(meter.id)).used).toBe('0');
});

test('an end user gets a meter with the first request, and loses it when its window is over', async () => {
  const owner = await customer(100n * one);
  await setClockToMinuteStart(sql);
  const { id } = await limit(owner, {
    scope: 'each_end_user',
    kind: 'requests_per_minute',
    amount: 2n * one,
  });
  const outcomes: string[] = [];
  for (let count = 0; count < 3; count += 1)
    outcomes.push((await ledger.hold(await limited(owner, 'Zoë "the" {user}, \\'))).outcome);
  expect(outcomes).toEqual(['held', 'held', 'denied']);
  const [meter] = await sql`select id, end_user from limit_meters where limit_id = ${id}`;
  expect(meter).toEqual({ id: meterIdOf(id, 'Zoë "the" {user}, \\'), end_user: 'Zoë "the" {user}, \\' });
  // Those of end users who were refused everything.
  await removeOldMeters(sql);
  expect(await removeOldMeters(sql)).toBe(0);
  await sql`update limit_meters set window_start = window_start - interval '2 hours' where limit_id = ${id}`;
  expect(await removeOldMeters(sql)).toBe(1);
  // The ledger believes that it is there.
  expect(await ledger.hold(await limited(owner, 'Zoë "the" {user}, \\'))).toMatchObject({ outcome: 'held' });
});

test('a limit of one end user replaces that of each, and goes on with what was used', async () => {
  const owner = await customer(100n * one);
  await limit(owner, { scope: 'each_end_user', kind: 'spend_per_day', amount: one });
  const first = await limited(owner, 'Ann');
  await ledger.hold(first);
  await ledger.settle(settlement(first, one));
  expect(await ledger.hold(await limited(owner, 'Ann'))).toMatchObject({ outcome: 'denied' });
  const { id, used } = await limit(owner, { scope: 'end_user', endUser: 'Ann', amount: 2n * one });
  expect(used).toBe(one);
  const second = await limited(owner, 'Ann');
  expect(await ledger.hold(second)).toMatchObject({ outcome: 'held' });
  await ledger.settle(settlement(second, one));
  expect(await ledger.hold(await limited(owner, 'Ann'))).toMatchObject({ limit: { scope: 'end_user' } });
  expect(await ledger.hold(await limited(owner, 'Bob'))).toMatchObject({ outcome: 'held' });
  await sql.begin((transaction) => removeLimitAs(transaction, actor, id));
  expect(await ledger.hold(await limited(owner, 'Ann'))).toMatchObject({ limit: { scope: 'each_end_user' } });
});

test('tokens: the most is taken, less if less is left, and what is not used comes back', async () => {
  const owner = await customer(100n * one);
  const { id } = await limit(owner, { kind: 'tokens_per_minute', amount: 1_000n * one });
  await shiftClockTo('2028-05-05T12:00:01Z');
  const ask = async (min: number, max: number) => {
    const held = await limited(owner, null, { tokens: { min, max } });
    return { held, result: await ledger.hold(held) };
  };
  const { held, result } = await ask(100, 900);
  // A quarter of what is left.
  expect(result).toMatchObject({ tokens: { count: 250, rate: { limit: 1_000, remaining: 750 } } });
  if (result.outcome !== 'held' || !result.tokens) throw new Error('It was denied.');
  expect((await ask(800, 900)).result).toMatchObject({
    code: 'rate_limit_exceeded',
    limit: { kind: 'tokens_per_minute', needed: 800n * one, left: 750n * one },
  });
  expect((await ask(750, 750)).result).toMatchObject({ tokens: { count: 750, rate: { remaining: 0 } } });
  await ledger.settle({
    ...settlement(held, one),
    unusedTokens: { count: 240, countedAtMs: result.tokens.countedAtMs },
  });
  expect((await meterOf(id)).used).toBe('760');
  // In another minute nothing comes back, because nothing was taken of it.
  const later = await ask(240, 240);
  await shiftClockTo('2028-05-05T12:01:01Z');
  await ask(10, 10);
  if (later.result.outcome !== 'held' || !later.result.tokens) throw new Error('It was denied.');
  const unusedTokens = { count: 240, countedAtMs: later.result.tokens.countedAtMs };
  await ledger.settle({ ...settlement(later.held, one), unusedTokens });
  expect((await meterOf(id)).used).toBe('10');
});

test('what a dead node held of limits is released with its Generations', async () => {
  const owner = await customer(100n * one);
  const { id } = await limit(owner, { kind: 'concurrent_requests', amount: 2n * one });
  const dead = newId();
  await sql`insert into nodes (id, name, stopped_at) values (${dead}, 'dead', now())`;
  const held = { ...(await limited(owner)), nodeId: dead };
  await ledger.hold(held);
  expect((await meterOf(id)).held).toBe('1');
  const orphans = await findOrphans(sql, fixture.nodeId, 60);
  const orphan = orphans.find(({ generation }) => generation.id === held.generation.id);
  if (orphan === undefined) throw new Error('Nothing was left open.');
  await ledger.settle(orphan);
  expect((await meterOf(id)).held).toBe('0');
});

test('two limits of the same kind and scope cannot be set by the same party', async () => {
  const owner = await customer(one);
  const { id } = await limit(owner, {});
  const error = await limit(owner, {}).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'limit_exists' });
  await limit(owner, { setBy: 'account' });
  expect(await findLimit(sql, id, newId())).toBeNull();
  expect(await findLimit(sql, id, owner.accountId)).toMatchObject({ id });
});

describe('beside others', () => {
  test('end users who are refused leave no meters', async () => {
    const owner = await customer(100n * one);
    const { id } = await limit(owner, { scope: 'each_end_user', kind: 'spend_per_day', amount: 0n });
    for (const name of ['new 1', 'new 2'])
      expect(await ledger.hold(await limited(owner, name))).toMatchObject({ outcome: 'denied' });
    expect(await sql`select 1 from limit_meters where limit_id = ${id}`).toHaveLength(0);
  });

  test('upkeep does not remove a meter that a hold is about to use', async () => {
    const owner = await customer(100n * one);
    await limit(owner, { scope: 'each_end_user', kind: 'concurrent_requests', amount: one });
    const first = await limited(owner, 'Ann');
    await ledger.hold(first);
    await ledger.settle(settlement(first, 1n));
    const meters = first.generation.limits?.meters ?? [];
    const { id = '' } = meters[0] ?? {};
    await sql.begin(async (transaction) => {
      const literal = `{"(${id},${meters[0]?.limitId},Ann)"}`;
      await transaction`select ledger_read_limits(${literal}::text::ledger_limit_meter[], ${Date.now()}::float8)`;
      await removeOldMeters(sql);
    });
    expect(await sql`select 1 from limit_meters where id = ${id}`).toHaveLength(1);
  });

  test('a clock that steps back begins no window anew', async () => {
    const owner = await customer(100n * one);
    await limit(owner, { kind: 'requests_per_minute', amount: 2n * one });
    await shiftClockTo('2028-05-05T12:00:01Z');
    for (let count = 0; count < 2; count += 1) await ledger.hold(await limited(owner));
    await shiftClockTo('2028-05-05T11:59:59Z');
    expect(await ledger.hold(await limited(owner))).toMatchObject({ outcome: 'denied' });
  });

  test('what did not count towards a limit is not given back to it', async () => {
    const owner = await customer(100n * one);
    const open = hold(owner, 10n * one);
    await ledger.hold(open);
    const { id } = await limit(owner, { kind: 'spend_per_day', amount: 50n * one });
    const counted = await limited(owner, null);
    await ledger.hold(counted);
    await ledger.settle(settlement(counted, one));
    await ledger.settle(settlement(open, 5n * one));
    expect((await meterOf(id)).used).toBe('1');
    await ledger.settle({ ...settlement(open, null), onAlreadyCharged: 'refund' });
    expect((await meterOf(id)).used).toBe('1');
  });

  test('a limit of tokens that is used up does not refuse what has none', async () => {
    const owner = await customer(100n * one);
    await setClockToMinuteStart(sql);
    const { id } = await limit(owner, { kind: 'tokens_per_minute', amount: 10n * one });
    await ledger.hold(await limited(owner, null, { tokens: { min: 10, max: 10 } }));
    await sql.begin((transaction) => updateLimitAs(transaction, actor, id, { amount: one }));
    expect(await ledger.hold(await limited(owner))).toMatchObject({ outcome: 'held' });
  });
});
