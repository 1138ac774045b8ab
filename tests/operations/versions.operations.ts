/**
 * The tests of the ledger, the lists, usage and migrations on every supported version of PostgreSQL.
 *
 * Needs `npm`: install Node.js, with which it comes. The servers are installed into ~/.cache/tollgate-operations.
 */
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { type Major, startPostgres } from './support/postgres.ts';

const files = [
  'tests/database/migrate.test.ts',
  'tests/database/meters-migration.test.ts',
  'tests/ledger/ledger.test.ts',
  'tests/ledger/lane.test.ts',
  'tests/ledger/locked.test.ts',
  'tests/ledger/errors.test.ts',
  'tests/ledger/meters.test.ts',
  'tests/audit/months.test.ts',
  'tests/audit/archive.test.ts',
  'tests/audit/repair.test.ts',
  'tests/audit/audit.test.ts',
  'tests/audit/meters.test.ts',
  'tests/nodes/lease.test.ts',
  'tests/database/retention.test.ts',
  'tests/api/generations-list.test.ts',
  'tests/api/generations-walk.test.ts',
  'tests/requests/list-query.test.ts',
  'tests/requests/refusal-recorder.test.ts',
  'tests/api/usage.test.ts',
  'tests/api/console-usage.test.ts',
];

const versions: readonly Major[] = [15, 16, 17, 18];

test.each(versions)(
  'PostgreSQL %i',
  async (major) => {
    const server = await startPostgres(major);
    const { exitCode } = Bun.spawnSync([process.execPath, 'test', ...files, '--timeout', '60000'], {
      cwd: join(import.meta.dir, '../..'),
      env: { ...process.env, TOLLGATE_TEST_DATABASE_URL: server.url() },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    server.stop();
    expect(exitCode).toBe(0);
  },
  900_000,
);
