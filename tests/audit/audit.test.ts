/** Recorded audits: what the next one skips after a checkpoint, what none skips, and that one runs at a time. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { auditLedger, checkInvariants, readScope } from '../../src/audit/audit.ts';
import { findAudits, startAudit } from '../../src/audit/run.ts';
import { progressBar } from '../../src/cli/progress-bar.ts';
import { credit } from '../../src/ledger/credit.ts';
import { book } from '../../src/ledger/movements.ts';
import { newId, nilId } from '../../src/lib/ids.ts';
import { RollUp } from '../../src/rollups/roll-up.ts';
import { addUpUsage } from '../../src/usage/usage-days.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { outcomeOf, runCommand } from '../support/commands.ts';
import { eventually } from '../support/eventually.ts';
import { tollgate } from '../support/gateway.ts';
import { idAt, type SpendingOwner, settleAt, spendingOwner } from '../support/old-charges.ts';

let database: TestDatabase;
let prepared: TestDatabase;
let owner: SpendingOwner;

/** Each test gets a copy of it. */
beforeAll(async () => {
  prepared = await createDatabase();
  owner = await spendingOwner(prepared.sql);
  for (let count = 0; count < 3; count++) await settleAt(prepared.sql, owner, { monthsAgo: 0 });
  await prepared.sql.close({ timeout: 1 });
}, 60_000);

beforeEach(async () => {
  database = await createDatabase(new URL(prepared.url).pathname.slice(1));
});

afterEach(() => database.close());
afterAll(() => prepared.close());

const openDedicated = () => new SQL(database.url, { max: 1, bigint: true });

async function audit(isFull = false) {
  const running = await startAudit(database.sql, openDedicated, { isFull, operatorId: null });
  if (running === null) throw new Error('Another audit is running.');
  return await running.result;
}

/** By the beginning of each broken invariant. */
const brokenIn = ({ findings }: Awaited<ReturnType<typeof audit>>) =>
  findings.filter(({ violations }) => violations > 0).map(({ invariant }) => invariant);
const checkedIn = ({ findings }: Awaited<ReturnType<typeof audit>>, beginning: string) =>
  findings.find(({ invariant }) => invariant.startsWith(beginning))?.checked;

/** Rewrites an entry, as only someone with the rights of the owner can. */
async function tamper(change: (sql: SQL) => Promise<unknown>): Promise<void> {
  await database.sql.begin(async (transaction) => {
    await transaction`alter table ledger_entries disable trigger ledger_entries_append_only`;
    await change(transaction);
    await transaction`alter table ledger_entries enable trigger ledger_entries_append_only`;
  });
}

test('the second audit checks what came after the first, and a full one checks all', async () => {
  const { sql } = database;
  const first = await audit();
  expect([brokenIn(first), first.since, checkedIn(first, 'entries are numbered')]).toEqual([[], null, 4]);
  await addUpUsage(sql);
  await settleAt(sql, owner, { monthsAgo: 0 });
  await settleAt(sql, owner, { monthsAgo: 5 });
  await credit(sql, owner.accountId, 7n, null);
  const second = await audit();
  expect([brokenIn(second), checkedIn(second, 'entries are numbered')]).toEqual([[], 3]);
  expect(second.since).toBeInstanceOf(Date);
  expect(checkedIn(await audit(), 'entries are numbered')).toBe(0);
  expect(checkedIn(await audit(true), 'entries are numbered')).toBe(7);
  const [checkpoint] = await sql`select entry_number, balance from ledger_checkpoints`;
  const [account] = await sql`select entry_count as entry_number, balance from accounts`;
  expect(checkpoint).toEqual(account);
  const recorded = await findAudits(sql, 10);
  expect(recorded.map(({ state, isFull }) => [state, isFull])).toEqual([
    ['sound', true],
    ['sound', false],
    ['sound', false],
    ['sound', true],
  ]);
  expect(recorded[0]).toMatchObject({ stepsDone: 40, stepCount: 40, totals: { held: '0.000000000000' } });
});

const shell = { door: 'cli', shellUser: 'someone@somewhere' } as const;

