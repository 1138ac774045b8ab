/** Which grants an entry is drawn from, on a real PostgreSQL whose clock is set: example by example, and over any history. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import fc from 'fast-check';
import type { Actor } from '../../src/audit-log/audit-log.ts';
import { createAllowanceAs, endAllowanceAs, findAllowances } from '../../src/grants/allowances.ts';
import {
  findActiveGrants,
  findBalances,
  findDraws,
  findGrants,
  voidGrant,
} from '../../src/grants/grant-store.ts';
import { type Entry, findEntries, newestEntry } from '../../src/ledger/entries.ts';
import { book, type Credit, type GrantCategory, preview } from '../../src/ledger/movements.ts';
import type { Hold } from '../../src/ledger/operations.ts';
import { newId } from '../../src/lib/ids.ts';
import { makeClockSettable, setClock } from '../support/database-clock.ts';
import { type Customer, LedgerFixture } from '../support/ledger-fixture.ts';

const fixture = await LedgerFixture.open();
await makeClockSettable(fixture.database.sql);
const { nodeId, customer, hold, settlement, money, expectSound } = fixture;
const sql = new SQL(fixture.database.url, { max: 4, bigint: true });
const ledger = fixture.openLedger();
const shell: Actor = { door: 'cli', shellUser: 'someone@somewhere' };

/** Minutes after some midnight that no test runs into. */
const start = Date.parse('2028-02-01T00:00:00Z');
const at = (minute: number) => new Date(start + minute * 60_000);

beforeAll(async () => {
  await sql`insert into nodes (id, name) values (${nodeId}, 'test')`;
});

afterAll(async () => {
  await ledger.close();
  await sql.close({ timeout: 1 });
  await fixture.close();
});

async function setMinute(minute: number): Promise<void> {
  await setClock(sql, at(minute).toISOString());
}

type Terms = { category?: GrantCategory; priority?: number; expires?: number | null };

async function grant({ accountId }: Customer, amount: bigint, terms: Terms = {}): Promise<bigint> {
  const { category = 'promotional', priority = 50, expires = null } = terms;
  const expiresAt = expires === null ? null : at(expires);
  const credit = { ...plain(accountId, amount), grant: { category, priority, expiresAt } };
  const booked = await book(sql, shell, credit);
  if (booked.outcome !== 'booked') throw new Error(booked.outcome);
  return booked.entryNumber as bigint;
}

function plain(accountId: string, amount: bigint): Credit {
  return { kind: 'credit', accountId, amount, memo: null, reference: newId() };
}

async function held(owner: Customer, amount: bigint): Promise<Hold> {
  const made = hold(owner, amount);
  expect(await ledger.hold(made)).toMatchObject({ outcome: 'held' });
  return made;
}

async function charge(owner: Customer, amount: bigint): Promise<Hold> {
  const made = await held(owner, amount);
  await ledger.settle(settlement(made, amount));
  return made;
}

async function settleGrants({ accountId }: Customer): Promise<void> {
  await sql`select settle_grants(${accountId}::uuid)`;
}

/** What each grant has left, by its number. */
async function left({ accountId }: Customer): Promise<Record<string, bigint>> {
  const grants = await findGrants(sql, accountId);
  return Object.fromEntries(grants.map(({ number, remaining }) => [String(number), remaining]));
}

async function entriesOf({ accountId }: Customer): Promise<Entry[]> {
  return (await findEntries(sql, accountId, newestEntry, 10_000)).reverse();
}

async function drawsOf({ accountId }: Customer): Promise<Record<string, [bigint, bigint][]>> {
  const draws = await findDraws(sql, accountId, [{ number: newestEntry }, { number: 0n }]);
  return Object.fromEntries(
    Array.from(draws, ([entry, drawn]) => [
      String(entry),
      drawn.map(({ number, amount }) => [number, amount]),
    ]),
  );
}

async function undo({ accountId }: Customer, entryNumber: bigint): Promise<void> {
  const words = { reason: 'A mistake', reference: newId() };
  expect(
    await book(sql, shell, {
      kind: 'correction',
      accountId,
      amount: 'rest',
      about: { entryNumber },
      ...words,
    }),
  ).toMatchObject({ outcome: 'booked' });
}

