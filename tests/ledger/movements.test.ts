/** Money that people move by hand, on a real PostgreSQL: one by one, and any sequence of it between holds and charges. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import fc from 'fast-check';
import type { Actor } from '../../src/audit-log/audit-log.ts';
import { findActiveGrants, voidGrant } from '../../src/grants/grant-store.ts';
import { findEntries, newestEntry } from '../../src/ledger/entries.ts';
import { book, type Correction, type Movement, preview, type Refund } from '../../src/ledger/movements.ts';
import type { Hold } from '../../src/ledger/operations.ts';
import { newId } from '../../src/lib/ids.ts';
import { addUpUsage, usageQuery } from '../../src/usage/usage-days.ts';
import { findRecentUsage, withCharges } from '../../src/usage/usage-store.ts';
import { type Customer, LedgerFixture } from '../support/ledger-fixture.ts';

const fixture = await LedgerFixture.open();
const { database, nodeId, customer, hold, settlement, money, expectSound } = fixture;
const { sql } = database;
const ledger = fixture.openLedger();
const shell: Actor = { door: 'cli', shellUser: 'someone@somewhere' };
const tokenId = newId();
const token: Actor = { door: 'api', tokenId, address: '192.0.2.7' };

beforeAll(async () => {
  await sql`insert into nodes (id, name) values (${nodeId}, 'test')`;
  await sql`
    insert into admin_tokens (id, name, hash, hint, scopes, requests_per_minute, expires_at)
    values (${tokenId}, 'Tests', '\\x00', '…0000', '{money}', 1, now() + interval '1 day')`;
});

afterAll(async () => {
  await ledger.close();
  await fixture.close();
});

function correction({ accountId }: Customer, changes: Partial<Correction> = {}): Correction {
  const words = { reason: 'A mistake', reference: newId() };
  return { kind: 'correction', accountId, amount: 1n, about: null, ...words, ...changes } as Correction;
}

function refund({ generation }: Hold, changes: Partial<Refund> = {}): Refund {
  const reference = newId();
  return {
    kind: 'refund',
    generationId: generation.id,
    accountId: null,
    amount: 'rest',
    reason: 'A bad answer',
    reference,
    ...changes,
  };
}

async function charged(owner: Customer, amount: bigint): Promise<Hold> {
  const held = hold(owner, amount);
  await ledger.hold(held);
  await ledger.settle(settlement(held, amount));
  return held;
}

async function monthSpent({ keyId }: Customer): Promise<string> {
  const [row] = await sql<[{ spent: string }]>`
    select (month_spent * 1e12)::bigint::text as spent from api_key_meters where key_id = ${keyId}`;
  return row.spent;
}

const always = { day: '2000-01-01', model: '', keyId: newId() };

async function usageOf({ accountId }: Customer) {
  return await sql`
    select requests, input_tokens, (cost * 1e12)::bigint::text as cost
    from (${usageQuery(sql, accountId, always, '2999-01-01', null)}) as used`;
}

describe('a correction', () => {
  test('gives or takes, with who made it, why, and what it is about', async () => {
    const owner = await customer(100n);
    const held = await charged(owner, 10n);
    expect(
      await book(sql, shell, correction(owner, { amount: 5n, about: { generationId: held.generation.id } })),
    ).toEqual({
      outcome: 'booked',
      accountId: owner.accountId,
      entryNumber: 3n,
      amount: 5n,
      balance: 95n,
      held: 0n,
    });
    const taking = correction(owner, { amount: -25n, about: { entryNumber: 1n }, reference: 'Ticket 7' });
    expect(await book(sql, token, taking)).toMatchObject({
      outcome: 'booked',
      entryNumber: 4n,
      balance: 70n,
    });
    const [second, first] = await findEntries(sql, owner.accountId, newestEntry, 2);
    expect([first, second]).toMatchObject([
      {
        kind: 'correction',
        amount: 5n,
        actor: 'shell:someone@somewhere',
        concernsGenerationId: held.generation.id,
      },
      {
        kind: 'correction',
        amount: -25n,
        balanceAfter: 70n,
        actor: `token:${tokenId}`,
        memo: 'A mistake',
        reference: 'Ticket 7',
        concernsEntry: 1n,
        generationId: null,
      },
    ]);
    // It is no usage.
    expect(await monthSpent(owner)).toBe('10');
    expect([...(await usageOf(owner))]).toEqual([{ requests: 1n, input_tokens: '1', cost: '10' }]);
    await expectSound();
  });

  test('leaves what is held, and says how much it could take', async () => {
    const owner = await customer(100n);
    await ledger.hold(hold(owner, 60n));
    const tooMuch = correction(owner, { amount: -41n });
    for (const run of [preview, book])
      expect(await run(sql, shell, tooMuch)).toEqual({
        outcome: 'too_large',
        kind: 'correction',
        possible: 40n,
      });
    expect(await book(sql, shell, { ...tooMuch, amount: -40n })).toMatchObject({ outcome: 'booked' });
    expect(await money(owner)).toEqual({ balance: '60', held: '60' });
    // A gateway that remembers the account as it was notices.
    expect(await ledger.hold(hold(owner, 1n))).toMatchObject({
      outcome: 'denied',
      code: 'insufficient_balance',
    });
    await expectSound();
  });

  test.each<[string, Partial<Correction>, string]>([
    ['of no account', { accountId: newId() }, 'no_account'],
    ['about an entry that is not there', { amount: 1n, about: { entryNumber: 9n } }, 'no_entry'],
    ['about a request of nobody', { amount: 1n, about: { generationId: newId() } }, 'no_generation'],
  ])('%s is refused', async (_, changes, outcome) => {
    const owner = await customer(100n);
    expect(await book(sql, shell, correction(owner, changes))).toEqual({ outcome } as never);
    expect(await money(owner)).toEqual({ balance: '100', held: '0' });
  });

  test('about a request of another account is refused', async () => {
    const held = await charged(await customer(10n), 5n);
    const about = { amount: 1n, about: { generationId: held.generation.id } };
    expect(await book(sql, shell, correction(await customer(1n), about))).toEqual({
      outcome: 'no_generation',
    });
  });

  test('undoes a credit, once, or what other corrections left of it', async () => {
    const owner = await customer(1n);
    const wrong = {
      kind: 'credit',
      accountId: owner.accountId,
      amount: 50n,
      memo: null,
      reference: 'Invoice',
    } as const;
    await book(sql, shell, wrong);
    await book(sql, shell, correction(owner, { amount: -20n, about: { entryNumber: 2n } }));
    const undo = correction(owner, { amount: 'rest', about: { entryNumber: 2n }, reference: 'undo entry 2' });
    expect(await preview(sql, shell, undo)).toMatchObject({ amount: -30n, balance: 1n, entryNumber: null });
    expect(await book(sql, shell, undo)).toMatchObject({ outcome: 'booked', amount: -30n, balance: 1n });
    expect(await book(sql, shell, undo)).toMatchObject({
      outcome: 'repeated',
      amount: -30n,
      entryNumber: 4n,
    });
    expect(await book(sql, shell, { ...undo, reference: newId() })).toEqual({
      outcome: 'nothing_left',
      kind: 'correction',
    });
    // The undoing can be undone.
    expect(
      await book(sql, shell, correction(owner, { amount: 'rest', about: { entryNumber: 4n } })),
    ).toMatchObject({
      balance: 31n,
    });
    // Then the credit can be undone again.
    const again = { ...undo, reference: newId() };
    expect(await book(sql, shell, again)).toMatchObject({ amount: -30n, balance: 1n });
    expect(await book(sql, shell, { ...again, reference: newId() })).toMatchObject({
      outcome: 'nothing_left',
    });
    const held = await charged(owner, 1n);
    expect(held).toBeDefined();
    expect(await book(sql, shell, correction(owner, { amount: 'rest', about: { entryNumber: 7n } }))).toEqual(
      {
        outcome: 'not_undoable',
      },
    );
    await expectSound();
  });
});

describe('a refund', () => {
  test('gives back a charge in parts, to its month and its usage, but not more', async () => {
    const owner = await customer(100n, { monthlyLimit: 50n });
    const held = await charged(owner, 50n);
    await addUpUsage(sql);
    expect(await ledger.hold(hold(owner, 10n))).toMatchObject({ code: 'monthly_spend_limit_exceeded' });
    expect(await book(sql, shell, refund(held, { amount: 10n }))).toMatchObject({
      outcome: 'booked',
      balance: 60n,
    });
    expect(await monthSpent(owner)).toBe('40');
    expect(await ledger.hold(hold(owner, 10n))).toMatchObject({ outcome: 'held' });
    expect([...(await usageOf(owner))]).toEqual([{ requests: 1n, input_tokens: '1', cost: '40' }]);
    expect(await book(sql, shell, refund(held, { amount: 41n }))).toEqual({
      outcome: 'too_large',
      kind: 'refund',
      possible: 40n,
    });
    expect(await book(sql, shell, refund(held))).toMatchObject({
      outcome: 'booked',
      amount: 40n,
      balance: 100n,
    });
    expect(await book(sql, shell, refund(held))).toEqual({ outcome: 'nothing_left', kind: 'refund' });
    await addUpUsage(sql);
    // The tokens were used all the same.
    expect([...(await usageOf(owner))]).toEqual([{ requests: 1n, input_tokens: '1', cost: '0' }]);
    const records = await findRecentUsage(sql, owner.accountId, 10);
    expect(await withCharges(sql, records)).toMatchObject([{ id: held.generation.id, cost: 0n }]);
    await expectSound();
  });

  test('lowers revenue and leaves the cost, known or not', async () => {
    const owner = await customer(100n);
    const priced = hold(owner, 30n);
    await ledger.hold(priced);
    await ledger.settle(settlement(priced, 30n, { providerCost: 20n }));
    const unpriced = await charged(owner, 10n);
    const margins = async () => [
      ...(await sql`
        select requests, revenue * 1e12 as revenue, cost * 1e12 as cost, unpriced_requests,
               unpriced_revenue * 1e12 as unpriced_revenue
        from margin_days where account_id = ${owner.accountId}`),
    ];
    await book(sql, shell, refund(priced, { amount: 15n }));
    await addUpUsage(sql);
    await book(sql, shell, refund(unpriced, { amount: 4n }));
    await addUpUsage(sql);
    const [sums] = await margins();
    expect(Object.values(sums ?? {}).map(Number)).toEqual([2, 21, 20, 1, 6]);
    await expectSound();
  });

  test('of a month that is over leaves the current one', async () => {
    const owner = await customer(100n);
    const held = await charged(owner, 20n);
    await sql`update usage_records set month = month - 40 where id = ${held.generation.id}`;
    await sql`update api_key_meters set month_spent = 0 where key_id = ${owner.keyId}`;
    await charged(owner, 5n);
    expect(await book(sql, shell, refund(held))).toMatchObject({ outcome: 'booked', amount: 20n });
    expect(await monthSpent(owner)).toBe('5');
    await expectSound();
  });

  test('and one by the gateway, because the response was withheld, give back the charge once', async () => {
    const owner = await customer(100n);
    const held = await charged(owner, 40n);
    await book(sql, shell, refund(held, { amount: 15n }));
    // Gateways of 0.2 would take the same from it.
    const wanted = `{"(${owner.keyId},,${held.generation.id})"}`;
    const [ended] = await sql`
      select charged * 1e12 as charged, "isThisMonth" from ledger_find_ended(${wanted}::text::ledger_claim_row[],
        date_trunc('month', now() at time zone 'UTC')::date)`;
    expect([Number(ended.charged), ended.isThisMonth]).toEqual([25, true]);
    const withheld = { errorCode: 'billing_consistency_error', onAlreadyCharged: 'refund' } as const;
    expect(await ledger.settle(settlement(held, null, withheld))).toBe('settled');
    expect(await money(owner)).toEqual({ balance: '100', held: '0' });
    expect(await monthSpent(owner)).toBe('0');
    expect(await book(sql, shell, refund(held))).toEqual({ outcome: 'nothing_left', kind: 'refund' });
    await addUpUsage(sql);
    expect([...(await usageOf(owner))]).toEqual([{ requests: 0n, input_tokens: '0', cost: '0' }]);
    await expectSound();
  });

  test('of what was not charged, is still open, or is not there', async () => {
    const owner = await customer(100n);
    const failed = hold(owner, 5n);
    await ledger.hold(failed);
    expect(await book(sql, shell, refund(failed, { accountId: owner.accountId }))).toMatchObject({
      outcome: 'nothing_left',
    });
    await ledger.settle(settlement(failed, null));
    expect(await book(sql, shell, refund(failed))).toMatchObject({ outcome: 'nothing_left' });
    expect(await book(sql, shell, refund(hold(owner, 5n)))).toEqual({ outcome: 'no_generation' });
    const held = await charged(owner, 5n);
    const { accountId } = await customer(1n);
    expect(await book(sql, shell, refund(held, { accountId }))).toEqual({ outcome: 'no_generation' });
  });
});

describe('a reference', () => {
  test('is for one movement, of whatever kind, of its account', async () => {
    const owner = await customer(100n);
    const held = await charged(owner, 10n);
    const reference = 'Invoice 7';
    const { accountId } = owner;
    const movements: Movement[] = [
      { kind: 'credit', accountId, amount: 3n, memo: 'A mistake', reference },
      correction(owner, { amount: 3n, reference }),
      correction(owner, { amount: 3n, reference, about: { entryNumber: 1n } }),
      correction(owner, { amount: 3n, reference, about: { generationId: held.generation.id } }),
      refund(held, { amount: 3n, reason: 'A mistake', reference }),
    ];
    for (const [place, movement] of movements.entries()) {
      const another = { ...movement, reference: `${reference} ${place}` };
      expect(await book(sql, token, another)).toMatchObject({ outcome: 'booked' });
      for (const [other, one] of movements.entries())
        expect(await book(sql, token, { ...one, reference: another.reference })).toMatchObject({
          outcome: other === place ? 'repeated' : 'different',
        });
    }
    const changed = { ...correction(owner, { reference: `${reference} 1` }), amount: 3n, reason: 'Another' };
    expect(await book(sql, token, changed)).toEqual({ outcome: 'different', earlier: 3n });
    // A script may put the date into its words.
    expect(await book(sql, shell, changed)).toMatchObject({ outcome: 'repeated' });
    await expectSound();
  });

  test('of all that was left is not for as much in numbers, nor the other way round', async () => {
    const owner = await customer(100n);
    const pairs = [
      { whole: refund(await charged(owner, 10n)), amount: 10n },
      {
        whole: correction(owner, { amount: 'rest', about: { entryNumber: 1n } }),
        amount: -100n,
      },
    ];
    for (const { whole, amount: inNumbers } of pairs) {
      const exact = { ...whole, amount: inNumbers } as Movement;
      // Nothing of the account's credit was spent when it is undone.
      expect(await book(sql, token, whole)).toMatchObject({ outcome: 'booked', amount: inNumbers });
      expect(await book(sql, token, exact)).toEqual({ outcome: 'different', earlier: inNumbers });
      expect(await book(sql, token, whole)).toMatchObject({ outcome: 'repeated' });
    }
    const other = await customer(100n);
    const part = refund(await charged(other, 10n), { amount: 10n });
    await book(sql, token, part);
    expect(await book(sql, token, { ...part, amount: 'rest' })).toEqual({
      outcome: 'different',
      earlier: 10n,
    });
    await expectSound();
  });
});

const amount = fc.bigInt({ min: 1n, max: 60n });
const action = fc.record({
  kind: fc.constantFrom(
    ...([
      'credit',
      'grant',
      'void',
      'give',
      'take',
      'refund',
      'rest',
      'undo',
      'hold',
      'settle',
      'fail',
      'withhold',
      'sum',
    ] as const),
  ),
  amount,
  pick: fc.nat(100),
  /** Few, so that many are used again. */
  reference: fc.integer({ min: 0, max: 12 }),
});

