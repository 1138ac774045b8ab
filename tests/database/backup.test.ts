/** A backup of the embedded database and back: real rows, a real file, and a gateway that continues from it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SQL } from 'bun';
import { auditLedger } from '../../src/audit/audit.ts';
import { backUp } from '../../src/database/backup.ts';
import { knownMigrations, migrate } from '../../src/database/migrate.ts';
import { checkBackup, restore, restoreFiles } from '../../src/database/restore.ts';
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../support/cluster.ts';
import { outcomeOf, runCommand } from '../support/commands.ts';
import { keyIn, preparedFolder, welcomed } from '../support/embedded.ts';
import { startGateway, temporaryFolder, tollgate, tollgateJson } from '../support/gateway.ts';
import { settleAt, spendingOwner } from '../support/old-charges.ts';

/** What the command would report. */
const failureOf = (running: Promise<unknown>) =>
  running.then(
    () => 'nothing',
    (error: Error) => error.message,
  );

test('a gateway continues from a backup as if nothing had happened', async () => {
  const folder = await preparedFolder();
  const environment = { TOLLGATE_DATA: folder };
  const gateway = await welcomed(await startGateway(environment));
  const key = keyIn(gateway);
  const call = async (origin: string, idempotencyKey: string) => {
    const response = await fetch(`${origin}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': idempotencyKey,
      },
      body: JSON.stringify({
        model: 'sandbox-chat',
        messages: [{ role: 'user', content: 'Hi "\\ ä€' }],
        max_tokens: 5,
      }),
    });
    return { status: response.status, text: await response.text() };
  };
  const first = await call(gateway.origin, 'one');
  expect(first.status).toBe(200);
  const file = join(temporaryFolder(), 'backup.gz');
  const made = await tollgateJson<{ rows: number; sha256: string }>(['backup', file], environment);
  expect(made.rows).toBeGreaterThan(10);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  // It is not in the backup.
  await call(gateway.origin, 'two');
  expect(await failureOf(runCommand(['restore', file, '--force'], environment))).toContain('stop it before');
  expect(await gateway.stop()).toBe(0);
  expect(await failureOf(runCommand(['backup', file], environment))).toContain('already exists');
  expect(await failureOf(runCommand(['restore', file], environment))).toContain('is not empty');

  // It has no database yet.
  const target = temporaryFolder();
  writeFileSync(join(target, 'secret'), 'an older secret');
  const restored = await tollgate(['restore', file, '--json'], { TOLLGATE_DATA: target });
  expect([restored.stderr, restored.exitCode]).toEqual(['', 0]);
  expect(JSON.parse(restored.stdout)).toMatchObject({ rows: made.rows, migrations_applied: [], holds: true });
  expect(readFileSync(join(target, 'secret'), 'utf8')).toBe(readFileSync(join(folder, 'secret'), 'utf8'));
  expect(readFileSync(join(target, 'secret.before-restore'), 'utf8')).toBe('an older secret');
  const next = await welcomed(await startGateway({ TOLLGATE_DATA: target }));
  expect(keyIn(next)).toBe(key);
  // The stored response is encrypted with the secret.
  expect(await call(next.origin, 'one')).toEqual(first);
  expect((await call(next.origin, 'three')).status).toBe(200);
  const audited = await tollgate(['ledger', 'audit', '--full'], { TOLLGATE_DATA: target });
  expect(audited.exitCode).toBe(0);
  expect(await next.stop()).toBe(0);
}, 120_000);

/** Every row of every table. */
async function readEverything(sql: SQL): Promise<Map<string, string[]>> {
  const tables = await sql<{ name: string }[]>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
      and relname <> 'schema_migrations' order by 1`;
  const all = new Map<string, string[]>();
  for (const { name } of tables) {
    const rows = await sql.unsafe<{ row: string }[]>(
      `select one::text as row from "${name}" as one order by 1`,
    );
    all.set(
      name,
      rows.map(({ row }) => row),
    );
  }
  return all;
}

describe('a file', () => {
  let source: TestDatabase;
  let target: TestDatabase;
  const folder = temporaryFolder();
  const file = join(folder, 'backup.gz');
  const options = { isForced: true, onRows: () => undefined };

  beforeAll(async () => {
    source = await createDatabase();
    target = await createDatabase();
    const { sql } = source;
    await sql`select create_partitions(current_date - 200, current_date)`;
    const owner = await spendingOwner(sql);
    for (const months of [6, 3, 0])
      await settleAt(sql, owner, { monthsAgo: months, bookedMonthsAgo: months });
    await settleAt(sql, owner, { monthsAgo: -30 });
    await sql`update accounts set name = ${'a "b" \\ (c), \n{d} ä'} where id = ${owner.accountId}`;
    await backUp(sql, folder, file, () => undefined);
  }, 60_000);

  afterAll(async () => {
    await source.close();
    await target.close();
  });

  test('that is damaged, missing or something else changes nothing', async () => {
    const whole = readFileSync(file);
    const other = join(folder, 'other.gz');
    const rejected = async (content: Uint8Array | string, reason: string) => {
      writeFileSync(other, content);
      // With an empty folder: not even a database is created in it.
      const environment = { TOLLGATE_DATA: join(folder, 'data') };
      expect(await failureOf(outcomeOf(['restore', other, '--force'], environment))).toContain(reason);
    };
    await rejected(whole.subarray(0, whole.length - 30), 'cut short');
    await rejected(Buffer.concat([whole.subarray(0, 200), Buffer.from('x'), whole.subarray(201)]), other);
    await rejected('hello', 'cut short, or was not written by Tollgate');
    expect(await failureOf(checkBackup(`${file}.none`))).toContain('There is no file');
    expect(existsSync(join(folder, 'data'))).toBe(false);
    expect(existsSync(`${file}.partial`)).toBe(false);
  });

  test('that cannot be read or written is named, with the reason, before anything is done', async () => {
    const data = join(folder, 'none');
    const [inFile, nowhere] = [join(file, 'backup.gz'), join(folder, 'nowhere/backup.gz')];
    const told = (...words: string[]) => failureOf(outcomeOf(words, { TOLLGATE_DATA: data }));
    expect(await told('restore', folder)).toBe(`${folder} cannot be read: it is a folder (EISDIR).`);
    expect(await told('restore', inFile)).toBe(
      `${inFile} cannot be read: a part of its path is not a folder (ENOTDIR).`,
    );
    expect(await told('backup', nowhere)).toContain('/nowhere cannot be written: its folder does not exist');
    expect(await told('backup', inFile)).toBe(
      `${inFile} cannot be written: a part of its path is not a folder (ENOTDIR).`,
    );
    expect(await told('backup', folder, '--force')).toBe(`${folder} cannot be written: it is a folder.`);
    expect(await told('backup', join(folder, 'x'.repeat(300)))).toContain(
      'cannot be written (ENAMETOOLONG).',
    );
    expect(existsSync(data)).toBe(false);
    // A secret that cannot be read is not taken for a file that cannot be written.
    const odd = temporaryFolder();
    mkdirSync(join(odd, 'secret'));
    expect(await failureOf(backUp(source.sql, odd, join(folder, 'odd.gz'), () => undefined))).toBe(
      `${join(odd, 'secret')} cannot be read: it is a folder (EISDIR).`,
    );
    // As the program says it.
    const { exitCode, stdout, stderr } = await tollgate(['restore', folder], { TOLLGATE_DATA: data });
    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: `tollgate: ${folder} cannot be read: it is a folder (EISDIR).\n`,
    });
  });

  test('that does not have all of its rows changes nothing', async () => {
    const { sql } = target;
    await spendingOwner(sql);
    const before = await readEverything(sql);
    const backup = await checkBackup(file);
    const counts = new Map([...backup.counts, ['accounts', 2]]);
    expect(await failureOf(restore(sql, { ...backup, counts }, options))).toContain('1 rows of accounts');
    expect(await readEverything(sql)).toEqual(before);
    expect(await failureOf(restore(sql, backup, { ...options, isForced: false }))).toContain('is not empty');
  });

  test('restores every row, its partition and the next number of a sequence, even over other rows', async () => {
    const { sql } = target;
    expect(await restore(sql, await checkBackup(file), options)).toEqual([]);
    expect(await readEverything(sql)).toEqual(await readEverything(source.sql));
    const [rows] = await sql`
      select (select count(*)::int from usage_records_default) as strays,
             (select count(*)::int from ledger_entries_default) as entries`;
    expect({ ...rows }).toEqual({ strays: 1, entries: 0 });
    const [list] = await sql`
      insert into price_lists (version, digest, content) values ('2', sha256('2'), '{}') returning id`;
    expect(list.id).toBe(2);
    expect(async () => await sql`delete from ledger_entries`).toThrow('append-only');
    expect((await auditLedger(sql)).filter(({ violations }) => violations > 0)).toEqual([]);
  });

  test('of an earlier schema is brought up to date', async () => {
    const old = await createEmptyDatabase();
    await migrate(old.sql, { migrations: knownMigrations.filter(({ version }) => version <= 13) });
    const owner = await spendingOwner(old.sql);
    await settleAt(old.sql, owner, { monthsAgo: 2 });
    const early = join(folder, 'early.gz');
    await backUp(old.sql, folder, early, () => undefined);
    const applied = await restore(old.sql, await checkBackup(early), options);
    expect(applied).toEqual(knownMigrations.filter(({ version }) => version > 13).map(({ name }) => name));
    expect((await auditLedger(old.sql)).filter(({ violations }) => violations > 0)).toEqual([]);
    const [row] = await old.sql`select count(*)::int as count from ledger_entries`;
    expect(row.count).toBe(2);
    await old.close();
  });

  test('with a secret replaces that in the data folder and keeps a copy of it', async () => {
    const backup = await checkBackup(file);
    const data = temporaryFolder();
    writeFileSync(join(data, 'secret'), 'old');
    restoreFiles({ ...backup, header: { ...backup.header, files: { secret: 'new' } } }, data);
    expect(readFileSync(join(data, 'secret'), 'utf8')).toBe('new');
    expect(readFileSync(join(data, 'secret.before-restore'), 'utf8')).toBe('old');
  });
});

test('a PostgreSQL of the operator is backed up with its own tools', async () => {
  const environment = { DATABASE_URL: 'postgres://localhost/x' };
  expect(await failureOf(outcomeOf(['backup', 'backup.gz'], environment))).toContain('use pg_dump');
});
