/** /api/auth from the first sign-up to the last sign-out, on two gateways that share a database. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createResetToken } from '../../src/people/reset-link.ts';
import { dumpOf } from '../support/chat-fixture.ts';
import { runCommand } from '../support/commands.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway } from '../support/gateway.ts';
import { mailPassword, textOf } from '../support/mail-server.ts';
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
/** What must not appear in any log or, unless hashed, in any table. */
const secrets = new Set([password, mailPassword, encodeURIComponent(mailPassword)]);

beforeAll(async () => {
  fixture = await openSignInFixture();
});

afterAll(async () => {
  const log = fixture.output();
  const tables = await dumpOf(fixture.database);
  await fixture.close();
  for (const secret of secrets) {
    expect(log).not.toContain(secret);
    expect(tables).not.toContain(secret);
  }
  expect(log).not.toMatch(/@example\.com|tollgate_session/);
});

const signIn = (browser: Browser, email: string, secret = password) =>
  browser.send('POST', '/api/auth/sign-in/email', { email, password: secret });
const isIn = async (browser: Browser) => (await browser.send('GET', '/api/console/me')).status === 200;
const sessionsOf = (browser: Browser) =>
  browser.send('GET', '/api/auth/list-sessions').then((response) => response.json()) as Promise<
    { id: string; isCurrent: boolean; ipAddress: string; userAgent: string }[]
  >;
const tokenIn = async (to: string) => {
  const mail = await fixture.mail.next(to);
  const token = /reset-password#token=([\w-]{43})\b/.exec(textOf(mail))?.[1] ?? '';
  expect(token).not.toBe('');
  secrets.add(token);
  return { mail, token };
};
const newLink = async (userId: string) => {
  const { token } = await createResetToken(fixture.database.sql, userId);
  secrets.add(token);
  return token;
};
const reset = (token: string, newPassword: string, browser = fixture.browser()) =>
  browser.send('POST', '/api/auth/reset-password', { token, newPassword });

describe('signing up', () => {
  test('creates a user, their own account without money, and a session', async () => {
    const browser = fixture.browser();
    const response = await browser.send('POST', '/api/auth/sign-up/email', {
      name: ' Ann Example ',
      email: 'Ann@Example.com',
      password,
    });
    expect(response.status).toBe(200);
    const body = (await response.json()) as { user: Record<string, unknown> };
    expect(Object.keys(body)).toEqual(['user']);
    expect(body.user).toMatchObject({
      email: 'ann@example.com',
      name: 'Ann Example',
      emailVerified: false,
      isOperator: false,
    });
    const me = await (await browser.send('GET', '/api/console/me')).json();
    expect(me).toMatchObject({
      user: { email: 'ann@example.com', is_operator: false },
      accounts: [{ name: 'Ann Example', role: 'owner', is_suspended: false }],
    });
    const [account] = await fixture.database.sql`
      select balance, held from accounts where name = 'Ann Example'`;
    expect(account).toEqual({ balance: '0.000000000000', held: '0.000000000000' });
  });

  test('without a name, it is taken from the address', async () => {
    const browser = fixture.browser();
    await browser.send('POST', '/api/auth/sign-up/email', {
      name: '',
      email: 'noname@example.com',
      password,
    });
    const me = await (await browser.send('GET', '/api/console/me')).json();
    expect(me).toMatchObject({ user: { name: 'noname' }, accounts: [{ name: 'noname' }] });
  });

  test('400 email_taken, also for several at once, of whom one succeeds', async () => {
    const answers = await Promise.all(
      ['Twin@example.com', 'twin@example.com', 'TWIN@example.com'].map((email) =>
        fixture.browser().send('POST', '/api/auth/sign-up/email', { name: 'Twin', email, password }),
      ),
    );
    const outcomes = await Promise.all(answers.map(codeOf));
    expect(outcomes.toSorted()).toEqual([200, 'email_taken', 'email_taken']);
    const [count] = await fixture.database.sql`
      select (select count(*)::int from users where email = 'twin@example.com') as users,
             (select count(*)::int from accounts where name = 'Twin') as accounts`;
    expect(count).toEqual({ users: 1, accounts: 1 });
  });

  test('a failure on the way leaves nothing behind: no user without an account', async () => {
    const { sql } = fixture.database;
    await sql`create function refuse_halfway() returns trigger language plpgsql as
      $$begin if new.name = 'Halfway' then raise 'broken'; end if; return new; end$$`;
    await sql`create trigger refuse_halfway before insert on accounts for each row execute function refuse_halfway()`;
    const response = await fixture
      .browser()
      .send('POST', '/api/auth/sign-up/email', { name: 'Halfway', email: 'halfway@example.com', password });
    expect(await codeOf(response)).toBe('authentication_unavailable');
    await sql`drop trigger refuse_halfway on accounts`;
    expect(await sql`select 1 from users where email = 'halfway@example.com'`).toHaveLength(0);
    const memberless = await sql`
      select email from users where not is_operator and id not in (select user_id from memberships)`;
    expect([...memberless]).toEqual([]);
  });

  test('403 sign_up_closed is the default', async () => {
    const response = await openBrowser(fixture.plain).send('POST', '/api/auth/sign-up/email', {
      name: 'Eve',
      email: 'eve@example.com',
      password,
    });
    expect(response.status).toBe(403);
    expect(await codeOf(response)).toBe('sign_up_closed');
    expect(await fixture.database.sql`select 1 from users where email = 'eve@example.com'`).toHaveLength(0);
  });

  test('the sign-in page learns what is offered, without a session', async () => {
    const optionsOf = async (browser: Browser) =>
      await (await browser.send('GET', '/api/console/sign-in-options')).json();
    expect(await optionsOf(fixture.browser())).toEqual({ sign_up: 'open', password_reset: 'email' });
    expect(await optionsOf(openBrowser(fixture.plain))).toEqual({
      sign_up: 'closed',
      password_reset: 'operator',
    });
  });
});