async function refund(
  { accountId }: Customer,
  { generation }: Hold,
  amount: bigint | 'rest' = 'rest',
): Promise<void> {
  const words = { reason: 'A bad answer', reference: newId() };
  expect(
    await book(sql, shell, { kind: 'refund', generationId: generation.id, accountId, amount, ...words }),
  ).toMatchObject({ outcome: 'booked' });
}

test('an account with plain credits has nothing that is told apart', async () => {
  const owner = await customer(100n);
  await book(sql, shell, plain(owner.accountId, 50n));
  await charge(owner, 30n);
  expect(await findBalances(sql, owner.accountId)).toEqual({ paid: 120n, promotional: 0n, allowance: 0n });
  expect(await findGrants(sql, owner.accountId)).toEqual([]);
  const [row] = await sql`select grants_due_at from accounts where id = ${owner.accountId}`;
  expect(row.grants_due_at).toBeNull();
});

describe('spending', () => {
  test('draws by priority, the earliest expiry, promotional before paid, the oldest', async () => {
    await setMinute(0);
    const owner = await customer(10n);
    const older = await grant(owner, 10n);
    const newer = await grant(owner, 10n);
    const late = await grant(owner, 10n, { category: 'paid', expires: 90 });
    const soon = await grant(owner, 10n, { category: 'paid', expires: 80 });
    const allowance = await grant(owner, 10n, { category: 'allowance', expires: 90 });
    const first = await grant(owner, 10n, { category: 'paid', priority: 0 });
    const last = await grant(owner, 10n, { priority: 51, expires: 10 });
    const order = [first, soon, allowance, late, older, newer, 0n, last];
    expect((await findActiveGrants(sql, owner.accountId, { count: 10 })).map(({ number }) => number)).toEqual(
      order,
    );
    for (let spent = 0; spent < 8; spent += 1) await charge(owner, 10n);
    expect(Object.values(await drawsOf(owner)).flat()).toEqual(order.map((number) => [number, 10n]));
    await expectSound();
  });

  test('says of each charge what it took of which grant', async () => {
    await setMinute(0);
    const owner = await customer(100n);
    const small = await grant(owner, 5n);
    const charged = await charge(owner, 12n);
    await charge(owner, 1n);
    expect(await drawsOf(owner)).toEqual({
      '3': [
        [0n, 7n],
        [small, 5n],
      ],
      '4': [[0n, 1n]],
    });
    expect(await findBalances(sql, owner.accountId)).toEqual({ paid: 92n, promotional: 0n, allowance: 0n });
    // In parts, to the last one that was drawn first.
    await refund(owner, charged, 8n);
    expect(await left(owner)).toMatchObject({ '0': 99n, [String(small)]: 1n });
    await refund(owner, charged);
    expect(await left(owner)).toMatchObject({ '0': 99n, [String(small)]: 5n });
    await expectSound();
  });

  test('before the first grant is given back as a plain credit', async () => {
    await setMinute(0);
    const owner = await customer(100n);
    const charged = await charge(owner, 20n);
    const given = await grant(owner, 5n);
    await refund(owner, charged, 15n);
    expect(await left(owner)).toEqual({ '0': 80n, [String(given)]: 5n, '4': 15n });
    await expectSound();
  });

  test('of what a correction takes back begins with the grant that it is about', async () => {
    await setMinute(0);
    const owner = await customer(0n);
    const first = await grant(owner, 10n, { priority: 1 });
    const wrong = await grant(owner, 10n, { priority: 2 });
    await charge(owner, 4n);
    await undo(owner, wrong);
    expect(await left(owner)).toMatchObject({ [String(first)]: 6n, [String(wrong)]: 0n });
    await undo(owner, 4n);
    expect(await left(owner)).toMatchObject({ [String(first)]: 6n, [String(wrong)]: 10n });
    await expectSound();
  });
});

