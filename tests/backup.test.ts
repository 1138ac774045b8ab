/** A backup of the embedded database and back: real calls, a real file, and a gateway that goes on with what it finds. */
import { expect, test } from 'bun:test';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { acquireEmbeddedServer } from '../src/database/embedded.ts';
import { knownMigrations, migrate } from '../src/database/migrate.ts';
import { keyIn, preparedFolder, welcomed } from './support/embedded.ts';
import { startGateway, temporaryFolder, tollgate, tollgateJson } from './support/gateway.ts';
import { settleAt, spendingOwner } from './support/old-charges.ts';

async function withDatabase<Result>(folder: string, run: (sql: SQL) => Promise<Result>): Promise<Result> {
  const server = await acquireEmbeddedServer(folder);
  const sql = new SQL({ adapter: 'postgres', ...server.connection, max: 2, bigint: true });
  try {
    return await run(sql);
  } finally {
    await sql.close();
    await server.release();
  }
}

/** Every row of every table but those that an audit or a start writes. */
async function readEverything(sql: SQL): Promise<Map<string, string[]>> {
  const tables = await sql<{ name: string }[]>`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
      and relname not in ('schema_migrations', 'ledger_audits', 'ledger_checkpoints') order by 1`;
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

test('a gateway goes on from a backup as if nothing had happened', async () => {
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
  // Of what comes after it, the backup knows nothing.
  await call(gateway.origin, 'two');
  const running = await tollgate(['restore', file, '--force'], environment);
  expect([running.exitCode, running.stderr]).toEqual([1, expect.stringContaining('stop it before')]);
  expect(await gateway.stop()).toBe(0);
  const again = await tollgate(['backup', file], environment);
  expect([again.exitCode, again.stderr]).toEqual([1, expect.stringContaining('is there already')]);
  const nonEmpty = await tollgate(['restore', file], environment);
  expect([nonEmpty.exitCode, nonEmpty.stderr]).toEqual([1, expect.stringContaining('is not empty')]);

  const target = join(temporaryFolder(), 'data');
  const restored = await tollgateJson<object>(['restore', file], { TOLLGATE_DATA: target });
  expect(restored).toMatchObject({ rows: made.rows, migrations_applied: [], holds: true });
  expect(readFileSync(join(target, 'secret'), 'utf8')).toBe(readFileSync(join(folder, 'secret'), 'utf8'));
  const next = await welcomed(await startGateway({ TOLLGATE_DATA: target }));
  expect(keyIn(next)).toBe(key);
  // The stored response is encrypted with the secret.
  expect(await call(next.origin, 'one')).toEqual(first);
  expect((await call(next.origin, 'three')).status).toBe(200);
  const { id } = await tollgateJson<{ id: string }>(['account', 'create', '--name', 'New'], {
    TOLLGATE_DATA: target,
  });
  expect(id).toHaveLength(36);
  expect(await next.stop()).toBe(0);
  expect((await tollgate(['ledger', 'audit', '--full'], { TOLLGATE_DATA: target })).exitCode).toBe(0);
}, 120_000);

test('every row, its partition and the next number of a sequence come back, also over a database that is not empty', async () => {
  const source = await preparedFolder();
  const before = await withDatabase(source, async (sql) => {
    await sql`select create_partitions(current_date - 400, current_date)`;
    const owner = await spendingOwner(sql);
    for (const months of [12, 3, 0])
      await settleAt(sql, owner, { monthsAgo: months, bookedMonthsAgo: months });
    await settleAt(sql, owner, { monthsAgo: -30 });
    await sql`update accounts set name = ${'a "b" \\ (c), \n{d} ä'} where id = ${owner.accountId}`;
    return await readEverything(sql);
  });
  const file = join(temporaryFolder(), 'backup.gz');
  await tollgateJson(['backup', file], { TOLLGATE_DATA: source });
  const target = await preparedFolder();
  await withDatabase(target, (sql) => spendingOwner(sql));
  writeFileSync(join(target, 'secret'), 'an older secret');
  const restored = await tollgate(['restore', file, '--force'], { TOLLGATE_DATA: target });
  expect([restored.stderr, restored.exitCode]).toEqual(['', 0]);
  expect(restored.stdout).toContain('The ledger is sound.');
  await withDatabase(target, async (sql) => {
    expect(await readEverything(sql)).toEqual(before);
    const [rows] = await sql`
      select (select count(*)::int from usage_records_default) as strays, (select count(*)::int from ledger_entries_default) as entries`;
    expect({ ...rows }).toEqual({ strays: 1, entries: 0 });
    const [list] =
      await sql`insert into price_lists (version, digest, content) values ('2', sha256('2'), '{}') returning id`;
    expect(list.id).toBe(2);
    expect(async () => await sql`delete from ledger_entries`).toThrow('append-only');
  });
}, 120_000);

test('a backup of an earlier schema is brought up to date', async () => {
  const source = join(temporaryFolder(), 'data');
  await withDatabase(source, async (sql) => {
    await migrate(sql, { migrations: knownMigrations.filter(({ version }) => version <= 13) });
    const owner = await spendingOwner(sql);
    await settleAt(sql, owner, { monthsAgo: 2 });
  });
  const file = join(temporaryFolder(), 'backup.gz');
  const { backUp } = await import('../src/database/backup.ts');
  await withDatabase(source, (sql) => backUp(sql, source, file, () => undefined));
  const target = await preparedFolder();
  const restored = await tollgateJson<{ migrations_applied: string[]; holds: boolean }>(['restore', file], {
    TOLLGATE_DATA: target,
  });
  expect(restored.migrations_applied[0]).toBe('0014_prepare_ledger_months.sql');
  expect(restored.holds).toBe(true);
}, 120_000);

test('a file that is damaged, missing or something else changes nothing', async () => {
  const folder = await preparedFolder();
  const environment = { TOLLGATE_DATA: folder };
  await withDatabase(folder, (sql) => spendingOwner(sql));
  const file = join(temporaryFolder(), 'backup.gz');
  await tollgateJson(['backup', file], environment);
  const whole = readFileSync(file);
  const refuse = async (content: Uint8Array | string, reason: string) => {
    writeFileSync(file, content);
    const { exitCode, stderr } = await tollgate(['restore', file, '--force'], environment);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(reason)]);
  };
  await refuse(whole.subarray(0, whole.length - 30), 'cut short');
  await refuse(Buffer.concat([whole.subarray(0, 200), Buffer.from('x'), whole.subarray(201)]), 'tollgate: ');
  await refuse('hello', 'cut short, or was not written by Tollgate');
  const missing = await tollgate(['restore', `${file}.none`], environment);
  expect([missing.exitCode, missing.stderr]).toEqual([1, expect.stringContaining('There is no file')]);
  mkdirSync(join(folder, 'empty'));
  const named = await tollgate(['backup', file], { DATABASE_URL: 'postgres://localhost/x' });
  expect([named.exitCode, named.stderr]).toEqual([1, expect.stringContaining('use pg_dump')]);
  expect(await withDatabase(folder, (sql) => sql`select 1 from accounts`)).toHaveLength(1);
  expect(existsSync(`${file}.partial`)).toBe(false);
}, 120_000);