type Action = typeof action extends fc.Arbitrary<infer One> ? One : never;

test('any sequence of credits, grants, corrections, refunds, holds and charges keeps the truths of the audit', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 10, maxLength: 60 }), async (actions) => {
      const owners = [await customer(100n), await customer(40n, { monthlyLimit: 90n })] as const;
      const holds: Hold[] = [];
      const clients = Array.from({ length: 3 }, () => new SQL(database.url, { max: 1, bigint: true }));
      // Three at a time, so that they meet.
      for (let place = 0; place < actions.length; place += 3)
        await Promise.all(
          actions.slice(place, place + 3).map(async (one, index) => {
            const owner = owners[one.pick % 2 === 0 ? 0 : 1];
            const held = holds[one.pick % Math.max(1, holds.length)];
            const movement = movementOf(one, owner, held);
            if (movement !== null) await bookTwice(clients[index] ?? sql, movement, one.reference);
            else if (one.kind === 'sum') await addUpUsage(sql);
            else if (one.kind === 'void') await voidOne(clients[index] ?? sql, owner, one.pick);
            else if (one.kind === 'hold') {
              const made = hold(owner, one.amount);
              if ((await ledger.hold(made)).outcome === 'held') holds.push(made);
            } else if (held !== undefined)
              await ledger.settle(
                settlement(held, one.kind === 'settle' ? one.amount : null, {
                  onInsufficientBalance: 'write_off',
                  ...(one.kind === 'withhold' ? { onAlreadyCharged: 'refund' } : {}),
                }),
              );
          }),
        );
      await expectSound();
      await addUpUsage(sql);
      await expectSound();
      for (const client of clients) await client.close({ timeout: 1 });
    }),
    { numRuns: 12 },
  );
}, 120_000);

