/** An account or a key that another transaction keeps locked holds up only its own operations. */
import { afterAll, expect, test } from 'bun:test';
import { auditLedger } from '../../src/audit/audit.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { eventually } from '../support/eventually.ts';
import { type Customer, LedgerFixture } from '../support/ledger-fixture.ts';
import { expectNoSlowdown } from '../support/slowdown.ts';

const fixture = await LedgerFixture.open();
const { database, customer, anotherKey, hold, settlement, money } = fixture;
/** Two gateways on one database. */
const ledgers = [1, 2].map(() => fixture.openLedger('locked ledger'));

afterAll(async () => {
  await Promise.all(ledgers.map((ledger) => ledger.close()));
  await fixture.close();
});

async function pay(by: Ledger, owner: Customer): Promise<void> {
  const held = hold(owner, 2n);
  expect(await by.hold(held)).toMatchObject({ outcome: 'held' });
  expect(await by.settle(settlement(held, 1n))).toBe('settled');
}

async function payOften(by: Ledger, owner: Customer): Promise<void> {
  for (let pair = 0; pair < 50; pair += 1) await pay(by, owner);
}

/** Once nothing is unsettled any more. */
async function moneyAtRest(owner: Customer): Promise<{ balance: string; held: string }> {
  await eventually('everything is settled', () => ledgers.every((ledger) => ledger.counts().unsettled === 0));
  return await money(owner);
}

type Row = 'account' | 'key';

/** Keeps a row locked until the function that it returns is called. */
async function lock(row: Row, { accountId, keyId }: Customer): Promise<() => Promise<void>> {
  const locking = await database.sql.reserve();
  await locking.unsafe('begin');
  if (row === 'account') await locking`select 1 from accounts where id = ${accountId} for update`;
  else await locking`select 1 from api_key_meters where key_id = ${keyId} for update`;
  return async () => {
    await locking.unsafe('rollback');
    await locking.release();
  };
}

const cases = (['account', 'key'] as const).flatMap((row) =>
  [1, 2].flatMap((gateways) => [1, 5, 30].map((clients) => [row, gateways, clients] as const)),
);

test.each(cases)(
  'a locked %s on %i gateways, with %i clients that hold and as many that settle: the others go on',
  async (row, gateways, clients) => {
    const used = ledgers.slice(0, gateways);
    const ledgerOf = (client: number) => used[client % gateways] as Ledger;
    const locked = await customer(1_000n);
    const others = await Promise.all(used.map(() => customer(1_000n)));
    const payAll = () => Promise.all(used.map((by, index) => payOften(by, others[index] as Customer)));
    let charged = 0;
    let held = 0;
    await expectNoSlowdown(payAll, async (paying) => {
      const toSettle = Array.from({ length: clients }, () => hold(locked, 2n));
      for (const [client, one] of toSettle.entries()) await ledgerOf(client).hold(one);
      const unlock = await lock(row, locked);
      const settling = toSettle.map((one, client) => ledgerOf(client).settle(settlement(one, 1n)));
      const holding = toSettle.map((_, client) => ledgerOf(client).hold(hold(locked, 2n)));
      const ended = Promise.allSettled(holding);
      await paying();
      await unlock();
      await Promise.all(settling);
      charged += clients;
      // On a machine that is slow enough, some have given up.
      held += (await ended).filter(({ status }) => status === 'fulfilled').length;
    });
    expect(await moneyAtRest(locked)).toEqual({ balance: `${1_000 - charged}`, held: `${2 * held}` });
  },
  60_000,
);