describe('an expiry', () => {
  test('leaves with an entry of its own, before the next request', async () => {
    await setMinute(0);
    const owner = await customer(5n);
    const given = await grant(owner, 10n, { expires: 60 });
    await charge(owner, 3n);
    await setMinute(60);
    expect(await ledger.hold(hold(owner, 6n))).toMatchObject({ code: 'insufficient_balance' });
    await held(owner, 5n);
    expect((await entriesOf(owner)).at(-1)).toMatchObject({
      kind: 'expiry',
      amount: -7n,
      balanceAfter: 5n,
      concernsEntry: given,
    });
    expect((await findGrants(sql, owner.accountId))[0]).toMatchObject({ state: 'expired', remaining: 0n });
    await expectSound();
  });

  test('leaves what holds from before it keep, and no hold from after it', async () => {
    await setMinute(0);
    const owner = await customer(0n);
    const given = await grant(owner, 10n, { expires: 60 });
    const small = await held(owner, 1n);
    const large = await held(owner, 7n);
    await setMinute(61);
    expect(await ledger.hold(hold(owner, 1n))).toMatchObject({ code: 'insufficient_balance' });
    expect(await money(owner)).toEqual({ balance: '8', held: '8' });
    // What is released is gone, whoever waits for it.
    await ledger.settle(settlement(small, null));
    expect(await ledger.hold(hold(owner, 1n))).toMatchObject({ code: 'insufficient_balance' });
    await ledger.settle(settlement(large, 4n));
    await settleGrants(owner);
    expect(await money(owner)).toEqual({ balance: '0', held: '0' });
    const entries = await entriesOf(owner);
    expect(entries.map(({ kind, amount }) => [kind, amount])).toEqual([
      ['credit', 10n],
      ['expiry', -2n],
      ['expiry', -1n],
      ['charge', -4n],
      ['expiry', -3n],
    ]);
    expect(entries.at(-1)?.concernsEntry).toBe(given);
    await expectSound();
  });

  test('cannot be put off by requests that follow each other', async () => {
    await setMinute(0);
    const owner = await customer(10n);
    await grant(owner, 10n, { expires: 60 });
    const before = await held(owner, 10n);
    await setMinute(61);
    const after = await held(owner, 10n);
    await ledger.settle(settlement(before, null));
    expect(await ledger.hold(hold(owner, 1n))).toMatchObject({ code: 'insufficient_balance' });
    expect(await money(owner)).toEqual({ balance: '10', held: '10' });
    await ledger.settle(settlement(after, 10n));
    expect((await drawsOf(owner))['4']).toEqual([[0n, 10n]]);
    await expectSound();
  });

  test('leaves what a hold keeps, also when money comes that would be spent first', async () => {
    await setMinute(0);
    const owner = await customer(0n);
    const given = await grant(owner, 10n, { expires: 60 });
    const before = await held(owner, 10n);
    await setMinute(60);
    const newer = await grant(owner, 10n, { priority: 1 });
    await settleGrants(owner);
    expect(await money(owner)).toEqual({ balance: '20', held: '10' });
    await ledger.settle(settlement(before, 10n));
    expect(await left(owner)).toMatchObject({ [String(given)]: 0n, [String(newer)]: 10n });
    await expectSound();
  });

  test('is made good by a correction about it', async () => {
    await setMinute(0);
    const owner = await customer(1n);
    await grant(owner, 10n, { expires: 60 });
    await setMinute(60);
    await settleGrants(owner);
    const about = { about: { entryNumber: 3n }, reason: 'Sorry', reference: newId() };
    const { accountId } = owner;
    await book(sql, shell, { kind: 'correction', accountId, amount: 10n, ...about });
    expect(await findBalances(sql, accountId)).toEqual({ paid: 11n, promotional: 0n, allowance: 0n });
    await expectSound();
  });

  test('is seen by a preview', async () => {
    await setMinute(0);
    const owner = await customer(0n);
    await grant(owner, 10n, { expires: 60 });
    await setMinute(60);
    const words = { reason: 'Oops', reference: newId(), about: null };
    const taking = { kind: 'correction', accountId: owner.accountId, amount: -5n, ...words } as const;
    const refused = { outcome: 'too_large', kind: 'correction', possible: 0n } as const;
    expect(await preview(sql, shell, taking)).toEqual(refused);
    expect(await book(sql, shell, taking)).toEqual(refused);
  });

  test('of an account whose entries are just being drawn keeps no other account waiting', async () => {
    await setMinute(0);
    const [busy, other] = [await customer(5n), await customer(5n)];
    await grant(busy, 10n, { expires: 60 });
    await setMinute(60);
    const drawing = await sql.reserve();
    await drawing`begin`;
    await drawing`select 1 from grant_progress where account_id = ${busy.accountId} for update`;
    try {
      const [late, quick] = [ledger.hold(hold(busy, 5n)), ledger.hold(hold(other, 5n))];
      late.catch(() => undefined);
      expect(await quick).toMatchObject({ outcome: 'held' });
      await drawing`rollback`;
      expect(await late.catch(() => ledger.hold(hold(busy, 5n)))).toMatchObject({ outcome: 'held' });
    } finally {
      await drawing.release();
    }
    await expectSound();
  });

  test('takes what is refunded to it later', async () => {
    await setMinute(0);
    const owner = await customer(1n);
    const given = await grant(owner, 10n, { expires: 60 });
    const charged = await charge(owner, 10n);
    await setMinute(61);
    await settleGrants(owner);
    await refund(owner, charged);
    expect(await findBalances(sql, owner.accountId)).toEqual({ paid: 1n, promotional: 0n, allowance: 0n });
    expect((await entriesOf(owner)).at(-1)).toMatchObject({
      kind: 'expiry',
      amount: -10n,
      concernsEntry: given,
    });
    await expectSound();
  });
});

