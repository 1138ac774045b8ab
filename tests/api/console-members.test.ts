/** The console's members: who sees them, who changes them, and that an account never loses its last owner. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Member, Role } from '../../src/console/contract.ts';
import { newId } from '../../src/lib/ids.ts';
import type { ErrorBody } from '../support/chat-fixture.ts';
import {
  type ConsoleFixture,
  openConsoleFixture,
  outcomeFor,
  type Visitor,
} from '../support/console-fixture.ts';

let fixture: ConsoleFixture;
let owner: Visitor;
let membersPath: string;
let ids: Record<'owner' | 'member' | 'stranger', string>;

beforeAll(async () => {
  fixture = await openConsoleFixture();
  owner = fixture.people.owner;
  membersPath = `/api/console/accounts/${fixture.account}/members`;
  ids = { owner: await idOf('owner'), member: await idOf('member'), stranger: await idOf('stranger') };
}, 60_000);

/** Every test begins with one owner and one member, whatever the one before it did. */
beforeEach(async () => {
  await setRole('owner', 'owner');
  await setRole('member', 'member');
});

afterAll(() => fixture.close());

async function idOf(name: string): Promise<string> {
  const [row] = await fixture.database.sql`select id from users where email = ${`${name}@example.com`}`;
  return row.id;
}

async function setRole(name: 'owner' | 'member', role: Role): Promise<void> {
  await fixture.database.sql`
    insert into memberships (user_id, account_id, role) values (${ids[name]}, ${fixture.account}, ${role})
    on conflict (user_id, account_id) do update set role = excluded.role`;
}

async function roles(): Promise<Record<string, Role>> {
  const rows = await fixture.database.sql<{ name: string; role: Role }[]>`
    select split_part(email, '@', 1) as name, role
    from memberships join users on users.id = user_id where account_id = ${fixture.account}`;
  return Object.fromEntries(rows.map(({ name, role }) => [name, role]));
}

async function errorOf(response: Response): Promise<[number, string, string | undefined]> {
  const { error } = (await response.json()) as ErrorBody;
  return [response.status, error.code, error.param];
}

type Route = readonly [method: string, path: (user: string) => string, body?: unknown];
const routes: Record<'change' | 'remove', Route> = {
  change: ['PATCH', (user) => `${membersPath}/${user}`, { role: 'owner' }],
  remove: ['DELETE', (user) => `${membersPath}/${user}`],
};
const asBefore: Record<string, Role> = { owner: 'owner', member: 'member' };

describe('who may', () => {
  test.each(['change', 'remove'] as const)('%s someone of another account: not found', async (name) => {
    const [method, path, body] = routes[name];
    expect(await outcomeFor(owner, method, path(ids.stranger), body)).toBe('user_not_found');
    const foreign = path(ids.stranger).replace(fixture.account, fixture.strangersAccount);
    expect(await outcomeFor(owner, method, foreign, body)).toBe('account_not_found');
    const [row] = await fixture.database.sql`
      select role from memberships where user_id = ${ids.stranger} and account_id = ${fixture.strangersAccount}`;
    expect(row?.role).toBe('owner');
  });

  test.each(['1', "' or 1=1 --", '__proto__', '%00'])('%p names nobody and no account', async (text) => {
    const word = text.startsWith('%') ? text : encodeURIComponent(text);
    expect(await outcomeFor(owner, 'GET', `/api/console/accounts/${word}/members`)).toBe('account_not_found');
    expect(await outcomeFor(owner, 'PATCH', `${membersPath}/${word}`, { role: 'owner' })).toBe(
      'user_not_found',
    );
    expect(await outcomeFor(owner, 'DELETE', `${membersPath}/${word}`)).toBe('user_not_found');
    expect(await outcomeFor(owner, 'DELETE', `${membersPath}/${newId()}`)).toBe('user_not_found');
    expect(await roles()).toEqual(asBefore);
  });
});

