/** What the audit knows about tokens by meter and provider costs: each invariant is broken once. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { SQL } from 'bun';
import { checkInvariants, readScope } from '../../src/audit/audit.ts';
import { startAudit } from '../../src/audit/run.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { Settlement } from '../../src/ledger/operations.ts';
import { addUpUsage } from '../../src/usage/usage-days.ts';
import { outcomeOf, runCommand } from '../support/commands.ts';
import { temporaryFolder } from '../support/gateway.ts';
import { type Customer, LedgerFixture } from '../support/ledger-fixture.ts';
import { middleOfMonth, settleAt, spendingOwner } from '../support/old-charges.ts';

let fixture: LedgerFixture;
let ledger: Ledger;
let customer: Customer;
let sql: SQL;

/** 100 of input: 60 read, 30 written, 5 of them for longer. */
const cachedUsage: Partial<Settlement> = {
  usage: {
    inputTokens: 100,
    outputTokens: 10,
    cached: { read: 60, write: 25, writeLong: 5 },
    units: 110,
    unit: 'tokens',
    tier: null,
  },
  cost: {
    input: 90n,
    output: 20n,
    total: 110n,
    cached: { read: 6n, write: 50n, writeLong: 14n, saved: 110n },
  },
  providerCost: 70n,
};

async function settle(changes: Partial<Settlement> = cachedUsage): Promise<string> {
  const hold = fixture.hold(customer, 1_000n);
  await ledger.hold(hold);
  await ledger.settle(fixture.settlement(hold, 110n, changes));
  return hold.generation.id;
}

beforeAll(async () => {
  fixture = await LedgerFixture.open();
  ledger = fixture.openLedger();
  ({ sql } = fixture.database);
  customer = await fixture.customer(1_000_000n);
  await settle();
  await addUpUsage(sql);
}, 60_000);

afterAll(async () => {
  await ledger.close();
  await fixture.close();
});

/** The broken invariants by their first words, after a change that is undone again. */
async function brokenBy(
  change: (transaction: SQL) => Promise<unknown>,
  since: Date | null,
): Promise<string[]> {
  const copy = new SQL(fixture.database.url, { max: 1, bigint: true });
  let found: string[] = [];
  try {
    await copy.begin(async (transaction) => {
      await transaction`alter table usage_records drop constraint usage_records_provider_cost`;
      await transaction`alter table uncharged_attempts drop constraint uncharged_attempts_cost_check`;
      await change(transaction);
      const findings = await checkInvariants(transaction, await readScope(transaction, since));
      found = findings.filter(({ violations }) => violations > 0).map(({ invariant }) => invariant);
      throw new Error('undo');
    });
  } catch (error) {
    if (!(error instanceof Error) || error.message !== 'undo') throw error;
  } finally {
    await copy.close({ timeout: 0 });
  }
  return found.map((invariant) => invariant.split(' ').slice(0, 4).join(' '));
}

const ending = 'each Generation says how';
const generation = 'cached tokens are part';
const record = 'each usage record has';
const same = 'each Generation with a';
const days = 'usage that was added';
const margins = 'revenue and provider cost';
const uncharged = 'every uncharged attempt belongs';

const uncharge = (transaction: SQL, changes: Record<string, unknown>) =>
  transaction`
    insert into uncharged_attempts ${transaction({
      generation_id: crypto.randomUUID(),
      index: 1,
      account_id: customer.accountId,
      model: 'm',
      provider: 'P',
      ended_at: new Date(),
      price_list_id: fixture.priceListId,
      ...changes,
    })}`;