/** The same for the same pick, so that a reference is used again for the same grant. */
const soonest = Date.now();
const soon = (pick: number) => (pick % 4 === 0 ? null : new Date(soonest + pick * 100));

function movementOf(one: Action, owner: Customer, held: Hold | undefined): Movement | null {
  const { accountId } = owner;
  switch (one.kind) {
    case 'credit':
      return { kind: 'credit', accountId, amount: one.amount, memo: null, reference: '' };
    case 'grant':
      return {
        kind: 'credit',
        accountId,
        amount: one.amount,
        memo: null,
        reference: '',
        // Often it is over before it is spent.
        grant: { category: 'promotional', priority: one.reference, expiresAt: soon(one.pick) },
      };
    case 'give':
      return correction(owner, { amount: one.amount });
    case 'take':
      return correction(owner, {
        amount: -one.amount,
        about: one.pick % 3 === 0 ? { entryNumber: 1n } : null,
      });
    case 'undo':
      return correction(owner, { amount: 'rest', about: { entryNumber: BigInt((one.pick % 8) + 1) } });
    case 'refund':
      return held === undefined ? null : refund(held, { amount: one.amount });
    case 'rest':
      return held === undefined ? null : refund(held);
    default:
      return null;
  }
}

async function voidOne(client: SQL, { accountId }: Customer, pick: number): Promise<void> {
  const grants = await findActiveGrants(client, accountId, { count: 100 });
  const picked = grants[pick % Math.max(1, grants.length)];
  if (picked !== undefined) await voidGrant(client, shell, { accountId, id: picked.id, reason: 'Because' });
}