test('the list names everyone, in the order in which they joined', async () => {
  const response = await fixture.people.member.send('GET', membersPath);
  const { data } = (await response.json()) as { data: Member[] };
  expect(data.map(({ email, role }) => [email, role])).toEqual([
    ['owner@example.com', 'owner'],
    ['member@example.com', 'member'],
  ]);
  expect(data[0]).toEqual({
    id: ids.owner,
    email: 'owner@example.com',
    name: 'owner',
    role: 'owner',
    created_at: new Date(data[0]?.created_at ?? '').toISOString(),
  });
});

test('a changed role is shown and counts at once', async () => {
  const response = await owner.send('PATCH', `${membersPath}/${ids.member}`, { role: 'owner' });
  expect(await response.json()).toMatchObject({ id: ids.member, role: 'owner' });
  const path = `${membersPath}/${ids.owner}`;
  expect(await outcomeFor(fixture.people.member, 'PATCH', path, { role: 'member' })).toBeNull();
  expect(await roles()).toEqual({ owner: 'member', member: 'owner' });
  expect(await outcomeFor(owner, 'PATCH', path, { role: 'owner' })).toBe('permission_denied');
});

test('a removed member no longer sees anything of the account', async () => {
  const response = await owner.send('DELETE', `${membersPath}/${ids.member}`);
  expect([response.status, await response.text()]).toEqual([204, '']);
  expect(await roles()).toEqual({ owner: 'owner' });
  expect(await outcomeFor(fixture.people.member, 'GET', membersPath)).toBe('account_not_found');
});

test.each([
  [{}, 'missing_required_parameter', 'role'],
  [{ role: 'operator' }, 'invalid_parameter', 'role'],
  [{ role: null }, 'invalid_parameter', 'role'],
  [{ role: ['owner'] }, 'invalid_parameter', 'role'],
  [{ role: '__proto__' }, 'invalid_parameter', 'role'],
  [{ role: 'owner', is_operator: true }, 'unsupported_parameter', 'is_operator'],
])('%j is refused: %s %s', async (body, code, param) => {
  expect(await errorOf(await owner.send('PATCH', `${membersPath}/${ids.member}`, body))).toEqual([
    400,
    code,
    param,
  ]);
});

describe('the last owner', () => {
  test('can neither be removed nor demoted, not even by themselves', async () => {
    const path = `${membersPath}/${ids.owner}`;
    expect(await outcomeFor(owner, 'DELETE', path)).toBe('last_owner');
    expect(await outcomeFor(owner, 'PATCH', path, { role: 'member' })).toBe('last_owner');
    expect(await outcomeFor(owner, 'PATCH', path, { role: 'owner' })).toBeNull();
    expect(await roles()).toEqual(asBefore);
  });

  test('may leave when there is another', async () => {
    await setRole('member', 'owner');
    expect(await outcomeFor(owner, 'DELETE', `${membersPath}/${ids.owner}`)).toBeNull();
    expect(await roles()).toEqual({ member: 'owner' });
  });

  const ways: [string, (visitor: Visitor, user: string) => Promise<string | null>][] = [
    ['demote', (visitor, user) => outcomeFor(visitor, 'PATCH', `${membersPath}/${user}`, { role: 'member' })],
    ['remove', (visitor, user) => outcomeFor(visitor, 'DELETE', `${membersPath}/${user}`)],
  ];
  const pairs = ways.flatMap(([first, one]) =>
    ways.map(([second, other]) => [first, second, one, other] as const),
  );

  test.each(pairs)(
    'is left when two owners %s and %s at the same time',
    async (_first, _second, one, other) => {
      const { member } = fixture.people;
      for (let round = 0; round < 10; round++) {
        await setRole('owner', 'owner');
        await setRole('member', 'owner');
        // Each other, and then each themselves.
        const [mine, theirs] = round % 2 === 0 ? [ids.member, ids.owner] : [ids.owner, ids.member];
        const outcomes = await Promise.all([one(owner, mine), other(member, theirs)]);
        expect(outcomes.filter((outcome) => outcome === null)).toHaveLength(1);
        expect(Object.values(await roles()).filter((role) => role === 'owner')).toHaveLength(1);
      }
    },
  );
});
