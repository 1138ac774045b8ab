/** What providers bill without a charge to a customer: recorded once, with what is known, and never beside a charge. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { OpenGeneration } from '../../src/inference/generation.ts';
import { retryDeadLetters } from '../../src/ledger/dead-letters.ts';
import type {
  Attempt,
  GenerationFacts,
  Hold,
  ProviderUsage,
  Settlement,
} from '../../src/ledger/operations.ts';
import { completed, serializeAttempts, unknownUsage, withheld } from '../../src/ledger/settlement.ts';
import { newId } from '../../src/lib/ids.ts';
import { findOrphans } from '../../src/nodes/dead-nodes.ts';
import type { PermittedCandidate } from '../../src/routing/candidates.ts';
import { addUpUsage } from '../../src/usage/usage-days.ts';
import { LedgerFixture, silentLog } from '../support/ledger-fixture.ts';
import { newAttempt, succeeded } from '../support/ledger-operations.ts';

const fixture = await LedgerFixture.open();
const { database, nodeId, customer, hold, settlement, money, expectSound } = fixture;
const ledger = fixture.openLedger();

beforeAll(async () => {
  await database.sql`insert into nodes (id, name) values (${nodeId}, 'test')`;
});

afterAll(async () => {
  await ledger.close();
  await fixture.close();
});

const used: ProviderUsage = {
  usage: { inputTokens: 900, outputTokens: 20, cached: { read: 700, write: 50, writeLong: 0 } },
  cost: 7n,
};
const row = { provider: 'P', tokens: '900/700/50/0/20', cost: '7' };
const unknown = { provider: 'P', tokens: '?', cost: null };
const served: Attempt = { ...succeeded(newAttempt()), uncharged: used };
const broken: Attempt = {
  ...newAttempt(),
  status: 'failed',
  errorCode: 'provider_unknown_error',
  completedAtMs: Date.now(),
  upstreamStatus: 200,
  uncharged: { ...used, cost: 3n },
};
const second = (attempt: Attempt): Attempt => ({ ...attempt, index: 2, provider: 'Q' });

async function uncharged({ generation }: Hold) {
  const rows = await database.sql<{ index: number; provider: string; tokens: string; cost: string | null }[]>`
    select index, provider, (cost * 1e12)::bigint::text as cost,
           case when input_tokens is null then '?' else concat_ws('/', input_tokens, cache_read_tokens,
             cache_write_tokens, cache_write_long_tokens, output_tokens) end as tokens
    from uncharged_attempts where generation_id = ${generation.id} order by index`;
  return [...rows].map((found) => ({ ...found }));
}

async function opened(balance = 100n, changes: Parameters<typeof hold>[2] = {}): Promise<Hold> {
  const held = hold(await customer(balance), 40n, changes);
  await ledger.hold(held);
  return held;
}

/** By the columns of margin_days, with what has not been added up yet. */
async function margins({ generation }: Hold) {
  await addUpUsage(database.sql);
  const rows = await database.sql`
    select provider, requests::int, (revenue * 1e12)::bigint::text as revenue, (cost * 1e12)::bigint::text as cost,
           unpriced_requests::int as unpriced
    from margin_days where account_id = ${generation.accountId}`;
  return [...rows];
}

test('a charge carries the cost of its provider, and leaves only the failed attempt before it', async () => {
  const held = await opened();
  const charged = settlement(held, 30n, {
    provider: 'Q',
    providerCost: 7n,
    attempts: [broken, second(served)],
  });
  for (let sendings = 0; sendings < 2; sendings += 1) expect(await ledger.settle(charged)).toBe('settled');
  expect(await uncharged(held)).toEqual([{ index: 1, ...row, cost: '3' }]);
  expect(await margins(held)).toEqual([
    { provider: 'Q', requests: 1, revenue: '30', cost: '7', unpriced: 0 },
  ]);
  await expectSound();
});

test('a result that the balance does not cover is withheld, and its provider bills it', async () => {
  const held = await opened(40n);
  expect(await ledger.settle(settlement(held, 90n, { providerCost: 7n, attempts: [served] }))).toBe('short');
  expect(await uncharged(held)).toEqual([{ index: 1, ...row }]);
  expect(await margins(held)).toEqual([]);
  await expectSound();
});

test('a delivered one is charged as far as the balance goes, and its cost belongs to the charge', async () => {
  const held = await opened(40n);
  const delivered = settlement(held, 90n, {
    providerCost: 7n,
    attempts: [served],
    onInsufficientBalance: 'write_off',
  });
  expect(await ledger.settle(delivered)).toBe('short');
  expect(await uncharged(held)).toEqual([]);
  expect(await margins(held)).toEqual([
    { provider: 'P', requests: 1, revenue: '40', cost: '7', unpriced: 0 },
  ]);
  await expectSound();
});

