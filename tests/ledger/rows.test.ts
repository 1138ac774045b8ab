/** The rows that go to the ledger's functions, against the types that the database has for them. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import * as exported from '../../src/ledger/rows.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});

afterAll(() => database.close());

const rowTypes = Object.values(exported).filter((value) => value instanceof exported.RowType);

test('every type has the same columns in the same order on both sides', async () => {
  const rows = await database.sql<{ name: string; columns: string[] }[]>`
    select typname as name, array_agg(attname::text order by attnum) as columns
    from pg_type join pg_attribute on attrelid = typrelid
    where typname like 'ledger\\_%' and typtype = 'c' group by typname`;
  const inDatabase = new Map(rows.map(({ name, columns }) => [name, columns]));
  const here = new Map(rowTypes.map(({ name, columnNames }) => [name, columnNames.map(snakeCase)]));
  expect(here.size).toBeGreaterThan(0);
  for (const [name, columns] of here) expect(inDatabase.get(name)).toEqual(columns);
});

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Any text that PostgreSQL can hold; what has a meaning in a literal comes up often. */
const anyText = fc.oneof(
  fc.string({
    unit: fc.constantFrom('"', '\\', ',', '(', ')', '{', '}', ' ', '\n', '\t', 'a', 'é', '\u{1f600}'),
  }),
  fc.string({ unit: 'binary' }).filter((value) => !value.includes('\0')),
  fc.constantFrom('', 'null', 'NULL'),
);

test('text, JSON, amounts and missing values arrive as they were sent', async () => {
  const id = '01900000-0000-7000-8000-000000000000';
  const anyRow = fc.record({
    model: anyText,
    hold: fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
    attempts: fc.array(anyText),
    streaming: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(anyRow, { minLength: 1, maxLength: 5 }), async (rows) => {
      const sent = rows.map((row) => ({
        ...row,
        id,
        accountId: id,
        keyId: id,
        nodeId: id,
        workload: row.model,
        provider: 'P',
        priceListId: 7,
        createdAtMs: 1.5,
      }));
      const received = await database.sql`
        select model, workload, provider, (hold * 1e12)::numeric(40,0)::text as hold, attempts, streaming,
               price_list_id, created_at_ms
        from unnest(${exported.openedRows.literal(sent)}::text::ledger_opened_row[])`;
      expect([...received]).toEqual(
        rows.map(({ model, hold, attempts, streaming }) => ({
          model,
          workload: model,
          provider: 'P',
          hold: `${hold}`,
          attempts,
          streaming,
          price_list_id: 7,
          created_at_ms: 1.5,
        })),
      );
    }),
    { numRuns: 150 },
  );
});

test('a missing value is null and an empty text is not', async () => {
  const id = '01900000-0000-7000-8000-000000000000';
  const rows = [null, '', 'null'].map((name) => ({ keyId: id, name, requestId: id }));
  const received = await database.sql`
    select name from unnest(${exported.claimRows.literal(rows)}::text::ledger_claim_row[])`;
  expect(received.map((row: { name: string | null }) => row.name)).toEqual([null, '', 'null']);
  expect(exported.claimRows.literal([])).toBeNull();
});
