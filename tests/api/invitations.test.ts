/** Invitations to an account: who can create, use and revoke them, and everything that a link must not allow. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Invitation, Me, Member, NewInvitation, Role } from '../../src/console/contract.ts';
import { newId } from '../../src/lib/ids.ts';
import { textOf } from '../support/mail-server.ts';
import {
  type Browser,
  codeOf,
  openBrowser,
  openSignInFixture,
  password,
  publicUrl,
  type SignInFixture,
} from '../support/sign-in-fixture.ts';

let fixture: SignInFixture;
let owner: Browser;
let ownerId: string;
let account: string;
/** Every token that was created; none may be in a log or in the database. */
const tokens = new Set<string>();

beforeAll(async () => {
  fixture = await openSignInFixture();
  ({ id: ownerId } = await fixture.addUser('owner@example.com'));
  account = await addAccount('Northwind', ownerId);
  owner = await fixture.signedIn('owner@example.com');
}, 60_000);

afterAll(async () => {
  const output = fixture.output();
  const rows = await fixture.database.sql`
    select string_agg(invitations::text, ' ') as text from invitations`;
  for (const token of tokens) {
    expect(output).not.toContain(token);
    expect(`${rows[0]?.text}`).not.toContain(token);
  }
  await fixture.close();
}, 60_000);

async function addAccount(name: string, ownedBy: string): Promise<string> {
  const id = newId();
  await fixture.database.sql`insert into accounts (id, name) values (${id}, ${name})`;
  await addMember(id, ownedBy, 'owner');
  return id;
}

async function addMember(accountId: string, userId: string, role: Role): Promise<void> {
  await fixture.database.sql`
    insert into memberships (user_id, account_id, role) values (${userId}, ${accountId}, ${role})`;
}

async function setRole(userId: string, role: Role): Promise<void> {
  await fixture.database.sql`
    update memberships set role = ${role} where user_id = ${userId} and account_id = ${account}`;
}

const pathOf = (id = account, ...more: string[]) =>
  ['/api/console/accounts', id, 'invitations', ...more].join('/');

async function invite(
  by = owner,
  { accountId = account, role = 'member' as Role } = {},
): Promise<{ id: string; token: string }> {
  const response = await by.send('POST', pathOf(accountId), { role });
  expect(response.status).toBe(200);
  const { invitation, url } = (await response.json()) as NewInvitation;
  const { origin, pathname, search, hash } = new URL(url ?? '');
  // The token is in the fragment, which no browser sends.
  expect([origin, pathname, search]).toEqual([publicUrl, '/invitation', '']);
  const token = /^#token=([\w-]{43})$/.exec(hash)?.[1] ?? '';
  tokens.add(token);
  return { id: invitation.id, token };
}

let people = 0;
const newEmail = () => {
  people += 1;
  return `person${people}@example.com`;
};

async function someone(): Promise<{ id: string; email: string; browser: Browser }> {
  const email = newEmail();
  const { id } = await fixture.addUser(email);
  return { id, email, browser: await fixture.signedIn(email) };
}

const call = async (browser: Browser, path: string, body: unknown) =>
  await codeOf(await browser.send('POST', `/api/auth/invitation/${path}`, body));
const accept = (browser: Browser, token: string) => call(browser, 'accept', { token });
const signUp = (browser: Browser, token: string, email: string) =>
  call(browser, 'sign-up', { token, name: 'New Person', email, password });
const details = (token: string) => call(fixture.browser(), 'details', { token });

async function roleOf(email: string, accountId = account): Promise<Role | null> {
  const [row] = await fixture.database.sql<{ role: Role }[]>`
    select role from memberships join users on users.id = user_id
    where email = ${email} and account_id = ${accountId}`;
  return row?.role ?? null;
}

const openIds = async () => {
  const { data } = (await (await owner.send('GET', pathOf())).json()) as { data: Invitation[] };
  return data.map(({ id }) => id);
};

