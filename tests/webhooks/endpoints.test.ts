/** What a suspended account can have sent, and who enables what an operator has disabled. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createAccount } from '../../src/accounts/account-store.ts';
import type { Actor } from '../../src/audit-log/audit-log.ts';
import { publishEvents } from '../../src/events/publish.ts';
import {
  changeEndpointAs,
  createEndpointAs,
  type EndpointChange,
  type OwnedEndpoint,
  removeEndpointAs,
  requireEndpoint,
  rotateSecretAs,
  sendTest,
} from '../../src/webhooks/endpoint-store.ts';
import { replay } from '../../src/webhooks/replay.ts';
import { addCheapUser } from '../support/cheap-user.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';

const key = Buffer.alloc(32);
const draft = { url: 'https://receiver.test/', description: '', types: null };
const operator: Actor = { door: 'cli', shellUser: 'test@test' };
let database: TestDatabase;
let accountId: string;
let owner: Actor;

beforeAll(async () => {
  database = await createDatabase();
  ({ id: accountId } = await createAccount(database.sql, 'Test', 0n));
  const { id: userId } = await addCheapUser(database.sql, 'owner@example.com', 'correct horse battery', {
    accountId,
  });
  owner = { door: 'dashboard', userId, address: null };
});

afterAll(() => database.close());

async function add(actor: Actor): Promise<OwnedEndpoint> {
  const { id } = await database.sql.begin((transaction) =>
    createEndpointAs(transaction, actor, { accountId }, draft, key),
  );
  return { accountId, id };
}

function change(actor: Actor, owned: OwnedEndpoint, to: EndpointChange): Promise<void> {
  return database.sql.begin((transaction) => changeEndpointAs(transaction, actor, owned, to));
}

function codeOf(change: Promise<unknown>): Promise<string> {
  return change.then(
    () => 'done',
    (error: { code: string }) => error.code,
  );
}

test('a suspended account gets its events, and has nothing else sent, by whatever door', async () => {
  const { sql } = database;
  const owned = await add(owner);
  const paused = await add(owner);
  await change(owner, paused, { isEnabled: false });
  await sql.begin((transaction) => sendTest(transaction, owned));
  await publishEvents(sql);
  const [{ id: deliveryId }] = await sql<[{ id: string }]>`
    select id from webhook_deliveries where endpoint_id = ${owned.id}`;
  await sql`update accounts set suspended_at = now() where id = ${accountId}`;
  const range = { from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 60_000) };
  for (const actor of [owner, operator]) {
    const refused = [
      add(actor),
      change(actor, owned, { url: 'https://elsewhere.test/' }),
      change(actor, paused, { isEnabled: true }),
      sql.begin((transaction) => sendTest(transaction, owned)),
      sql.begin((transaction) => replay(transaction, owned, { deliveryId })),
      sql.begin((transaction) => replay(transaction, owned, range)),
    ];
    expect(await Promise.all(refused.map(codeOf))).toEqual(refused.map(() => 'account_suspended'));
  }
  await change(owner, owned, { description: 'Mine' });
  await sql.begin((transaction) => rotateSecretAs(transaction, owner, owned, key));
  await publishEvents(sql);
  const told = await sql`
    select 1 from webhook_deliveries join events on events.id = event_id
    where endpoint_id = ${owned.id} and type = 'account.suspended'`;
  expect(told).toHaveLength(1);
  await sql`update accounts set suspended_at = null where id = ${accountId}`;
  expect(await codeOf(change(owner, paused, { isEnabled: true }))).toBe('done');
  for (const one of [owned, paused])
    await sql.begin((transaction) => removeEndpointAs(transaction, owner, one));
});

test('what the operator has disabled, only the operator enables', async () => {
  const owned = await add(owner);
  const because = async () => (await requireEndpoint(database.sql, owned)).disabled_because;
  await change(operator, owned, { isEnabled: false });
  expect(await because()).toBe('operator');
  for (const to of [{ isEnabled: true }, { isEnabled: true, url: 'https://elsewhere.test/' }])
    expect(await codeOf(change(owner, owned, to))).toBe('permission_denied');
  await change(owner, owned, { isEnabled: false, description: 'Mine' });
  expect(await because()).toBe('operator');
  await change(operator, owned, { isEnabled: true });
  expect(await because()).toBeNull();
  // Also one that its owner had disabled before.
  await change(owner, owned, { isEnabled: false });
  expect(await because()).toBe('owner');
  await change(operator, owned, { isEnabled: false });
  expect(await codeOf(change(owner, owned, { isEnabled: true }))).toBe('permission_denied');
  const [entry] = await database.sql<{ after: object }[]>`
    select after from audit_log where object_id = ${owned.id} order by id desc limit 1`;
  expect(entry?.after).toEqual({ disabled_because: 'operator' });
});
