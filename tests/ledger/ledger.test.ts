/** The ledger against a real PostgreSQL: idempotence, isolation of rejections, dead nodes, and any sequence of all of it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import fc from 'fast-check';
import { findGeneration, findPage, newestPosition } from '../../src/generations/generation-store.ts';
import { findDeadLetters, retryDeadLetters } from '../../src/ledger/dead-letters.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { commitLocked } from '../../src/ledger/locked-commit.ts';
import type { Hold, Operation, Settlement } from '../../src/ledger/operations.ts';
import { PendingOperations } from '../../src/ledger/pending-operations.ts';
import { lossOf } from '../../src/ledger/settlement.ts';
import { openSpool } from '../../src/ledger/spool.ts';
import { newId } from '../../src/lib/ids.ts';
import { findOrphans } from '../../src/nodes/dead-nodes.ts';
import { takeLease } from '../../src/nodes/lease.ts';
import { addUpUsage } from '../../src/usage/usage-days.ts';
import { findRecentUsage } from '../../src/usage/usage-store.ts';
import { eventually } from '../support/eventually.ts';
import { freezeSessions } from '../support/freeze-sessions.ts';
import { type Customer, LedgerFixture, silentLog } from '../support/ledger-fixture.ts';
import { quickTimings } from '../support/quick-lease.ts';

const fixture = await LedgerFixture.open();
const { database, folder, nodeId, attempt, customer, hold, settlement, money, expectSound } = fixture;
const ledger = fixture.openLedger();

beforeAll(async () => {
  await database.sql`insert into nodes (id, name) values (${nodeId}, 'test')`;
});

afterAll(async () => {
  await ledger.close();
  await fixture.close();
});

async function generationOf({ generation }: Pick<Hold, 'generation'>) {
  const [row] = await database.sql<
    [{ status: string; error_code: string | null; charged: string | null; lost: string | null }]
  >`
    select status, error_code, (cost_total * 1e12)::bigint::text as charged,
           (select reason from write_offs where generation_id = generations.id) as lost
    from generations where id = ${generation.id}`;
  return { ...row };
}

async function settledAll(one: Ledger): Promise<void> {
  await eventually('all is settled', () => !one.isBusy());
}

test('a hold and its settlement, and both of them again', async () => {
  const owner = await customer(100n);
  const held = hold(owner, 40n);
  expect(await ledger.hold(held)).toMatchObject({ outcome: 'held' });
  expect(await money(owner)).toEqual({ balance: '100', held: '40' });
  expect(await ledger.hold(held)).toMatchObject({ outcome: 'held' });
  expect(await money(owner)).toEqual({ balance: '100', held: '40' });
  expect(await ledger.settle(settlement(held, 30n))).toBe('settled');
  expect(await ledger.settle(settlement(held, 30n))).toBe('settled');
  expect(await ledger.settle(settlement(held, 99n))).toBe('settled');
  expect(await money(owner)).toEqual({ balance: '70', held: '0' });
  await expectSound();
});

test('a repeated hold reports the rate as it is, and is counted once', async () => {
  const owner = await customer(100n, { requestsPerMinute: 60 });
  const held = hold(owner, 40n);
  for (let sending = 0; sending < 2; sending++) {
    const result = await ledger.hold(held);
    expect(result).toMatchObject({ outcome: 'held', amount: 40n, rate: { limit: 60 } });
    // One of the 60 is taken, and comes back after a second.
    expect(result.rate?.remaining).toBeGreaterThanOrEqual(59);
  }
});

test('the same operations twice in one batch count once', async () => {
  const owner = await customer(100n);
  const held = hold(owner, 40n);
  await ledger.hold(held);
  const results = await Promise.all([1, 2, 3].map(() => ledger.settle(settlement(held, 10n))));
  expect(results).toEqual(['settled', 'settled', 'settled']);
  expect(await money(owner)).toEqual({ balance: '90', held: '0' });
  await expectSound();
});

test('of many holds at once, exactly those that the balance covers are granted', async () => {
  const owner = await customer(70n);
  const results = await Promise.all(Array.from({ length: 50 }, () => ledger.hold(hold(owner, 10n))));
  expect(results.filter(({ outcome }) => outcome === 'held')).toHaveLength(7);
  expect(await money(owner)).toEqual({ balance: '70', held: '70' });
  await database.sql`update nodes set stopped_at = now() where id = ${nodeId}`;
});

test('what a stopped node left open is released, and charged once if the node was only late', async () => {
  const owner = await customer(100n);
  const dead = newId();
  await database.sql`insert into nodes (id, name, stopped_at) values (${dead}, 'dead', now())`;
  const orphan = hold(owner, 60n, { node: dead });
  await ledger.hold(orphan);
  const lease = await takeLease({
    connection: { url: database.url, max: 1 },
    ledger,
    node: { id: newId(), name: 'living' },
    log: silentLog,
    timings: quickTimings,
  });
  await eventually('what was left open is released', async () => (await money(owner)).held === '0');
  expect(await money(owner)).toEqual({ balance: '100', held: '0' });
  const [row] =
    await database.sql`select status, error_code from generations where id = ${orphan.generation.id}`;
  expect(row).toEqual({ status: 'failed', error_code: 'gateway_interrupted' });
  const [loss] =
    await database.sql`select reason from write_offs where generation_id = ${orphan.generation.id}`;
  expect(loss).toEqual({ reason: 'interrupted' });
  for (let sendings = 0; sendings < 2; sendings += 1)
    expect(await ledger.settle(settlement(orphan, 30n))).toBe('settled');
  expect(await generationOf(orphan)).toEqual({
    status: 'completed',
    error_code: null,
    charged: '30',
    lost: null,
  });
  expect(await money(owner)).toEqual({ balance: '70', held: '0' });
  await lease.stop();
  await expectSound();
}, 60_000);

test('what a node left open is released when it has stopped, is unknown, or was silent for longer than its lease', async () => {
  const owner = await customer(100n);
  const leaseSeconds = 3_600;
  const nodes = [
    { name: 'stopped', silentSeconds: 0, isOrphaned: true },
    { name: 'silent for just less', silentSeconds: leaseSeconds - 60, isOrphaned: false },
    { name: 'silent for just more', silentSeconds: leaseSeconds + 60, isOrphaned: true },
    { name: 'the one that asks', silentSeconds: leaseSeconds + 60, isOrphaned: false },
  ].map((node) => ({ ...node, id: newId() }));
  const left = new Map<string, string>();
  for (const { id, name } of [...nodes, { id: newId(), name: 'unknown' }]) {
    const opened = hold(owner, 1n, { node: id });
    await ledger.hold(opened);
    left.set(opened.generation.id, name);
  }
  for (const { id, name, silentSeconds } of nodes)
    await database.sql`
      insert into nodes (id, name, heartbeat_at, stopped_at)
      values (${id}, ${name}, now() - make_interval(secs => ${silentSeconds}),
              case when ${name === 'stopped'}::boolean then now() end)`;
  const orphans = await findOrphans(database.sql, nodes.at(-1)?.id ?? '', leaseSeconds);
  const found = orphans.flatMap(({ generation }) => left.get(generation.id) ?? []);
  expect(found.toSorted()).toEqual(['silent for just more', 'stopped', 'unknown']);
  for (const orphan of orphans) await ledger.settleOnce(orphan);
  // A node gives up others by the same lease that it holds itself.
  await database.sql`update nodes set heartbeat_at = now() - interval '1 minute' where id = ${nodes[1]?.id ?? ''}`;
  const lease = await takeLease({
    connection: { url: database.url, max: 1 },
    ledger,
    node: { id: newId(), name: 'living' },
    log: silentLog,
    timings: quickTimings,
  });
  await eventually('a minute is longer than the lease', async () => (await money(owner)).held === '0');
  await lease.stop();
  await expectSound();
}, 60_000);

describe('a settlement of a Generation that was given up', () => {
  async function givenUp(balance: bigint, amount: bigint): Promise<{ owner: Customer; held: Hold }> {
    const owner = await customer(balance);
    const held = hold(owner, amount);
    await ledger.hold(held);
    await ledger.settle(settlement(held, null, { errorCode: 'gateway_interrupted' }));
    return { owner, held };
  }

  test('records its real outcome, even if that costs nothing', async () => {
    const { owner, held } = await givenUp(100n, 60n);
    expect(await ledger.settle(settlement(held, null))).toBe('settled');
    expect(await generationOf(held)).toMatchObject({ status: 'failed', error_code: 'provider_unavailable' });
    expect(await money(owner)).toEqual({ balance: '100', held: '0' });
    await expectSound();
  });

  test('is charged as well if both arrive at once, in either order', async () => {
    const owner = await customer(100n);
    const [one, other] = [hold(owner, 30n), hold(owner, 30n)];
    const giveUp = (held: Hold) =>
      ledger.settleOnce(settlement(held, null, { errorCode: 'gateway_interrupted' }));
    await Promise.all([ledger.hold(one), ledger.hold(other)]);
    const results = await Promise.all([
      giveUp(one),
      ledger.settle(settlement(one, 30n)),
      ledger.settle(settlement(other, 20n)),
      giveUp(other),
    ]);
    expect(results).toEqual(['settled', 'settled', 'settled', 'settled']);
    expect(await generationOf(one)).toMatchObject({ status: 'completed', charged: '30' });
    expect(await generationOf(other)).toMatchObject({ status: 'completed', charged: '20' });
    expect(await money(owner)).toEqual({ balance: '50', held: '0' });
    await expectSound();
  });

  test('takes what is there, when the balance was spent meanwhile', async () => {
    const { owner, held } = await givenUp(100n, 60n);
    const other = hold(owner, 90n);
    await ledger.hold(other);
    expect(await ledger.settle(settlement(held, 30n, { onInsufficientBalance: 'write_off' }))).toBe('short');
    expect(await generationOf(held)).toMatchObject({
      status: 'failed',
      charged: '10',
      lost: 'insufficient_balance',
    });
    expect(await money(owner)).toEqual({ balance: '90', held: '90' });
    await expectSound();
  });

  test('leaves it as it is for another node that gives it up too', async () => {
    const { held } = await givenUp(100n, 60n);
    expect(await ledger.settle(settlement(held, null, { errorCode: 'gateway_interrupted' }))).toBe(
      'interrupted',
    );
    expect(await generationOf(held)).toMatchObject({ error_code: 'gateway_interrupted' });
  });
});

describe('a response that was withheld after its charge', () => {
  const withheld = (held: Hold, changes: Partial<Settlement> = {}) =>
    settlement(held, null, {
      errorCode: 'billing_consistency_error',
      onAlreadyCharged: 'refund',
      ...changes,
    });

  test('is refunded, once, with its month and its usage', async () => {
    const owner = await customer(100n, { monthlyLimit: 50n });
    const held = hold(owner, 40n);
    await ledger.hold(held);
    await ledger.settle(settlement(held, 40n));
    // Half of the usage has been summed up when the refund comes, the other half has not.
    await addUpUsage(database.sql);
    for (let sendings = 0; sendings < 2; sendings += 1)
      expect(await ledger.settle(withheld(held))).toBe('settled');
    expect(await money(owner)).toEqual({ balance: '100', held: '0' });
    expect(await generationOf(held)).toMatchObject({
      status: 'failed',
      error_code: 'billing_consistency_error',
      charged: null,
    });
    const entries = await database.sql`
      select kind, (amount * 1e12)::bigint::text as amount, generation_id from ledger_entries
      where account_id = ${owner.accountId} and number > 1 order by number`;
    expect([...entries]).toEqual([
      { kind: 'charge', amount: '-40', generation_id: held.generation.id },
      { kind: 'refund', amount: '40', generation_id: held.generation.id },
    ]);
    expect(await findRecentUsage(database.sql, owner.accountId, 10)).toEqual([]);
    await expectSound();
    await addUpUsage(database.sql);
    await expectSound();
    // The month has all of its limit again.
    expect(await ledger.hold(hold(owner, 50n))).toMatchObject({ outcome: 'held' });
  });

  test('stands for an idempotent request, whose retry gets the response', async () => {
    const owner = await customer(100n);
    const held = hold(owner, 40n);
    await ledger.hold(held);
    await ledger.settle(settlement(held, 30n));
    expect(await ledger.settle(withheld(held, { onAlreadyCharged: 'refund_unless_stored' }))).toBe('settled');
    expect(await generationOf(held)).toMatchObject({ status: 'completed', charged: '30' });
    expect(await money(owner)).toEqual({ balance: '70', held: '0' });
  });

  test('is refunded even if its usage was not believed', async () => {
    const owner = await customer(100n);
    const held = hold(owner, 40n);
    await ledger.hold(held);
    const reported = { inputTokens: 1, outputTokens: 1_000_000 };
    const loss = { reason: 'implausible_usage', amount: 7n, reported, counts: null } as const;
    await ledger.settle(settlement(held, 40n, { loss }));
    expect(await ledger.settle(withheld(held))).toBe('settled');
    expect(await money(owner)).toEqual({ balance: '100', held: '0' });
    await expectSound();
  });

  test('is only released when the charge was never committed', async () => {
    const owner = await customer(100n);
    const held = hold(owner, 40n);
    await ledger.hold(held);
    expect(await ledger.settle(withheld(held))).toBe('settled');
    expect(await money(owner)).toEqual({ balance: '100', held: '0' });
    expect(await ledger.settle(settlement(held, 30n))).toBe('settled');
    expect(await money(owner)).toEqual({ balance: '100', held: '0' });
    await expectSound();
  });

  test('is found in the spool by the next process', async () => {
    const owner = await customer(100n);
    const held = hold(owner, 40n);
    await ledger.hold(held);
    const charged = settlement(held, 30n);
    await ledger.settle(charged);
    const left = openSpool(folder, 2 ** 22 + 3, newId());
    for (const one of [charged, withheld(held)]) left.keep(one);
    const next = openSpool(folder, process.pid, newId());
    const { settlements } = next.takeLeftBehind();
    for (const one of settlements) await ledger.settle(one);
    next.clearTaken();
    expect(await money(owner)).toEqual({ balance: '100', held: '0' });
    await expectSound();
  });
});

test('lines of the spool that are not settlements are put aside and do not keep others from being settled', async () => {
  const owner = await customer(100n);
  const held = hold(owner, 40n);
  await ledger.hold(held);
  const spooled = join(folder, 'spool');
  openSpool(folder, 2 ** 22 + 4, nodeId).keep(settlement(held, 33n));
  const file = join(spooled, `${2 ** 22 + 4}.${nodeId}.jsonl`);
  const lines = ['{"kind":"settle"}', 'null', '[1', '{"kind":"settle","generation":{"id":"not a uuid"}}'];
  appendFileSync(file, lines.join('\n'));
  const next = openSpool(folder, process.pid, newId());
  const { settlements, malformedCount } = next.takeLeftBehind();
  expect([settlements.map(({ cost }) => cost?.total), malformedCount]).toEqual([[33n], 4]);
  for (const one of settlements) expect(await ledger.settle(one)).toBe('settled');
  next.clearTaken();
  expect(readFileSync(join(spooled, 'malformed.txt'), 'utf8').trim().split('\n')).toEqual(lines);
});

describe('a settlement that the database rejects for good', () => {
  /** More attempts than the column can count, as an example of what may be rejected. */
  const impossible = (held: Hold, changes: Partial<Settlement> = {}) =>
    settlement(held, 5n, {
      attempts: [{ ...attempt, index: 40_000 }],
      onInsufficientBalance: 'write_off',
      ...changes,
    });

  test('is set aside: its hold is released, and it can be looked at and tried again', async () => {
    const owner = await customer(1_000n);
    const held = hold(owner, 10n);
    await ledger.hold(held);
    expect(await ledger.settle(impossible(held))).toBe('set_aside');
    expect(await money(owner)).toEqual({ balance: '1000', held: '0' });
    expect(await generationOf(held)).toMatchObject({
      status: 'failed',
      error_code: 'billing_consistency_error',
    });
    await expectSound();
    const [letter] = await findDeadLetters(database.sql);
    expect(letter).toMatchObject({
      generationId: held.generation.id,
      accountId: owner.accountId,
      error: { code: '22003' },
      amount: 5n,
    });

    expect(await retryDeadLetters(database.sql, ledger)).toEqual({ settled: 0, refused: 1 });
    await database.sql`
      update dead_letters set settlement = jsonb_set(settlement, '{attempts}', '[]')
      where generation_id = ${held.generation.id}`;
    expect(await retryDeadLetters(database.sql, ledger)).toEqual({ settled: 1, refused: 0 });
    expect(await findDeadLetters(database.sql)).toEqual([]);
    expect(await money(owner)).toEqual({ balance: '995', held: '0' });
    expect(await generationOf(held)).toMatchObject({ status: 'completed', charged: '5' });
    await expectSound();
  });

  test('is set aside also when it comes late, and charged when it is tried again', async () => {
    const owner = await customer(1_000n);
    const held = hold(owner, 10n);
    await ledger.hold(held);
    await ledger.settle(settlement(held, null, { errorCode: 'gateway_interrupted' }));
    expect(await ledger.settle(impossible(held))).toBe('set_aside');
    expect(await generationOf(held)).toMatchObject({ error_code: 'gateway_interrupted' });
    await database.sql`
      update dead_letters set settlement = jsonb_set(settlement, '{attempts}', '[]')
      where generation_id = ${held.generation.id}`;
    expect(await retryDeadLetters(database.sql, ledger)).toEqual({ settled: 1, refused: 0 });
    expect(await money(owner)).toEqual({ balance: '995', held: '0' });
    await expectSound();
  });

  test('is set aside for another node that gives it up', async () => {
    const owner = await customer(1_000n);
    const held = hold(owner, 10n);
    await ledger.hold(held);
    const orphan = settlement(held, null, {
      errorCode: 'gateway_interrupted',
      attempts: [{ ...attempt, index: 40_000 }],
    });
    expect(await ledger.settleOnce(orphan)).toBe('set_aside');
    expect(await money(owner)).toEqual({ balance: '1000', held: '0' });
    await expectSound();
    expect(await retryDeadLetters(database.sql, ledger)).toEqual({ settled: 1, refused: 0 });
  });

  test('is not charged a second time for an idempotent request that ran again', async () => {
    const owner = await customer(1_000n);
    const plain = hold(owner, 10n);
    const held = { ...plain, generation: { ...plain.generation, idempotencyHash: 'ab'.repeat(32) } };
    await database.sql`
      insert into idempotent_requests (key_id, name_hash, body_hash, request_id, node_id, expires_at)
      values (${owner.keyId}, decode(${'ab'.repeat(32)}, 'hex'), decode(${'ab'.repeat(32)}, 'hex'), ${held.generation.id},
              ${nodeId}, now() + interval '1 day')`;
    await ledger.hold(held);
    expect(await ledger.settle(impossible(held))).toBe('set_aside');
    // Its client was told of a failure, and the claim was released.
    await database.sql`delete from idempotent_requests where key_id = ${owner.keyId}`;
    await database.sql`
      update dead_letters set settlement = jsonb_set(settlement, '{attempts}', '[]')
      where generation_id = ${held.generation.id}`;
    expect(await retryDeadLetters(database.sql, ledger)).toEqual({ settled: 1, refused: 0 });
    expect(await money(owner)).toEqual({ balance: '1000', held: '0' });
    expect(await findDeadLetters(database.sql)).toEqual([]);
  });

  test('is never charged for a response that was withheld', async () => {
    const owner = await customer(1_000n);
    const held = hold(owner, 10n);
    await ledger.hold(held);
    expect(await ledger.settle(impossible(held, { onInsufficientBalance: 'withhold' }))).toBe('set_aside');
    expect(await retryDeadLetters(database.sql, ledger)).toEqual({ settled: 1, refused: 0 });
    expect(await money(owner)).toEqual({ balance: '1000', held: '0' });
    expect(await findDeadLetters(database.sql)).toEqual([]);
    await expectSound();
  });
});

