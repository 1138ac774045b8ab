/** What someone who knows an old password, was an operator once, or was first to use an address must not keep or get. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { TransactionSQL } from 'bun';
import type { OperatorUser, OperatorUsers, ResetLink } from '../../src/console/operator-contract.ts';
import { createResetToken, replacePassword } from '../../src/people/reset-link.ts';
import { changeKnownPassword } from '../../src/people/sign-in-store.ts';
import { findPasswordHash, lockUsers } from '../../src/people/user-store.ts';
import { eventually } from '../support/eventually.ts';
import { textOf } from '../support/mail-server.ts';
import {
  type Browser,
  codeOf,
  openSignInFixture,
  password,
  type SignInFixture,
} from '../support/sign-in-fixture.ts';

let fixture: SignInFixture;
let newHash: string;

beforeAll(async () => {
  fixture = await openSignInFixture();
  newHash = await Bun.password.hash('a new horse', { algorithm: 'argon2id', memoryCost: 8, timeCost: 1 });
});

afterAll(() => fixture.close());

const tryPassword = async (email: string, secret: string, browser = fixture.browser()) =>
  await codeOf(await browser.send('POST', '/api/auth/sign-in/email', { email, password: secret }));
const reset = async (link: string, newPassword = 'a new horse') =>
  await codeOf(
    await fixture.browser().send('POST', '/api/auth/reset-password', {
      token: link.split('token=').at(-1),
      newPassword,
    }),
  );
const isIn = async (browser: Browser) => (await browser.send('GET', '/api/console/me')).status === 200;
const sessionsOf = async (userId: string) =>
  (await fixture.database.sql`select 1 from sessions where user_id = ${userId}`).length;

/** Waits until another transaction waits for a lock of this one. */
async function someoneWaits(transaction: TransactionSQL): Promise<void> {
  const waiting = () => transaction`
    select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await eventually('someone who waits', async () => (await waiting()).length > 0);
}

async function operatorNamed(email: string): Promise<{ id: string; browser: Browser }> {
  const { id } = await fixture.addUser(email);
  await fixture.database.sql`update users set is_operator = true where id = ${id}`;
  return { id, browser: await fixture.signedIn(email) };
}

async function ask<Answer>(browser: Browser, method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await browser.send(method, `/api/console/operator/${path}`, body);
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
  return JSON.parse(text) as Answer;
}

describe('whoever signs in with the old password while it is replaced', () => {
  test('gets no session when theirs begins after the others were ended', async () => {
    const { id, email } = await fixture.addUser('late@example.com');
    const answer = await fixture.database.sql.begin(async (transaction) => {
      // A new session is recorded with the user, and so waits here, after the password was found right.
      await transaction`select 1 from users where id = ${id} for update`;
      const signingIn = tryPassword(email, password);
      await someoneWaits(transaction);
      await replacePassword(transaction, { door: 'dashboard', userId: id, address: null }, newHash);
      return { signingIn };
    });
    expect(await answer.signingIn).toBe('invalid_credentials');
    expect(await sessionsOf(id)).toBe(0);
    expect(await tryPassword(email, 'a new horse')).toBe(200);
  });

  test('gets none when theirs begins before the new password is in force', async () => {
    const { id, email } = await fixture.addUser('between@example.com');
    const answer = await fixture.database.sql.begin(async (transaction) => {
      await replacePassword(transaction, { door: 'dashboard', userId: id, address: null }, newHash);
      const signingIn = tryPassword(email, password);
      await Promise.race([signingIn, someoneWaits(transaction)]);
      return { signingIn };
    });
    expect(await answer.signingIn).toBe('invalid_credentials');
    expect(await sessionsOf(id)).toBe(0);
  });

  test('has none left when many try while a link is used', async () => {
    const { id, email } = await fixture.addUser('crowd@example.com');
    const { token } = await createResetToken(fixture.database.sql, id);
    const browsers = Array.from({ length: 12 }, () => fixture.browser());
    const outcomes = await Promise.all([
      reset(token),
      ...browsers.map((browser) => tryPassword(email, password, browser)),
    ]);
    expect(outcomes[0]).toBe(200);
    expect(await Promise.all(browsers.map(isIn))).toEqual(browsers.map(() => false));
    expect(await sessionsOf(id)).toBe(0);
  });
});

describe('of two who change the password at once', () => {
  test('one succeeds, and the other loses its session', async () => {
    const { email } = await fixture.addUser('twice@example.com');
    const browsers = [await fixture.signedIn(email), await fixture.signedIn(email)];
    const outcomes = await Promise.all(
      browsers.map(async (browser, index) => {
        const body = { currentPassword: password, newPassword: `horse number ${index}` };
        return await codeOf(await browser.send('POST', '/api/auth/change-password', body));
      }),
    );
    expect(outcomes.toSorted()).toEqual([200, 'session_required']);
    const winner = outcomes.indexOf(200);
    expect(await Promise.all(browsers.map(isIn))).toEqual([winner === 0, winner === 1]);
    expect(await tryPassword(email, `horse number ${winner}`)).toBe(200);
    expect(await tryPassword(email, `horse number ${1 - winner}`)).toBe('invalid_credentials');
  });

  test('neither does with a password, or from a session, that is gone when it comes to it', async () => {
    const { sql } = fixture.database;
    const { id, email } = await fixture.addUser('stale@example.com');
    await fixture.signedIn(email);
    const [session] = await sql<[{ id: string }]>`select id from sessions where user_id = ${id}`;
    const hash = (await findPasswordHash(sql, id)) ?? '';
    const change = (sessionId: string, currentHash: string) =>
      changeKnownPassword(sql, { userId: id, sessionId }, currentHash, newHash, null).then(
        () => 'changed',
        (error: { code: string }) => error.code,
      );
    expect(await change(session.id, newHash)).toBe('invalid_credentials');
    expect(await change(crypto.randomUUID(), hash)).toBe('session_required');
    expect(await tryPassword(email, password)).toBe(200);
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => change(session.id, hash)));
    expect(outcomes.toSorted()).toEqual(['changed', ...Array.from({ length: 5 }, () => 'session_required')]);
  });
});

describe('an admin token that an operator made', () => {
  const draft = (days: number) => ({
    name: 'Made by an operator',
    scopes: ['read'],
    expires_at: new Date(Date.now() + days * 24 * 60 * 60 * 1000).toISOString(),
  });
  const statesOf = async (userId: string) => {
    const rows = await fixture.database.sql<{ is_revoked: boolean }[]>`
      select revoked_at is not null as is_revoked from admin_tokens where created_by = ${userId}`;
    return rows.map((row) => row.is_revoked);
  };

  test('ends when their password is reset or changed, and nobody else’s does', async () => {
    const other = await operatorNamed('other-maker@example.com');
    await ask(other.browser, 'POST', 'tokens', draft(7));
    const ends = {
      reset: async (id: string) =>
        expect(await reset((await createResetToken(fixture.database.sql, id)).token)).toBe(200),
      changed: async (_: string, browser: Browser) => {
        const body = { currentPassword: password, newPassword: 'a new horse' };
        expect(await codeOf(await browser.send('POST', '/api/auth/change-password', body))).toBe(200);
      },
    };
    for (const [name, end] of Object.entries(ends)) {
      const { id, browser } = await operatorNamed(`maker-${name}@example.com`);
      await ask(browser, 'POST', 'tokens', draft(7));
      await end(id, browser);
      expect([name, await statesOf(id)]).toEqual([name, [true]]);
    }
    expect(await statesOf(other.id)).toEqual([false]);
  });

  test('is not made from a session that ends at that moment', async () => {
    const { id, browser } = await operatorNamed('late-maker@example.com');
    const { making } = await fixture.database.sql.begin(async (transaction) => {
      await lockUsers(transaction, id);
      const sending = browser.send('POST', '/api/console/operator/tokens', draft(7));
      await someoneWaits(transaction);
      await replacePassword(transaction, { door: 'dashboard', userId: id, address: null }, newHash);
      return { making: sending };
    });
    expect(await codeOf(await making)).toBe('session_required');
    expect(await statesOf(id)).toEqual([]);
  });

  test('expires within a year', async () => {
    const { browser } = await operatorNamed('far-maker@example.com');
    await ask(browser, 'POST', 'tokens', draft(365));
    const response = await browser.send('POST', '/api/console/operator/tokens', draft(367));
    expect(await codeOf(response)).toBe('invalid_parameter');
  });
});

describe('a link that an operator made', () => {
  const linkBy = async (browser: Browser, userId: string) =>
    (await ask<ResetLink>(browser, 'POST', `users/${userId}/reset-link`, {})).reset_url;

  test('ends when they are dismissed, when another signs them out, and when their password is replaced', async () => {
    const { id: victim } = await fixture.addUser('victim@example.com');
    const boss = await operatorNamed('boss@example.com');
    const bossLink = await linkBy(boss.browser, victim);
    const ends = {
      dismissed: (id: string) => ask(boss.browser, 'PATCH', `users/${id}`, { is_operator: false }),
      'signed-out': (id: string) => ask(boss.browser, 'POST', `users/${id}/sign-out`, {}),
      reset: async (id: string) =>
        expect(await reset((await createResetToken(fixture.database.sql, id)).token)).toBe(200),
    };
    for (const [name, end] of Object.entries(ends)) {
      const { id, browser } = await operatorNamed(`${name}@example.com`);
      const links = [await linkBy(browser, victim), await linkBy(browser, boss.id)];
      const invited = await ask<ResetLink>(browser, 'POST', 'users', {
        email: `invited-by-${name}@example.com`,
        is_operator: true,
      });
      await end(id);
      for (const link of [...links, invited.reset_url])
        expect([name, await reset(link)]).toEqual([name, 'invalid_reset_token']);
    }
    // Nobody else's links end.
    expect(await reset(bossLink)).toBe(200);
  });

  test('is not made by someone who is dismissed at that moment', async () => {
    const { id: victim } = await fixture.addUser('target@example.com');
    const { id, browser } = await operatorNamed('leaving@example.com');
    const { making } = await fixture.database.sql.begin(async (transaction) => {
      await transaction`update users set is_operator = false where id = ${id}`;
      const sending = browser.send('POST', `/api/console/operator/users/${victim}/reset-link`, {});
      await someoneWaits(transaction);
      return { making: sending };
    });
    expect(await codeOf(await making)).toBe('permission_denied');
    const links = await fixture.database.sql`select 1 from verifications where value = ${victim}`;
    expect(links).toHaveLength(0);
  });
});

describe('whoever comes first with an address', () => {
  const signUp = async (email: string) => {
    const browser = fixture.browser();
    const body = { name: 'Somebody', email, password };
    expect((await browser.send('POST', '/api/auth/sign-up/email', body)).status).toBe(200);
    return browser;
  };

  test('gets no rights by it, unless an operator says that they know who it is', async () => {
    const { browser } = await operatorNamed('careful@example.com');
    const owned = await signUp('owner@example.com');
    const { accounts } = (await (await owned.send('GET', '/api/console/me')).json()) as {
      accounts: [{ id: string }];
    };
    await signUp('first@example.com');
    const find = async () =>
      (await ask<OperatorUsers>(browser, 'GET', 'users?search=first@example.com')).data[0] as OperatorUser;
    const { id, email_verified: isVerified } = await find();
    expect(isVerified).toBe(false);
    const membership = { account_id: accounts[0].id, role: 'owner' };
    for (const [method, path, body] of [
      ['POST', `users/${id}/memberships`, membership],
      ['PATCH', `users/${id}`, { is_operator: true }],
    ] as const) {
      for (const answer of [{}, { confirm_unverified: false }]) {
        const response = await browser.send(method, `/api/console/operator/${path}`, { ...body, ...answer });
        expect([response.status, await response.json()]).toMatchObject([
          400,
          { error: { code: 'email_not_verified', param: 'confirm_unverified' } },
        ]);
      }
    }
    expect(await find()).toMatchObject({ is_operator: false, accounts: [{ name: 'Somebody' }] });
    const confirmed = { ...membership, confirm_unverified: true };
    expect(
      (await ask<OperatorUser>(browser, 'POST', `users/${id}/memberships`, confirmed)).accounts,
    ).toHaveLength(2);
    const change = { is_operator: true, confirm_unverified: true };
    expect(await ask<OperatorUser>(browser, 'PATCH', `users/${id}`, change)).toMatchObject({
      is_operator: true,
      email_verified: false,
    });
    // Taking rights away needs no such thing.
    await ask(browser, 'PATCH', `users/${id}`, { is_operator: false });
  });

  test.each(['mail', 'operator'] as const)(
    'is out when whom the address belongs to uses a link by %s, and it is verified then',
    async (way) => {
      const { browser } = await operatorNamed(`helper-by-${way}@example.com`);
      const email = `taken-by-${way}@example.com`;
      const stranger = await signUp(email);
      const find = async () => (await ask<OperatorUsers>(browser, 'GET', `users?search=${email}`)).data[0];
      const linkBy = {
        mail: async () => {
          // The first mail, to whoever signed up, verifies the address only for those who know the password.
          await fixture.mail.next(email);
          await fixture.browser().send('POST', '/api/auth/request-password-reset', { email });
          return /#token=[\w-]{43}/.exec(textOf(await fixture.mail.next(email)))?.[0] ?? '';
        },
        operator: async () => {
          const path = `users/${(await find())?.id}/reset-link`;
          return (await ask<ResetLink>(browser, 'POST', path, {})).reset_url;
        },
      };
      const link = await linkBy[way]();
      expect([await isIn(stranger), (await find())?.email_verified]).toEqual([true, false]);
      expect(await reset(link)).toBe(200);
      expect([await isIn(stranger), (await find())?.email_verified]).toEqual([false, true]);
    },
  );
});