test('whatever breaks after a checkpoint is found without a full audit', async () => {
  const { sql } = database;
  await addUpUsage(sql);
  await audit();
  const broken = async (change: (transaction: SQL) => Promise<unknown>, since: Date | null = new Date()) => {
    const copy = new SQL(database.url, { max: 1, bigint: true });
    let found: string[] = [];
    try {
      await copy.begin(async (transaction) => {
        await change(transaction);
        // Inside the transaction, which is then undone.
        const findings = await checkInvariants(transaction, await readScope(transaction, since));
        found = findings.filter(({ violations }) => violations > 0).map(({ invariant }) => invariant);
        throw new Error('undo');
      });
    } catch (error) {
      if (!(error instanceof Error) || error.message !== 'undo') throw error;
    } finally {
      await copy.close({ timeout: 0 });
    }
    return found.map((invariant) => invariant.split(' ').slice(0, 5).join(' '));
  };
  const append = (transaction: SQL, number: bigint, amount: string, balance: string) => transaction`
    insert into ledger_entries (account_id, number, kind, amount, balance_after)
    values (${owner.accountId}, ${number}, 'correction', ${amount}::numeric, ${balance}::numeric)`;

  expect(await broken((t) => t`update accounts set balance = balance + 1`)).toEqual([
    'the entries of each account',
    'the last entry of each',
  ]);
  expect(await broken((t) => append(t, 9n, '1', '1'))).toContain('the last entry of each');
  expect(
    await broken(async (t) => {
      await append(t, 6n, '1', '1000.25');
      await t`update accounts set balance = balance + 1, entry_count = entry_count + 1`;
    }),
  ).toContain('entries are numbered without gaps,');
  expect(
    await broken(async (t) => {
      await append(t, 5n, '1', '7');
      await t`update accounts set balance = balance + 1, entry_count = entry_count + 1`;
    }),
  ).toContain('entries are numbered without gaps,');
  // A second charge, in another month, for a Generation that was charged before the checkpoint.
  expect(
    await broken(async (t) => {
      await t`
        insert into ledger_entries (account_id, number, kind, amount, balance_after, generation_id, created_at)
        select account_id, 5, 'charge', amount, 999, generation_id, now() + interval '1 month'
        from ledger_entries where kind = 'charge' limit 1`;
      await t`update accounts set balance = balance - 0.25, entry_count = entry_count + 1`;
    }),
  ).toContain('no Generation is charged twice');
  const settleThen = (change: (t: SQL, id: string) => Promise<unknown>) =>
    broken(async (t) => {
      const nested = Object.assign(t, { begin: (run: (inner: SQL) => Promise<unknown>) => run(t) });
      const id = await settleAt(nested as unknown as SQL, owner, { monthsAgo: 0, id: newId() });
      await change(t, id);
    });
  expect(await settleThen((t, id) => t`delete from usage_records where id = ${id}`)).toContain(
    'each charge has a usage',
  );
  expect(await settleThen((t, id) => t`update usage_records set cost = 9 where id = ${id}`)).toEqual([
    'each charge has a usage',
    'what each key spent in',
  ]);
  expect(
    await settleThen(
      (t, id) => t`update generations set cost_total = 1, cost_input = 1, cost_output = 0 where id = ${id}`,
    ),
  ).toContain('each Generation with a cost');
  expect(await settleThen((t) => t`update api_key_meters set month_spent = 99`)).toEqual([
    'what each key spent in',
  ]);
  expect(
    await settleThen(async (t) => {
      await t`select add_up_usage(${owner.accountId}, 100)`;
      await t`update usage_days set images = images + 1`;
    }),
  ).toEqual(['usage that was added up']);
  expect(await settleThen(() => Promise.resolve())).toEqual([]);

  const refundThen = (change: (t: SQL, id: string) => Promise<unknown>) =>
    settleThen(async (t, generationId) => {
      const words = { reason: 'Sorry', reference: newId() };
      const given = { kind: 'refund', generationId, accountId: null, amount: 10n ** 11n, ...words } as const;
      expect(await book(t, shell, given)).toMatchObject({ outcome: 'booked' });
      const { accountId } = owner;
      const about = { about: { entryNumber: 1n }, reason: 'Oops', reference: newId() };
      const taken = { kind: 'correction', accountId, amount: -1n, ...about } as const;
      expect(await book(t, shell, taken)).toMatchObject({ outcome: 'booked' });
      await t`alter table ledger_entries disable trigger ledger_entries_append_only`;
      await change(t, generationId);
    });
  expect(await refundThen(() => Promise.resolve())).toEqual([]);
  const refunds = 'refunds of a Generation are';
  expect(await refundThen((t, id) => t`update usage_records set refunded = 0.2 where id = ${id}`)).toEqual([
    'what each key spent in',
    refunds,
  ]);
  expect(await refundThen((t, id) => t`update usage_records set refunded = 0 where id = ${id}`)).toContain(
    refunds,
  );
  expect(
    await refundThen(
      (t) => t`update ledger_entries set reference = null, actor = null where kind = 'refund'`,
    ),
  ).toContain(refunds);
  expect(
    await refundThen((t, id) => t`update usage_records set refunded_at = now() where id = ${id}`),
  ).toContain(refunds);
  const references = ['each reference is that of'];
  expect(await refundThen((t) => t`update credit_references set amount = 2`)).toEqual(references);
  expect(await refundThen((t) => t`update credit_references set kind = 'credit'`)).toEqual(references);
  expect(await refundThen((t) => t`delete from credit_references`)).toEqual(references);
  expect(
    await refundThen((t) => t`update ledger_entries set concerns_entry = number where kind = 'correction'`),
  ).toEqual(['each correction is about an']);
  const byHand = ['what was moved by hand'];
  expect(await refundThen((t) => t`update ledger_entries set memo = null where kind = 'correction'`)).toEqual(
    byHand,
  );
  expect(
    await refundThen((t) => t`update ledger_entries set actor = null where kind = 'correction'`),
  ).toEqual(byHand);
  expect(
    await refundThen(
      (t, id) => t`update ledger_entries set concerns_generation_id = ${id} where kind = 'refund'`,
    ),
  ).toEqual(byHand);
  expect(await refundThen((t) => t`update ledger_entries set actor = 'a' where kind = 'charge'`)).toEqual(
    byHand,
  );

  const grantThen = (change: (t: SQL) => Promise<unknown>, since?: null) =>
    broken(async (t) => {
      const { accountId } = owner;
      const terms = { category: 'promotional', priority: 1, expiresAt: new Date(Date.now() - 1000) } as const;
      const given = {
        kind: 'credit',
        accountId,
        amount: 10n ** 12n,
        memo: null,
        reference: newId(),
      } as const;
      await book(t, shell, { ...given, grant: { ...terms, expiresAt: null } });
      const nested = Object.assign(t, { begin: (run: (inner: SQL) => Promise<unknown>) => run(t) });
      await settleAt(nested as unknown as SQL, owner, { monthsAgo: 0, id: newId() });
      await book(t, shell, { ...given, reference: newId(), grant: terms });
      await t`select settle_grants(${accountId}::uuid)`;
      await t`alter table ledger_entries disable trigger ledger_entries_append_only`;
      await change(t);
    }, since);
  const [sums, left, entries, expiries] = [
    'what is left of the',
    'what is left of each',
    'each entry since the first',
    'what has expired or was',
  ];
  expect(await grantThen(() => Promise.resolve())).toEqual([]);
  expect(
    await grantThen(
      (t) => t`update grants set remaining = remaining + 1, amount = amount + 1 where ended_at is null`,
    ),
  ).toEqual([sums, entries]);
  const shrink = (t: SQL) => t`update grants set remaining = remaining - 0.1 where number = 0`;
  expect(await grantThen(shrink)).toEqual([sums]);
  expect(await grantThen(shrink, null)).toEqual([sums, left]);
  const lose = (t: SQL) => t`delete from grant_draws where generation_id is not null`;
  expect(await grantThen(lose)).toEqual([entries]);
  // To which grants, only a full audit adds up.
  const move = (t: SQL) => t`update grant_draws set grant_number = 0 where generation_id is not null`;
  expect(await grantThen(move)).toEqual([]);
  expect(await grantThen(move, null)).toEqual([left]);
  const moveExpiry = (t: SQL) => t`update grant_draws set grant_number = 0 where generation_id is null`;
  expect(await grantThen(moveExpiry)).toEqual([expiries]);
  expect(await grantThen((t) => t`update grant_progress set entry_number = entry_number - 1`)).toEqual([
    sums,
  ]);
  expect(
    await grantThen((t) => t`update grants set expires_at = now() + interval '1 day', ended_at = null`),
  ).toEqual(['whatever ends of the grants']);
});