describe('signing in', () => {
  test('begins a session that every gateway of the database knows, and no body tells its token', async () => {
    const { id } = await fixture.addUser('bob@example.com');
    const browser = openBrowser(fixture.plain);
    const response = await signIn(browser, 'BOB@example.com');
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject({
      redirect: false,
      user: { id, email: 'bob@example.com', name: 'bob', isOperator: false },
    });
    const cookie = browser.cookies.get('tollgate_session') ?? '';
    const token = cookie.split('.')[0] ?? '';
    secrets.add(decodeURIComponent(cookie));
    expect(token.length).toBeGreaterThan(30);

    const other = fixture.browser();
    other.cookies.set('tollgate_session', cookie);
    const session = await other.send('GET', '/api/auth/get-session');
    const sessionText = await session.text();
    expect(JSON.parse(sessionText)).toEqual({
      session: {
        id: expect.any(String),
        userId: id,
        ipAddress: '127.0.0.1',
        userAgent: expect.stringContaining('Bun'),
        expiresAt: expect.any(String),
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
      user: {
        id,
        email: 'bob@example.com',
        name: 'bob',
        image: null,
        emailVerified: true,
        isOperator: false,
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    });
    const listed = await (await other.send('GET', '/api/auth/list-sessions')).text();
    for (const body of [text, sessionText, listed]) expect(body).not.toContain(token);
  });

  test('the list of sessions shows whatever a browser calls itself', async () => {
    await fixture.addUser('agent@example.com');
    const browser = fixture.browser('2001:db8::7');
    const agent = `M\u00fcller/1.0 \u00ff "<b>" ${'x'.repeat(2000)}`;
    const body = { email: 'agent@example.com', password };
    const response = await browser.send('POST', '/api/auth/sign-in/email', body, { 'user-agent': agent });
    expect(response.status).toBe(200);
    const [session] = await sessionsOf(browser);
    expect(session?.ipAddress).toBe('2001:db8::7');
    expect(session?.userAgent).toEndWith('x'.repeat(400));
    expect(session?.userAgent.length).toBeLessThanOrEqual(500);
  });

  test('get-session is null for those who are not signed in', async () => {
    const response = await fixture.browser().send('GET', '/api/auth/get-session');
    expect([response.status, await response.json()]).toEqual([200, null]);
  });

  test('a wrong password, an unknown address and a user without a password are answered alike', async () => {
    await fixture.addUser('carol@example.com');
    await fixture.addUser('invited@example.com', false);
    const answers = await Promise.all(
      [
        ['carol@example.com', 'wrong password'],
        ['nobody@example.com', password],
        ['invited@example.com', password],
      ].map(async ([email = '', secret]) => {
        const response = await signIn(fixture.browser(), email, secret);
        expect(response.headers.getSetCookie()).toEqual([]);
        return [response.status, await response.text()];
      }),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]).toEqual([401, expect.stringContaining('"invalid_credentials"')]);
  });

  test('the cookie is HttpOnly and Lax, and over HTTPS bound to the host', async () => {
    await fixture.addUser('cookie@example.com');
    const [line = ''] = (
      await signIn(openBrowser(fixture.plain), 'cookie@example.com')
    ).headers.getSetCookie();
    expect(line).toMatch(/^tollgate_session=[^;]+; /);
    expect(attributesOf(line)).toEqual(['HttpOnly', 'Max-Age=1209600', 'Path=/', 'SameSite=Lax']);

    const secure = await startGateway({ ...fixture.environment, PUBLIC_URL: 'https://dashboard.test' });
    const browser = openBrowser(secure, 'https://dashboard.test');
    const [secureLine = '', ...more] = (await signIn(browser, 'cookie@example.com')).headers.getSetCookie();
    expect(more).toEqual([]);
    expect(secureLine).toMatch(/^__Host-tollgate_session=[^;]+; /);
    expect(attributesOf(secureLine)).toEqual([
      'HttpOnly',
      'Max-Age=1209600',
      'Path=/',
      'SameSite=Lax',
      'Secure',
    ]);
    expect(await isIn(browser)).toBe(true);
    const [cleared = ''] = (await browser.send('POST', '/api/auth/sign-out')).headers.getSetCookie();
    expect(cleared).toMatch(/^__Host-tollgate_session=; /);
    expect(attributesOf(cleared)).toEqual(['HttpOnly', 'Max-Age=0', 'Path=/', 'SameSite=Lax', 'Secure']);
    await secure.stop();
  });

  const attributesOf = (line: string) => line.split('; ').slice(1).toSorted();

  test('always begins a new session, and ends the one that the browser had', async () => {
    await fixture.addUser('dora@example.com');
    await fixture.addUser('mallory@example.com');
    const mallory = await fixture.signedIn('mallory@example.com');
    const planted = mallory.cookies.get('tollgate_session') ?? '';
    const victim = fixture.browser();
    victim.cookies.set('tollgate_session', planted);
    expect((await signIn(victim, 'dora@example.com')).status).toBe(200);
    expect(victim.cookies.get('tollgate_session')).not.toBe(planted);
    const session = (await (await victim.send('GET', '/api/auth/get-session')).json()) as {
      user: { email: string };
    };
    expect(session.user.email).toBe('dora@example.com');
    expect(await isIn(mallory)).toBe(false);
  });

  test('a failed try leaves the present session as it is', async () => {
    const browser = await fixture.signedIn('dora@example.com');
    expect((await signIn(browser, 'dora@example.com', 'wrong password')).status).toBe(401);
    expect(await isIn(browser)).toBe(true);
  });

  test('only what this gateway signed is a session', async () => {
    const { id } = await fixture.addUser('fay@example.com');
    const browser = await fixture.signedIn('fay@example.com');
    const [row] = await fixture.database.sql`select token from sessions where user_id = ${id}`;
    const cookie = browser.cookies.get('tollgate_session') ?? '';
    const signature = decodeURIComponent(cookie).slice(row.token.length + 1);
    for (const forged of [
      row.token,
      `${row.token}.`,
      `${row.token}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`,
      `${row.token}.${Buffer.from('x'.repeat(32)).toString('base64')}`,
      `${row.token}x.${signature}`,
      signature,
      '',
      '%',
      `${cookie}${cookie}`,
      "' or true --",
    ]) {
      const thief = fixture.browser();
      thief.cookies.set('tollgate_session', encodeURIComponent(forged));
      expect(await codeOf(await thief.send('GET', '/api/console/me'))).toBe('session_required');
    }
    const misnamed = fixture.browser();
    misnamed.cookies.set('__Host-tollgate_session', cookie);
    misnamed.cookies.set('better-auth.session_token', cookie);
    expect(await isIn(misnamed)).toBe(false);
    expect(await isIn(browser)).toBe(true);
  });
});

describe('ending sessions', () => {
  test('signing out deletes the row, clears the cookie, and the old cookie no longer works', async () => {
    const { id } = await fixture.addUser('gil@example.com');
    const browser = await fixture.signedIn('gil@example.com');
    const cookie = browser.cookies.get('tollgate_session') ?? '';
    const response = await browser.send('POST', '/api/auth/sign-out', {});
    expect(await response.json()).toEqual({ success: true });
    expect(browser.cookies.size).toBe(0);
    expect(await fixture.database.sql`select 1 from sessions where user_id = ${id}`).toHaveLength(0);
    browser.cookies.set('tollgate_session', cookie);
    expect(await codeOf(await browser.send('GET', '/api/console/me'))).toBe('session_required');
    expect((await browser.send('POST', '/api/auth/sign-out')).status).toBe(200);
  });

  test('a session that is revoked is refused at the next request, on the other gateway too', async () => {
    await fixture.addUser('hal@example.com');
    const [here, there] = [await fixture.signedIn('hal@example.com'), openBrowser(fixture.plain)];
    await there.send('POST', '/api/auth/sign-in/email', { email: 'hal@example.com', password });
    const sessions = await sessionsOf(here);
    expect(sessions.map(({ isCurrent }) => isCurrent)).toEqual([false, true]);
    expect(Object.keys(sessions[0] ?? {}).toSorted()).toEqual([
      'createdAt',
      'expiresAt',
      'id',
      'ipAddress',
      'isCurrent',
      'updatedAt',
      'userAgent',
    ]);
    expect(await isIn(there)).toBe(true);
    const response = await here.send('POST', '/api/auth/revoke-session', { id: sessions[0]?.id });
    expect(await response.json()).toEqual({ status: true });
    expect(await isIn(there)).toBe(false);
    expect(await isIn(here)).toBe(true);
  });

  test('nobody can end the session of someone else', async () => {
    const owner = await fixture.signedIn('hal@example.com');
    const stranger = await fixture.signedIn('dora@example.com');
    const [current] = (await sessionsOf(owner)).filter(({ isCurrent }) => isCurrent);
    const response = await stranger.send('POST', '/api/auth/revoke-session', { id: current?.id });
    expect(await response.json()).toEqual({ status: true });
    expect(await isIn(owner)).toBe(true);
    expect((await sessionsOf(stranger)).map(({ id }) => id)).not.toContain(current?.id ?? '');
  });

  test('all others at once', async () => {
    await fixture.addUser('ida@example.com');
    const [first, second, third] = [
      await fixture.signedIn('ida@example.com'),
      await fixture.signedIn('ida@example.com'),
      await fixture.signedIn('ida@example.com'),
    ];
    const stranger = await fixture.signedIn('dora@example.com');
    expect(await (await second.send('POST', '/api/auth/revoke-other-sessions')).json()).toEqual({
      status: true,
    });
    expect(await Promise.all([first, second, third, stranger].map(isIn))).toEqual([false, true, false, true]);
  });

  test('an expired session is refused, and removed by the next cleanup', async () => {
    const { id } = await fixture.addUser('jon@example.com');
    const browser = await fixture.signedIn('jon@example.com');
    const { sql } = fixture.database;
    await sql`update sessions set expires_at = now() - interval '1 second' where user_id = ${id}`;
    await newLink(id);
    await sql`update verifications set expires_at = now() - interval '1 second' where value = ${id}`;
    await sql`insert into sign_in_attempts values (sha256('old'), now() - interval '1 second')`;
    await sql`insert into familiar_networks values (sha256('old'), now() - interval '91 days')`;
    expect(await codeOf(await browser.send('GET', '/api/console/me'))).toBe('session_required');
    expect(await (await browser.send('GET', '/api/auth/get-session')).json()).toBeNull();
    const gateway = await startGateway(fixture.environment);
    const leftovers = async () => {
      const [row] = await sql`
        select (select count(*)::int from sessions where expires_at < now())
             + (select count(*)::int from verifications where expires_at < now())
             + (select count(*)::int from sign_in_attempts where name = sha256('old'))
             + (select count(*)::int from familiar_networks where name = sha256('old')) as count`;
      return row.count;
    };
    await eventually('what is over to be removed', async () => (await leftovers()) === 0);
    await gateway.stop();
  });
});

describe('changing the password', () => {
  const change = (browser: Browser, currentPassword: string, newPassword: string) =>
    browser.send('POST', '/api/auth/change-password', { currentPassword, newPassword });

  test('ends every session except that of this browser, whose cookie is new', async () => {
    const { id } = await fixture.addUser('kim@example.com');
    const browser = await fixture.signedIn('kim@example.com');
    const elsewhere = await fixture.signedIn('kim@example.com');
    const link = await newLink(id);
    const before = browser.cookies.get('tollgate_session') ?? '';
    secrets.add('second horse canary');

    const response = await change(browser, password, 'second horse canary');
    expect(response.status).toBe(200);
    expect(Object.keys((await response.json()) as object)).toEqual(['user']);
    expect(browser.cookies.get('tollgate_session')).not.toBe(before);
    expect(await isIn(browser)).toBe(true);
    expect(await isIn(elsewhere)).toBe(false);
    elsewhere.cookies.set('tollgate_session', before);
    expect(await isIn(elsewhere)).toBe(false);

    expect((await signIn(fixture.browser(), 'kim@example.com')).status).toBe(401);
    expect((await signIn(fixture.browser(), 'kim@example.com', 'second horse canary')).status).toBe(200);
    expect(await codeOf(await reset(link, 'third horse canary'))).toBe('invalid_reset_token');
  });

  test('401 without the present password, and nothing changes', async () => {
    await fixture.addUser('lea@example.com');
    const browser = await fixture.signedIn('lea@example.com');
    const response = await change(browser, 'wrong password', 'fourth horse canary');
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({
      error: { code: 'invalid_credentials', param: 'currentPassword' },
    });
    expect(await isIn(browser)).toBe(true);
    expect((await signIn(fixture.browser(), 'lea@example.com')).status).toBe(200);
  });

  test('401 session_required when signed out', async () => {
    expect(await codeOf(await change(fixture.browser(), password, 'fifth horse canary'))).toBe(
      'session_required',
    );
  });
});

describe('a forgotten password', () => {
  test('a mail brings a link to the configured address, which works once and ends all sessions', async () => {
    await fixture.addUser('max@example.com');
    const browser = await fixture.signedIn('max@example.com');
    const response = await fixture
      .browser()
      .send('POST', '/api/auth/request-password-reset', { email: 'Max@example.com' }, { host: 'evil.test' });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: true, message: expect.any(String) });
    const { mail, token } = await tokenIn('max@example.com');
    const text = textOf(mail);
    expect(mail.from).toBe('noreply@dashboard.test');
    expect(text).toContain('To: max@example.com');
    expect(text).toContain(`${publicUrl}/reset-password#token=${token}`);
    expect(text).toContain('text/html');
    expect(text).not.toContain('evil.test');

    secrets.add('sixth horse canary');
    const answer = await reset(token, 'sixth horse canary');
    expect([answer.status, await answer.json()]).toEqual([200, { status: true }]);
    expect(await isIn(browser)).toBe(false);
    expect((await signIn(fixture.browser(), 'max@example.com')).status).toBe(401);
    expect((await signIn(fixture.browser(), 'max@example.com', 'sixth horse canary')).status).toBe(200);
    const again = await reset(token, 'seventh horse canary');
    expect([again.status, await codeOf(again)]).toEqual([400, 'invalid_reset_token']);
  });

  test('an unknown address is answered alike and gets no mail', async () => {
    const ask = async (email: string) => {
      const response = await fixture.browser().send('POST', '/api/auth/request-password-reset', { email });
      return [response.status, await response.text()];
    };
    await fixture.addUser('nina@example.com');
    expect(await ask('unknown@example.com')).toEqual(await ask('nina@example.com'));
    await tokenIn('nina@example.com');
    expect(fixture.mail.mails.map(({ to }) => to)).not.toContain('unknown@example.com');
  });

  test('of two at once with the same link one succeeds; using one ends the others', async () => {
    const { id } = await fixture.addUser('otto@example.com');
    const [link, older] = [await newLink(id), await newLink(id)];
    const answers = await Promise.all([
      reset(link, 'eighth horse canary'),
      reset(link, 'ninth horse canary'),
    ]);
    expect((await Promise.all(answers.map(codeOf))).toSorted()).toEqual([200, 'invalid_reset_token']);
    expect(await codeOf(await reset(older, 'tenth horse canary'))).toBe('invalid_reset_token');
  });

  test('an expired link and a made-up one are refused alike', async () => {
    const { id } = await fixture.addUser('pia@example.com');
    const link = await newLink(id);
    await fixture.database.sql`update verifications set expires_at = now() where value = ${id}`;
    for (const token of [link, 'x'.repeat(43), '', "' or true --", id])
      expect(await codeOf(await reset(token, 'new horse canary'))).toBe('invalid_reset_token');
    expect((await signIn(fixture.browser(), 'pia@example.com')).status).toBe(200);
  });

  test('a mail that the server refuses does not change the response, and the log names no address', async () => {
    await fixture.addUser('quinn@example.com');
    fixture.mail.refuse(true);
    const response = await fixture
      .browser()
      .send('POST', '/api/auth/request-password-reset', { email: 'quinn@example.com' });
    expect(response.status).toBe(200);
    await eventually('the refusal in the log', () => fixture.output().includes('a mail was not sent'));
    fixture.mail.refuse(false);
    expect(fixture.output()).toContain('"event":"a mail was not sent","code":"EENVELOPE"');
  });

  test('without mail the answer is the same, and the operator makes a link', async () => {
    await fixture.addUser('rosa@example.com', false);
    const browser = openBrowser(fixture.plain);
    const asked = await browser.send('POST', '/api/auth/request-password-reset', {
      email: 'rosa@example.com',
    });
    expect(asked.status).toBe(200);
    const { url, expires_at: expiresAt } = await runCommand<{ url: string; expires_at: string }>(
      ['user', 'reset-link', 'ROSA@example.com'],
      { ...fixture.environment, PUBLIC_URL: 'https://gateway.example.com' },
    );
    expect(url).toMatch(/^https:\/\/gateway\.example\.com\/reset-password#token=[\w-]{43}$/);
    const lifeMs = Date.parse(expiresAt) - Date.now();
    expect(lifeMs).toBeGreaterThan(50 * 60_000);
    expect(lifeMs).toBeLessThanOrEqual(60 * 60_000);
    const token = url.split('token=')[1] ?? '';
    secrets.add(token);
    expect((await reset(token, password, browser)).status).toBe(200);
    expect((await signIn(browser, 'rosa@example.com')).status).toBe(200);
    const users = await runCommand<{ email: string }[]>(['user', 'list'], fixture.environment);
    expect(users.map(({ email }) => email)).toContain('rosa@example.com');
  });
});
