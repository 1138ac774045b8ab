/** Webhooks from a shell, and what a gateway then sends: `webhook create`, `test`, `rotate`, `disable`, `enable`, `replay`. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Webhook } from 'standardwebhooks';
import { newId } from '../../src/lib/ids.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { outcomeOf, runCommand } from '../support/commands.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, startGateway, temporaryFolder } from '../support/gateway.ts';
import { type Receiver, startReceiver } from '../support/webhook-receiver.ts';

let database: TestDatabase;
let gateway: Gateway;
let receiver: Receiver;
let environment: Record<string, string>;
let account: string;

beforeAll(async () => {
  database = await createDatabase();
  receiver = startReceiver();
  environment = { DATABASE_URL: database.url, AUTH_SECRET: 'a secret that only these tests need' };
  gateway = await startGateway({ ...environment, TOLLGATE_DATA: temporaryFolder() });
  account = (await runCommand<{ id: string }>(['account', 'create', '--name', 'Acme'], environment)).id;
});

afterAll(async () => {
  await gateway.stop();
  await receiver.stop();
  await database.close();
});

type Made = { id: string; secret: string; event_id: string; deliveries: number };

const webhook = (...words: string[]) => runCommand<Made>(['webhook', ...words], environment);
const failureOf = (running: Promise<unknown>) =>
  running.then(
    () => 'nothing',
    (error: Error) => error.message,
  );
const received = (eventId: string, count = 1) =>
  receiver.next(
    `event ${eventId}`,
    (one) =>
      one.body.id === eventId && receiver.received.filter(({ body }) => body.id === eventId).length >= count,
  );

test('one of the operator is created, tested, gets another secret, is disabled, enabled and replayed to', async () => {
  const { id, secret } = await webhook('create', receiver.url, '--types', 'account.suspended, key.created');
  const { event_id: tested } = await webhook('test', id);
  const first = await received(tested);
  new Webhook(secret).verify(first.text, first.headers);

  const { secret: newer } = await webhook('rotate', id);
  expect(newer).not.toBe(secret);
  const { event_id: again } = await webhook('test', id);
  const second = await received(again);
  for (const one of [secret, newer]) new Webhook(one).verify(second.text, second.headers);

  const before = new Date(Date.now() - 60_000).toISOString();
  expect(await webhook('disable', id)).toEqual({ id, is_enabled: false } as never);
  expect(await failureOf(webhook('test', id))).toContain('disabled');
  await runCommand(['account', 'suspend', account], environment);
  await eventually('its publication', async () => {
    const told = await database.sql`
      select 1 from events where type = 'account.suspended' and account_id = ${account} and position is not null`;
    return told.length === 1;
  });
  await webhook('enable', id);
  const { deliveries } = await webhook('replay', id, '--from', before);
  expect(deliveries).toBe(1);
  const suspended = await receiver.next('the suspension', ({ body }) => body.type === 'account.suspended');
  const [{ id: delivery }] = await database.sql<[{ id: string }]>`
    select webhook_deliveries.id from webhook_deliveries join events on events.id = event_id
    where endpoint_id = ${id} and type = 'account.suspended'`;
  expect((await webhook('replay', id, '--delivery', delivery)).deliveries).toBe(1);
  await received(suspended.body.id, 2);

  const changes = await database.sql`
    select action, door from audit_log where object_type = 'webhook' and object_id = ${id} order by id`;
  expect(changes.map(({ action, door }: { action: string; door: string }) => `${door} ${action}`)).toEqual([
    'cli create_webhook',
    'cli rotate_webhook_secret',
    'cli update_webhook',
    'cli update_webhook',
  ]);
  const { text } = await outcomeOf(['webhook', 'list'], environment);
  expect(text).toContain(id);
  expect(text).not.toContain('/events');
  const { host } = new URL(receiver.url);
  const listed = await runCommand<{ id: string }[]>(['webhook', 'list'], environment);
  expect(listed.find((one) => one.id === id)).toMatchObject({ host, account_id: null });
  expect(JSON.stringify(listed)).not.toContain('/events');
  expect(await runCommand<unknown>(['webhook', 'list', '--account', account], environment)).toEqual([]);
});

test('one of an account follows its rules', async () => {
  const words = ['create', 'https://example.com/events', '--account', account];
  expect(await failureOf(webhook(...words))).toContain('suspended');
  await runCommand(['account', 'resume', account], environment);
  const { id } = await webhook(...words, '--description', 'Ours');
  const [stored] = await database.sql`select account_id, description from webhook_endpoints where id = ${id}`;
  expect(stored).toMatchObject({ account_id: account, description: 'Ours' });
  expect(await failureOf(webhook('create', receiver.url, '--account', account))).toContain('https');
  expect(await failureOf(webhook(...words, '--types', 'node.lost'))).toContain('types');
  expect(await failureOf(webhook(...words, '--types', 'no.type'))).toContain('types');
  const nobody = newId();
  expect(await failureOf(webhook('create', 'https://example.com/', '--account', nobody))).toContain(nobody);
});

test('what cannot be done is said', async () => {
  const nobody = newId();
  expect(await failureOf(webhook('disable', nobody))).toBe(
    `There is no webhook ${nobody}. List them with: tollgate webhook list`,
  );
  const { id } = await webhook('create', receiver.url, '--types', 'node.lost');
  expect(await failureOf(webhook('replay', id))).toContain('--delivery, or --from');
  expect(await failureOf(webhook('replay', id, '--from', '2027-02-01', '--to', '2027-01-01'))).toContain(
    'before',
  );
  // Gateways could not read what was encrypted with it.
  const other = { ...environment, AUTH_SECRET: 'another secret that nobody else has' };
  const made = failureOf(runCommand(['webhook', 'rotate', id], other));
  expect(await made).toContain('another AUTH_SECRET');
});