test('a grant is voided once, and never removed', async () => {
  await setMinute(0);
  const owner = await customer(3n);
  const number = await grant(owner, 10n);
  const [given] = await findGrants(sql, owner.accountId);
  const voiding = { accountId: owner.accountId, id: given?.id ?? '', reason: 'Given by mistake' };
  const reserved = await held(owner, 5n);
  expect(await voidGrant(sql, shell, voiding)).toEqual({ outcome: 'voided', taken: 5n });
  expect(await voidGrant(sql, shell, voiding)).toEqual({ outcome: 'repeated' });
  expect(await voidGrant(sql, shell, { ...voiding, id: newId() })).toEqual({ outcome: 'no_grant' });
  await ledger.settle(settlement(reserved, 1n));
  expect(await findBalances(sql, owner.accountId)).toEqual({ paid: 3n, promotional: 0n, allowance: 0n });
  expect((await findGrants(sql, owner.accountId))[0]).toMatchObject({
    number,
    state: 'voided',
    remaining: 0n,
  });
  const entries = await entriesOf(owner);
  expect(entries.filter(({ kind }) => kind === 'void')).toMatchObject([
    { amount: -5n, memo: 'Given by mistake', actor: 'shell:someone@somewhere', concernsEntry: number },
    { amount: -4n, memo: 'Given by mistake', actor: 'shell:someone@somewhere', concernsEntry: number },
  ]);
  // Undoing the credit finds nothing left of it to take.
  const words = { reason: 'A mistake', reference: newId() };
  expect(
    await book(sql, shell, {
      kind: 'correction',
      accountId: owner.accountId,
      amount: 'rest',
      about: { entryNumber: number },
      ...words,
    }),
  ).toMatchObject({ outcome: 'booked', amount: -1n });
  await expectSound();
});

