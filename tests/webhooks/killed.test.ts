/** A gateway that is killed between a change and its delivery: the event is told all the same, with the same ID. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { deriveKeys } from '../../src/lib/derived-keys.ts';
import { createEndpointAs } from '../../src/webhooks/endpoint-store.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { runCommand } from '../support/commands.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway, temporaryFolder } from '../support/gateway.ts';
import { type Receiver, startReceiver } from '../support/webhook-receiver.ts';

let database: TestDatabase;
let environment: Record<string, string>;
let receiver: Receiver;
let isAnswering = false;

beforeAll(async () => {
  database = await createDatabase();
  environment = { DATABASE_URL: database.url, TOLLGATE_DATA: temporaryFolder() };
  receiver = startReceiver(() => (isAnswering ? new Response() : new Promise(() => undefined)));
});

afterAll(async () => {
  await receiver.stop();
  await database.close();
});

async function credit(account: string, amount: string): Promise<void> {
  await runCommand(['account', 'credit', account, amount], environment);
}

test('nothing is lost, nothing is told with another ID, and nothing that did not happen', async () => {
  const { sql } = database;
  const first = await startGateway(environment);
  const [{ secret }] = await sql<[{ secret: string }]>`select secret from gateway_secret`;
  const { id: account } = await runCommand<{ id: string }>(
    ['account', 'create', '--name', 'Test', '--credit', '1'],
    environment,
  );
  const draft = { url: receiver.url, description: '', types: ['credit.added'] };
  const actor = { door: 'cli', shellUser: 'test@test' } as const;
  const key = deriveKeys(secret)('webhook secrets');
  // The first credit is older than the endpoint.
  await eventually(
    'its publication',
    async () => (await sql`select 1 from events where position is null`).length === 0,
  );
  const { id } = await sql.begin((transaction) =>
    createEndpointAs(transaction, actor, { accountId: null }, draft, key),
  );
  await credit(account, '2');
  const cut = await receiver.next('a delivery', ({ body }) => body.data.amount === '2.000000000000');
  first.process.kill('SIGKILL');
  await first.process.exited;
  // Committed while no gateway runs; and one that is not.
  await credit(account, '3');
  const undone = sql.begin(async (transaction) => {
    await transaction`insert into events (account_id, type, data) values (${account}, 'credit.added', '{}')`;
    throw new Error('undone');
  });
  expect(await undone.catch((error: Error) => error.message)).toBe('undone');

  isAnswering = true;
  const second = await startGateway(environment);
  // As if the dead node's claim had ended.
  await sql`update webhook_endpoints set claimed_until = now() where id = ${id}`;
  await eventually('both deliveries', async () => {
    const rows = await sql`select 1 from webhook_deliveries where state = 'delivered'`;
    return rows.length === 2;
  });
  expect(receiver.received.map(({ body }) => body.data.amount).toSorted()).toEqual([
    '2.000000000000',
    '2.000000000000',
    '3.000000000000',
  ]);
  const again = receiver.received.filter(({ body }) => body.id === cut.body.id);
  expect(again).toHaveLength(2);
  expect(new Set(again.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  const stored = await sql`select id from events where type = 'credit.added'`;
  expect(stored).toHaveLength(3);
  await second.stop();
});