describe('broken once', () => {
  const cases: [string, (transaction: SQL) => Promise<unknown>, string[]][] = [
    ['nothing', () => Promise.resolve(), []],
    ['a status that there is not', (t) => t`update generations set status = 'odd'`, [ending]],
    ['a failure that does not say why', (t) => t`update generations set status = 'failed'`, [ending]],
    ['a success with an error', (t) => t`update generations set error_code = 'internal_error'`, [ending]],
    ['costs that do not add up', (t) => t`update generations set cost_output = cost_output + 1`, [ending]],
    [
      'a cost below zero',
      (t) => t`update generations set cost_output = -1, cost_total = cost_input - 1`,
      [ending, 'each Generation with a', 'no charge exceeds its'],
    ],
    ['half a cost', (t) => t`update generations set cost_output = null`, [ending]],
    ['a cost without usage', (t) => t`update generations set units = null, unit = null`, [ending]],
    ['a unit that there is not', (t) => t`update generations set unit = 'odd'`, [ending]],
    ['output below zero', (t) => t`update generations set output_tokens = -1`, [ending, same]],
    ['a hold below zero', (t) => t`update generations set hold = -1`, [ending, 'no charge exceeds its']],
    ['a record with a unit that there is not', (t) => t`update usage_records set unit = 'odd'`, [record]],
    ['a record with units below zero', (t) => t`update usage_records set units = -1`, [record]],
    ['more cached than input', (t) => t`update generations set cache_read_tokens = 71`, [generation, same]],
    ['a count below zero', (t) => t`update generations set cache_read_tokens = -1`, [generation, same]],
    ['one count of three', (t) => t`update generations set cache_write_tokens = null`, [generation, same]],
    [
      'parts that cost more than the whole',
      (t) => t`update generations set cost_cache_read = 1`,
      [generation],
    ],
    [
      'a cost without tokens',
      (t) => t`update generations set cache_write_long_tokens = 0`,
      [generation, same],
    ],
    [
      'tokens without a cost',
      (t) => t`update generations set cost_cache_read = null, cost_cache_write = null,
      cost_cache_write_long = null`,
      [generation],
    ],
    [
      'all input cached, at another cost',
      (t) => t`update generations set cache_read_tokens = 70`,
      [generation, same],
    ],
    [
      'a record with more cached than input',
      (t) => t`update usage_records set cache_read_tokens = 71`,
      [record, same, days],
    ],
    ['a record without savings', (t) => t`update usage_records set cache_saved = null`, [record, days]],
    ['a cost below zero', (t) => t`update usage_records set provider_cost = -1`, [record, margins]],
    ['a cost of nobody', (t) => t`update usage_records set provider = null`, [record]],
    ['another provider', (t) => t`update usage_records set provider = 'Q'`, [same]],
    ['other output', (t) => t`update usage_records set output_tokens = 11`, [same, days]],
    ['reads by day', (t) => t`update usage_days set cache_read_tokens = cache_read_tokens + 1`, [days]],
    ['writes by day', (t) => t`update usage_days set cache_write_tokens = cache_write_tokens + 1`, [days]],
    ['savings by day', (t) => t`update usage_days set cache_saved = cache_saved + 1`, [days]],
    ['margins without a request', (t) => t`update margin_days set requests = requests - 1`, [margins]],
    ['margins with other revenue', (t) => t`update margin_days set revenue = revenue + 1`, [margins]],
    ['margins with another cost', (t) => t`update margin_days set cost = cost + 1`, [margins]],
    ['no margins', (t) => t`delete from margin_days`, [margins]],
    ['an uncharged attempt of nothing', (t) => uncharge(t, { generation_id: newest() }), [uncharged]],
    [
      'an uncharged attempt of another account',
      (t) => uncharge(t, { generation_id: id(), account_id: crypto.randomUUID() }),
      ['every entry, hold, usage', uncharged],
    ],
    [
      'an uncharged attempt that was paid',
      (t) => uncharge(t, { generation_id: id(), cost: '-1' }),
      [uncharged],
    ],
    [
      'an uncharged attempt with impossible counts',
      (t) =>
        uncharge(t, {
          generation_id: id(),
          input_tokens: 1,
          cache_read_tokens: 2,
          cache_write_tokens: 0,
          cache_write_long_tokens: 0,
        }),
      [uncharged],
    ],
    [
      'an uncharged attempt of long ago',
      (t) => uncharge(t, { generation_id: '01900000-0000-7000-8000-000000000000' }),
      [],
    ],
    [
      'an uncharged attempt with another',
      (t) => uncharge(t, { generation_id: id(), input_tokens: 5, output_tokens: 1 }),
      [],
    ],
  ];
  let settled = '';
  const id = () => settled;
  /** The same time with other random bits. */
  const newest = () => `${settled.slice(0, 19)}${crypto.randomUUID().slice(19)}`;

  beforeAll(async () => {
    [{ id: settled }] = await sql`select id from generations`;
  });

  test.each(cases)('%s', async (_, change, expected) => {
    expect((await brokenBy(change, null)).toSorted()).toEqual(expected.toSorted());
  });
});

