/** Settlements with tokens by meter and provider costs: what is stored of them, on every way into the database. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SQL } from 'bun';
import { retryDeadLetters } from '../../src/ledger/dead-letters.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { Hold, Settlement } from '../../src/ledger/operations.ts';
import { serializeSettlement } from '../../src/ledger/settlement.ts';
import { openSpool } from '../../src/ledger/spool.ts';
import { newId } from '../../src/lib/ids.ts';
import { addUpUsage } from '../../src/usage/usage-days.ts';
import { type Customer, LedgerFixture } from '../support/ledger-fixture.ts';
import { newAttempt, succeeded } from '../support/ledger-operations.ts';

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

const usage: Settlement['usage'] = {
  inputTokens: 100,
  outputTokens: 10,
  cached: { read: 60, write: 25, writeLong: 5 },
  units: 110,
  unit: 'tokens',
  tier: null,
};
const cost: Settlement['cost'] = {
  input: 90n,
  output: 20n,
  total: 110n,
  cached: { read: 6n, write: 50n, writeLong: 14n, saved: 110n },
};
const metered = (held: Hold, changes: Partial<Settlement> = {}) =>
  fixture.settlement(held, 110n, { usage, cost, providerCost: 70n, ...changes });

async function holdFor(owner: Customer, amount = 200n): Promise<Hold> {
  const held = fixture.hold(owner, amount);
  expect(await ledger.hold(held)).toMatchObject({ outcome: 'held' });
  return held;
}

/** Amounts in the unit of the ledger. */
async function generationOf({ generation }: Hold) {
  const [row] = await sql`
    select cache_read_tokens::int as read, cache_write_tokens::int as written, cache_write_long_tokens::int as long,
           (cost_input * 1e12)::int as input, (cost_cache_read * 1e12)::int as cost_read,
           (cost_cache_write * 1e12)::int as cost_written, (cost_cache_write_long * 1e12)::int as cost_long
    from generations where id = ${generation.id}`;
  return { ...row };
}

async function recordOf({ generation }: Hold) {
  const [row] = await sql`
    select cache_read_tokens::int as read, cache_write_tokens::int as written, cache_write_long_tokens::int as long,
           (cache_saved * 1e12)::int as saved, provider, (provider_cost * 1e12)::int as provider_cost
    from usage_records where id = ${generation.id}`;
  return { ...row };
}

const stored = {
  generation: { read: 60, written: 25, long: 5, input: 90, cost_read: 6, cost_written: 50, cost_long: 14 },
  record: { read: 60, written: 25, long: 5, saved: 110, provider: 'P', provider_cost: 70 },
};
const noTokens = { read: null, written: null, long: null };
const noCosts = { cost_read: null, cost_written: null, cost_long: null };

async function expectStored(held: Hold): Promise<void> {
  expect(await generationOf(held)).toEqual(stored.generation);
  expect(await recordOf(held)).toEqual(stored.record);
}

test('tokens, costs and savings are stored with the Generation and its usage record, and added up by day', async () => {
  const owner = await fixture.customer(1_000n);
  const [held, plain] = [await holdFor(owner), await holdFor(owner)];
  expect(
    await Promise.all([ledger.settle(metered(held)), ledger.settle(fixture.settlement(plain, 30n))]),
  ).toEqual(['settled', 'settled']);
  await expectStored(held);
  expect(await generationOf(plain)).toEqual({ ...noTokens, ...noCosts, input: 30 });
  expect(await recordOf(plain)).toEqual({ ...noTokens, saved: null, provider: 'P', provider_cost: null });
  await addUpUsage(sql);
  const [day] = await sql`
    select requests::int, cache_read_tokens::int as read, cache_write_tokens::int as written,
           (cache_saved * 1e12)::int as saved from usage_days where account_id = ${owner.accountId}`;
  expect({ ...day }).toEqual({ requests: 2, read: 60, written: 30, saved: 110 });
  const margins = await sql`
    select provider, requests::int, (revenue * 1e12)::int as revenue, (cost * 1e12)::int as cost,
           unpriced_requests::int as unpriced, (unpriced_revenue * 1e12)::int as unpriced_revenue
    from margin_days where account_id = ${owner.accountId}`;
  expect([...margins]).toEqual([
    { provider: 'P', requests: 2, revenue: 140, cost: 70, unpriced: 1, unpriced_revenue: 30 },
  ]);
});

test('a charge that the balance cuts short has parts that add up', async () => {
  const owner = await fixture.customer(50n);
  const held = await holdFor(owner, 50n);
  expect(await ledger.settle(metered(held, { onInsufficientBalance: 'write_off' }))).toBe('short');
  expect(await generationOf(held)).toEqual({
    ...stored.generation,
    input: 50,
    cost_written: 44,
    cost_long: 0,
  });
});

test('a result that is withheld has its tokens, and no cost', async () => {
  const owner = await fixture.customer(50n);
  const held = await holdFor(owner, 50n);
  expect(await ledger.settle(metered(held))).toBe('short');
  expect(await generationOf(held)).toMatchObject({ read: 60, input: null, ...noCosts });
  expect(await recordOf(held)).toEqual({});
});