test('entries that were drawn only after a checkpoint are new to the next audit', async () => {
  const { sql } = database;
  await sql`select begin_grants(${owner.accountId}::uuid)`;
  await settleAt(sql, owner, { monthsAgo: 0, id: newId() });
  expect(brokenIn(await audit())).toEqual([]);
  await sql`select draw_grants(${owner.accountId}::uuid)`;
  await sql`update grant_draws set amount = amount + 0.1`;
  expect(brokenIn(await audit())).toEqual([
    'each entry since the first grant was drawn from grants, given back to them, or is one itself',
  ]);
});

test('a payment whose credit or refund was tampered with is found', async () => {
  const { sql } = database;
  const [order, claim] = [newId(), newId()];
  await sql`
    insert into payment_orders (id, account_id, kind, amount, currency, is_live, customer, claim)
    values (${order}, ${owner.accountId}, 'checkout', 10, 'usd', true, 'cus_1', ${claim})`;
  const refund = { id: 're_1', kind: 'refund', amount_minor: '400', status: 'succeeded', due: '4' };
  await sql`
    select apply_payment_look(${order}, ${claim}, 0, 'paid', null, null, 'pi_1', 1000, null,
      ${JSON.stringify([{ ...refund, takes_money: true }])}::text::jsonb, false, null, 'Payment')`;
  expect(brokenIn(await audit())).toEqual([]);
  const found = async (change: (t: SQL) => Promise<unknown>, undo: (t: SQL) => Promise<unknown>) => {
    await change(sql);
    const broken = brokenIn(await audit()).map((text) => text.split(' ').slice(0, 4).join(' '));
    await undo(sql);
    return broken;
  };
  const [credit, corrections] = [['each payment that was'], ['the corrections of each']];
  const setAmount = (amount: number) => (t: SQL) => t`update payment_orders set amount = ${amount}`;
  expect(await found(setAmount(11), setAmount(10))).toEqual(credit);
  const forget = (t: SQL) => t`update payment_orders set credited_at = null`;
  expect(await found(forget, (t) => t`update payment_orders set credited_at = now()`)).toEqual(credit);
  const setTaken = (taken: number) => (t: SQL) => t`update payment_reversals set taken = ${taken}`;
  expect(await found(setTaken(3), setTaken(4))).toEqual(corrections);
  const setCount = (count: number) => (t: SQL) => t`update payment_reversals set entry_count = ${count}`;
  expect(await found(setCount(2), setCount(1))).toEqual(corrections);
  expect(brokenIn(await audit(true))).toEqual([]);
});

