/** A start that fails, at whatever step: the process says why, closes everything and ends. */
import { describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import type { Config } from '../../src/config.ts';
import { acquireEmbeddedServer } from '../../src/database/embedded.ts';
import { explainDatabaseError, unreachable } from '../../src/database/explain.ts';
import { OperatorError } from '../../src/lib/operator-error.ts';
import { createDatabase } from '../support/cluster.ts';
import { isServerThere, keyIn, modelIds, preparedFolder } from '../support/embedded.ts';
import { eventually } from '../support/eventually.ts';
import { type Environment, launchGateway } from '../support/gateway.ts';

test.each(['1', '2'])('after it has begun to listen, with %s workers', async (workers) => {
  const folder = await preparedFolder();
  const obstacle = join(folder, 'demo.json.new');
  mkdirSync(obstacle);
  const launched = launchGateway({ TOLLGATE_DATA: folder, WORKERS: workers });
  // The sandbox and the workers share this pipe, so its end means that they are gone too.
  expect(await launched.ended()).toBe(1);
  expect(launched.output()).toContain('"event":"listening"');
  expect(launched.output()).toMatch(/^tollgate: EISDIR: .*demo\.json\.new'$/m);
  expect(isServerThere(folder)).toBe(false);
});

describe('when the database ends the connection during the start', () => {
  /** The start waits for a lock on the table, and meanwhile its connection is ended this many times. */
  async function interrupted(environment: Environment, sql: SQL, table: string, times: number) {
    const blocker = await sql.reserve();
    await blocker`begin`;
    await blocker.unsafe(`lock table ${table} in access exclusive mode`);
    const launched = launchGateway(environment);
    for (let count = 0; count < times; count += 1)
      await eventually('the start waits and is interrupted', async () => {
        const ended = await sql`
          select pg_terminate_backend(pid, 10000) from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`;
        return ended.length > 0;
      });
    await blocker`rollback`;
    await blocker.release();
    return launched;
  }

  test('the start is repeated', async () => {
    const database = await createDatabase();
    const launched = await interrupted({ DATABASE_URL: database.url }, database.sql, 'nodes', 2);
    const gateway = await launched.listening;
    expect(gateway.output().match(/the database interrupted the start, starting again/g)).toHaveLength(2);
    expect((await fetch(`${gateway.origin}/readyz`)).status).toBe(200);
    expect(await gateway.stop()).toBe(0);
    await database.close();
  });

  test('the start is repeated while the demo is being created, which is then complete', async () => {
    const folder = await preparedFolder();
    const server = await acquireEmbeddedServer(folder);
    const sql = new SQL({ adapter: 'postgres', ...server.connection, max: 2 });
    const launched = await interrupted({ TOLLGATE_DATA: folder }, sql, 'api_keys', 1);
    await eventually('the gateway says how to use it', () => launched.output().includes('Password: '));
    // After the repeated start it listens on another port.
    const origin =
      launched
        .output()
        .match(/(?<="listening","address":")[^"]+/g)
        ?.at(-1) ?? '';
    const gateway = { ...(await launched.listening), origin };
    expect(await modelIds(gateway, keyIn(gateway))).toHaveLength(3);
    expect([...(await sql`select name from accounts`)]).toEqual([{ name: 'Demo' }]);
    expect(await gateway.stop()).toBe(0);
    await sql.close();
    await server.release();
  });

  test('the start fails in the end, and DATABASE_URL is not blamed', async () => {
    const database = await createDatabase();
    const launched = await interrupted({ DATABASE_URL: database.url }, database.sql, 'nodes', 3);
    expect(await launched.ended()).toBe(1);
    expect(launched.output()).toContain(
      '\ntollgate: The database interrupted what Tollgate was doing: terminating connection due to administrator command. Try again once the database is at rest.\n',
    );
    await database.close();
  });
});

describe('the reason blames DATABASE_URL', () => {
  const named = { databaseUrl: 'postgres://localhost/x', dataFolder: '/data' };
  const isBlamed = (errno: string, config: Pick<Config, 'databaseUrl' | 'dataFolder'>) => {
    const error = new SQL.PostgresError('it says so', { code: 'ERR_POSTGRES_SERVER_ERROR', errno });
    const explained = explainDatabaseError(error, config);
    expect(explained).toBeInstanceOf(OperatorError);
    expect((explained as OperatorError).message).toContain('it says so');
    return (explained as OperatorError).message.includes('DATABASE_URL');
  };

  test('when it names the wrong database, and not when the database was interrupted or has its own trouble', () => {
    expect(['42P07', '3F000', '0A000'].map((code) => isBlamed(code, named))).toEqual([true, true, true]);
    const others = ['25P03', '57P01', '40P01', '55P03', '08006', '53100', '58030', 'XX001', '42501'];
    expect(others.filter((code) => isBlamed(code, named))).toEqual([]);
  });

  test('never when it is not set', () => {
    const codes = ['42P07', '25P03', '57P01', '53300', '53100', 'XX001', '42501'];
    expect(codes.filter((code) => isBlamed(code, { ...named, databaseUrl: null }))).toEqual([]);
  });
});

test('a start that waits says so repeatedly, until it is told to stop', async () => {
  const launched = launchGateway(
    {},
    { command: [process.execPath, join(import.meta.dir, '../support/waiting-start.ts')] },
  );
  const count = () => launched.output().match(/"event":"the start is not over yet/g)?.length ?? 0;
  await eventually('it has said so twice', () => count() >= 2);
  launched.process.kill('SIGTERM');
  expect(await launched.ended()).toBe(0);
});

test('a connection that fails is explained with its place and without the password', () => {
  const explain = (code: string, errno: string | undefined, message: string, ...urls: string[]) =>
    unreachable(new SQL.PostgresError(message, errno === undefined ? { code } : { code, errno }), urls)
      .message;
  const refused = ['ERR_POSTGRES_CONNECTION_REFUSED', undefined, 'Failed to connect'] as const;
  const answered = 'ERR_POSTGRES_SERVER_ERROR';
  const url = 'postgres://tollgate:hunter2@db.example.com/tollgate';
  expect(explain(...refused, url)).toBe(
    'The database at db.example.com:5432 cannot be reached: nothing listens there, or no host has this name. Check DATABASE_URL and that PostgreSQL is running.',
  );
  expect(explain(...refused, 'postgres://a:hunter2@[::1]:5433,10.0.0.2/x')).toBe(
    'The database at [::1]:5433 or 10.0.0.2:5432 cannot be reached: nothing listens there. Check DATABASE_URL and that PostgreSQL is running.',
  );
  expect(explain(...refused, 'postgres://a@localhost/x?path=%2Frun%2F.s.PGSQL.5432')).toStartWith(
    'The database at /run/.s.PGSQL.5432 cannot be reached: nothing listens there.',
  );
  const wrong = 'password authentication failed for user "tollgate"';
  expect(explain(answered, '28P01', wrong, url, url)).toBe(
    `PostgreSQL at db.example.com:5432 refuses the connection: ${wrong}. Check DATABASE_URL.`,
  );
  expect(explain(answered, '57P03', 'the database system is starting up', url)).toBe(
    'The database at db.example.com:5432 cannot be reached: the database system is starting up. Check DATABASE_URL and that PostgreSQL is running.',
  );
});

describe('what cannot be closed does not keep the process', () => {
  const start = (...words: string[]) =>
    launchGateway(
      {},
      { command: [process.execPath, join(import.meta.dir, '../support/hanging-start.ts'), ...words] },
    );

  test('for longer than that may take', async () => {
    const launched = start('100');
    expect([await launched.ended(), launched.output()]).toEqual([1, 'tollgate: It does not start.\n']);
  });

  test('when it is told to stop', async () => {
    const launched = start('600000');
    await eventually('it has failed', () => launched.output().includes('It does not start.'));
    launched.process.kill('SIGTERM');
    expect(await launched.ended()).toBe(1);
  });
});