test('a locked Generation holds up others no more than an account', async () => {
  const [ledger] = ledgers as [Ledger];
  const locked = await customer(1_000n);
  const other = await customer(1_000n);
  let charged = 0;
  await expectNoSlowdown(
    () => payOften(ledger, other),
    async (paying) => {
      const held = hold(locked, 2n);
      await ledger.hold(held);
      const locking = await database.sql.reserve();
      await locking.unsafe('begin');
      await locking`select 1 from open_generations where id = ${held.generation.id} for update`;
      // In one batch with another customer, who has to be distinguished.
      const call = ledger.settle(settlement(held, 1n));
      const beside = hold(other, 2n);
      expect(await ledger.hold(beside)).toMatchObject({ outcome: 'held' });
      await paying();
      await locking.unsafe('rollback');
      await locking.release();
      await call;
      charged += 1;
    },
  );
  expect(await moneyAtRest(locked)).toEqual({ balance: `${1_000 - charged}`, held: '0' });
}, 60_000);

test('a locked key leaves the other keys of its account alone', async () => {
  const [ledger] = ledgers as [Ledger];
  const locked = await customer(1_000n);
  const other = await anotherKey(locked.accountId);
  await expectNoSlowdown(
    () => payOften(ledger, other),
    async (paying) => {
      const unlock = await lock('key', locked);
      const ended = Promise.allSettled([ledger.hold(hold(locked, 2n))]);
      await paying();
      await unlock();
      await ended;
    },
  );
}, 60_000);

test('of many locked accounts, one that is free again does not wait for the rest', async () => {
  const [ledger] = ledgers as [Ledger];
  const locked = await Promise.all(Array.from({ length: 20 }, () => customer(1_000n)));
  const freed = await customer(1_000n);
  const isFirst = async () => {
    const locking = await database.sql.reserve();
    await locking.unsafe('begin');
    for (const { accountId } of locked)
      await locking`select 1 from accounts where id = ${accountId} for update`;
    const unlock = await lock('account', freed);
    const calls = locked.map((owner) => ledger.hold(hold(owner, 2n)));
    const call = ledger.hold(hold(freed, 2n));
    await pay(ledger, await customer(1_000n));
    await unlock();
    const ended = (ending: string) => () => ending;
    const first = await Promise.race([
      call.then(ended('freed'), ended('given up')),
      ...calls.map((other) => other.then(ended('other'), ended('given up'))),
    ]);
    await locking.unsafe('rollback');
    await locking.release();
    await Promise.allSettled([call, ...calls]);
    return first === 'freed';
  };
  // A machine that is slow enough lets all of them give up, but not again and again.
  const tries = [await isFirst()];
  while (!tries.includes(true) && tries.length < 5) tries.push(await isFirst());
  expect(tries).toContain(true);
}, 60_000);

test('a hold that was given up while its account was locked leaves nothing held, and what is settled late is charged', async () => {
  const [ledger] = ledgers as [Ledger];
  const locked = await customer(1_000n);
  const held = [hold(locked, 2n), hold(locked, 2n)];
  for (const one of held) await ledger.hold(one);
  const unlock = await lock('account', locked);
  const givenUp: number[] = [];
  const late: number[] = [];
  // The client of the last one has already waited for something else.
  const holding = [0, 0, 0, 0, 3_900].map((waitedMs) =>
    ledger.hold(hold(locked, 2n), waitedMs).catch(() => givenUp.push(waitedMs)),
  );
  const settling = held.map(async (one, index) => {
    const waitedMs = index * 3_000;
    expect(await ledger.settle(settlement(one, 1n), undefined, waitedMs)).toBe('late');
    late.push(waitedMs);
  });
  await Promise.all([...holding, ...settling]);
  expect(givenUp).toEqual([3_900, 0, 0, 0, 0]);
  expect(late).toEqual([3_000, 0]);
  await unlock();
  await pay(ledger, locked);
  await eventually('the releases and the settlements', () => ledger.counts().unsettled === 0);
  expect(await money(locked)).toEqual({ balance: '997', held: '0' });
}, 60_000);

test('the ledger is sound after all of that', async () => {
  await eventually('what was late', () => ledgers.every((ledger) => ledger.counts().unsettled === 0));
  const findings = await auditLedger(database.sql);
  expect(findings.filter(({ violations }) => violations > 0)).toEqual([]);
});
