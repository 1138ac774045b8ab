/** Walking through the pages of a list while Generations begin and end, on a real database and through the ledger. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { SQL } from 'bun';
import fc from 'fast-check';
import { createAccount } from '../../src/accounts/account-store.ts';
import { findPage, type GenerationFilter, newestPosition } from '../../src/generations/generation-store.ts';
import { createKey } from '../../src/keys/key-store.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import type { Hold, Settlement } from '../../src/ledger/operations.ts';
import { openSpool } from '../../src/ledger/spool.ts';
import { newId } from '../../src/lib/ids.ts';
import { createLog } from '../../src/lib/log.ts';
import { storePriceList } from '../../src/pricing/price-list-store.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { temporaryFolder } from '../support/gateway.ts';
import { newGeneration, newHold, newSettlement } from '../support/ledger-operations.ts';

const nodeId = newId();
let database: TestDatabase;
let ledger: Ledger;
let priceListId: number;
let accountId: string;

beforeAll(async () => {
  database = await createDatabase();
  const log = createLog('error', () => undefined);
  const spool = openSpool(temporaryFolder(), process.pid, nodeId);
  ledger = openLedger(() => new SQL(database.url, { max: 1, bigint: true }), spool, log);
  priceListId = await storePriceList(database.sql, { version: '1', digest: '00'.repeat(32), content: {} });
  await database.sql`insert into nodes (id, name) values (${nodeId}, 'test')`;
  accountId = (await createAccount(database.sql, 'Test', 10n ** 15n)).id;
});

afterAll(async () => {
  await ledger.close();
  await database.close();
});

/** Few milliseconds and few models, so that many Generations share theirs. */
type Start = Readonly<{ afterMs: number; tail: bigint; model: string; isOpen: boolean }>;
const start: fc.Arbitrary<Start> = fc.record({
  afterMs: fc.nat({ max: 2 }),
  tail: fc.bigInt({ min: 0n, max: (1n << 62n) - 1n }),
  model: fc.constantFrom('a', 'b'),
  isOpen: fc.boolean(),
});

/** What happens around a walk. `settle` ends any one of those that are open. */
type Event =
  | Readonly<{ kind: 'start'; start: Start }>
  | Readonly<{ kind: 'settle'; which: number; status: Settlement['status'] }>;
const event: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ kind: fc.constant('start' as const), start }),
  fc.record({
    kind: fc.constant('settle' as const),
    which: fc.nat(),
    status: fc.constantFrom('completed' as const, 'failed' as const, 'cancelled' as const),
  }),
);
/** Before each page some events, and some at the same moment as its query. */
const step = fc.record({
  before: fc.array(event, { maxLength: 3 }),
  during: fc.array(event, { maxLength: 3 }),
  limit: fc.integer({ min: 1, max: 4 }),
});