test('sums of requests that are no longer those of the Generations are found, unless they are known not to be', async () => {
  const { sql } = database;
  await settleAt(sql, owner, { monthsAgo: 0, id: idAt(new Date(Date.now() - 2 * 3_600_000)) });
  await sql`
    insert into attempts (generation_id, index, provider, status, started_at, completed_at)
    select id, 1, 'P', 'succeeded', now(), now() from generations`;
  const mark = (t: SQL) =>
    t`insert into dirty_minutes (minute) select date_trunc('minute', to_timestamp(id_ms(id) / 1000)) from generations`;
  await mark(sql);
  await new RollUp(sql).run();
  const first = await audit();
  expect(brokenIn(first)).toEqual([]);
  // A key, its account and everybody, in a minute and in an hour, or more of them.
  expect(checkedIn(first, 'requests that were added up')).toBeGreaterThanOrEqual(6);
  expect(checkedIn(first, 'calls to providers')).toBeGreaterThanOrEqual(2);

  const found = async (change: (t: SQL) => Promise<unknown>) => {
    await change(sql);
    const broken = brokenIn(await audit()).map((text) => text.split(' ').slice(0, 2).join(' '));
    await mark(sql);
    await new RollUp(sql).run();
    return broken;
  };
  const [requests, calls] = [['requests that'], ['calls to']];
  expect(
    await found((t) => t`update request_minutes set cost = cost + 0.000000000001 where key_id <> ${nilId}`),
  ).toEqual(requests);
  expect(await found((t) => t`delete from request_hours where account_id = ${nilId}`)).toEqual(requests);
  expect(
    await found((t) => t`update request_minutes set duration_20 = 1 where account_id = ${nilId}`),
  ).toEqual(requests);
  expect(
    await found(
      (t) => t`
      insert into request_hours (account_id, key_id, hour, model, provider, status, error_code, count)
      select account_id, key_id, hour, 'other', provider, status, error_code, 1 from request_hours`,
    ),
  ).toEqual(requests);
  expect(await found((t) => t`update attempt_minutes set count = count + 1`)).toEqual(calls);
  expect(await found((t) => t`delete from attempt_hours`)).toEqual(calls);
  expect(brokenIn(await audit())).toEqual([]);

  await mark(sql);
  await sql`update request_hours set count = 100`;
  await sql`update request_minutes set count = 100`;
  expect(brokenIn(await audit())).toEqual([]);
});

