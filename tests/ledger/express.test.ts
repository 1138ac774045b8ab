/** What the express lane writes without having read a row is what would have been decided with the rows locked. */
import { afterAll, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import * as fc from 'fast-check';
import { unmetNeeds } from '../../src/ledger/database-error.ts';
import { decideWithPlenty, withRates } from '../../src/ledger/express.ts';
import { commitLocked } from '../../src/ledger/locked-commit.ts';
import {
  type AppliedLimits,
  type Hold,
  limitKinds,
  type Operation,
  type OperationResult,
} from '../../src/ledger/operations.ts';
import { PendingOperations } from '../../src/ledger/pending-operations.ts';
import { newId } from '../../src/lib/ids.ts';
import { LimitsInForce } from '../../src/limits/applied-limits.ts';
import { createLimitAs } from '../../src/limits/limit-store.ts';
import { type Customer, LedgerFixture } from '../support/ledger-fixture.ts';

const fixture = await LedgerFixture.open();
const { database, customer, anotherKey, hold, settlement } = fixture;
const connection = await new SQL(database.url, { max: 1, bigint: true }).reserve();

afterAll(async () => {
  await connection.close();
  await fixture.close();
});

/** Null if the needs of the batch were not met. Nothing stays written. */
async function tryExpress(batch: readonly Operation[], holds: ReadonlyMap<string, bigint>, owner: Customer) {
  const { results, effects, rows, needs } = decideWithPlenty(batch, holds);
  await connection.unsafe('begin');
  try {
    const written = await effects.write(connection, rows, { atMs: null, needs, isDurable: false });
    return { results: withRates(batch, results, written), rows: await rowsOf(owner, connection) };
  } catch (error) {
    if (unmetNeeds(error) === null) throw error;
    return null;
  } finally {
    await connection.unsafe('rollback');
  }
}

/** Everything that a batch may have written, without the times of the database. */
async function rowsOf({ accountId }: Customer, sql: SQL) {
  const [account] = await sql`
    select balance::text, held::text, entry_count::text from accounts where id = ${accountId}`;
  const keys = await sql`
    select key_id, held::text, month::text, month_spent::text, open_count
    from api_key_meters join api_keys on api_keys.id = key_id where account_id = ${accountId} order by key_id`;
  const entries = await sql`
    select number::text, kind, amount::text, balance_after::text, generation_id from ledger_entries
    where account_id = ${accountId} order by number`;
  const open = await sql`
    select id, key_id, hold::text from open_generations where account_id = ${accountId} order by id`;
  const closed = await sql`
    select id, status, hold::text, cost_total::text, error_code from generations
    where account_id = ${accountId} order by id`;
  const meters = await sql`
    select limit_meters.id, used::numeric(38,12)::text, limit_meters.held::numeric(38,12)::text
    from limit_meters join limits on limits.id = limit_id
    where account_id = ${accountId} and (used > 0 or limit_meters.held > 0) order by limit_meters.id`;
  return JSON.parse(JSON.stringify({ account, keys, entries, open, closed, meters })) as unknown;
}

/** Times pass between the two, so a rate may differ by what came back meanwhile. */
function withoutRates(results: readonly OperationResult[]) {
  return results.map((result) => {
    if (typeof result !== 'object') return result;
    const { rate, ...rest } = result;
    // A request without tokens needs no meter of its end user, so there may be nothing to say about it.
    const granted = 'tokens' in rest ? { tokens: rest.tokens?.count ?? 0 } : {};
    return { ...rest, ...granted, limit: rate?.limit };
  });
}

const amount = fc.oneof(fc.bigInt({ min: 0n, max: 4n }), fc.bigInt({ min: 0n, max: 40n }));
const action = fc.record({
  kind: fc.constantFrom('hold', 'settle', 'release', 'count'),
  key: fc.constantFrom(0, 0, 0, 1),
  pick: fc.nat(20),
  low: amount,
  high: amount,
  isExact: fc.boolean(),
});
type Action = typeof action extends fc.Arbitrary<infer One> ? One : never;

const limits = fc.record({
  monthlyLimit: fc.option(fc.bigInt({ min: 0n, max: 60n }), { freq: 2 }),
  requestsPerMinute: fc.constantFrom(3, 1_000_000, 1_000_000, 1_000_000),
  maxConcurrent: fc.constantFrom(1, 2, 3, 1_000),
  state: fc.constantFrom(
    ...Array<string>(6).fill('in force'),
    'revoked',
    'expired',
    'suspended',
    ...Array<string>(3).fill('last month'),
  ),
});
type Limits = typeof limits extends fc.Arbitrary<infer One> ? One : never;

async function apply({ state, ...kept }: Limits, { accountId, keyId }: Customer): Promise<void> {
  await database.sql`
    update api_keys set monthly_limit = ${kept.monthlyLimit === null ? null : `${kept.monthlyLimit}e-12`}::text::numeric,
      requests_per_minute = ${kept.requestsPerMinute}, max_concurrent = ${kept.maxConcurrent},
      revoked_at = case when ${state === 'revoked'} then now() end,
      expires_at = case when ${state === 'expired'} then now() end
    where id = ${keyId}`;
  if (state === 'suspended')
    await database.sql`update accounts set suspended_at = now() where id = ${accountId}`;
  if (state === 'last month')
    await database.sql`
      update api_key_meters set month = month - interval '1 month', month_spent = 40e-12 where key_id = ${keyId}`;
}

const oneUnit = 10n ** 12n;
const furtherLimit = fc.record({
  kind: fc.constantFrom(...limitKinds),
  scope: fc.constantFrom('account', 'each_end_user'),
  count: fc.constantFrom(1n, 3n, 30n, 100n),
});
type FurtherLimit = typeof furtherLimit extends fc.Arbitrary<infer One> ? One : never;

/** Returns what holds of each key count towards. */
async function setLimits(wanted: readonly FurtherLimit[], owners: readonly LimitedCustomer[]): Promise<void> {
  const [{ accountId }] = owners as [Customer];
  const actor = { door: 'cli', shellUser: 'test@test' } as const;
  for (const { kind, scope, count } of wanted) {
    const amount = kind.startsWith('spend') ? count : count * oneUnit;
    const draft = { accountId, scope, keyId: null, endUser: null, kind, amount, increase: null } as const;
    await database.sql.begin((transaction) =>
      createLimitAs(transaction, actor, { ...draft, setBy: 'operator' }),
    );
  }
  const limits = new LimitsInForce(database.sql);
  for (const owner of owners)
    owner.limits = await limits.renew({ id: owner.keyId, accountId, limitVersion: 1 }, 'Ann');
}

type LimitedCustomer = Customer & { limits?: AppliedLimits };

function withLimits(made: Hold, { limits }: LimitedCustomer, low: bigint, high: bigint): Hold {
  if (limits === undefined) return made;
  const [min, max] = low < high ? [Number(low), Number(high)] : [Number(high), Number(low)];
  return { ...made, tokens: { min, max }, generation: { ...made.generation, limits } };
}

/** Each Generation is settled at most once in a batch. */
function operationsOf(
  actions: readonly Action[],
  owners: readonly LimitedCustomer[],
  open: Hold[],
): Operation[] {
  return actions.flatMap((one): Operation[] => {
    const owner = owners[one.key] as LimitedCustomer;
    const max = one.low > one.high ? one.low : one.high;
    const min = one.isExact ? max : one.low < one.high ? one.low : one.high;
    if (one.kind === 'hold') return [withLimits({ ...hold(owner, max), min }, owner, one.low, one.high)];
    if (one.kind === 'count') return [{ kind: 'count', generation: { id: newId(), ...owner } }];
    const [settled] = open.splice(one.pick % Math.max(1, open.length), 1);
    if (settled === undefined) return [];
    return [settlement(settled, one.kind === 'release' ? null : one.high)];
  });
}

describe('a batch that was decided without its rows', () => {
  test('is written as if they had been locked, or not at all', async () => {
    let writtenCount = 0;
    let leftCount = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.bigInt({ min: 0n, max: 60n }), fc.bigInt({ min: 0n, max: 600n })),
        fc.array(fc.array(action, { maxLength: 4 }), { maxLength: 2 }),
        limits,
        fc.uniqueArray(furtherLimit, { maxLength: 2, selector: ({ kind, scope }) => kind + scope }),
        fc.array(action, { minLength: 1, maxLength: 6 }),
        async (balance, before, limited, further, actions) => {
          const owner = await customer(balance);
          const owners = [owner, await anotherKey(owner.accountId)];
          if (further.length > 0) await setLimits(further, owners);
          const holds = new Map<string, bigint>();
          let open: Hold[] = [];
          for (const earlier of before) {
            const operations = operationsOf(earlier, owners, open);
            if (operations.length === 0) continue;
            const { results } = await commitLocked(connection, operations, null, new PendingOperations());
            for (const [place, result] of results.entries())
              if (typeof result === 'object' && result.outcome === 'held')
                holds.set((operations[place] as Operation).generation.id, result.amount);
            open = [...open, ...operations.filter((one) => one.kind === 'hold')].filter(({ generation }) =>
              holds.has(generation.id),
            );
          }
          await apply(limited, owner);
          const batch = operationsOf(actions, owners, open);
          if (batch.length === 0) return;
          const express = await tryExpress(batch, holds, owner);
          const { results } = await commitLocked(connection, batch, null, new PendingOperations());
          if (express === null) {
            leftCount += 1;
            return;
          }
          writtenCount += 1;
          expect(withoutRates(express.results)).toEqual(withoutRates(results));
          expect(express.rows).toEqual(await rowsOf(owner, database.sql));
        },
      ),
      { numRuns: 250 },
    );
    // Both happen, so the comparison means something.
    expect(writtenCount).toBeGreaterThan(15);
    expect(leftCount).toBeGreaterThan(15);
  }, 180_000);

  test('reports the rate after each of its requests', async () => {
    const owner = await customer(100n, { requestsPerMinute: 10 });
    const batch = [hold(owner, 1n), hold(owner, 1n), hold(owner, 1n)];
    const express = await tryExpress(batch, new Map(), owner);
    expect(express?.results).toMatchObject(
      [9, 8, 7].map((remaining) => ({ rate: { limit: 10, remaining } })),
    );
  });

  test('has no results if a Generation is not open as it was held', async () => {
    const owner = await customer(100n);
    const held = hold(owner, 10n);
    await commitLocked(connection, [held, hold(owner, 50n)], null, new PendingOperations());
    const { id } = held.generation;
    expect(await tryExpress([settlement(held, 5n)], new Map([[id, 11n]]), owner)).toBeNull();
    expect(await tryExpress([settlement(held, 5n)], new Map([[id, 10n]]), owner)).not.toBeNull();
  });

  test('counts a replay of an account that has limits, if it knows their version', async () => {
    const owner: LimitedCustomer = await customer(100n);
    await setLimits([{ kind: 'spend_per_day', scope: 'account', count: 1n }], [owner]);
    const { accountId, keyId, limits } = owner;
    const count = (version: number): Operation => ({
      kind: 'count',
      generation: { id: newId(), accountId, keyId, limits: { version, meters: [] } },
    });
    expect(await tryExpress([count(limits?.version ?? 0)], new Map(), owner)).not.toBeNull();
    expect(await tryExpress([count(1)], new Map(), owner)).toBeNull();
  });

  test('that exceeds limits names their account, not one meter after the other', async () => {
    const owner: LimitedCustomer = await customer(100n);
    await setLimits([{ kind: 'spend_per_day', scope: 'each_end_user', count: 3n }], [owner]);
    const within = withLimits(hold(owner, 1n), owner, 1n, 1n);
    await commitLocked(connection, [within], null, new PendingOperations());
    const { effects, rows, needs } = decideWithPlenty(
      [withLimits(hold(owner, 9n), owner, 1n, 1n)],
      new Map(),
    );
    const how = { atMs: null, needs, isDurable: false };
    const error = await effects.write(connection, rows, how).catch((thrown: unknown) => thrown);
    expect(unmetNeeds(error)).toEqual([owner.accountId]);
  });

  test('of an account that has limits is not written if one of its holds does not know them', async () => {
    const owner: LimitedCustomer = await customer(100n);
    const unaware = hold(owner, 1n);
    await setLimits([{ kind: 'spend_per_day', scope: 'account', count: 30n }], [owner]);
    const aware = withLimits(hold(owner, 1n), owner, 1n, 1n);
    expect(await tryExpress([aware], new Map(), owner)).not.toBeNull();
    expect(await tryExpress([unaware], new Map(), owner)).toBeNull();
    expect(await tryExpress([unaware, aware], new Map(), owner)).toBeNull();
  });
});
