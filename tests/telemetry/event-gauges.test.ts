/** What the metrics say of events, deliveries and payments that are not over. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createAccount } from '../../src/accounts/account-store.ts';
import { publishEvents } from '../../src/events/publish.ts';
import { newId } from '../../src/lib/ids.ts';
import { readEventFigures } from '../../src/telemetry/event-gauges.ts';
import { createEndpointAs } from '../../src/webhooks/endpoint-store.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';

let database: TestDatabase;
let account: string;

beforeAll(async () => {
  database = await createDatabase();
  ({ id: account } = await createAccount(database.sql, 'Test', 0n));
});

afterAll(() => database.close());

const actor = { door: 'cli', shellUser: 'tests@here' } as const;

async function addEndpoint(accountId: string | null): Promise<string> {
  const draft = { url: 'https://receiver.test/', description: '', types: ['balance.low'] };
  const { id } = await database.sql.begin((transaction) =>
    createEndpointAs(transaction, actor, { accountId }, draft, Buffer.alloc(32)),
  );
  return id;
}

const figuresNow = () => readEventFigures(database.sql);

test('nothing, while all is well', async () => {
  await publishEvents(database.sql);
  expect(await figuresNow()).toEqual({
    unpublished: 0,
    unpublished_seconds: 0,
    deliveries_waiting: 0,
    deliveries_retrying: 0,
    delay_seconds: 0,
    failing_of_operator: 0,
    failing_of_accounts: 0,
    open_payment_seconds: 0,
  });
});

test('how many events wait to be told, and for how long', async () => {
  const { sql } = database;
  await sql`
    insert into events (account_id, type, data, created_at)
    values (${account}, 'key.created', '{}', now() - interval '10 minutes'), (${account}, 'key.created', '{}', now())`;
  const { unpublished, unpublished_seconds: seconds } = await figuresNow();
  expect([unpublished, Math.floor(seconds / 60)]).toEqual([2, 10]);
  await publishEvents(sql);
  expect(await figuresNow()).toMatchObject({ unpublished: 0, unpublished_seconds: 0 });
});

test('deliveries that wait or are tried again, and whose webhooks fail', async () => {
  const { sql } = database;
  const [failing, prompt, late] = [
    await addEndpoint(null),
    await addEndpoint(account),
    await addEndpoint(account),
  ];
  await sql`insert into events (account_id, type, data) values (${account}, 'balance.low', '{}')`;
  await publishEvents(sql);
  await sql`update webhook_deliveries set attempts = 3 where endpoint_id = ${failing}`;
  await sql`
    update webhook_endpoints
    set failing_since = case when id = ${failing} then now() end, is_prompt = id <> ${failing},
        due_at = case id when ${late} then now() - interval '10 minutes' else now() + interval '1 hour' end`;
  const { delay_seconds: delay, ...figures } = await figuresNow();
  expect(figures).toMatchObject({
    deliveries_waiting: 2,
    deliveries_retrying: 1,
    failing_of_operator: 1,
    failing_of_accounts: 0,
  });
  expect(Math.floor(delay / 60)).toBe(10);
  // Of one that fails, or is disabled, nobody is late.
  await sql`
    update webhook_endpoints set failing_since = now(), due_at = now() - interval '10 minutes' where id = ${late}`;
  await sql`
    update webhook_endpoints set disabled_at = now(), disabled_because = 'owner', due_at = now() - interval '1 hour'
    where id = ${prompt}`;
  expect(await figuresNow()).toMatchObject({ delay_seconds: 0, failing_of_accounts: 1 });
});

test('the oldest payment that is still open, but not one whose bank takes its time', async () => {
  const { sql } = database;
  for (const [state, hours] of [
    ['paid', 9],
    ['processing', 8],
    ['open', 4],
    ['new', 1],
  ] as const)
    await sql`
      insert into payment_orders (id, account_id, kind, amount, currency, is_live, customer, state, created_at, next_look_at)
      values (${newId()}, ${account}, 'checkout', 5, 'usd', false, 'cus_1', ${state}, now() - make_interval(hours => ${hours}),
        now())`;
  const { open_payment_seconds: seconds } = await figuresNow();
  expect(Math.floor(seconds / 3600)).toBe(4);
});