test('an allowance is given at once, and anew when its month begins, by whatever comes first', async () => {
  await setMinute(30);
  const owner = await customer(2n);
  const draft = {
    accountId: owner.accountId,
    amount: 10n,
    every: 'month',
    priority: 10,
    note: 'Plan',
  } as const;
  const created = await sql.begin((transaction) => createAllowanceAs(transaction, shell, draft));
  expect(created).toMatchObject({ every: 'month', nextAt: new Date('2028-03-01T00:00:00Z') });
  await charge(owner, 4n);
  expect(await findBalances(sql, owner.accountId)).toEqual({ paid: 2n, promotional: 0n, allowance: 6n });
  // Two months later, of which nobody took notice.
  await setClock(sql, '2028-04-30T23:59:59Z');
  await held(owner, 12n);
  expect((await entriesOf(owner)).slice(3).map(({ kind, amount, memo }) => [kind, amount, memo])).toEqual([
    ['expiry', -6n, null],
    ['credit', 10n, 'Plan'],
  ]);
  const [allowance] = await findAllowances(sql, owner.accountId);
  expect(allowance?.nextAt).toEqual(new Date('2028-05-01T00:00:00Z'));
  const ending = { id: allowance?.id ?? '', accountId: owner.accountId };
  await sql.begin((transaction) => endAllowanceAs(transaction, shell, ending));
  await setClock(sql, '2028-05-01T00:00:01Z');
  expect(await ledger.hold(hold(owner, 1n))).toMatchObject({ code: 'insufficient_balance' });
  expect(await money(owner)).toEqual({ balance: '12', held: '12' });
  await expectSound();
});

test('what a dispute took goes back where it came from when the dispute ends', async () => {
  await setMinute(0);
  const owner = await customer(0n);
  const { accountId } = owner;
  const order = newId();
  await sql`
    insert into payment_orders (id, account_id, kind, amount, currency, is_live, customer, state, credited_at)
    values (${order}, ${accountId}, 'checkout', 10e-12, 'usd', false, 'cus_1', 'paid', now())`;
  await sql`select book_own_movement('credit', ${accountId}, 10e-12, 'Paid', ${order}, null)`;
  const given = await grant(owner, 10n, { expires: 60 });
  await charge(owner, 14n);
  // 6 of the payment are left, and the rest is spent.
  await grant(owner, 7n, { expires: 60 });
  const dispute = `du_${order}`;
  const collect = async (due: bigint) => {
    await sql`
      insert into payment_reversals (id, order_id, kind, amount_minor, status, due)
      values (${dispute}, ${order}, 'dispute', 1, 'needs_response', ${due}::bigint * 1e-12)
      on conflict (id) do update set due = excluded.due`;
    await sql`select collect_payment_reversals(${order})`;
    return await left(owner);
  };
  expect(await collect(8n)).toMatchObject({ '0': 0n, [String(given)]: 0n, '4': 5n });
  expect(await collect(10n)).toMatchObject({ '0': 0n, '4': 3n });
  expect(await collect(9n)).toMatchObject({ '0': 0n, '4': 4n });
  expect(await collect(0n)).toMatchObject({ '0': 6n, '4': 7n });
  await setMinute(60);
  expect(await collect(10n)).toMatchObject({ '0': 0n, '4': 0n });
  expect(await money(owner)).toEqual({ balance: '0', held: '0' });
  // The rest is owed.
  const [reversal] =
    await sql`select (taken * 1e12)::int as taken from payment_reversals where id = ${dispute}`;
  expect(reversal.taken).toBe(6);
  await expectSound();
});

test('a grant is given once for its reference, and not with other terms', async () => {
  await setMinute(0);
  const { accountId } = await customer(1n);
  const terms = { category: 'promotional', priority: 50, expiresAt: at(60) } as const;
  const credit = { ...plain(accountId, 5n), grant: terms };
  expect(await book(sql, shell, credit)).toMatchObject({ outcome: 'booked' });
  expect(await book(sql, shell, credit)).toMatchObject({ outcome: 'repeated' });
  expect(await book(sql, shell, { ...credit, grant: { ...terms, category: 'paid' } })).toMatchObject({
    outcome: 'different',
  });
});

type OpenHold = Readonly<{ hold: Hold; owner: Customer; amount: bigint; madeAt: number }>;
type Known = {
  category: GrantCategory;
  priority: number;
  expires: number;
  /** When it expired or was voided. */
  end: number;
  remaining: bigint;
  number: bigint;
  arrivedAt: number;
};

const categories: readonly GrantCategory[] = ['allowance', 'promotional', 'paid'];