describe('a link', () => {
  test('says what it leads to, and lets someone who is signed in join with its role', async () => {
    const { id, token } = await invite(owner, { role: 'owner' });
    expect(await openIds()).toContain(id);
    const shown = await fixture.browser().send('POST', '/api/auth/invitation/details', { token });
    expect(await shown.json()).toEqual({
      accountName: 'Northwind',
      role: 'owner',
      email: null,
      expiresAt: expect.stringMatching(/Z$/),
    });
    const { email, browser } = await someone();
    const response = await browser.send('POST', '/api/auth/invitation/accept', { token });
    expect(await response.json()).toEqual({ accountId: account });
    expect(await roleOf(email)).toBe('owner');
    expect(await openIds()).not.toContain(id);
  });

  test('lets someone new sign up and join, without their own account, even where sign-up is closed', async () => {
    const { token } = await invite();
    const email = newEmail();
    const closed = openBrowser(fixture.plain);
    const options = await closed.send('GET', '/api/console/sign-in-options');
    expect(await options.json()).toMatchObject({ sign_up: 'closed' });
    expect(await signUp(closed, token, email)).toBe(200);
    const me = (await (await closed.send('GET', '/api/console/me')).json()) as Me;
    expect(me.accounts.map(({ name, role }) => [name, role])).toEqual([['Northwind', 'member']]);
    const [user] = await fixture.database.sql`select email_verified from users where email = ${email}`;
    // Anyone who has the link could have named this address.
    expect(user?.email_verified).toBe(false);
  });

  test('works once, also for several at the same moment', async () => {
    const { token } = await invite();
    const first = await someone();
    expect(await accept(first.browser, token)).toBe(200);
    const second = await someone();
    expect(await accept(second.browser, token)).toBe('invalid_invitation');
    expect(await signUp(fixture.browser(), token, newEmail())).toBe('invalid_invitation');
    expect(await details(token)).toBe('invalid_invitation');
    expect(await roleOf(second.email)).toBeNull();

    const { token: contested } = await invite();
    const crowd = await Promise.all([someone(), someone(), someone()]);
    const outcomes = await Promise.all([
      ...crowd.map(({ browser }) => accept(browser, contested)),
      signUp(fixture.browser(), contested, newEmail()),
    ]);
    expect(outcomes.filter((outcome) => outcome === 200)).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'invalid_invitation')).toHaveLength(3);
  });

  test('does not work when it has expired, was revoked or is made up', async () => {
    const { id, token } = await invite();
    await fixture.database
      .sql`update invitations set expires_at = now() - interval '1 second' where id = ${id}`;
    const { token: revoked, id: revokedId } = await invite();
    expect((await owner.send('DELETE', pathOf(account, revokedId))).status).toBe(204);
    expect(await codeOf(await owner.send('DELETE', pathOf(account, revokedId)))).toBe('invitation_not_found');
    const { browser, email } = await someone();
    for (const bad of [token, revoked, '', 'x'.repeat(43), 'not-a-token']) {
      expect(await details(bad)).toBe('invalid_invitation');
      expect(await accept(browser, bad)).toBe('invalid_invitation');
      const newcomer = newEmail();
      expect(await signUp(fixture.browser(), bad, newcomer)).toBe('invalid_invitation');
      const users = await fixture.database.sql`select 1 from users where email = ${newcomer}`;
      expect(users).toHaveLength(0);
    }
    expect(await openIds()).not.toContain(id);
    expect(await roleOf(email)).toBeNull();
    expect(await call(browser, 'accept', { token: 'x'.repeat(101) })).toBe('invalid_parameter');
    expect(await call(browser, 'accept', { token: revoked, account_id: account })).toBe(
      'unsupported_parameter',
    );
  });

  test('ends with the ownership of its creator, and with their password', async () => {
    const { id: otherId, email, browser: other } = await someone();
    await addMember(account, otherId, 'owner');
    const { token } = await invite(other);
    await setRole(otherId, 'member');
    const { browser: guest } = await someone();
    expect([await details(token), await accept(guest, token)]).toEqual([
      'invalid_invitation',
      'invalid_invitation',
    ]);
    await setRole(otherId, 'owner');
    expect(await details(token)).toBe(200);
    const changed = await other.send('POST', '/api/auth/change-password', {
      currentPassword: password,
      newPassword: 'another horse battery',
    });
    expect(changed.status).toBe(200);
    expect(await accept(guest, token)).toBe('invalid_invitation');
    // Nor does one of someone who has left.
    const { token: last } = await invite(await fixture.signedIn(email, 'another horse battery'));
    await fixture.database.sql`delete from memberships where user_id = ${otherId}`;
    expect(await accept(guest, last)).toBe('invalid_invitation');
  });

  test('is not used up by someone who belongs to the account, or by an address that is taken', async () => {
    const { token } = await invite();
    expect(await accept(owner, token)).toBe('already_member');
    expect(await signUp(fixture.browser(), token, 'owner@example.com')).toBe('email_taken');
    expect(await details(token)).toBe(200);
  });

  test('needs a session to be accepted, and a request from the dashboard', async () => {
    const { token } = await invite();
    expect(await accept(fixture.browser(), token)).toBe('session_required');
    const { browser } = await someone();
    const foreign = await browser.send(
      'POST',
      '/api/auth/invitation/accept',
      { token },
      { origin: 'https://evil.example' },
    );
    expect(await codeOf(foreign)).toBe('invalid_origin');
    expect(await details(token)).toBe(200);
  });
});