describe('after a checkpoint', () => {
  const openDedicated = () => new SQL(fixture.database.url, { max: 1, bigint: true });
  const audit = async () => {
    const running = await startAudit(sql, openDedicated, { isFull: false, operatorId: null });
    return await running?.result;
  };
  /** Settles one more, adds it up, and changes something. */
  const thenBrokenBy = (change: (transaction: SQL) => Promise<unknown>) =>
    brokenBy(async (transaction) => {
      await transaction`select add_up_usage(${customer.accountId}, 100)`;
      await change(transaction);
    }, new Date());

  test('what was added up since is compared, but for sums that an audit of an earlier version left behind', async () => {
    await fixture.customer(1n);
    expect(await audit()).toMatchObject({ isSound: true });
    const checkpoints = await sql`
      select 1 from ledger_checkpoints where usage_metered_number is distinct from usage_entry_number`;
    expect(checkpoints).toHaveLength(0);
    await settle();
    const changes = [
      (t: SQL) => t`update usage_days set cache_read_tokens = cache_read_tokens + 1`,
      (t: SQL) => t`update usage_days set cache_saved = cache_saved + 1`,
      (t: SQL) => t`update margin_days set cost = cost + 1`,
    ];
    expect(await thenBrokenBy(() => Promise.resolve())).toEqual([]);
    expect(await Promise.all(changes.map(thenBrokenBy))).toEqual([[days], [days], [margins]]);
    // It knows neither the cached tokens nor the margins, and moves the checkpoint on.
    await addUpUsage(sql);
    await sql`
      update ledger_checkpoints set usage_entry_number = usage_progress.entry_number, entry_number = accounts.entry_count,
        balance = accounts.balance, requests = 2, input_tokens = 200, output_tokens = 20, cost = 220e-12
      from usage_progress, accounts where usage_progress.account_id = ledger_checkpoints.account_id
        and accounts.id = ledger_checkpoints.account_id`;
    await settle();
    expect(await thenBrokenBy(() => Promise.resolve())).toEqual([]);
    expect(await Promise.all(changes.map(thenBrokenBy))).toEqual([[], [], []]);
    expect(await thenBrokenBy((t) => t`update margin_days set revenue = revenue + 1`)).toEqual([margins]);
    await addUpUsage(sql);
    expect(await audit()).toMatchObject({ isSound: true });
    await settle();
    expect(await Promise.all(changes.map(thenBrokenBy))).toEqual([[days], [days], [margins]]);
    await addUpUsage(sql);
  });
});

test('an archive has the meters of its charges, and what was added up from them stays comparable', async () => {
  const other = await LedgerFixture.open();
  const database = other.database.sql;
  const folder = temporaryFolder();
  const environment = { DATABASE_URL: other.database.url, TOLLGATE_DATA: folder };
  await database`select create_partitions(${middleOfMonth(5)}::timestamptz::date, current_date)`;
  const owner = await spendingOwner(database);
  await database.begin(async (t) => {
    await t`alter table ledger_entries disable trigger ledger_entries_append_only`;
    await t`update ledger_entries set created_at = ${middleOfMonth(5)}`;
    await t`alter table ledger_entries enable trigger ledger_entries_append_only`;
  });
  const ids: string[] = [];
  for (let count = 0; count < 2; count += 1)
    ids.push(await settleAt(database, owner, { monthsAgo: 5, bookedMonthsAgo: 5 }));
  // The second is one of the version before, without meters.
  await database`
    update usage_records set input_tokens = 9, cache_read_tokens = 4, cache_write_tokens = 3, cache_write_long_tokens = 1,
      cache_saved = -0.000000000123, provider = 'P', provider_cost = 0.100000000001 where id = ${ids[0] ?? ''}`;
  await database`
    update generations set input_tokens = 9, cache_read_tokens = 4, cache_write_tokens = 3, cache_write_long_tokens = 1,
      cost_cache_read = 0.01, cost_cache_write = 0.02, cost_cache_write_long = 0.03 where id = ${ids[0] ?? ''}`;
  const { archives } = await runCommand<{ archives: { file: string; usage_records: number }[] }>(
    ['ledger', 'archive'],
    environment,
  );
  const file = archives.find(({ usage_records: count }) => count === 2)?.file ?? '';
  const usages = gunzipSync(readFileSync(file))
    .toString()
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => (JSON.parse(line) as { usage: { id: string } | null }).usage);
  expect(usages.find((usage) => usage?.id === ids[0])).toMatchObject({
    cache_read_tokens: 4,
    cache_write_tokens: 3,
    cache_write_long_tokens: 1,
    cache_saved: '-0.000000000123',
    provider: 'P',
    provider_cost: '0.100000000001',
  });
  expect(usages.find((usage) => usage?.id === ids[1])).toMatchObject({
    cache_saved: null,
    provider_cost: null,
  });
  const [archived] = await database`
    select cache_read_tokens::int as read, cache_write_tokens::int as written, cache_saved::text as saved,
           provider_cost::text as cost from ledger_archive_usage`;
  expect({ ...archived }).toEqual({ read: 4, written: 4, saved: '-0.000000000123', cost: '0.100000000001' });
  const full = () =>
    outcomeOf(['ledger', 'audit', '--full', '--archive', join(folder, 'archive')], environment);
  expect((await full()).exitCode ?? 0).toBe(0);
  await database`update ledger_archive_usage set provider_cost = 0`;
  const { json } = await full();
  const { invariants } = json as { invariants: { invariant: string; violations: number }[] };
  expect(invariants.flatMap(({ invariant, violations }) => (violations > 0 ? [invariant] : []))).toEqual([
    expect.stringContaining('revenue and provider cost'),
  ]);
  await other.close();
});
