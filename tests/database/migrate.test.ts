/** Migrations: what each file states about itself, and how they are applied while requests go on. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { knownMigrations, migrate } from '../../src/database/migrate.ts';
import { judgeSchema, parseMigration, statementsOf } from '../../src/database/migration-files.ts';
import { breaksOf } from '../../src/database/running-gateways.ts';
import { newId } from '../../src/lib/ids.ts';
import { newestMigration } from '../../src/lib/software-version.ts';
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { tollgate } from '../support/gateway.ts';

const impatient = { lockTimeoutMs: 50, pauseMs: 20, maxTries: 5 };
const next = (name: string, ...lines: string[]) => parseMigration(name, lines.join('\n'));
const upTo = (newest: number) => knownMigrations.filter(({ version }) => version <= newest);
const after = (newest: number) => knownMigrations.filter(({ version }) => version > newest);
const namesOf = (migrations: readonly { name: string }[]) => migrations.map(({ name }) => name);

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

  test('breaks running gateways that know too little', () => {
    expect(newestMigration).toBe(knownMigrations.at(-1)?.version as number);
    expect(namesOf(breaksOf(after(7), { newestMigration: 7 }))).toEqual(namesOf(after(7)));
    expect(breaksOf(after(15), { newestMigration: 15 })).toEqual([]);
    expect(namesOf(breaksOf(after(11), { newestMigration: 11 }))[0]).toBe('0014_prepare_ledger_months.sql');
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
    expect(refused.stderr).toBe('tollgate: The database is empty. Run: tollgate migrate\n');
    expect(await tollgate(['serve'], { ...environment, WORKERS: '2' })).toEqual(refused);
    const first = await tollgate(['migrate'], environment);
    expect(first.stdout).toBe(`Applied:\n${knownMigrations.map(({ name }) => `  ${name}\n`).join('')}`);
    const second = await tollgate(['migrate', '--json'], environment);
    expect(JSON.parse(second.stdout)).toEqual({ applied: [] });
    await database.close();
  });
});

describe('gateways that are running', () => {
  let database: TestDatabase;

  beforeEach(async () => {
    database = await createEmptyDatabase();
    await migrate(database.sql, { migrations: upTo(7) });
  });
  afterEach(() => database.close());

  /** As a gateway of that time does it, until it is killed. */
  async function startNode(name: string) {
    const id = newId();
    await database.sql`insert into nodes (id, name) values (${id}, ${name})`;
    const beat = () => database.sql`update nodes set heartbeat_at = now() where id = ${id}`;
    const timer = setInterval(() => void beat().catch(() => undefined), 50);
    return { kill: () => clearInterval(timer) };
  }

  const applied = async () =>
    (await database.sql`select version from schema_migrations order by version`).map(
      ({ version }: { version: number }) => version,
    );

  test('are not broken, neither by tollgate migrate nor by a new one that starts, unless it is forced', async () => {
    const nodes = [await startNode('a:8080'), await startNode('b:8080')];
    const environment = { DATABASE_URL: database.url, PORT: '0' };
    for (const command of ['migrate', 'serve']) {
      const { exitCode, stderr } = await tollgate([command], environment);
      expect([command, exitCode]).toEqual([command, 1]);
      expect(stderr).toStartWith(
        'tollgate: Nothing was migrated, because it would break these running gateways:\n  a:8080 (an earlier version, newest migration 0007)\n  b:8080 (',
      );
      for (const { name } of after(7)) expect(stderr).toContain(`\n  ${name}\n`);
      expect(stderr).toContain('tollgate migrate --force');
      expect(await applied()).toEqual([1, 2, 3, 4, 5, 6, 7]);
    }
    const forced = await tollgate(['migrate', '--force', '--json'], environment);
    expect(JSON.parse(forced.stdout)).toEqual({ applied: namesOf(after(7)) });
    for (const node of nodes) node.kill();
  });

  test('can be replaced as soon as they have stopped, or their lease has ended', async () => {
    const killed = await startNode('a:8080');
    killed.kill();
    await database.sql`insert into nodes (id, name, stopped_at) values (${newId()}, 'b:8080', now())`;
    expect(await migrate(database.sql, { leaseMs: 500 })).toEqual(namesOf(after(7)));
  });

  test('may go on after additive migrations, whether they report their version or not', async () => {
    await migrate(database.sql, { migrations: upTo(15) });
    const silent = await startNode('a:8080');
    expect(await migrate(database.sql)).toEqual(namesOf(after(15)));
    silent.kill();
    await database.sql`delete from nodes`;
    // Both of earlier versions, started on this schema.
    await database.sql`
      insert into nodes (id, name, version, newest_migration, heartbeat_at) values
        (${newId()}, 'c:8080', null, null, now() + interval '1 hour'),
        (${newId()}, 'd:8080', '0.3.0', 21, now() + interval '1 hour'),
        (${newId()}, 'e:8080', '0.4.0', 30, now() + interval '1 hour')`;
    const breaking = next('0097_breaks.sql', '-- compatible-with: 0022', 'select 1;');
    const problem = await migrate(database.sql, {
      migrations: [...knownMigrations, breaking],
      leaseMs: 100,
    }).catch((error: Error) => error.message);
    const known = upTo(19).at(-1)?.name.slice(0, 4);
    expect(problem).toContain(
      `:\n  c:8080 (an earlier version, newest migration ${known})\n  d:8080 (version 0.3.0, newest migration 0021)\nThese migrations would break them:\n  0097_breaks.sql\n`,
    );
    const harmless = next('0097_adds.sql', '-- compatible-with: 0015', 'select 1;');
    expect(await migrate(database.sql, { migrations: [...knownMigrations, harmless] })).toEqual([
      '0097_adds.sql',
    ]);
  });
});

describe('a database of the previous version', () => {
  test('ends up with the same indexes as a new one', async () => {
    const [old, fresh] = await Promise.all([createEmptyDatabase(), createDatabase()]);
    await migrate(old.sql, { migrations: upTo(11) });
    expect(await migrate(old.sql)).toEqual(namesOf(after(11)));
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

describe('the events of 0036', () => {
  test('are prepared while accounts are written, however long the usage takes to be summed', async () => {
    const database = await createEmptyDatabase();
    await migrate(database.sql, { migrations: upTo(35) });
    await database.sql`insert into accounts (id, name) values (${newId()}, 'Acme')`;
    const other = await database.sql.reserve();
    await other`begin`;
    await other`lock table usage_days in access exclusive mode`;
    const migrated = migrate(database.sql, { lockTimeoutMs: 30_000 });
    await eventually('the sums', async () => {
      const waiting = await database.sql`
        select 1 from pg_locks where relation = 'usage_days'::regclass and not granted`;
      return waiting.length > 0;
    });
    const writer = await database.sql.reserve();
    await writer`set lock_timeout = '2s'`;
    await writer`update accounts set name = 'Bolt'`;
    await writer`insert into account_details (account_id) select id from accounts`;
    await writer`reset lock_timeout`;
    await writer.release();
    await other`rollback`;
    await other.release();
    expect(await migrated).toEqual(namesOf(after(35)));
    await database.close();
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
    // It would queue behind a migration that still waits.
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
