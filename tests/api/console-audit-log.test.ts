/** The audit log in the dashboard: owners see what was changed in their account, but not who works for the operator. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { updateAccountAs } from '../../src/accounts/changes.ts';
import { recordChange } from '../../src/audit-log/audit-log.ts';
import type { AccountAuditLog, AccountChange, NewKey } from '../../src/console/contract.ts';
import type { AuditLog } from '../../src/console/operator-contract.ts';
import { newId } from '../../src/lib/ids.ts';
import { addMemberAs, removeMemberAs } from '../../src/people/members.ts';
import { runCommand } from '../support/commands.ts';
import { type ConsoleFixture, openConsoleFixture, type Visitor } from '../support/console-fixture.ts';

let fixture: ConsoleFixture;
let account: string;

beforeAll(async () => {
  fixture = await openConsoleFixture();
  account = `/api/console/accounts/${fixture.account}`;
});

afterAll(() => fixture.close());

async function ask<Answer>(who: Visitor, method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await who.send(method, path, body);
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return (text === '' ? null : JSON.parse(text)) as Answer;
}

const newest = async (count: number): Promise<AccountChange[]> =>
  (await ask<AccountAuditLog>(fixture.people.owner, 'GET', `${account}/audit-log?limit=${count}`)).data;

test('what an owner changes is recorded with before and after, and without the secret', async () => {
  const { owner } = fixture.people;
  const { key, secret } = await ask<NewKey>(owner, 'POST', `${account}/keys`, { name: 'CI' });
  await ask(owner, 'PATCH', `${account}/keys/${key.id}`, { name: 'CI 2', monthly_limit: '5' });
  await ask(owner, 'PATCH', `${account}/keys/${key.id}`, { name: 'CI 2' });
  const later = new Date(Date.now() + 60_000).toISOString();
  const next = await ask<NewKey>(owner, 'POST', `${account}/keys/${key.id}/replace`, { revoke_at: later });
  await ask(owner, 'POST', `${account}/keys/${key.id}/revoke`, {});
  const invited = await ask<{ invitation: { id: string }; url: string }>(
    owner,
    'POST',
    `${account}/invitations`,
    { role: 'member' },
  );
  await ask(owner, 'DELETE', `${account}/invitations/${invited.invitation.id}`);
  const changes = await newest(6);
  const ofKey = { type: 'key', id: key.id, name: 'CI 2' };
  const by = { actor: 'owner@example.com', address: '127.0.0.1' };
  const about = { id: expect.any(String), at: expect.stringMatching(/Z$/), ...by, object: ofKey };
  const invitation = { type: 'invitation', id: invited.invitation.id, name: null };
  const what = { role: 'member', email: null };
  expect(changes.toReversed() as unknown[]).toEqual([
    {
      ...about,
      action: 'create_key',
      before: null,
      after: {
        name: 'CI',
        requests_per_minute: 600,
        max_concurrent: 200,
        monthly_limit: null,
        allowed_models: null,
        expires_at: null,
      },
    },
    {
      ...about,
      action: 'update_key',
      before: { name: 'CI', monthly_limit: null },
      after: { name: 'CI 2', monthly_limit: '5.000000000000' },
    },
    {
      ...about,
      action: 'replace_key',
      before: { revoked_at: null },
      after: { revoked_at: later, replaced_by: next.key.id },
    },
    { ...about, action: 'revoke_key', before: { revoked_at: later }, after: expect.any(Object) },
    { ...about, action: 'create_invitation', object: invitation, before: null, after: what },
    { ...about, action: 'revoke_invitation', object: invitation, before: what, after: null },
  ]);
  const text = JSON.stringify(
    await ask<AuditLog>(fixture.people.operator, 'GET', '/api/console/operator/audit-log'),
  );
  for (const hidden of [secret, next.secret, invited.url.split('=')[1] ?? ''])
    expect(text).not.toContain(hidden);
});

test('an owner does not learn who works for the operator, or from where', async () => {
  const { operator } = fixture.people;
  const path = `/api/console/operator/accounts/${fixture.account}`;
  const credit = { amount: '1', memo: 'Thanks', reference: newId() };
  await ask(operator, 'POST', `${path}/credit`, credit);
  await runCommand(['account', 'suspend', fixture.account], fixture.environment);
  await runCommand(['account', 'resume', fixture.account], fixture.environment);
  const changes = await newest(3);
  expect(changes.map(({ action }) => action)).toEqual([
    'resume_account',
    'suspend_account',
    'credit_account',
  ]);
  for (const { actor, address } of changes) expect([actor, address]).toEqual([null, null]);
  const all = await ask<AuditLog>(operator, 'GET', '/api/console/operator/audit-log?limit=3');
  expect(all.data.map(({ door, actor }) => [door, actor.type])).toEqual([
    ['cli', 'shell'],
    ['cli', 'shell'],
    ['dashboard', 'user'],
  ]);
});

test('an owner sees who was a member then, and not who was an operator', async () => {
  const { sql } = fixture.database;
  const address = '192.0.2.7';
  const userNamed = async (name: string) => {
    const [user] = await sql<[{ id: string }]>`
      insert into users (id, email, name) values (${newId()}, ${`${name}@example.com`}, ${name}) returning id`;
    return user.id;
  };
  const actorNamed = (userId: string) => ({ door: 'dashboard', userId, address }) as const;
  const [dismissed, left] = [await userNamed('dismissed-operator'), await userNamed('left')];
  await sql.begin(async (transaction) => {
    const suspend = { action: 'suspend_account', accountId: fixture.account } as const;
    await recordChange(transaction, actorNamed(dismissed), suspend);
    await addMemberAs(transaction, actorNamed(dismissed), fixture.account, left, 'owner');
    await recordChange(transaction, actorNamed(left), suspend);
    await removeMemberAs(transaction, actorNamed(left), fixture.account, left);
    await recordChange(transaction, actorNamed(left), suspend);
  });
  expect((await newest(5)).map(({ action, actor, address: from }) => [action, actor, from])).toEqual([
    ['suspend_account', null, null],
    ['remove_member', 'left@example.com', address],
    ['suspend_account', 'left@example.com', address],
    ['add_member', null, null],
    ['suspend_account', null, null],
  ]);
});

test('an owner does not see what the operator’s own systems say of the account', async () => {
  const { sql } = fixture.database;
  const change = { name: 'Renamed', externalId: 'crm-1', metadata: { risk: 'high' }, priceGroup: 'friends' };
  const shell = { door: 'cli', shellUser: 'tests@here' } as const;
  await sql.begin((transaction) => updateAccountAs(transaction, shell, fixture.account, change));
  const [newestChange] = await newest(1);
  expect(newestChange?.after).toEqual({ name: 'Renamed' });
  expect(Object.keys(newestChange?.before ?? {})).toEqual(['name']);
  await sql.begin((transaction) =>
    updateAccountAs(transaction, shell, fixture.account, { priceGroup: null }),
  );
  expect((await newest(1))[0]).toMatchObject({ action: 'update_account', before: {}, after: {} });
});

test('pages follow one another, and another account is never among them', async () => {
  const { owner, stranger } = fixture.people;
  await ask(stranger, 'POST', `/api/console/accounts/${fixture.strangersAccount}/keys`, { name: 'Theirs' });
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const query: string = cursor === null ? '' : `&cursor=${cursor}`;
    const page: AccountAuditLog = await ask(owner, 'GET', `${account}/audit-log?limit=2${query}`);
    seen.push(...page.data.map(({ id }) => id));
    cursor = page.next_cursor;
  } while (cursor !== null);
  const rows = await fixture.database.sql<{ id: string }[]>`
    select id from audit_log where account_id = ${fixture.account} order by id desc`;
  expect(seen).toEqual(rows.map(({ id }) => id));
});

test('what a gateway of the version before records is in the log too', async () => {
  const { sql } = fixture.database;
  const [operator] = await sql<[{ id: string }]>`select id from users where is_operator limit 1`;
  const [account, key] = [newId(), fixture.keyId];
  await sql`insert into accounts (id, name) values (${account}, 'Of before')`;
  const ids = [newId(), newId(), newId(), newId()];
  const reference = newId();
  await sql`
    insert into operator_actions (id, operator_id, action, account_id, amount, reference)
    values (${ids[0]}, ${operator.id}, 'create_account', ${account}, 5, ${reference})`;
  await sql`
    insert into operator_actions (id, shell_user, action, account_id, key_id)
    values (${ids[1]}, 'ann@host', 'update_key', ${account}, ${key})`;
  await sql`insert into operator_actions (id, shell_user, action) values (${ids[2]}, 'ann@host', 'retry_settlements')`;
  await sql`
    insert into operator_actions (id, shell_user, action, provider) values (${ids[3]}, 'ann@host', 'reconcile_bill', 'main')`;
  const rows = await sql`
    select door, actor_user_id, actor_shell_user, account_id, object_type, object_id, after
    from audit_log where id = any (${sql.array(ids, 'uuid')}) order by id`;
  const shell = {
    door: 'cli',
    actor_user_id: null,
    actor_shell_user: 'ann@host',
    account_id: null,
    after: null,
  };
  expect([...rows]).toEqual([
    {
      door: 'dashboard',
      actor_user_id: operator.id,
      actor_shell_user: null,
      account_id: account,
      object_type: 'account',
      object_id: account,
      after: { amount: '5.000000000000' },
    },
    { ...shell, account_id: account, object_type: 'key', object_id: key },
    { ...shell, object_type: null, object_id: null },
    { ...shell, object_type: 'provider', object_id: 'main' },
  ]);
  const [details] = await sql`select reference from account_details where account_id = ${account}`;
  expect(details.reference).toBe(reference);
});

test('the history of a key has what is about it and its limits, and nothing else', async () => {
  const { owner } = fixture.people;
  const { key } = await ask<NewKey>(owner, 'POST', `${account}/keys`, { name: 'Watched' });
  const { key: other } = await ask<NewKey>(owner, 'POST', `${account}/keys`, { name: 'Other' });
  const limit = { scope: 'key', kind: 'spend_per_day', amount: '5' };
  const made = await ask<{ id: string }>(owner, 'POST', `${account}/limits`, { ...limit, key_id: key.id });
  await ask(owner, 'POST', `${account}/limits`, { ...limit, key_id: other.id });
  await ask(owner, 'PATCH', `${account}/limits/${made.id}`, { amount: '6' });
  const history = async (query: string) =>
    (await ask<AccountAuditLog>(owner, 'GET', `${account}/audit-log?key=${query}`)).data;
  const actions = async () => (await history(key.id)).map(({ action }) => action).toReversed();
  expect(await actions()).toEqual(['create_key', 'create_limit', 'update_limit']);
  await ask(owner, 'DELETE', `${account}/limits/${made.id}`);
  await ask(owner, 'PATCH', `${account}/keys/${other.id}`, { name: 'Another' });
  expect(await actions()).toEqual(['create_key', 'create_limit', 'update_limit', 'remove_limit']);
  const next = await ask<NewKey>(owner, 'POST', `${account}/keys/${key.id}/replace`, { revoke_at: null });
  expect((await history(next.key.id)).map(({ action }) => action)).toContain('replace_key');
  expect((await history(key.id.toUpperCase())).map(({ action }) => action)).toContain('replace_key');
  expect(await history(newId())).toEqual([]);
  const odd = await owner.send('GET', `${account}/audit-log?key=odd`);
  expect(odd.status).toBe(400);
});