test('a Generation that was open for longer than an integer has milliseconds is listed, found and settled', async () => {
  const owner = await customer(100n);
  const monthMs = 31 * 24 * 60 * 60 * 1000;
  const fresh = hold(owner, 10n);
  const held = { ...fresh, generation: { ...fresh.generation, createdAtMs: Date.now() - monthMs } };
  await ledger.hold(held);
  const found = await findGeneration(database.sql, held.generation.id, owner.keyId);
  const [listed] = await findPage(
    database.sql,
    owner.keyId,
    { status: null, model: null },
    newestPosition,
    1,
  );
  expect([found?.latency_ms, listed?.latency_ms]).toEqual([2_147_483_647, 2_147_483_647]);
  expect(await ledger.settle(settlement(held, 5n, { latencyMs: monthMs }))).toBe('settled');
  expect(await money(owner)).toEqual({ balance: '95', held: '0' });
});

test('one settlement that the database rejects does not fail the others of its batch', async () => {
  const owner = await customer(1_000n);
  const [good, bad] = [hold(owner, 10n), hold(owner, 10n)];
  await Promise.all([ledger.hold(good), ledger.hold(bad)]);
  const careful = fixture.openLedger('careful');
  const impossible = settlement(bad, 5n, { attempts: [{ ...attempt, index: 40_000 }] });
  const results = await Promise.all([careful.settle(settlement(good, 5n)), careful.settle(impossible)]);
  expect(results).toEqual(['settled', 'set_aside']);
  await settledAll(careful);
  await careful.close();
  expect(await money(owner)).toEqual({ balance: '995', held: '0' });
  await expectSound();
}, 60_000);

