/** migrations/schema.sql, which people read instead of all migrations. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describeSchema, schemaFile } from '../../scripts/schema.ts';
import { isMigration } from '../../src/lib/software-version.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';

// Other versions spell some definitions differently.
const isEmbedded = process.env.TOLLGATE_TEST_DATABASE_URL === undefined;

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
}, 60_000);
afterAll(() => database.close());

test.if(isEmbedded)('it is what the migrations make', async () => {
  const made = (await describeSchema(database.sql)).split('\n');
  const read = readFileSync(schemaFile, 'utf8').split('\n');
  const longer = made.length > read.length ? made : read;
  const first = longer.findIndex((_, index) => made[index] !== read[index]);
  // The text is long, so only the first difference is shown.
  if (first >= 0)
    expect(read.slice(first, first + 5), 'schema.sql is out of date. Run: npm run schema').toEqual(
      made.slice(first, first + 5),
    );
});

test('months are left out, so it is the same at any time', async () => {
  expect(readFileSync(schemaFile, 'utf8')).not.toMatch(/_(?:to_)?20\d\d_\d\d/);
});

test('every table, view, type and function says what it is for', async () => {
  const silent = await database.sql`
    select oid::regclass::text as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v') and not relispartition
      and obj_description(oid, 'pg_class') is null
    union all
    select oid::regtype::text from pg_type
    where typnamespace = 'public'::regnamespace and obj_description(oid, 'pg_type') is null
      and typrelid in (select oid from pg_class where relkind = 'c')
    union all
    select oid::regproc::text from pg_proc
    where pronamespace = 'public'::regnamespace and obj_description(oid, 'pg_proc') is null`;
  expect([...silent]).toEqual([]);
});

test('it is not a migration, and every other file next to it is one', () => {
  const others = readdirSync(dirname(schemaFile)).filter((name) => !isMigration(name));
  expect(others).toEqual(['schema.sql']);
});
