/** What /api/auth refuses: foreign pages, malformed bodies, routes that are not offered, and everything on a bad day. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createDatabase } from '../support/cluster.ts';
import { runCommand } from '../support/commands.ts';
import { eventually } from '../support/eventually.ts';
import { startGateway } from '../support/gateway.ts';
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
let browser: Browser;

beforeAll(async () => {
  fixture = await openSignInFixture();
  await fixture.addUser('ann@example.com');
  browser = await fixture.signedIn('ann@example.com');
});

afterAll(() => fixture.close());

const posts = [
  'sign-in/email',
  'sign-up/email',
  'sign-out',
  'revoke-session',
  'revoke-other-sessions',
  'change-password',
  'request-password-reset',
  'reset-password',
] as const;
const gets = ['get-session', 'list-sessions'] as const;

/** Bodies that each endpoint would take. */
const bodies: Readonly<Record<(typeof posts)[number], Readonly<Record<string, unknown>>>> = {
  'sign-in/email': { email: 'ann@example.com', password },
  'sign-up/email': { name: 'Bob', email: 'bob@example.com', password },
  'sign-out': {},
  'revoke-session': { id: '01890a5d-ac96-774b-bcce-b302099a8057' },
  'revoke-other-sessions': {},
  'change-password': { currentPassword: password, newPassword: 'another horse' },
  'request-password-reset': { email: 'ann@example.com' },
  'reset-password': { token: 'x'.repeat(43), newPassword: 'another horse' },
};

const noOrigin = { origin: '' };

describe('403 invalid_origin', () => {
  test.each(posts)('POST %s', async (route) => {
    for (const origin of [
      'https://evil.test',
      'null',
      'https://dashboard.test',
      'http://dashboard.test:8080',
      'http://dashboard.test.evil.test',
      fixture.open.origin,
      `${publicUrl}/`,
      '',
    ]) {
      const response = await browser.send('POST', `/api/auth/${route}`, bodies[route], { origin });
      expect([origin, response.status, await codeOf(response)]).toEqual([origin, 403, 'invalid_origin']);
      expect(response.headers.getSetCookie()).toEqual([]);
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    }
    expect((await browser.send('GET', '/api/console/me')).status).toBe(200);
  });

  test.each([...gets.map((route) => `/api/auth/${route}`), '/api/console/sign-in-options'])(
    'GET %s',
    async (path) => {
      for (const headers of [
        { origin: 'https://evil.test' },
        { origin: 'null' },
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
      ])
        expect(
          await codeOf(await browser.send('GET', path, undefined, headers as Record<string, string>)),
        ).toBe('invalid_origin');
      const answer = await browser.send('GET', path);
      expect([answer.status, answer.headers.get('x-content-type-options')]).toEqual([200, 'nosniff']);
    },
  );

  test('without PUBLIC_URL the address that the request was sent to counts', async () => {
    const own = openBrowser(fixture.plain);
    const { 'sign-in/email': body } = bodies;
    expect((await own.send('POST', '/api/auth/sign-in/email', body)).status).toBe(200);
    for (const headers of [{ origin: publicUrl }, noOrigin])
      expect(await codeOf(await own.send('POST', '/api/auth/sign-in/email', body, headers))).toBe(
        'invalid_origin',
      );
  });
});

describe('401 session_required', () => {
  test.each([
    ['GET', 'list-sessions'],
    ['POST', 'revoke-session'],
    ['POST', 'revoke-other-sessions'],
    ['POST', 'change-password'],
  ] as const)('%s %s', async (method, route) => {
    const body = method === 'GET' ? undefined : bodies[route as (typeof posts)[number]];
    const response = await fixture.browser().send(method, `/api/auth/${route}`, body);
    expect([response.status, await codeOf(response)]).toEqual([401, 'session_required']);
    expect(response.headers.get('cache-control')).toBe('no-store');
  });
});