describe('a refund', () => {
  test('takes back tokens and margins', async () => {
    const owner = await fixture.customer(1_000n);
    const held = await holdFor(owner);
    await ledger.settle(metered(held));
    await addUpUsage(sql);
    const withheld = { errorCode: 'billing_consistency_error', onAlreadyCharged: 'refund' } as const;
    for (let sendings = 0; sendings < 2; sendings += 1)
      expect(await ledger.settle(fixture.settlement(held, null, withheld))).toBe('settled');
    expect(await generationOf(held)).toEqual({ ...noTokens, ...noCosts, input: null });
    await addUpUsage(sql);
    const [sums] = await sql`
      select sum(days.requests)::int as requests, sum(days.cache_read_tokens)::int as read,
             sum(days.cache_saved)::float8 as saved,
             (select sum(revenue + cost + unpriced_revenue)::float8 from margin_days where account_id = ${owner.accountId}) as margins
      from usage_days as days where account_id = ${owner.accountId}`;
    expect({ ...sums }).toEqual({ requests: 0, read: 0, saved: 0, margins: 0 });
    await fixture.expectSound();
  });
});

test('attempts that nobody is charged for are stored, and those of a Generation that ended too early are replaced', async () => {
  const owner = await fixture.customer(1_000n);
  const held = await holdFor(owner);
  const attempts = [
    newAttempt({ status: 'failed', completedAtMs: Date.now(), uncharged: { usage: null, cost: null } }),
    newAttempt({
      index: 2,
      status: 'failed',
      completedAtMs: Date.now(),
      uncharged: {
        usage: { inputTokens: 9, outputTokens: 1, cached: { read: 4, write: 0, writeLong: 0 } },
        cost: 3n,
      },
    }),
    succeeded(newAttempt({ index: 3 })),
  ];
  const read = async () =>
    [
      ...(await sql`
        select index, input_tokens::int as input, cache_read_tokens::int as read, (cost * 1e12)::int as cost
        from uncharged_attempts where generation_id = ${held.generation.id} order by index`),
    ].map((row: object) => ({ ...row }));
  const [first] = attempts;
  const interrupted = { errorCode: 'gateway_interrupted', attempts: first ? [first] : [] } as const;
  expect(await ledger.settle(fixture.settlement(held, null, interrupted))).toBe('settled');
  expect(await read()).toEqual([{ index: 1, input: null, read: null, cost: null }]);
  expect(await ledger.settle(metered(held, { attempts }))).toBe('settled');
  expect(await read()).toEqual([
    { index: 1, input: null, read: null, cost: null },
    { index: 2, input: 9, read: 4, cost: 3 },
  ]);
  await expectStored(held);
});

test('counts that contradict each other are kept with the write-off', async () => {
  const held = await holdFor(await fixture.customer(1_000n));
  const counts = { prompt_tokens: 100, 'a "name", with\\ signs': 1, total_tokens: null };
  const loss = {
    reason: 'implausible_usage',
    amount: 5n,
    reported: { inputTokens: 120, outputTokens: 10 },
    counts,
  } as const;
  expect(await ledger.settle(metered(held, { loss }))).toBe('settled');
  const [row] = await sql`
    select reported, reported_input_tokens::int as input from write_offs where generation_id = ${held.generation.id}`;
  expect({ ...row }).toEqual({ reported: counts, input: 120 });
  await expectStored(held);
});

/** The line as the version before wrote it. */
function lineBefore(settlement: Settlement): string {
  const { providerCost, ...line } = JSON.parse(serializeSettlement(settlement));
  delete line.usage.cached;
  delete line.cost.cached;
  for (const attempt of line.attempts) delete attempt.uncharged;
  return JSON.stringify(line);
}

test('lines of the spool are settled as they were written, by this version and the one before', async () => {
  const owner = await fixture.customer(1_000n);
  const [held, before] = [await holdFor(owner), await holdFor(owner)];
  const [pid, node] = [2 ** 22 + 7, newId()];
  openSpool(fixture.folder, pid, node).keep(metered(held));
  const line = lineBefore(fixture.settlement(before, 30n));
  expect(line).not.toMatch(/cached|providerCost|uncharged/);
  appendFileSync(join(fixture.folder, 'spool', `${pid}.${node}.jsonl`), `${line}\n`);
  const next = openSpool(fixture.folder, process.pid, newId());
  const { settlements, malformedCount } = next.takeLeftBehind();
  expect([settlements.length, malformedCount]).toEqual([2, 0]);
  for (const one of settlements) expect(await ledger.settle(one)).toBe('settled');
  next.clearTaken();
  await expectStored(held);
  expect(await recordOf(before)).toEqual({ ...noTokens, saved: null, provider: 'P', provider_cost: null });
});

test('dead letters are settled in full, also those of the version before', async () => {
  const owner = await fixture.customer(1_000n);
  const [held, before] = [await holdFor(owner), await holdFor(owner)];
  const attempts = [newAttempt({ index: 40_000 })];
  const impossible = { attempts, onInsufficientBalance: 'write_off' } as const;
  expect(await ledger.settle(metered(held, impossible))).toBe('set_aside');
  const former = fixture.settlement(before, 30n, impossible);
  expect(await ledger.settle(former)).toBe('set_aside');
  await sql`update dead_letters set settlement = ${lineBefore(former)}::text::jsonb where generation_id = ${before.generation.id}`;
  await sql`update dead_letters set settlement = jsonb_set(settlement, '{attempts}', '[]')`;
  expect(await retryDeadLetters(sql, ledger)).toEqual({ settled: 2, refused: 0 });
  await expectStored(held);
  expect(await generationOf(before)).toMatchObject({ ...noTokens, ...noCosts, input: 30 });
});
