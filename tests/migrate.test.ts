/** Migrations: what each file states about itself, and how they are applied while requests go on. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { knownMigrations, migrate } from '../src/database/migrate.ts';
import { judgeSchema, parseMigration, statementsOf } from '../src/database/migration-files.ts';
import { createDatabase, createEmptyDatabase, type TestDatabase } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';
import { tollgate } from './support/gateway.ts';

const impatient = { lockTimeoutMs: 50, pauseMs: 20, maxTries: 5 };
const next = (name: string, ...lines: string[]) => parseMigration(name, lines.join('\n'));

describe('a file', () => {
  test('states which gateways can go on, and whether it runs in a transaction', () => {
    const plain = next('0099_a.sql', '-- Why.', '', 'select 1;', '-- compatible-with: 0001');
    expect(plain).toMatchObject({ version: 99, compatibleWith: 99, isTransactional: true });
    const additive = next(
      '0099_a.sql',
      '-- compatible-with: 0098',
      '-- no transaction',
      '-- Why.',
      'select 1;',
    );
    expect(additive).toMatchObject({ compatibleWith: 98, isTransactional: false });
  });

  test('has its statements one by one', () => {
    const file = next(
      '0099_a.sql',
      '-- no transaction',
      '',
      'select 1;',
      '-- why; not',
      'select',
      '  2;',
      '',
      'do $$ begin',
      '  null;',
      'end $$;',
      'select 3; select 4;',
    );
    expect(statementsOf(file)).toEqual([
      'select 1',
      'select\n  2',
      'do $$ begin\n  null;\nend $$',
      'select 3; select 4',
    ]);
  });

  test('from 0012 on says so', () => {
    const silent = knownMigrations.filter(
      ({ version, statements }) => version >= 12 && !/^-- compatible-with: \d{4}$/m.test(statements),
    );
    expect(silent.map(({ name }) => name)).toEqual([]);
  });
});

describe('a schema', () => {
  const known = [next('0001_a.sql', ''), next('0002_b.sql', '')];
  const applied = known.map(({ version, digest }) => ({ version, digest, compatible_with: version }));
  const later = (version: number, compatible_with: number | null) => ({
    version,
    digest: '',
    compatible_with,
  });

  test.each([
    ['the same', applied, 'ok'],
    ['older', applied.slice(0, 1), 'older'],
    ['newer by something that is only added', [...applied, later(3, 2), later(4, 1)], 'ok'],
    ['newer by one that needs 3', [...applied, later(3, 2), later(4, 3)], 'newer'],
    ['newer by one that says nothing', [...applied, later(3, null)], 'newer'],
    ['made from other files', [later(1, 1)], 'different'],
  ] as const)('%s', (_, rows, state) => {
    expect(judgeSchema(known, [...rows]).state).toBe(state);
  });
});

describe('tollgate migrate', () => {
  test('applies everything once and prints it, and MIGRATE=off leaves it to that', async () => {
    const database = await createEmptyDatabase();
    const environment = { DATABASE_URL: database.url, MIGRATE: 'off', PORT: '0' };
    const refused = await tollgate(['serve'], environment);
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toMatch(/0001_initial\.sql, .* is still to be applied\. Run: tollgate migrate\n$/);
    expect(await tollgate(['serve'], { ...environment, WORKERS: '2' })).toEqual(refused);
    const first = await tollgate(['migrate'], environment);
    expect(first.stdout).toBe(`Applied:\n${knownMigrations.map(({ name }) => `  ${name}\n`).join('')}`);
    const second = await tollgate(['migrate', '--json'], environment);
    expect(JSON.parse(second.stdout)).toEqual({ applied: [] });
    await database.close();
  });
});

describe('a database of the version before', () => {
  test('ends up with the same indexes as a new one', async () => {
    const [old, fresh] = await Promise.all([createEmptyDatabase(), createDatabase()]);
    const before = knownMigrations.filter(({ version }) => version <= 11);
    await migrate(old.sql, { migrations: before });
    expect(await migrate(old.sql)).toEqual(
      knownMigrations.filter(({ version }) => version > 11).map(({ name }) => name),
    );
    const indexesOf = async ({ sql }: TestDatabase) => {
      const rows = await sql`
        select indrelid::regclass::text as table, indisvalid as is_valid, regexp_replace(pg_get_indexdef(indexrelid),
               '^CREATE (UNIQUE )?INDEX .* ON (ONLY )?', '\\1') as definition
        from pg_index join pg_class on pg_class.oid = indrelid
        where relnamespace = 'public'::regnamespace order by 1, 3`;
      return rows.map((row: object) => ({ ...row }));
    };
    expect(await indexesOf(old)).toEqual(await indexesOf(fresh));
    await Promise.all([old.close(), fresh.close()]);
  });
});

describe('while requests go on', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createDatabase();
  }, 60_000);
  afterAll(() => database.close());

  const apply = (file: ReturnType<typeof next>, options = impatient) =>
    migrate(database.sql, { migrations: [...knownMigrations, file], ...options });

  test('a migration that cannot get its lock lets others pass, and gives up in the end', async () => {
    const file = next(
      '0097_lock.sql',
      '-- compatible-with: 0011',
      'alter table accounts add column extra text;',
    );
    const reader = await database.sql.reserve();
    await reader`begin`;
    await reader`select count(*) from accounts`;
    const problem = await apply(file).catch((error: Error) => error.message);
    expect(problem).toStartWith('0097_lock.sql could not be applied: other sessions hold locks');
    // It would be in the queue behind a migration that still waits.
    await database.sql`select count(*) from accounts`;
    expect(await database.sql`select 1 from schema_migrations where version = 97`).toHaveLength(0);

    const patient = apply(file, { ...impatient, maxTries: 2_000 });
    await eventually('it waits', async () => {
      const waiting = await database.sql`select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`;
      return waiting.length > 0;
    });
    await reader`rollback`;
    await reader.release();
    expect(await patient).toEqual(['0097_lock.sql']);
    const [row] = await database.sql`select compatible_with from schema_migrations where version = 97`;
    expect(row.compatible_with).toBe(11);
    await database.sql`alter table accounts drop column extra`;
    await database.sql`delete from schema_migrations where version = 97`;
  });

  test('an index on a partitioned table is built while others write, also after an interruption', async () => {
    const file = next(
      '0098_index.sql',
      '-- no transaction',
      'create index concurrently attempts_by_status on attempts (status);',
    );
    // What an interrupted build leaves behind: declared, and invalid in one partition.
    await database.sql.unsafe('create index attempts_by_status on only attempts (status)');
    const writer = await database.sql.reserve();
    await writer`begin`;
    await writer`insert into attempts (generation_id, index, provider, status, started_at, completed_at)
      values (${crypto.randomUUID()}, 1, 'p', 'failed', now(), now())`;
    const built = apply(file);
    await eventually('the build waits for the writer', async () => {
      const waiting = await database.sql`select 1 from pg_stat_activity
        where datname = current_database() and query like 'create index concurrently%' and wait_event_type = 'Lock'`;
      return waiting.length > 0;
    });
    await database.sql`insert into attempts (generation_id, index, provider, status, started_at, completed_at)
      values (${crypto.randomUUID()}, 1, 'p', 'failed', now(), now())`;
    await writer`rollback`;
    await writer.release();
    expect(await built).toEqual(['0098_index.sql']);
    const [index] = await database.sql`
      select indisvalid as is_valid,
             (select count(*)::int from pg_inherits where inhparent = indexrelid) as built,
             (select count(*)::int from pg_inherits where inhparent = 'attempts'::regclass) as partitions
      from pg_index where indexrelid = 'attempts_by_status'::regclass`;
    expect(index.is_valid).toBe(true);
    expect(index.built).toBe(index.partitions);
  });

  test('the lists have their indexes, valid in every partition', async () => {
    const invalid =
      await database.sql`select indexrelid::regclass::text as name from pg_index where not indisvalid`;
    expect([...invalid]).toEqual([]);
    const names = await database.sql`
      select indexrelid::regclass::text as name from pg_index where indrelid = 'generations'::regclass order by 1`;
    expect(names.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining([
        'generations_by_account_and_status',
        'generations_by_account_status_and_model',
        'generations_by_key_status_and_model',
      ]),
    );
  });
});