describe('400', () => {
  test.each(posts)('POST %s refuses what it does not know', async (route) => {
    const send = (body: unknown) => browser.send('POST', `/api/auth/${route}`, body);
    const good = bodies[route];
    for (const [name, value] of [
      ['isOperator', true],
      ['callbackURL', 'https://evil.test'],
      ['rememberMe', false],
      ['userId', 'x'],
      ['constructor', {}],
    ] as const) {
      const response = await send({ ...good, [name]: value });
      expect(await response.json()).toMatchObject({ error: { code: 'unsupported_parameter', param: name } });
    }
    const polluted = await send(
      `{"__proto__": {"isOperator": true}${Object.keys(good).length > 0 ? ', ' : ''}${JSON.stringify(good).slice(1)}`,
    );
    expect(await polluted.json()).toMatchObject({
      error: { code: 'unsupported_parameter', param: '__proto__' },
    });
    for (const body of ['[]', 'null', '"x"', '{', '']) {
      // An empty body is fine for those who take no parameters.
      if (body === '' && Object.keys(good).length === 0) continue;
      expect(['invalid_request', 'invalid_json']).toContain(`${await codeOf(await send(body))}`);
    }
    const large = await send({ ...good, padding: 'x'.repeat(64 * 1024) });
    expect(await large.json()).toMatchObject({
      error: { code: 'invalid_request', message: 'The request body is larger than 64 KB.' },
    });
    const form = await browser.send('POST', `/api/auth/${route}`, 'email=ann%40example.com', {
      'content-type': 'application/x-www-form-urlencoded',
    });
    expect(await codeOf(form)).toBe('invalid_request');
  });

  const emails = [
    '',
    'ann',
    'ann@',
    '@example.com',
    'a b@example.com',
    'ann@example',
    `${'a'.repeat(250)}@example.com`,
  ];
  const texts: readonly unknown[] = [null, 7, true, [], {}, ['ann@example.com'], { toString: 'x' }];

  test.each([
    ['sign-in/email', 'email', [...emails, ...texts]],
    ['sign-in/email', 'password', [...texts, '', 'x'.repeat(129)]],
    ['sign-up/email', 'name', [...texts, 'x'.repeat(101), 'a\nb', 'a\u001b[31mb', 'a\u0000b']],
    ['sign-up/email', 'email', [...emails, ...texts, 'ann@example.com\r\nBcc: eve@example.com']],
    ['sign-up/email', 'password', [...texts, '', 'short12', 'x'.repeat(129), 'nul\u0000password']],
    ['revoke-session', 'id', [...texts, '', 'x', "' or true --", '01890a5d-ac96-774b-bcce-b302099a805']],
    ['change-password', 'newPassword', [...texts, 'short12', 'x'.repeat(129)]],
    ['change-password', 'currentPassword', [...texts, 'x'.repeat(129)]],
    ['request-password-reset', 'email', [...emails, ...texts]],
    ['reset-password', 'token', [...texts, 'x'.repeat(101)]],
    ['reset-password', 'newPassword', [...texts, '', 'short12', 'x'.repeat(129)]],
  ] as const)('POST %s refuses a bad %s, and repeats no secret', async (route, field, values) => {
    for (const value of values) {
      const response = await browser.send('POST', `/api/auth/${route}`, { ...bodies[route], [field]: value });
      const text = await response.text();
      expect([response.status, JSON.parse(text).error]).toEqual([
        400,
        expect.objectContaining({ code: 'invalid_parameter', param: field }),
      ]);
      const isTold = typeof value === 'number' || (typeof value === 'string' && value !== '');
      if (/password|token/i.test(field) && isTold) expect(text).not.toContain(`${value}`);
    }
    const { [field]: _, ...rest } = bodies[route] as Record<string, unknown>;
    const missing = await browser.send('POST', `/api/auth/${route}`, rest);
    expect(await missing.json()).toMatchObject({
      error: { code: 'missing_required_parameter', param: field },
    });
  });
});

test('refusals of the console are marked as JSON too', async () => {
  for (const path of ['me', 'operator/users', 'accounts/x/keys']) {
    const response = await fixture.browser().send('GET', `/api/console/${path}`);
    expect([path, response.status, response.headers.get('x-content-type-options')]).toEqual([
      path,
      401,
      'nosniff',
    ]);
  }
});

test('nothing else of better-auth is reachable', async () => {
  for (const [method, path] of [
    ['GET', 'ok'],
    ['GET', 'error'],
    ['GET', 'sign-in/email'],
    ['GET', 'sign-out'],
    ['POST', 'get-session'],
    ['POST', 'list-sessions'],
    ['POST', 'sign-in/social'],
    ['POST', 'update-user'],
    ['POST', 'delete-user'],
    ['POST', 'change-email'],
    ['POST', 'set-password'],
    ['POST', 'verify-password'],
    ['POST', 'revoke-sessions'],
    ['GET', 'reset-password/x'],
    ['GET', 'verify-email'],
    ['GET', 'callback/github'],
    ['GET', 'list-accounts'],
    ['POST', 'read-session-token'],
  ] as const) {
    const response = await browser.send(method, `/api/auth/${path}`, method === 'POST' ? {} : undefined);
    expect([path, response.status, await codeOf(response)]).toEqual([path, 404, 'not_found']);
  }
});

describe('on a bad day', () => {
  test('503 authentication_unavailable when the database is gone, for sign-in and for whoever is signed in', async () => {
    const database = await createDatabase();
    const environment = { DATABASE_URL: database.url };
    await runCommand(
      ['user', 'create', '--email', 'ann@example.com', '--password', password, '--admin'],
      environment,
    );
    const gateway = await startGateway(environment);
    const own = openBrowser(gateway);
    const { 'sign-in/email': body } = bodies;
    expect((await own.send('POST', '/api/auth/sign-in/email', body)).status).toBe(200);
    await database.close();
    for (const [method, path, sent] of [
      ['GET', '/api/console/me', undefined],
      ['GET', '/api/auth/get-session', undefined],
      ['GET', '/api/auth/list-sessions', undefined],
      ['POST', '/api/auth/sign-in/email', body],
      ['POST', '/api/auth/sign-out', {}],
      ['POST', '/api/auth/change-password', bodies['change-password']],
      ['POST', '/api/auth/reset-password', bodies['reset-password']],
    ] as const) {
      const response = await own.send(method, path, sent);
      expect([path, response.status, await codeOf(response)]).toEqual([
        path,
        503,
        'authentication_unavailable',
      ]);
      expect(response.headers.getSetCookie()).toEqual([]);
    }
    await gateway.stop();
  });

  test('an unforeseen error is a 500 with its cause in the log, and not a wrong password', async () => {
    const { id } = await fixture.addUser('broken@example.com');
    await fixture.database.sql`update user_credentials set password = 'no hash' where user_id = ${id}`;
    const response = await fixture
      .browser()
      .send('POST', '/api/auth/sign-in/email', { email: 'broken@example.com', password });
    expect([response.status, await codeOf(response)]).toEqual([500, 'internal_error']);
    const requestId = response.headers.get('x-service-request-id');
    const lines = () =>
      fixture
        .output()
        .split('\n')
        .filter((line) => line.includes(`"${requestId}"`));
    await eventually('both lines of the log', () => lines().length >= 2);
    expect(lines().join('\n')).toMatch(/"event":"request failed".*"code":"internal_error","error":\{"name":/);
    expect(lines().join('\n')).not.toContain(password);
  });
});