test('a settlement that cannot be stored waits in the spool and is settled by the next process', async () => {
  const owner = await customer(100n);
  const held = hold(owner, 40n);
  await ledger.hold(held);
  const left = openSpool(folder, 2 ** 22 + 1, newId());
  left.keep(settlement(held, 33n));
  const next = openSpool(folder, process.pid, newId());
  const { settlements: found } = next.takeLeftBehind();
  expect(found.map(({ generation, cost }) => [generation.id, cost?.total])).toEqual([
    [held.generation.id, 33n],
  ]);
  for (const one of found) expect(await ledger.settle(one)).toBe('settled');
  next.clearTaken();
  expect(next.leftBehind()).toEqual({ settlements: [], malformedCount: 0 });
  expect(await money(owner)).toEqual({ balance: '67', held: '0' });
});

test('the next process settles what was recorded last', async () => {
  const owner = await customer(100n);
  const held = hold(owner, 40n);
  await ledger.hold(held);
  const left = openSpool(folder, 2 ** 22 + 2, newId());
  const told = settlement(held, null);
  for (const one of [settlement(held, 33n), told, told]) left.keep(one);
  const next = openSpool(folder, process.pid, newId());
  const { settlements: found } = next.takeLeftBehind();
  expect(found.map(({ status }) => status)).toEqual(['failed']);
  for (const one of found) await ledger.settle(one);
  next.clearTaken();
  expect(await money(owner)).toEqual({ balance: '100', held: '0' });
});

