/** Gateways that share accounts, holds that were lost or came late, and sessions that ended. */
import { afterAll, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { credit } from '../../src/ledger/credit.ts';
import { Durability } from '../../src/ledger/durability.ts';
import { UnknownHoldError } from '../../src/ledger/holding.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { Hold } from '../../src/ledger/operations.ts';
import { Writer } from '../../src/ledger/writer.ts';
import { newId } from '../../src/lib/ids.ts';
import { createDatabase } from '../support/cluster.ts';
import { startDelayingRelay } from '../support/delaying-relay.ts';
import { eventually } from '../support/eventually.ts';
import { freezeSessions } from '../support/freeze-sessions.ts';
import { type Customer, LedgerFixture, silentLog } from '../support/ledger-fixture.ts';

const fixture = await LedgerFixture.open();
const { database, customer, hold, settlement, money, expectSound } = fixture;
const ledger = fixture.openLedger('first ledger');
/** Another gateway on the same database. */
const other = fixture.openLedger('second ledger');

afterAll(async () => {
  await ledger.close();
  await other.close();
  await fixture.close();
});

async function pay(by: Ledger, owner: Customer, total: bigint): Promise<void> {
  const held = hold(owner, 2n * total);
  expect(await by.hold(held)).toMatchObject({ outcome: 'held' });
  expect(await by.settle(settlement(held, total))).toBe('settled');
}

describe('nothing is taken for granted', () => {
  test('when another gateway has spent from the account', async () => {
    const owner = await customer(100n);
    await pay(ledger, owner, 10n);
    await pay(other, owner, 20n);
    const held = hold(owner, 70n);
    expect(await ledger.hold(held)).toMatchObject({ outcome: 'held' });
    expect(await other.hold(hold(owner, 1n))).toMatchObject({ code: 'insufficient_balance' });
    expect(await ledger.settle(settlement(held, 5n))).toBe('settled');
    expect(await money(owner)).toEqual({ balance: '65', held: '0' });
    await expectSound();
  });

  test('when a credit arrives between a hold and its settlement, or after a denial', async () => {
    const owner = await customer(100n);
    const held = hold(owner, 60n);
    await ledger.hold(held);
    await credit(database.sql, owner.accountId, 50n, null);
    expect(await ledger.settle(settlement(held, 60n))).toBe('settled');
    expect(await ledger.hold(hold(owner, 91n))).toMatchObject({ code: 'insufficient_balance' });
    await credit(database.sql, owner.accountId, 1n, null);
    expect(await ledger.hold(hold(owner, 91n))).toMatchObject({ outcome: 'held' });
    await expectSound();
  });

  test.each([
    [
      'limited',
      (keyId: string) => database.sql`update api_keys set monthly_limit = 0 where id = ${keyId}`,
      'monthly_spend_limit_exceeded',
    ],
    [
      'revoked',
      (keyId: string) => database.sql`update api_keys set revoked_at = now() where id = ${keyId}`,
      'invalid_api_key',
    ],
    [
      'expired',
      (keyId: string) => database.sql`update api_keys set expires_at = now() where id = ${keyId}`,
      'expired_api_key',
    ],
  ] as const)('when the key has been %s', async (_name, change, code) => {
    const owner = await customer(100n);
    await pay(ledger, owner, 10n);
    await change(owner.keyId);
    expect(await ledger.hold(hold(owner, 1n))).toMatchObject({ outcome: 'denied', code });
  });

  test('when the key expires by itself', async () => {
    const owner = await customer(100n);
    await database.sql`update api_keys set expires_at = now() + interval '0.5 s' where id = ${owner.keyId}`;
    let result = await ledger.hold(hold(owner, 1n));
    while (result.outcome === 'held') result = await ledger.hold(hold(owner, 0n));
    expect(result).toMatchObject({ outcome: 'denied', code: 'expired_api_key' });
    const [{ isPast }] = await database.sql<[{ isPast: boolean }]>`
      select expires_at <= clock_timestamp() as "isPast" from api_keys where id = ${owner.keyId}`;
    expect(isPast).toBe(true);
  });

  test('when the account has been suspended, or is no longer', async () => {
    const owner = await customer(100n);
    await pay(ledger, owner, 10n);
    await database.sql`update accounts set suspended_at = now() where id = ${owner.accountId}`;
    expect(await ledger.hold(hold(owner, 1n))).toMatchObject({ outcome: 'denied', code: 'invalid_api_key' });
    await database.sql`update accounts set suspended_at = null where id = ${owner.accountId}`;
    expect(await ledger.hold(hold(owner, 1n))).toMatchObject({ outcome: 'held' });
  });
});

test('a hold that another gateway has released is charged late', async () => {
  const owner = await customer(100n);
  const held = hold(owner, 40n);
  await ledger.hold(held);
  const interrupted = { isHeld: false, status: 'failed', errorCode: 'gateway_interrupted' } as const;
  expect(await other.settle(settlement(held, null, interrupted))).toBe('settled');
  expect(await ledger.hold(hold(owner, 1n))).toMatchObject({ outcome: 'held' });
  expect(await ledger.settle(settlement(held, 30n))).toBe('settled');
  expect(await money(owner)).toEqual({ balance: '70', held: '1' });
  await expectSound();
});

test('gateways that share accounts spend every balance exactly, and never more', async () => {
  const owners = await Promise.all([customer(500n), customer(500n), customer(3n)]);
  let spent = 0;
  let denied = 0;
  const spend = async (by: Ledger, turn: number) => {
    for (let pair = 0; pair < 30; pair += 1) {
      const held = hold(owners[(turn + pair) % owners.length] as Customer, 1n);
      const result = await by.hold(held);
      if (result.outcome === 'denied') denied += 1;
      else {
        expect(await by.settle(settlement(held, 1n))).toBe('settled');
        spent += 1;
      }
    }
  };
  await Promise.all(
    [ledger, other].flatMap((by) => Array.from({ length: 12 }, (_, turn) => spend(by, turn))),
  );
  const left = await Promise.all(owners.map(money));
  expect(left.map(({ held }) => held)).toEqual(['0', '0', '0']);
  expect(left.reduce((sum, { balance }) => sum + Number(balance), 0)).toBe(1003 - spent);
  expect(left[2]?.balance).toBe('0');
  expect(spent + denied).toBe(2 * 12 * 30);
  await expectSound();
});

describe('a hold that the database lost in a crash', () => {
  /** As after a crash that lost the transaction of the hold, and nothing else. */
  async function lose({ generation }: Hold, amount: bigint): Promise<void> {
    const { id, accountId, keyId } = generation;
    await database.sql.begin(async (sql) => {
      await sql`update accounts set held = held - ${`${amount}e-12`}::text::numeric where id = ${accountId}`;
      await sql`update api_key_meters set held = held - ${`${amount}e-12`}::text::numeric, open_count = open_count - 1
                where key_id = ${keyId}`;
      await sql`delete from open_generations where id = ${id}`;
    });
  }

  test('is still charged, once', async () => {
    const owner = await customer(100n);
    const held = hold(owner, 40n);
    await ledger.hold(held);
    await lose(held, 40n);
    expect(await money(owner)).toEqual({ balance: '100', held: '0' });
    expect(await ledger.settle(settlement(held, 30n))).toBe('settled');
    expect(await ledger.settle(settlement(held, 30n))).toBe('settled');
    expect(await other.settle(settlement(held, 30n))).toBe('settled');
    expect(await money(owner)).toEqual({ balance: '70', held: '0' });
    const [row] =
      await database.sql`select status, attempt_count from generations where id = ${held.generation.id}`;
    expect({ ...row }).toEqual({ status: 'completed', attempt_count: 1 });
    await expectSound();
  });

  test('is recorded although nothing is charged', async () => {
    const owner = await customer(100n);
    const held = hold(owner, 40n);
    await ledger.hold(held);
    await lose(held, 40n);
    expect(await ledger.settle(settlement(held, null))).toBe('settled');
    const [row] =
      await database.sql`select status, error_code from generations where id = ${held.generation.id}`;
    expect({ ...row }).toEqual({ status: 'failed', error_code: 'provider_unavailable' });
    expect(await money(owner)).toEqual({ balance: '100', held: '0' });
    await expectSound();
  });

  test('takes what is left when the balance was spent meanwhile', async () => {
    const owner = await customer(100n);
    const held = hold(owner, 40n);
    await ledger.hold(held);
    await lose(held, 40n);
    await pay(other, owner, 40n);
    await pay(other, owner, 30n);
    const delivered = settlement(held, 35n, { onInsufficientBalance: 'write_off' });
    expect(await ledger.settle(delivered)).toBe('short');
    expect(await money(owner)).toEqual({ balance: '0', held: '0' });
    await expectSound();
  });

  test('leaves nothing behind when it was never confirmed', async () => {
    const owner = await customer(100n);
    const never = hold(owner, 40n);
    expect(await ledger.settle(settlement(never, null, { isHeld: false }))).toBe('interrupted');
    expect(await database.sql`select 1 from generations where id = ${never.generation.id}`).toHaveLength(0);
  });

  test('is not charged when its idempotency key was claimed by another request meanwhile', async () => {
    const owner = await customer(100n);
    const name = 'ab'.repeat(32);
    const held = hold(owner, 40n, { idempotencyHash: name });
    await database.sql`
      insert into idempotent_requests (key_id, name_hash, body_hash, request_id, node_id, expires_at)
      values (${owner.keyId}, decode(${name}, 'hex'), decode(${name}, 'hex'), ${held.generation.id}, ${newId()},
              now() + interval '1 day')`;
    await ledger.hold(held);
    await lose(held, 40n);
    await database.sql`update idempotent_requests set request_id = ${newId()} where key_id = ${owner.keyId}`;
    expect(await ledger.settle(settlement(held, 30n))).toBe('interrupted');
    expect(await money(owner)).toEqual({ balance: '100', held: '0' });
    await expectSound();
  });
});

test('a settlement is confirmed only when it is durable, and counts once even if that had to be checked again', async () => {
  const owner = await customer(1_000n);
  const cutting = (async () => {
    for (let cut = 0; cut < 10; cut += 1) {
      await database.sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'first ledger' and query like '%pg_logical_emit_message%'`;
      await Bun.sleep(5);
    }
  })();
  const payAll = async () => {
    for (let pair = 0; pair < 5; pair += 1) await pay(ledger, owner, 10n);
  };
  // Several at once: one alone would be durable by itself.
  await Promise.all(Array.from({ length: 4 }, payAll));
  await cutting;
  expect(await money(owner)).toEqual({ balance: '800', held: '0' });
  await expectSound();
}, 60_000);

/** Such a gateway remembers rows with their versions, and writes them as it has decided. */
describe('beside a gateway of the version before', () => {
  async function versionOf({ accountId }: Customer): Promise<string> {
    const [{ rows }] = await database.sql<[{ rows: { accounts: { version: string }[] } }]>`
      select ledger_read(array[${accountId}]::uuid[], '{}', null, false) as rows`;
    return rows.accounts[0]?.version ?? '';
  }

  /** As it takes everything that an account has. */
  const take = async ({ accountId }: Customer, version: string) =>
    await database.sql`
      select ledger_commit(extract(epoch from now())::float8 * 1000, date_trunc('month', now() at time zone 'UTC')::date,
        array[(${accountId}, ${version}, ${version}::bigint + 1, 0, 0, 1)::ledger_account_change], null, null, null, null,
        null, null, 0, null, null, null, false, null, null)`;

  const errorOf = (error: SQL.PostgresError) => error.errno;

  test('nothing is written that it has decided on rows that have changed since', async () => {
    const owner = await customer(100n);
    const remembered = await versionOf(owner);
    const held = hold(owner, 10n);
    await ledger.hold(held);
    expect(await take(owner, remembered).catch(errorOf)).toBe('40001');
    const openVersion = await versionOf(owner);
    await ledger.settle(settlement(held, 10n));
    expect(await take(owner, openVersion).catch(errorOf)).toBe('40001');
    expect(await money(owner)).toEqual({ balance: '90', held: '0' });
  });

  test('what it has written is changed further', async () => {
    const owner = await customer(100n);
    await pay(ledger, owner, 10n);
    await take(owner, await versionOf(owner));
    expect(await ledger.hold(hold(owner, 1n))).toMatchObject({ code: 'insufficient_balance' });
  });
});

test('a new month begins with nothing spent, whichever way a batch takes', async () => {
  const spentBy = async ({ keyId }: Customer) => {
    const [row] = await database.sql<[{ spent: string }]>`
      select (month_spent * 1e12)::bigint::text as spent from api_key_meters where key_id = ${keyId}`;
    return row.spent;
  };
  const beginMonth = async ({ keyId }: Customer) =>
    await database.sql`update api_key_meters set month = month - interval '1 month' where key_id = ${keyId}`;
  // Little enough is left of one of the limits for its rows to be locked.
  for (const monthlyLimit of [1_000n, 21n]) {
    const owner = await customer(1_000n, { monthlyLimit });
    await pay(ledger, owner, 10n);
    expect(await spentBy(owner)).toBe('10');
    await beginMonth(owner);
    const held = { ...hold(owner, 20n), min: 1n };
    expect(await ledger.hold(held)).toMatchObject({ outcome: 'held' });
    expect(await spentBy(owner)).toBe('0');
    await beginMonth(owner);
    expect(await ledger.settle(settlement(held, 4n))).toBe('settled');
    expect(await spentBy(owner)).toBe('4');
  }
});

describe('a row that stays locked', () => {
  test('is not one of the ledger when a key is renamed', async () => {
    const owner = await customer(1_000n);
    const renaming = await database.sql.reserve();
    await renaming.unsafe('begin');
    await renaming`update api_keys set name = 'Other' where id = ${owner.keyId}`;
    await pay(ledger, owner, 1n);
    await renaming.unsafe('rollback');
    await renaming.release();
  });

  test('is freed when the transaction that changes a key stays idle', async () => {
    const owner = await customer(1_000n);
    const changing = new SQL(database.url, { max: 1 });
    const connection = await changing.reserve();
    await connection.unsafe('begin');
    await connection`update api_keys set monthly_limit = 1 where id = ${owner.keyId}`;
    const timeout = async () => (await connection`show idle_in_transaction_session_timeout`.values())[0];
    expect(await timeout()).toEqual(['5s']);
    await connection.unsafe('rollback');
    expect(await timeout()).toEqual(['0']);
    await connection.release();
    await changing.close();
  });
});

test('a hold that was given up stays released when its batch is tried again', async () => {
  const frozen = fixture.openLedger('frozen ledger');
  const owner = await customer(1_000n);
  await pay(frozen, owner, 10n);
  const sessions = await freezeSessions(
    database.sql,
    () => database.sql<{ pid: number }[]>`
      select pid from pg_stat_activity where application_name = 'frozen ledger' and datname = current_database()`,
  );
  const late = frozen.hold(hold(owner, 100n)).catch(() => 'given up');
  expect(await late).toBe('given up');
  for (const { pid } of sessions) process.kill(pid, 'SIGCONT');
  await eventually('the release', () => !frozen.isBusy());
  await pay(frozen, owner, 10n);
  expect(await money(owner)).toEqual({ balance: '980', held: '0' });
  await frozen.close();
}, 60_000);

test('a hold that is given up while its batch waits for a session fails no other, and costs no session', async () => {
  const relay = await startDelayingRelay(database.url);
  const delayed = fixture.openLedger('connecting ledger', { url: relay.url });
  const owner = await customer(1_000n);
  relay.keep();
  const impatient = delayed.hold(hold(owner, 100n), 60_000).catch(() => 'given up');
  const patient = delayed.hold(hold(owner, 10n));
  expect(await impatient).toBe('given up');
  relay.resume();
  expect(await patient).toMatchObject({ outcome: 'held' });
  expect(relay.count()).toBe(1);
  expect(await money(owner)).toEqual({ balance: '1000', held: '10' });
  await delayed.close();
  relay.close();
}, 60_000);

test('a hold that arrives after it was given up and released leaves nothing held', async () => {
  const relay = await startDelayingRelay(database.url);
  const delayed = fixture.openLedger('delayed ledger', { url: relay.url });
  const owner = await customer(1_000n);
  await pay(delayed, owner, 10n);
  relay.keep();
  const late = hold(owner, 100n);
  expect(await delayed.hold(late).catch((error: unknown) => error)).toBeInstanceOf(UnknownHoldError);
  relay.breakOff();
  await eventually('the release', () => !delayed.isBusy());
  await relay.deliver();
  const open = await database.sql`select id from open_generations where id = ${late.generation.id}`;
  expect({ open: open.length, ...(await money(owner)) }).toEqual({ open: 0, balance: '990', held: '0' });
  await delayed.close();
  relay.close();
}, 60_000);

describe('a session', () => {
  test('that the database has ended for being idle in a transaction is replaced', async () => {
    const writer = new Writer(
      () => new SQL(database.url, { max: 1 }),
      'set lock_timeout = 0',
      10_000,
      silentLog,
    );
    const failed = writer.use(async (connection) => {
      await connection`set idle_in_transaction_session_timeout = 1`;
      await connection.unsafe('begin');
      await Bun.sleep(100);
      await connection`select 1`;
    });
    expect(await failed.catch(() => 'failed')).toBe('failed');
    expect(await writer.use((connection) => connection`select 1 as one`)).toHaveLength(1);
    await writer.close();
  });

  test('is replaced together with the other one when they are with different servers, and confirms nothing', async () => {
    // Another database of the same server counts as another server.
    const promoted = await createDatabase();
    const open = () => new SQL(urls.shift() ?? promoted.url, { max: 1, bigint: true });
    const urls = [database.url, promoted.url];
    const committing = new Writer(open, 'set lock_timeout = 0', 10_000, silentLog);
    const flushing = new Writer(open, 'set lock_timeout = 0', 10_000, silentLog);
    const durability = new Durability(flushing, committing);
    const session = await durability.session();
    const { server } = await committing.use(async (_connection, current) => current);
    expect(await durability.confirm(session, server).catch(() => 'unknown')).toBe('unknown');
    expect([committing.current, flushing.current]).toEqual([null, null]);
    const next = await committing.use(async (_connection, current) => current);
    await durability.confirm(await durability.session(), next.server);
    await committing.close();
    await flushing.close();
    await promoted.close();
  });

  test('confirms what was committed since it began, and nothing from an earlier session', async () => {
    const openWriter = () =>
      new SQL(database.url, { max: 1, connection: { application_name: 'confirming' } });
    const writer = new Writer(openWriter, 'set lock_timeout = 0', 10_000, silentLog);
    const durability = new Durability(writer, writer);
    const session = await durability.session();
    const { server } = session;
    await durability.confirm(session, server);
    await database.sql`
      select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'confirming'`;
    // The first to use the connection finds it broken, and the next one gets another.
    expect(await durability.confirm(session, server).catch(() => 'unknown')).toBe('unknown');
    expect(await durability.confirm(session, server).catch(() => 'unknown')).toBe('unknown');
    const next = await durability.session();
    expect(next).not.toBe(session);
    await durability.confirm(next, server);
    await writer.close();
  });
});