test('a change before a checkpoint is found by a full audit only, which then leaves no checkpoint', async () => {
  const { sql } = database;
  await audit();
  await tamper((t) => t`update ledger_entries set balance_after = 1 where number = 2`);
  expect(brokenIn(await audit())).toEqual([]);
  await credit(sql, owner.accountId, 7n, null);
  expect(brokenIn(await audit(true))).toHaveLength(1);
  const [checkpoint] = await sql`select entry_number from ledger_checkpoints`;
  expect(checkpoint.entry_number).toBe(4n);
  expect((await findAudits(sql, 1))[0]).toMatchObject({ state: 'broken', isFull: true });
});

test('one audit runs at a time, and one whose process died does not keep the next from running', async () => {
  const { sql } = database;
  const inTheWay = await sql.reserve();
  await inTheWay`begin`;
  await inTheWay`lock table write_offs`;
  const first = await startAudit(sql, openDedicated, { isFull: false, operatorId: null });
  const outcome = first?.result.then(
    () => 'done',
    () => 'died',
  );
  expect(await startAudit(sql, openDedicated, { isFull: true, operatorId: null })).toBeNull();
  expect((await findAudits(sql, 1))[0]).toMatchObject({ state: 'running', finishedAt: null });
  await sql`
    select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted
      and database = (select oid from pg_database where datname = current_database())`;
  await inTheWay`rollback`;
  await inTheWay.release();
  expect(await outcome).toBe('died');
  await sql`update ledger_audits set outcome = null, finished_at = null`;
  // PostgreSQL releases the lock a moment after the connection is gone.
  await eventually('an audit that failed', async () => (await findAudits(sql, 1))[0]?.state === 'failed');
  expect(brokenIn(await audit())).toEqual([]);
  expect((await findAudits(sql, 5)).map(({ state }) => state)).toEqual(['sound', 'failed']);
});

test('the command continues from the last audit, and --full does not', async () => {
  const environment = { DATABASE_URL: database.url };
  expect(await runCommand<object>(['ledger', 'audit'], environment)).toMatchObject({
    holds: true,
    since: null,
  });
  const second = await tollgate(['ledger', 'audit'], environment);
  expect(second.stdout).toContain('Only what is new since the sound audit of 20');
  expect([second.exitCode, second.stderr]).toEqual([0, '']);
  const full = await outcomeOf(['ledger', 'audit', '--full'], environment);
  expect(full.text).toContain('Everything in the database was checked.\nThe ledger is sound.');
});

test('an audit that is not to be recorded leaves no trace', async () => {
  await auditLedger(database.sql);
  expect(await findAudits(database.sql, 1)).toEqual([]);
});

test('progress is for terminals', () => {
  const written: string[] = [];
  const write = (text: string) => written.push(text) > 0;
  progressBar({ isTTY: false, write }).show(1, 2, 'a');
  expect(written).toEqual([]);
  const bar = progressBar({ isTTY: true, write });
  bar.show(9, 18, 'entries');
  bar.clear();
  expect(written).toEqual([`\r\x1b[K[${'#'.repeat(12)}${'.'.repeat(12)}] 9/18 entries`, '\r\x1b[K']);
});