test('a database that stops answering is left for a new connection, and everything is settled once', async () => {
  const owner = await customer(100n);
  const frozen = fixture.openLedger('freeze me', { silenceMs: 2_000 });
  const held = hold(owner, 40n);
  await frozen.hold(held);
  const sessions = await freezeSessions(
    database.sql,
    () =>
      database.sql<{ pid: number }[]>`select pid from pg_stat_activity where application_name = 'freeze me'`,
  );
  try {
    expect(['settled', 'late']).toContain(await frozen.settle(settlement(held, 7n)));
  } finally {
    for (const { pid } of sessions) process.kill(pid, 'SIGCONT');
  }
  await settledAll(frozen);
  await frozen.close();
  expect(await money(owner)).toEqual({ balance: '93', held: '0' });
  await expectSound();
}, 60_000);

test('a settlement goes through although its connection is cut repeatedly', async () => {
  const owner = await customer(10_000n);
  const unlucky = fixture.openLedger('cut me');
  const total = 100;
  let done = 0;
  // Each cut hits whatever is in progress, and the next one comes only when something got through after it.
  const cutting = (async () => {
    for (let cut = 0; cut < 20 && done < total; cut += 1) {
      const doneBefore = done;
      await database.sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'cut me'`;
      await eventually('something is settled after a cut', () => done > doneBefore || done === total);
    }
  })();
  const settleOneAfterAnother = async () => {
    for (let left = total / 20; left > 0; left -= 1) {
      const one = hold(owner, 20n);
      const result = await unlucky.hold(one);
      expect(result.outcome).toBe('held');
      expect(['settled', 'late']).toContain(await unlucky.settle(settlement(one, 7n)));
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: 20 }, settleOneAfterAnother));
  await cutting;
  await settledAll(unlucky);
  await unlucky.close();
  const [{ charges }] = await database.sql<[{ charges: number }]>`
    select count(*)::int as charges from ledger_entries where account_id = ${owner.accountId} and kind = 'charge'`;
  expect(charges).toBe(total);
  expect(await money(owner)).toEqual({ balance: `${10_000 - 7 * total}`, held: '0' });
  await expectSound();
}, 60_000);

const action = fc.record({
  kind: fc.constantFrom(
    'hold' as const,
    'settle' as const,
    'release' as const,
    'again' as const,
    'crash' as const,
  ),
  amount: fc.bigInt({ min: 0n, max: 60n }),
  pick: fc.nat(100),
  onInsufficientBalance: fc.constantFrom('withhold' as const, 'write_off' as const),
});

/** Sends a batch while its connection is being cut, then again until its outcome is known. */
async function commitThroughCut(batch: Operation[], cutAfterMs: number): Promise<void> {
  const writer = new SQL(database.url, { max: 1, bigint: true });
  const connection = await writer.reserve();
  const [{ pid }] = await connection<[{ pid: number }]>`select pg_backend_pid() as pid`;
  const cut = Bun.sleep(cutAfterMs).then(() => database.sql`select pg_terminate_backend(${pid})`);
  const outcome = await commitLocked(connection, batch, null, new PendingOperations()).catch(() => 'unknown');
  await cut;
  await writer.close({ timeout: 0 });
  if (outcome === 'unknown') await commitThroughCut(batch, cutAfterMs + 5);
}

test('after any sequence of batches, sent once, twice or cut off at any moment, the ledger is sound', async () => {
  const connection = new SQL(database.url, { max: 1, bigint: true });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(action, { minLength: 1, maxLength: 6 }), { maxLength: 12 }),
      async (batches) => {
        const owners = [await customer(100n), await customer(150n, { monthlyLimit: 80n })];
        const holds: Hold[] = [];
        let previous: Operation[] = [];
        for (const actions of batches) {
          const operations = actions.flatMap((one): Operation[] => {
            const known = holds[one.pick % Math.max(1, holds.length)];
            if (one.kind === 'hold') {
              const made = hold(owners[one.pick % 2] as Customer, one.amount);
              holds.push(made);
              return [made];
            }
            if (one.kind === 'again') return previous.slice(0, 2);
            if (!known || one.kind === 'crash') return [];
            return [
              settlement(known, one.kind === 'release' ? null : one.amount, {
                onInsufficientBalance: one.onInsufficientBalance,
              }),
            ];
          });
          const unique = [
            ...new Map(operations.map((one) => [`${one.kind} ${one.generation.id}`, one])).values(),
          ];
          // A Generation is never held and settled in one batch: settling follows the answer to the hold.
          const heldHere = new Set(
            unique.filter(({ kind }) => kind === 'hold').map(({ generation }) => generation.id),
          );
          const batch = unique.filter(
            ({ kind, generation }) => kind === 'hold' || !heldHere.has(generation.id),
          );
          const crash = actions.find(({ kind }) => kind === 'crash');
          if (batch.length > 0 && crash) await commitThroughCut(batch, (crash.pick % 8) / 2);
          else if (batch.length > 0) await commitLocked(connection, batch, null, new PendingOperations());
          previous = batch;
        }
        await expectSound();
      },
    ),
    { numRuns: 15 },
  );
  await connection.close();
}, 120_000);

describe('an idempotent request', () => {
  const idempotencyHash = 'ab'.repeat(32);
  const answer = {
    idempotencyHash,
    response: 'd2hvbGU=',
    insufficientBalanceResponse: 'c2hvcnQ=',
  };

  const named = (one: Hold): Hold => ({ ...one, generation: { ...one.generation, idempotencyHash } });

  async function claim({ generation }: Hold): Promise<void> {
    await database.sql`
      insert into idempotent_requests (key_id, name_hash, body_hash, request_id, node_id, expires_at)
      values (${generation.keyId}, decode(${idempotencyHash}, 'hex'), decode(${idempotencyHash}, 'hex'), ${generation.id}, ${nodeId},
              now() + interval '1 day')
      on conflict (key_id, name_hash) do update set request_id = excluded.request_id`;
  }

  async function storedFor({ keyId }: Customer): Promise<string | null> {
    const [row] = await database.sql`
      select convert_from(answer, 'UTF8') as answer from idempotent_requests where key_id = ${keyId}`;
    return row.answer;
  }

  test('is admitted only with its claim, and the rest of the batch is not affected', async () => {
    const owner = await customer(100n);
    const mine = named(hold(owner, 10n));
    const taken = named(hold(owner, 10n));
    await claim(mine);
    const results = await Promise.allSettled([
      ledger.hold(mine),
      ledger.hold(taken),
      ledger.hold(hold(owner, 10n)),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await money(owner)).toEqual({ balance: '100', held: '20' });
  });

  test.each([
    ['paid for', 30n, 'write_off', 'whole'],
    ['not paid for, but delivered', 300n, 'write_off', 'short'],
    ['withheld', 300n, 'withhold', null],
  ] as const)(
    'stores the response with the charge: %s',
    async (_what, cost, onInsufficientBalance, expected) => {
      const owner = await customer(100n);
      const held = named(hold(owner, 40n));
      await claim(held);
      await ledger.hold(held);
      const unseen = {
        ...answer,
        insufficientBalanceResponse:
          onInsufficientBalance === 'withhold' ? null : answer.insufficientBalanceResponse,
      };
      await ledger.settle(settlement(held, cost, { stored: unseen, onInsufficientBalance }));
      expect(await storedFor(owner)).toBe(expected);
      await expectSound();
    },
  );

  test.each([
    ['whole', 30n],
    ['short', 300n],
  ] as const)('stores what was staged before: %s', async (which, cost) => {
    const owner = await customer(100n);
    const held = named(hold(owner, 40n));
    await claim(held);
    await ledger.hold(held);
    await database.sql`
      update idempotent_requests set staged = 'whole', staged_when_short = 'short' where key_id = ${owner.keyId}`;
    const staged = {
      idempotencyHash,
      response: 'staged',
      insufficientBalanceResponse: 'staged',
    } as const;
    await ledger.settle(settlement(held, cost, { stored: staged, onInsufficientBalance: 'write_off' }));
    const [row] = await database.sql`
      select chosen, answer, convert_from(staged, 'UTF8') as whole, convert_from(staged_when_short, 'UTF8') as short
      from idempotent_requests where key_id = ${owner.keyId}`;
    // Nothing is copied, because everyone else would wait for it.
    expect(row).toEqual({ chosen: which, answer: null, whole: null, short: null, [which]: which });
    // As a gateway of an earlier version would, for which it has no response.
    const takenOver = await database.sql`
      update idempotent_requests set request_id = ${newId()} where key_id = ${owner.keyId} and answer is null returning 1`;
    expect(takenOver).toHaveLength(0);
  });

  test('is charged late, and its response stored, if it was closed as an orphan and still has its claim', async () => {
    const owner = await customer(100n);
    const held = named(hold(owner, 40n));
    await claim(held);
    await ledger.hold(held);
    await ledger.settle(settlement(held, null, { errorCode: 'gateway_interrupted' }));
    expect(await ledger.settle(settlement(held, 30n, { stored: answer }))).toBe('settled');
    expect(await storedFor(owner)).toBe('whole');
    expect(await money(owner)).toEqual({ balance: '70', held: '0' });
    await expectSound();
  });

  test('is not charged late if it was closed as an orphan and lost its claim to another', async () => {
    const owner = await customer(100n);
    const held = named(hold(owner, 40n));
    await claim(held);
    await ledger.hold(held);
    await ledger.settle(
      settlement(held, null, { errorCode: 'gateway_interrupted', loss: lossOf('interrupted') }),
    );
    await claim(hold(owner, 40n));
    expect(await ledger.settle(settlement(held, 30n, { stored: answer }))).toBe('interrupted');
    expect(await storedFor(owner)).toBeNull();
    expect(await money(owner)).toEqual({ balance: '100', held: '0' });
    const [loss] = await database.sql`
      select (amount * 1e12)::bigint::text as amount from write_offs where generation_id = ${held.generation.id}`;
    expect(loss).toEqual({ amount: '30' });
  });
});

describe('a request that is only counted', () => {
  test('takes its turn in the minute of the key, and holds nothing', async () => {
    const owner = await customer(100n, { requestsPerMinute: 2 });
    const count = () => ledger.count({ kind: 'count', generation: { id: newId(), ...owner } });
    expect(await count()).toMatchObject({ outcome: 'counted', rate: { limit: 2, remaining: 1 } });
    expect(await ledger.hold(hold(owner, 1n))).toMatchObject({ outcome: 'held', rate: { remaining: 0 } });
    expect(await count()).toMatchObject({ outcome: 'denied', code: 'rate_limit_exceeded' });
    expect(await money(owner)).toEqual({ balance: '100', held: '1' });
  });
});

test('a key has no more Generations open than it may', async () => {
  const owner = await customer(100n);
  await database.sql`update api_keys set max_concurrent = 2 where id = ${owner.keyId}`;
  const [first, ...rest] = [hold(owner, 1n), hold(owner, 1n), hold(owner, 1n)];
  const results = await Promise.all([first, ...rest].map((one) => ledger.hold(one)));
  expect(results.map(({ outcome }) => outcome)).toEqual(['held', 'held', 'denied']);
  expect(results[2]).toMatchObject({ code: 'rate_limit_exceeded' });
  await ledger.settle(settlement(first, 1n));
  expect(await ledger.hold(hold(owner, 1n))).toMatchObject({ outcome: 'held' });
  await expectSound();
});