/** The stated order. */
function inOrder(grants: readonly Known[]): Known[] {
  return [...grants].sort(
    (one, other) =>
      one.priority - other.priority ||
      compare(one.expires, other.expires) ||
      categories.indexOf(one.category) - categories.indexOf(other.category) ||
      Number(one.number - other.number),
  );
}

const compare = (one: number, other: number) => (one === other ? 0 : one < other ? -1 : 1);
const smaller = (one: bigint, other: bigint) => (one < other ? one : other);

/** An account as the test knows it, which follows its entries and says what each has to have been drawn from. */
class Account {
  readonly owner: Customer;
  readonly grants = new Map<bigint, Known>();
  readonly open: OpenHold[] = [];
  readonly closed = new Map<string, OpenHold>();
  readonly #drawn = new Map<bigint, Map<bigint, bigint>>();
  readonly #chargeOf = new Map<string, bigint>();
  readonly terms = new Map<bigint, Pick<Known, 'category' | 'priority' | 'expires'>>();
  #seen = 0n;
  /** By the clock of the database. */
  minute = 0;
  /** The same, with a fraction that says what comes first within a minute. */
  now = 0;

  constructor(owner: Customer, balance: bigint) {
    this.owner = owner;
    if (balance > 0n) this.#seen = 1n;
    this.#add(0n, balance, { category: 'paid', priority: 50, expires: Number.POSITIVE_INFINITY });
  }