/** A UUIDv7 of that millisecond. */
function idAt(ms: number, tail: bigint): string {
  const digits = `${ms.toString(16).padStart(12, '0')}7000${(tail | (1n << 63n)).toString(16)}`;
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

async function newKey(): Promise<string> {
  const created = await createKey(database.sql, {
    accountId,
    name: 'Test',
    requestsPerMinute: 1_000_000,
    monthlyLimit: null,
    allowedModels: null,
    expiresAt: null,
  });
  return created?.id ?? '';
}

/** The Generations of one key: begins and ends them as the gateway would. */
function openStage(keyId: string, baseMs: number) {
  const open: Hold[] = [];
  const ids: string[] = [];

  async function begin({ afterMs, tail, model, isOpen }: Start): Promise<void> {
    const createdAtMs = baseMs + afterMs;
    const id = idAt(createdAtMs, tail);
    if (ids.includes(id)) return;
    const generation = newGeneration({ accountId, keyId, priceListId }, { id, model, createdAtMs });
    const hold = newHold(generation, nodeId, 1n);
    ids.push(id);
    expect((await ledger.hold(hold)).outcome).toBe('held');
    if (isOpen) open.push(hold);
    else await end(hold, 'completed');
  }

  async function end({ generation }: Hold, status: Settlement['status']): Promise<void> {
    const result = await ledger.settle(
      newSettlement(generation, 1n, {
        status,
        errorCode: status === 'failed' ? 'provider_unavailable' : null,
        completedAtMs: baseMs,
        latencyMs: 0,
      }),
    );
    expect(result).toBe('settled');
  }

  return {
    ids,
    begin,
    happen: async (happening: Event): Promise<void> => {
      if (happening.kind === 'start') return await begin(happening.start);
      const [hold] = open.splice(happening.which % Math.max(open.length, 1), 1);
      if (hold) await end(hold, happening.status);
    },
  };
}

async function expectWhole(
  starts: readonly Start[],
  steps: readonly { before: readonly Event[]; during: readonly Event[]; limit: number }[],
  filter: GenerationFilter,
): Promise<void> {
  const keyId = await newKey();
  const stage = openStage(keyId, Date.now());
  for (const first of starts) await stage.begin(first);
  const models = new Map(starts.map(({ model }, index) => [stage.ids[index] ?? '', model]));
  const expected = stage.ids.filter((id) => filter.model === null || models.get(id) === filter.model);

  const seen: string[] = [];
  let position = newestPosition;
  for (let turn = 0; ; turn++) {
    const { before = [], during = [], limit = 2 } = steps[turn] ?? {};
    for (const happening of before) await stage.happen(happening);
    const [page] = await Promise.all([
      findPage(database.sql, keyId, filter, position, limit),
      ...during.map(stage.happen),
    ]);
    seen.push(...page.map(({ id }) => id));
    const last = page.at(-1);
    if (last === undefined) break;
    expect(last.id < position).toBe(true);
    position = last.id;
  }
  expect(seen).toEqual(seen.toSorted().toReversed());
  expect(new Set(seen).size).toBe(seen.length);
  expect(expected.filter((id) => !seen.includes(id))).toEqual([]);
}

// Equal tails in the same millisecond would give the same ID twice.
const starts = fc.uniqueArray(start, {
  maxLength: 10,
  selector: ({ afterMs, tail }) => `${afterMs} ${tail}`,
});

test('whatever begins and ends meanwhile, each that existed at the start is seen once, and none twice', async () => {
  await fc.assert(
    fc.asyncProperty(starts, fc.array(step, { maxLength: 8 }), (first, steps) =>
      expectWhole(first, steps, { status: null, model: null }),
    ),
    { numRuns: 60 },
  );
});

test('the same with a filter by model, which reads its statuses separately', async () => {
  await fc.assert(
    fc.asyncProperty(starts, fc.array(step, { maxLength: 8 }), (first, steps) =>
      expectWhole(first, steps, { status: null, model: 'a' }),
    ),
    { numRuns: 40 },
  );
});

test('the order and the pages are those of sorting everything, for every filter', async () => {
  const filters = fc.record({
    status: fc.constantFrom(null, 'in_progress' as const, 'completed' as const, 'failed' as const),
    model: fc.constantFrom(null, 'a', 'b'),
  });
  await fc.assert(
    fc.asyncProperty(
      starts,
      fc.array(event, { maxLength: 8 }),
      filters,
      fc.nat({ max: 12 }),
      async (first, events, filter, limit) => {
        const keyId = await newKey();
        const stage = openStage(keyId, Date.now());
        for (const one of first) await stage.begin(one);
        for (const one of events) await stage.happen(one);
        const all = await findPage(database.sql, keyId, { status: null, model: null }, newestPosition, 1_000);
        expect(all.map(({ id }) => id)).toEqual(stage.ids.toSorted().toReversed());
        const matching = all.filter(
          ({ status, model }) =>
            (filter.status === null || status === filter.status) &&
            (filter.model === null || model === filter.model),
        );
        const idsBefore = async (position: string) =>
          (await findPage(database.sql, keyId, filter, position, limit)).map(({ id }) => id);
        for (const position of [newestPosition, ...stage.ids]) {
          const after = matching.filter(({ id }) => id < position);
          expect(await idsBefore(position)).toEqual(after.slice(0, limit).map(({ id }) => id));
        }
      },
    ),
    { numRuns: 40 },
  );
});
