/** The box that finds anything: what is found, by whom, and how much at most. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { AccountFindings, OperatorFindings } from '../../src/console/find-contract.ts';
import { newId } from '../../src/lib/ids.ts';
import type { ErrorBody } from '../support/chat-fixture.ts';
import {
  type ConsoleFixture,
  everyone,
  forMembers,
  forOperators,
  openConsoleFixture,
  outcomeFor,
} from '../support/console-fixture.ts';

let fixture: ConsoleFixture;

beforeAll(async () => {
  fixture = await openConsoleFixture();
  const { database, account, strangersAccount, keyId, strangersKeyId } = fixture;
  const { sql } = database;
  await sql`update api_keys set name = 'Production' where id = ${keyId}`;
  await sql`update api_keys set name = 'Production elsewhere' where id = ${strangersKeyId}`;
  await sql`update accounts set name = 'Blue Harbour' where id = ${account}`;
  await sql`insert into account_details (account_id, external_id) values (${account}, 'crm-17')
            on conflict (account_id) do update set external_id = excluded.external_id`;
  const labels: readonly (readonly [account: string, kind: string, label: string])[] = [
    ...Array.from(
      { length: 30 },
      (_, at) => [account, 'end_user', `person-${String(at).padStart(2, '0')}`] as const,
    ),
    [account, 'end_user', 'Person-x'],
    [account, 'session', 'run-1'],
    [strangersAccount, 'session', 'run-1'],
    [strangersAccount, 'end_user', 'person-of-another'],
    [account, 'tag', 'person=1'],
  ];
  // Many requests of one of them, which is listed once.
  const repeated = Array.from({ length: 20 }, () => [account, 'end_user', 'person-00'] as const);
  for (const [owner, kind, label] of [...labels, ...repeated])
    await sql`insert into generation_attributions (generation_id, account_id, kind, label)
              values (${newId()}, ${owner}, ${kind}, ${label})`;
}, 60_000);

afterAll(() => fixture.close());

const pathOf = (text: string) =>
  `/api/console/accounts/${fixture.account}/find?q=${encodeURIComponent(text)}`;
const operatorPathOf = (text: string) => `/api/console/operator/find?q=${encodeURIComponent(text)}`;

async function find(text: string): Promise<AccountFindings> {
  const response = await fixture.people.member.send('GET', pathOf(text));
  expect(response.status).toBe(200);
  return (await response.json()) as AccountFindings;
}

async function findAnywhere(text: string): Promise<OperatorFindings> {
  const response = await fixture.people.operator.send('GET', operatorPathOf(text));
  expect(response.status).toBe(200);
  return (await response.json()) as OperatorFindings;
}

test('members find what is theirs, operators what is anybody’s, and nobody else anything', async () => {
  for (const person of everyone) {
    const visitor = fixture.people[person];
    expect(await outcomeFor(visitor, 'GET', pathOf('person'))).toBe(forMembers[person]);
    expect(await outcomeFor(visitor, 'GET', operatorPathOf('person'))).toBe(forOperators[person]);
  }
});

test('a key by a part of its name in any case, by its hint and by its ID, and only those of the account', async () => {
  const [key] = (await find('prODuct')).keys;
  expect(key).toMatchObject({ id: fixture.keyId, name: 'Production', is_in_force: true });
  expect((await find('prODuct')).keys).toHaveLength(1);
  // One that was replaced is in force until then.
  for (const [minutes, isInForce] of [
    [5, true],
    [-5, false],
  ] as const) {
    await fixture.database
      .sql`update api_keys set revoked_at = now() + make_interval(mins => ${minutes}::int) where id = ${fixture.keyId}`;
    expect((await find('prODuct')).keys[0]?.is_in_force).toBe(isInForce);
  }
  await fixture.database.sql`update api_keys set revoked_at = null where id = ${fixture.keyId}`;
  expect((await find((key?.hint ?? '').slice(-4))).keys).toHaveLength(1);
  expect((await find(fixture.keyId)).keys).toHaveLength(1);
  expect((await find(fixture.strangersKeyId)).keys).toEqual([]);
});

test('models, those that begin with the text first', async () => {
  const { models } = await find('full');
  expect(models[0]?.id).toBe('full');
});

test('end users and sessions by their beginning, each once, at most eight, and only those of the account', async () => {
  const eight = Array.from({ length: 8 }, (_, at) => `person-0${at}`);
  expect((await find('person')).end_users).toEqual(eight);
  expect((await find('person-2')).end_users).toEqual(Array.from({ length: 8 }, (_, at) => `person-2${at}`));
  expect((await find('person-o')).end_users).toEqual([]);
  expect((await find('run')).sessions).toEqual(['run-1']);
  const [another, ...others] = (await findAnywhere('person-o')).end_users;
  expect(another).toMatchObject({ label: 'person-of-another', account: { id: fixture.strangersAccount } });
  expect(others).toEqual([]);
});

test('an end user or session of several accounts once for each, the last that used it first', async () => {
  expect((await findAnywhere('run-1')).sessions).toMatchObject([
    { label: 'run-1', account: { id: fixture.strangersAccount } },
    { label: 'run-1', account: { id: fixture.account, name: 'Blue Harbour' } },
  ]);
  const { end_users: people } = await findAnywhere('person-0');
  expect(people.map(({ label }) => label)).toEqual(Array.from({ length: 8 }, (_, at) => `person-0${at}`));
  expect(people[0]).toMatchObject({ label: 'person-00', account: { name: 'Blue Harbour' } });
});

test('operators find keys of anybody by a part of their name, those in force first', async () => {
  const { sql } = fixture.database;
  await sql`update api_keys set expires_at = now() - interval '1 day' where id = ${fixture.strangersKeyId}`;
  expect((await findAnywhere('prODuct')).keys).toMatchObject([
    { id: fixture.keyId, name: 'Production', is_in_force: true, account: { name: 'Blue Harbour' } },
    { id: fixture.strangersKeyId, name: 'Production elsewhere', is_in_force: false },
  ]);
  expect((await findAnywhere(fixture.strangersKeyId)).keys).toHaveLength(1);
});

test('operators find accounts by name, ID and external ID, people by address, keys by ID, and providers', async () => {
  const found = { id: fixture.account, name: 'Blue Harbour', external_id: 'crm-17' };
  for (const text of ['harbour', fixture.account, 'crm-17'])
    expect((await findAnywhere(text)).accounts).toEqual([found]);
  expect((await findAnywhere('MEMBER@')).people).toMatchObject([{ email: 'member@example.com' }]);
  expect((await findAnywhere(fixture.keyId)).keys).toMatchObject([
    { name: 'Production', account: { name: 'Blue Harbour' } },
  ]);
  const { providers } = await findAnywhere('main');
  expect(providers.map(({ id }) => id)).toContain('main');
});

test.each([
  ['no text', ''],
  ['only spaces', '%20'],
  ['a long text', 'x'.repeat(201)],
  ['NUL', 'a%00b'],
])('%s is refused', async (_, text) => {
  const path = `/api/console/accounts/${fixture.account}/find?q=${text}`;
  const response = await fixture.people.owner.send('GET', path);
  const { error } = (await response.json()) as ErrorBody;
  expect([response.status, error.code, error.param]).toEqual([400, 'invalid_parameter', 'q']);
});

test.each(["'; drop table users; --", '.*', '[', '\\', '__proto__', '%', 'Ä'])(
  '%s finds nothing',
  async (text) => {
    expect(await find(text)).toEqual({ keys: [], models: [], end_users: [], sessions: [] });
  },
);
