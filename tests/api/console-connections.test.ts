/** Pages that are refreshed by themselves leave connections to everyone else, however slowly the database answers them. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type ConsoleFixture, openConsoleFixture, type Person } from '../support/console-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway } from '../support/gateway.ts';

let fixture: ConsoleFixture;

beforeAll(async () => {
  const start = (environment: Parameters<typeof startGateway>[0]) =>
    startGateway({ ...environment, DATABASE_POOL: '8' });
  fixture = await openConsoleFixture(undefined, start);
}, 60_000);

afterAll(() => fixture.close());

/** While whoever reads these tables waits, and at least `waiting` do, someone else looks at their own account. */
async function statusOfOthers(
  tables: string,
  visits: readonly (readonly [Person, string])[],
  waiting: number,
): Promise<number> {
  const { people, strangersAccount, database } = fixture;
  const left: Promise<unknown>[] = [];
  const status = await database.sql.begin(async (transaction) => {
    await transaction.unsafe(`lock table ${tables} in access exclusive mode`);
    for (const [person, path] of visits)
      left.push(people[person].send('GET', path).then((response) => response.text()));
    await eventually('everyone to wait', async () => {
      const [row] = await transaction<[{ count: number }]>`
        select count(*)::int as count from pg_locks
        where not granted and database = (select oid from pg_database where datname = current_database())`;
      return row.count >= waiting;
    });
    const response = await people.stranger.send('GET', `/api/console/accounts/${strangersAccount}/keys`);
    await response.text();
    return response.status;
  });
  await Promise.all(left);
  return status;
}

test('the home of operators, several times at once', async () => {
  const visits = Array.from({ length: 4 }, () => ['operator', '/api/console/operator/home'] as const);
  const tables = 'margin_days, write_offs, ledger_audits, dead_letters, webhook_endpoints';
  expect(await statusOfOthers(tables, visits, 6)).toBe(200);
});

test('the home of an account, at several of its members', async () => {
  const path = `/api/console/accounts/${fixture.account}/overview`;
  const visits = Array.from({ length: 8 }, (_, n) => [n % 2 === 0 ? 'owner' : 'member', path] as const);
  expect(await statusOfOthers('welcome_grants', visits, 4)).toBe(200);
});