  #add(number: bigint, amount: bigint, terms: Pick<Known, 'category' | 'priority' | 'expires'>): void {
    this.grants.set(number, { ...terms, end: terms.expires, remaining: amount, number, arrivedAt: this.now });
  }

  /** Reads the new entries: those that an action has made, while `openBefore` were open, and those of this look. */
  async follow(openBefore: readonly OpenHold[]): Promise<void> {
    const made = (await entriesOf(this.owner)).at(-1)?.number ?? 0n;
    const draws = await findDraws(sql, this.owner.accountId, [
      { number: newestEntry },
      { number: this.#seen + 1n },
    ]);
    const entries = (await entriesOf(this.owner)).filter(({ number }) => number > this.#seen);
    for (const entry of entries) {
      const expected = this.#expect(entry, entry.number > made ? this.open : openBefore);
      const actual = new Map((draws.get(entry.number) ?? []).map(({ number, amount }) => [number, amount]));
      expect([entry.number, entry.kind, actual]).toEqual([entry.number, entry.kind, expected]);
      for (const [number, amount] of expected) this.#of(number).remaining -= amount;
      this.#drawn.set(entry.number, expected);
      this.#seen = entry.number;
    }
    expect(await left(this.owner)).toEqual(
      Object.fromEntries(Array.from(this.grants.values(), ({ number, remaining }) => [number, remaining])),
    );
  }

  noteEnd(number: bigint): void {
    this.#of(number).end = this.now;
  }

  #of(number: bigint): Known {
    const known = this.grants.get(number);
    if (known === undefined) throw new Error(`There is no grant ${number}.`);
    return known;
  }

  #expect(entry: Entry, openBefore: readonly OpenHold[]): Map<bigint, bigint> {
    switch (entry.kind) {
      case 'credit': {
        const plainly = { category: 'paid', priority: 50, expires: Number.POSITIVE_INFINITY } as const;
        this.#add(entry.number, entry.amount, this.terms.get(entry.number) ?? plainly);
        return new Map();
      }
      case 'charge': {
        this.#chargeOf.set(entry.generationId ?? '', entry.number);
        const made = this.closed.get(entry.generationId ?? '')?.madeAt ?? Number.NaN;
        return this.#greedy(-entry.amount, ({ end }) => end > made, null, made);
      }
      case 'refund':
        return this.#back(entry, this.#chargeOf.get(entry.generationId ?? ''));
      case 'correction':
        this.#taking.add(entry.number);
        return entry.amount > 0n
          ? this.#back(
              entry,
              this.#taking.has(entry.concernsEntry ?? -1n) ? (entry.concernsEntry ?? -1n) : undefined,
            )
          : this.#greedy(-entry.amount, ({ end }) => end > this.now, this.#grantOf(entry.concernsEntry));
      default: {
        const ended = this.#of(entry.concernsEntry ?? -1n);
        expect(ended.end).toBeLessThanOrEqual(this.now);
        expect(-entry.amount).toBe(ended.remaining - this.kept(ended, openBefore));
        return new Map([[ended.number, -entry.amount]]);
      }
    }
  }

  /** What holds from before its end need of a grant that has ended. */
  kept(ended: Known, open: readonly OpenHold[]): bigint {
    const reserved = open
      .filter(({ madeAt }) => madeAt < ended.end)
      .reduce((sum, { amount }) => sum + amount, 0n);
    let before = 0n;
    for (const one of inOrder([...this.grants.values()])) {
      if (one === ended) break;
      if (one.arrivedAt < ended.end) before += one.remaining;
    }
    return reserved <= before ? 0n : smaller(reserved - before, ended.remaining);
  }

  /** What a hold keeps over the end of a grant is not replaced by grants that came after that end. */
  #inOrderOf(madeAt: number): Known[] {
    const ordered = inOrder([...this.grants.values()].filter(({ remaining }) => remaining > 0n));
    for (const kept of ordered.filter(({ end }) => madeAt < end && end <= this.now)) {
      const place = ordered.indexOf(kept);
      const newer = ordered.slice(0, place).filter(({ arrivedAt }) => arrivedAt > kept.end);
      for (const one of newer) ordered.splice(ordered.indexOf(one), 1);
      ordered.splice(ordered.indexOf(kept) + 1, 0, ...newer);
    }
    return ordered;
  }

  #greedy(
    amount: bigint,
    isEligible: (grant: Known) => boolean,
    first: bigint | null = null,
    madeAt = Number.NaN,
  ): Map<bigint, bigint> {
    const ordered = this.#inOrderOf(madeAt);
    const rest = ordered.filter((one) => one.number !== first);
    const sources = [
      ...ordered.filter(({ number }) => number === first),
      ...rest.filter(isEligible),
      ...rest.filter((one) => !isEligible(one)),
    ];
    const drawn = new Map<bigint, bigint>();
    let wanted = amount;
    for (const { number, remaining } of sources) {
      const taken = smaller(remaining, wanted);
      if (taken > 0n) drawn.set(number, taken);
      wanted -= taken;
    }
    expect(wanted).toBe(0n);
    return drawn;
  }

  /** The first entry is from before the first grant. */
  #grantOf(entryNumber: bigint | null): bigint | null {
    return entryNumber === 1n ? 0n : entryNumber;
  }

  /** Corrections. */
  readonly #taking = new Set<bigint>();
  readonly #returned = new Map<bigint, Map<bigint, bigint>>();

  #back(entry: Entry, from: bigint | undefined): Map<bigint, bigint> {
    const returned = new Map<bigint, bigint>();
    let rest = entry.amount;
    if (from !== undefined) {
      const before = this.#returned.get(from) ?? new Map<bigint, bigint>();
      this.#returned.set(from, before);
      const drawn = this.#drawn.get(from) ?? new Map<bigint, bigint>();
      for (const { number } of inOrder([...drawn.keys()].map((one) => this.#of(one))).reverse()) {
        const taken = (drawn.get(number) ?? 0n) - (before.get(number) ?? 0n);
        const given = smaller(taken, rest);
        if (given <= 0n) continue;
        returned.set(number, -given);
        before.set(number, (before.get(number) ?? 0n) + given);
        rest -= given;
      }
    }
    if (rest > 0n)
      this.#add(entry.number, rest, { category: 'paid', priority: 50, expires: Number.POSITIVE_INFINITY });
    return returned;
  }
}

const step = fc.record({
  kind: fc.constantFrom(
    ...([
      'grant',
      'grant',
      'plain',
      'hold',
      'hold',
      'hold',
      'settle',
      'settle',
      'fail',
      'refund',
      'take',
      'undo',
      'void',
      'wait',
      'upkeep',
    ] as const),
  ),
  amount: fc.bigInt({ min: 1n, max: 30n }),
  pick: fc.nat(100),
  category: fc.constantFrom(...categories),
  priority: fc.constantFrom(50, 50, 10),
  lasts: fc.option(fc.integer({ min: 1, max: 5 })),
});
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