/** The second time it is the same movement, whatever happened in between. */
async function bookTwice(client: SQL, movement: Movement, reference: number): Promise<void> {
  const named = { ...movement, reference: `R${reference}` } as Movement;
  const first = await book(client, token, named);
  const again = await book(client, token, named);
  if (first.outcome === 'booked' || first.outcome === 'repeated') {
    expect(again).toMatchObject({
      outcome: 'repeated',
      entryNumber: first.entryNumber,
      amount: first.amount,
    });
  } else if (first.outcome === 'different') expect(again).toEqual(first);
}

test('movements are booked once, however often, in whatever order and by how many they are sent', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          amount: fc.bigInt({ min: -9n, max: 9n }).filter((one) => one !== 0n),
          reference: fc.nat(5),
        }),
        {
          minLength: 1,
          maxLength: 8,
        },
      ),
      fc.infiniteStream(fc.nat()),
      async (wanted, random) => {
        const owner = await customer(100n);
        const one = [...new Map(wanted.map((movement) => [movement.reference, movement])).values()];
        const sent = [...one, ...one, ...one]
          .map((movement) => ({ movement, place: random.next().value as number }))
          .toSorted((left, right) => left.place - right.place);
        const results = await Promise.all(
          sent.map(({ movement }) =>
            book(sql, token, correction(owner, { ...movement, reference: `R${movement.reference}` })),
          ),
        );
        expect(results.filter(({ outcome }) => outcome === 'booked')).toHaveLength(one.length);
        expect(results.filter(({ outcome }) => outcome === 'repeated')).toHaveLength(2 * one.length);
        const sum = one.reduce((total, { amount: given }) => total + given, 100n);
        expect(await money(owner)).toEqual({ balance: `${sum}`, held: '0' });
      },
    ),
    { numRuns: 15 },
  );
  await expectSound();
}, 60_000);