describe('a response that is withheld', () => {
  const charge = (held: Hold) => settlement(held, 30n, { providerCost: 7n, attempts: [served] });

  test('after its charge: the refund takes cost and revenue back, and the call stays', async () => {
    const held = await opened();
    await ledger.settle(charge(held));
    expect(await margins(held)).toMatchObject([{ revenue: '30', cost: '7' }]);
    for (let sendings = 0; sendings < 2; sendings += 1)
      expect(await ledger.settle(withheld(charge(held)))).toBe('settled');
    expect(await uncharged(held)).toEqual([{ index: 1, ...row }]);
    expect(await margins(held)).toEqual([
      { provider: 'P', requests: 0, revenue: '0', cost: '0', unpriced: 0 },
    ]);
    expect(await money(held.generation)).toEqual({ balance: '100', held: '0' });
    await expectSound();
  });

  test('before it was charged', async () => {
    const held = await opened();
    expect(await ledger.settle(withheld(charge(held)))).toBe('settled');
    expect(await uncharged(held)).toEqual([{ index: 1, ...row }]);
    await expectSound();
  });
});

describe('what a dead node left open', () => {
  /** The first provider answered something unreadable, the second one is being called. */
  async function leftOpen(attempts: readonly Attempt[], changes: Parameters<typeof hold>[2] = {}) {
    const held = await opened(100n, { node: newId(), ...changes });
    const { id } = held.generation;
    await database.sql`
      update open_generations set attempts = ${serializeAttempts(attempts)}::text::jsonb where id = ${id}`;
    return held;
  }

  async function closeOrphan({ generation }: Hold): Promise<Settlement> {
    const orphan = (await findOrphans(database.sql, newId(), 60)).find(
      (one) => one.generation.id === generation.id,
    );
    if (orphan === undefined) throw new Error('It was not found.');
    expect(await ledger.settleOnce(orphan)).toBe('settled');
    return orphan;
  }

  test('is unknown where the call was in progress, and known where it had ended', async () => {
    const held = await leftOpen([broken, second(newAttempt())]);
    await closeOrphan(held);
    expect(await uncharged(held)).toEqual([
      { index: 1, ...row, cost: '3' },
      { index: 2, ...unknown, provider: 'Q' },
    ]);
    await expectSound();
  });

  test('is closed even if its attempts cannot be read, and if an earlier version wrote them', async () => {
    const { uncharged: _, ...earlier } = newAttempt();
    const [strange, old] = [await leftOpen([{} as Attempt]), await leftOpen([earlier as Attempt])];
    for (const held of [strange, old]) await closeOrphan(held);
    expect([await uncharged(strange), await uncharged(old)]).toEqual([[], [{ index: 1, ...unknown }]]);
    await expectSound();
  });

  test('is charged late, and then no longer without a charge', async () => {
    const held = await leftOpen([broken, second(newAttempt())]);
    await closeOrphan(held);
    const late = settlement(held, 30n, { providerCost: 7n, attempts: [broken, second(served)] });
    for (let sendings = 0; sendings < 2; sendings += 1) expect(await ledger.settle(late)).toBe('settled');
    expect(await uncharged(held)).toEqual([{ index: 1, ...row, cost: '3' }]);
    expect(await margins(held)).toMatchObject([{ revenue: '30', cost: '7' }]);
    await expectSound();
  });

  test('is known late even if nobody can be charged for it any more', async () => {
    const held = await leftOpen([newAttempt()]);
    await closeOrphan(held);
    // Another request has taken over its idempotency key.
    const generation = { ...held.generation, idempotencyHash: 'ab'.repeat(32) };
    const late = { ...settlement(held, 30n, { providerCost: 7n, attempts: [served] }), generation };
    for (let sendings = 0; sendings < 2; sendings += 1) expect(await ledger.settle(late)).toBe('interrupted');
    expect(await uncharged(held)).toEqual([{ index: 1, ...row }]);
    await expectSound();
  });

  test('stays unknown if its node knows no more either', async () => {
    const held = await leftOpen([newAttempt()]);
    await closeOrphan(held);
    const failed = settlement(held, null, {
      attempts: [{ ...served, status: 'failed', uncharged: unknownUsage }],
    });
    expect(await ledger.settle(failed)).toBe('settled');
    expect(await uncharged(held)).toEqual([{ index: 1, ...unknown }]);
    await expectSound();
  });
});