async function run(account: Account, one: Step): Promise<void> {
  const { owner, open } = account;
  const { accountId } = owner;
  const openOne = open[one.pick % Math.max(1, open.length)];
  const words = { reason: 'Because', reference: newId() };
  switch (one.kind) {
    case 'grant': {
      const expires = one.lasts === null ? null : account.minute + one.lasts;
      const number = await grant(owner, one.amount, { ...one, expires });
      account.terms.set(number, {
        category: one.category,
        priority: one.priority,
        expires: expires ?? Number.POSITIVE_INFINITY,
      });
      return;
    }
    case 'plain':
      await book(sql, shell, plain(accountId, one.amount));
      return;
    case 'hold': {
      const made = hold(owner, one.amount);
      if ((await ledger.hold(made)).outcome === 'held')
        open.push({ hold: made, owner, amount: one.amount, madeAt: account.now });
      return;
    }
    case 'settle':
    case 'fail': {
      if (openOne === undefined) return;
      open.splice(open.indexOf(openOne), 1);
      account.closed.set(openOne.hold.generation.id, openOne);
      const cost = one.kind === 'fail' ? null : smaller(openOne.amount, one.amount);
      await ledger.settle(settlement(openOne.hold, cost));
      return;
    }
    case 'refund': {
      const charged = [...account.closed.keys()][one.pick % Math.max(1, account.closed.size)];
      if (charged === undefined) return;
      const amount = one.priority === 10 ? 'rest' : one.amount;
      await book(sql, shell, { kind: 'refund', generationId: charged, accountId, amount, ...words });
      return;
    }
    case 'take':
      await book(sql, shell, { kind: 'correction', accountId, amount: -one.amount, about: null, ...words });
      return;
    case 'undo': {
      const about = { entryNumber: BigInt(1 + (one.pick % 20)) };
      await book(sql, shell, { kind: 'correction', accountId, amount: 'rest', about, ...words });
      return;
    }
    case 'void': {
      const grants = await findGrants(sql, accountId);
      const picked = grants[one.pick % Math.max(1, grants.length)];
      if (picked === undefined) return;
      const { outcome } = await voidGrant(sql, shell, { accountId, id: picked.id, reason: 'Because' });
      if (outcome === 'voided') account.noteEnd(picked.number);
      return;
    }
    case 'wait':
      account.minute += 1 + (one.pick % 3);
      account.now += 1 + (one.pick % 3);
      await setMinute(account.minute);
      return;
    case 'upkeep':
      await settleGrants(owner);
  }
}

test('over any history each entry is drawn as the order says, and the audit agrees', async () => {
  let expiries = 0;
  let keptCount = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 15, maxLength: 50 }), async (steps) => {
      await setMinute(0);
      const account = new Account(await customer(20n), 20n);
      await sql`select begin_grants(${account.owner.accountId}::uuid)`;
      for (const [place, one] of steps.entries()) {
        account.now = account.minute + place / 1000;
        const openBefore = [...account.open];
        await run(account, one);
        await account.follow(openBefore);
        if (one.kind === 'hold')
          // No request was admitted before what had ended was gone.
          for (const ended of account.grants.values())
            if (ended.end <= account.now && ended.remaining > 0n) {
              expect(ended.remaining).toBe(account.kept(ended, openBefore));
              keptCount += 1;
            }
      }
      for (const { hold: made } of account.open.splice(0)) await ledger.settle(settlement(made, null));
      await settleGrants(account.owner);
      for (const { state, remaining } of await findGrants(sql, account.owner.accountId))
        if (state === 'expired' || state === 'voided') expect(remaining).toBe(0n);
      expiries += (await entriesOf(account.owner)).filter(({ kind }) => kind === 'expiry').length;
      await expectSound();
    }),
    { numRuns: 40 },
  );
  // Both happen, so the comparison means something.
  expect(expiries).toBeGreaterThan(10);
  expect(keptCount).toBeGreaterThan(0);
}, 180_000);