describe('who may invite', () => {
  test('owners alone, and only to their own account', async () => {
    const member = await someone();
    await addMember(account, member.id, 'member');
    const stranger = await someone();
    const elsewhere = await addAccount('Elsewhere', stranger.id);
    const { id, token } = await invite();
    const draft = { role: 'owner' };
    const outcomes = async (browser: Browser) => [
      await codeOf(await browser.send('GET', pathOf())),
      await codeOf(await browser.send('POST', pathOf(), draft)),
      await codeOf(await browser.send('DELETE', pathOf(account, id))),
    ];
    expect(await outcomes(member.browser)).toEqual(Array(3).fill('permission_denied'));
    expect(await outcomes(stranger.browser)).toEqual(Array(3).fill('account_not_found'));
    // An invitation of another account is not found through one's own, and a link leads to its own account only.
    expect(await codeOf(await stranger.browser.send('DELETE', pathOf(elsewhere, id)))).toBe(
      'invitation_not_found',
    );
    expect(await accept(stranger.browser, token)).toBe(200);
    expect([await roleOf(stranger.email), await roleOf(stranger.email, elsewhere)]).toEqual([
      'member',
      'owner',
    ]);
    const { data } = (await (await owner.send('GET', `/api/console/accounts/${account}/members`)).json()) as {
      data: Member[];
    };
    expect(data.find(({ email }) => email === stranger.email)?.role).toBe('member');
  });

  test.each([
    [{}, 'missing_required_parameter'],
    [{ role: 'operator' }, 'invalid_parameter'],
    [{ role: 'member', email: 'nobody' }, 'invalid_parameter'],
    [{ role: 'member', account_id: 'x' }, 'unsupported_parameter'],
  ])('%j: %s', async (draft, code) => {
    expect(await codeOf(await owner.send('POST', pathOf(), draft))).toBe(code);
  });

  test('not without end', async () => {
    const { id } = await someone();
    const crowded = await addAccount('Crowded', id);
    await addMember(crowded, ownerId, 'owner');
    await fixture.database.sql`
      insert into invitations (id, account_id, role, invited_by, token_hash, expires_at)
      select gen_random_uuid(), ${crowded}, 'member', ${id}, sha256(at::text::bytea), now() + interval '1 day'
      from generate_series(1, 49) as at`;
    await invite(owner, { accountId: crowded });
    expect(await codeOf(await owner.send('POST', pathOf(crowded), { role: 'member' }))).toBe(
      'too_many_invitations',
    );
  });
});

describe('a mailed invitation', () => {
  const mailTo = async (email: string, role: Role = 'member') => {
    const response = await owner.send('POST', pathOf(), { role, email });
    expect(await response.json()).toMatchObject({ invitation: { email: email.toLowerCase() }, url: null });
    const text = textOf(await fixture.mail.next(email.toLowerCase()));
    expect(text).toContain('owner@example.com invites you');
    const [, origin, token = ''] = /(\S+)\/invitation#token=([\w-]{43})\b/.exec(text) ?? [];
    expect(origin).toBe(publicUrl);
    tokens.add(token);
    return token;
  };

  test('is for its address alone, which it verifies', async () => {
    const email = newEmail();
    const token = await mailTo(email.toUpperCase());
    const { browser } = await someone();
    expect(await accept(browser, token)).toBe('invalid_invitation');
    const wrong = await fixture
      .browser()
      .send('POST', '/api/auth/invitation/sign-up', { token, name: '', email: newEmail(), password });
    expect(await wrong.json()).toMatchObject({ error: { code: 'invalid_invitation', param: 'email' } });
    expect(await signUp(fixture.browser(), token, email)).toBe(200);
    const [user] = await fixture.database.sql`select email_verified from users where email = ${email}`;
    expect(user?.email_verified).toBe(true);
    expect(await roleOf(email)).toBe('member');
  });

  test('names only an inviter who has proved to be who they say', async () => {
    const { id, email: unproved, browser } = await someone();
    const own = await addAccount('Own', id);
    await fixture.database.sql`update users set email_verified = false where id = ${id}`;
    const email = newEmail();
    const response = await browser.send('POST', pathOf(own), { role: 'member', email });
    expect(response.status).toBe(200);
    const text = textOf(await fixture.mail.next(email));
    expect(text).toContain('You are invited to an account at');
    expect(text).not.toContain(unproved);
    tokens.add(/invitation#token=([\w-]{43})\b/.exec(text)?.[1] ?? '');
  });

  test('is not sent to members, nor where the gateway has no mail, nor endlessly', async () => {
    const send = async (email: string) =>
      await codeOf(await owner.send('POST', pathOf(), { role: 'member', email }));
    expect(await send('owner@example.com')).toBe('already_member');
    const plain = openBrowser(fixture.plain);
    await plain.send('POST', '/api/auth/sign-in/email', { email: 'owner@example.com', password });
    const refused = await plain.send('POST', pathOf(), { role: 'member', email: newEmail() });
    expect(await refused.json()).toMatchObject({ error: { code: 'invalid_parameter', param: 'email' } });
    const pestered = newEmail();
    const outcomes: (string | number)[] = [];
    for (let times = 0; times < 6; times += 1) outcomes.push(await send(pestered));
    expect(outcomes).toEqual([200, 200, 200, 200, 200, 'too_many_attempts']);
    for (const { data, to } of fixture.mail.mails)
      if (to === pestered) {
        const token = /invitation#token=3D([\w-]{43})\b/.exec(data.replaceAll('=\n', ''))?.[1];
        if (token !== undefined) tokens.add(token);
      }
  });
});