describe('a settlement that the database rejects', () => {
  /** Another request has the idempotency key by now. */
  const takenOver = (generation: GenerationFacts) => ({ ...generation, idempotencyHash: 'ab'.repeat(32) });

  async function setAside(held: Hold, changes: Partial<Settlement>): Promise<Settlement> {
    // A cost below zero, as an example of what may be rejected.
    const rejected = settlement(held, 30n, { providerCost: -1n, attempts: [served], ...changes });
    expect(await ledger.settle(rejected)).toBe('set_aside');
    expect(await uncharged(held)).toEqual([]);
    return rejected;
  }

  test('is uncharged once it is settled, if its response was withheld', async () => {
    const held = await opened();
    await setAside(held, {});
    expect(await retryDeadLetters(database.sql, ledger)).toEqual({ settled: 1, refused: 0 });
    expect(await uncharged(held)).toEqual([{ index: 1, ...row }]);
    expect(await money(held.generation)).toEqual({ balance: '100', held: '0' });
    await expectSound();
  });

  test('is uncharged if it was delivered and can no longer be charged', async () => {
    const held = await opened();
    const rejected = await setAside(held, { onInsufficientBalance: 'write_off' });
    const late = { ...rejected, providerCost: 7n, generation: takenOver(held.generation) };
    for (let sendings = 0; sendings < 2; sendings += 1) expect(await ledger.settle(late)).toBe('interrupted');
    expect(await uncharged(held)).toEqual([{ index: 1, ...row }]);
    await expectSound();
  });

  test('leaves nothing behind of a request that nobody knows', async () => {
    const held = hold(await customer(100n), 40n);
    const late = settlement(held, 30n, { attempts: [served], generation: takenOver(held.generation) });
    expect(await ledger.settle(late)).toBe('interrupted');
    expect(await uncharged(held)).toEqual([]);
    await expectSound();
  });

  test.each([
    ['settled', 30n, 'withhold', []],
    ['short', 900n, 'withhold', ['P']],
    ['short', 900n, 'write_off', []],
    ['set_aside', -1n, 'withhold', ['P']],
    // It is charged when it is retried.
    ['set_aside', -1n, 'write_off', []],
    ['interrupted', 30n, 'withhold', ['P']],
    ['interrupted', 30n, 'write_off', ['P']],
  ] as const)('is counted if nobody will be charged: %s, %p, %s', async (result, total, onShort, counted) => {
    const held = await opened();
    const { generation: facts } = held;
    if (result === 'interrupted')
      await ledger.settle(settlement(held, null, { errorCode: 'gateway_interrupted' }));
    const provider = { connection: { provider: { name: 'P' } }, cost: null };
    const permit = { succeeded: () => undefined };
    const generation = new OpenGeneration(
      result === 'interrupted' ? takenOver(facts) : facts,
      'P',
      { candidate: provider, permit, conversation: null } as unknown as PermittedCandidate,
      null,
      ledger,
      silentLog,
    );
    generation.noteUsed(used);
    generation.attemptSucceeded(200);
    const cost = { input: total, output: 0n, total, cached: null };
    const usage = {
      inputTokens: 1,
      outputTokens: 2,
      cached: null,
      units: 3,
      unit: 'tokens',
      tier: null,
    } as const;
    const charge = { usage, cost, reported: used, loss: null };
    expect(await generation.settle(completed(charge, 'completed', onShort, null))).toBe(result);
    expect(generation.summary().unchargedProviders).toEqual([...counted]);
    await database.sql`delete from dead_letters`;
  });
});

test('whatever happens to a call, and however often, it is either charged or uncharged, once', async () => {
  const charge = (held: Hold) => settlement(held, 30n, { providerCost: 7n, attempts: [served] });
  const interrupted: Attempt = { ...newAttempt(), status: 'failed', uncharged: unknownUsage };
  const events = {
    charged: charge,
    short: (held: Hold) => ({
      ...charge(held),
      cost: { input: 900n, output: 0n, total: 900n, cached: null },
    }),
    withheld: (held: Hold) => withheld(charge(held)),
    closed: (held: Hold) =>
      settlement(held, null, { errorCode: 'gateway_interrupted', attempts: [interrupted] }),
  } satisfies Record<string, (held: Hold) => Settlement>;
  const names = Object.keys(events) as (keyof typeof events)[];
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...names), { minLength: 1, maxLength: 6 }),
      async (sequence) => {
        const held = await opened();
        for (const name of sequence) await ledger.settle(events[name](held));
        const [{ charges }] = await database.sql<[{ charges: number }]>`
        select count(*)::int as charges from usage_records
        where id = ${held.generation.id} and refunded_at is null and provider_cost = 7e-12`;
        const calls = await uncharged(held);
        expect(charges + calls.length).toBe(1);
        // Whoever closed it knew least: anything later adds what is known.
        const isKnown = sequence.some((name) => name !== 'closed');
        if (calls.length === 1) expect(calls[0]?.cost).toBe(isKnown ? '7' : null);
      },
    ),
    { numRuns: 60 },
  );
  await expectSound();
});
