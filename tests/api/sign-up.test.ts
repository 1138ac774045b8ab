/** Signing up where anyone may: the address is verified, credit is given once and within bounds, and then everything works. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import type { Me, Overview } from '../../src/console/contract.ts';
import { type ConsoleServices, consoleRoutes } from '../../src/console/routes.ts';
import { newId } from '../../src/lib/ids.ts';
import { createInvitation } from '../../src/people/invitations.ts';
import { createResetToken } from '../../src/people/reset-link.ts';
import { dumpOf } from '../support/chat-fixture.ts';
import { runCommand } from '../support/commands.ts';
import { eventually } from '../support/eventually.ts';
import { textOf } from '../support/mail-server.ts';
import { type Browser, codeOf, password } from '../support/sign-in-fixture.ts';
import {
  type Newcomer,
  openSignUpFixture,
  perDay,
  perNetwork,
  type SignUpFixture,
} from '../support/sign-up-fixture.ts';

let fixture: SignUpFixture;
/** What must not appear in any log or, unless hashed, in any table. */
const secrets = new Set([password]);

beforeAll(async () => {
  fixture = await openSignUpFixture();
});

/** Each test has a day of its own. */
beforeEach(() => fixture.endDay());

afterAll(async () => {
  const audit = await runCommand<{ holds: boolean }>(['ledger', 'audit', '--full'], fixture.environment);
  const log = fixture.output();
  const tables = await dumpOf(fixture.database);
  await fixture.close();
  expect(audit.holds).toBe(true);
  for (const secret of secrets) {
    expect(log).not.toContain(secret);
    expect(tables).not.toContain(secret);
    // Bytes are dumped as hexadecimal digits.
    expect(tables).not.toContain(Buffer.from(secret).toString('hex'));
  }
  expect(log).not.toMatch(/@example\.com/);
});

const count = (total: number) => Array.from({ length: total }, (_, index) => index);
const signUp = (browser: Browser, email: string) =>
  browser.send('POST', '/api/auth/sign-up/email', { name: '', email, password });
const verify = (browser: Browser, token: string) => {
  secrets.add(token);
  return browser.send('POST', '/api/auth/verify-email', { token });
};
const resend = (browser: Browser) => browser.send('POST', '/api/auth/send-verification-email', {});
const me = async (browser: Browser) => (await (await browser.send('GET', '/api/console/me')).json()) as Me;
const overview = async (browser: Browser, account: string) => {
  const response = await browser.send('GET', `/api/console/accounts/${account}/overview`);
  return (await response.json()) as Overview;
};
const newKey = (browser: Browser, account: string) =>
  browser.send('POST', `/api/console/accounts/${account}/keys`, { name: 'First' });

async function mailedToken(email: string): Promise<string> {
  const mail = await fixture.mail.next(email);
  const [, token = ''] = /verify-email#token=([\w-]{43})\b/.exec(textOf(mail)) ?? [];
  expect(token).not.toBe('');
  return token;
}

const creditsOf = async (account: string) =>
  await fixture.database.sql`
    select kind, amount, memo from ledger_entries where account_id = ${account} order by number`;
const welcomeCredit = { kind: 'credit', amount: '5.000000000000', memo: 'Welcome credit' };

/** How many of these accounts got credit. */
async function countGiven(accounts: readonly string[]): Promise<number> {
  const entries = await Promise.all(accounts.map(creditsOf));
  for (const entry of entries.flat()) expect(entry).toEqual(welcomeCredit);
  expect(entries.every(({ length }) => length <= 1)).toBe(true);
  return entries.flat().length;
}

/** Everyone verifies at the same moment, half of them at each gateway. */
async function verifyAtOnce(newcomers: readonly Newcomer[]): Promise<void> {
  const links = await Promise.all(newcomers.map(({ link }) => link()));
  const responses = await Promise.all(
    newcomers.map(({ browsers }, index) => verify(browsers[index % 2 === 0 ? 0 : 1], links[index] ?? '')),
  );
  expect(responses.map(({ status }) => status)).toEqual(newcomers.map(() => 200));
}

/** One after the other: a gateway lets only so many wait to sign in. */
async function newcomers(total: number, addressOf: (index: number) => string | undefined) {
  const people: Newcomer[] = [];
  for (const index of count(total)) people.push(await fixture.newcomer(addressOf(index)));
  return people;
}

describe('where mail is configured', () => {
  test('a new customer verifies the address, gets credit, and makes a key', async () => {
    const [here, there] = fixture.mailing;
    const browser = fixture.browser(here);
    const response = await signUp(browser, 'ann@example.com');
    expect(response.status).toBe(200);
    const { user, accounts } = await me(browser);
    expect(user.must_verify_email).toBe(true);
    const account = accounts[0]?.id ?? '';
    expect(await overview(browser, account)).toMatchObject({
      balance: '0.000000000000',
      welcome: { state: 'pending', amount: '5.000000000000', expires_at: null },
    });
    expect(await codeOf(await newKey(browser, account))).toBe('email_verification_required');

    const token = await mailedToken('ann@example.com');
    const elsewhere = fixture.browser(there);
    for (const [name, value] of browser.cookies) elsewhere.cookies.set(name, value);
    expect((await verify(elsewhere, token)).status).toBe(200);

    expect((await me(browser)).user.must_verify_email).toBe(false);
    const { balance, welcome } = await overview(browser, account);
    expect(balance).toBe('5.000000000000');
    expect(welcome).toMatchObject({ state: 'given', amount: '5.000000000000' });
    const left = welcome?.state === 'given' ? Date.parse(welcome.expires_at ?? '') - Date.now() : 0;
    expect(Math.round(left / 86_400_000)).toBe(90);
    const [grant] = await fixture.database.sql`
      select category, priority, expires_at from grants where account_id = ${account} and number = 1`;
    expect(grant).toEqual({
      ...{ category: 'promotional', priority: 50 },
      expires_at: new Date(welcome?.state === 'given' ? (welcome.expires_at ?? '') : ''),
    });
    expect((await newKey(browser, account)).status).toBe(200);
    expect(await codeOf(await verify(browser, token))).toBe('invalid_verification_token');
    expect(await creditsOf(account)).toEqual([welcomeCredit]);
    const changes = await fixture.database.sql`
      select action from audit_log where actor_user_id = ${user.id} order by id`;
    expect(changes.map(({ action }: { action: string }) => action)).toEqual([
      'sign_up',
      'verify_email',
      'get_welcome_grant',
      'create_key',
    ]);
  });

  test('until then, nothing can be changed, and everything can be seen', async () => {
    const { browsers, account } = await fixture.newcomer();
    const [browser] = browsers;
    const services = { deriveKey: () => Buffer.alloc(32) } as unknown as ConsoleServices;
    const routes = Object.entries(consoleRoutes(services, () => Promise.resolve(''))).flatMap(
      ([path, methods]) =>
        Object.keys(methods).map((method) => ({
          method,
          path: path.replaceAll(/:account\b/g, account).replaceAll(/:\w+/g, newId()),
        })),
    );
    const changes = routes.filter(({ method }) => method !== 'GET');
    expect(changes.length).toBeGreaterThan(40);
    for (const { method, path } of changes)
      expect([path, await codeOf(await browser.send(method, path, {}))]).toEqual([
        path,
        'email_verification_required',
      ]);
    const decision = await browser.send('POST', '/api/decisions/run', {});
    expect([decision.status, await decision.text()]).toEqual([401, expect.stringContaining('Verify your')]);
    for (const page of ['overview', 'keys', 'models', 'payments', 'ledger'])
      expect((await browser.send('GET', `/api/console/accounts/${account}/${page}`)).status).toBe(200);
  });

  test('a link is for its user, signed in, for a day, and not for choosing a password', async () => {
    const ann = await fixture.newcomer();
    const eve = await fixture.newcomer();
    const [browser] = ann.browsers;
    const token = await ann.link();
    const stranger = fixture.browser(fixture.mailing[0]);
    expect(await codeOf(await verify(stranger, token))).toBe('session_required');
    expect(await codeOf(await verify(eve.browsers[0], token))).toBe('invalid_verification_token');
    expect(await codeOf(await verify(browser, `${token.slice(1)}x`))).toBe('invalid_verification_token');
    const newPassword = 'another password';
    const reset = await stranger.send('POST', '/api/auth/reset-password', { token, newPassword });
    expect(await codeOf(reset)).toBe('invalid_reset_token');
    const { sql } = fixture.database;
    const [row] = await sql`
      select extract(epoch from expires_at - created_at)::int as seconds from email_verifications
      where user_id = ${ann.id}`;
    expect(row?.seconds).toBe(24 * 60 * 60);
    await sql`update email_verifications set expires_at = now() where user_id = ${ann.id}`;
    expect(await codeOf(await verify(browser, token))).toBe('invalid_verification_token');
    expect((await me(browser)).user.must_verify_email).toBe(true);
    expect(await countGiven([ann.account, eve.account])).toBe(0);
  });

  test('of two links that are opened many times at once, one gives credit, once', async () => {
    const { browsers, account, link } = await fixture.newcomer();
    const links = [await link(), await link()];
    const clicks = count(12).map((index) =>
      verify(browsers[index % 2 === 0 ? 0 : 1], links[index % 3 === 0 ? 0 : 1] ?? ''),
    );
    const codes = await Promise.all((await Promise.all(clicks)).map(codeOf));
    expect(codes.toSorted()).toEqual([200, ...count(11).map(() => 'invalid_verification_token')]);
    expect(await countGiven([account])).toBe(1);
  });

  test('a reset link and a mailed invitation verify the address, too', async () => {
    const ann = await fixture.newcomer();
    for (const _ of count(2)) {
      const { token } = await createResetToken(fixture.database.sql, ann.id);
      secrets.add(token);
      const body = { token, newPassword: password };
      expect((await ann.browsers[0].send('POST', '/api/auth/reset-password', body)).status).toBe(200);
    }
    const verified = await fixture.database.sql`
      select 1 from audit_log where actor_user_id = ${ann.id} and action = 'verify_email'`;
    expect(verified).toHaveLength(1);
    const bob = await fixture.newcomer();
    const actor = { door: 'dashboard', userId: ann.id, address: null } as const;
    const invitation = { accountId: ann.account, role: 'member', email: bob.email } as const;
    const invited = await fixture.database.sql.begin((transaction) =>
      createInvitation(transaction, actor, invitation),
    );
    secrets.add(invited.token);
    const [browser] = bob.browsers;
    const late = await bob.link();
    const accepted = await browser.send('POST', '/api/auth/invitation/accept', { token: invited.token });
    expect(accepted.status).toBe(200);
    expect((await me(browser)).user.must_verify_email).toBe(false);
    expect(await codeOf(await verify(browser, late))).toBe('invalid_verification_token');
    expect(await countGiven([ann.account, bob.account])).toBe(2);
  });

  test('the mail can be sent again, a few times', async () => {
    const { browsers, email } = await fixture.newcomer();
    const [browser] = browsers;
    expect((await resend(browser)).status).toBe(200);
    const token = await mailedToken(email);
    for (const _ of count(4)) expect((await resend(browser)).status).toBe(200);
    expect(await codeOf(await resend(browser))).toBe('too_many_attempts');
    expect((await verify(browser, token)).status).toBe(200);
    // Nothing is sent from now on, so there is nothing to limit.
    expect((await resend(browser)).status).toBe(200);
    expect(await codeOf(await resend(fixture.browser(fixture.mailing[0])))).toBe('session_required');
  });
});

test('too many mails keep nobody from signing up, and the mail can be sent later', async () => {
  const { sql } = fixture.database;
  // As if so many mails had been sent that none may follow for an hour.
  await sql`update sign_in_attempts set theoretical_arrival_at = now() + interval '2 hours'`;
  const browser = fixture.browser(fixture.mailing[0]);
  expect((await signUp(browser, 'crowd@example.com')).status).toBe(200);
  expect(await codeOf(await resend(browser))).toBe('too_many_attempts');
  expect(fixture.mail.mails.filter(({ to }) => to === 'crowd@example.com')).toEqual([]);
  await sql`delete from sign_in_attempts`;
  expect((await resend(browser)).status).toBe(200);
  expect((await verify(browser, await mailedToken('crowd@example.com'))).status).toBe(200);
});

test('a network has few mails, first ones and others together, and other networks are not affected', async () => {
  await fixture.database.sql`delete from sign_in_attempts`;
  const address = '203.0.113.77';
  const crowd = await newcomers(3, () => address);
  const outcomes: (string | number)[] = [];
  for (const { browsers } of crowd)
    for (const _ of count(4)) outcomes.push(await codeOf(await resend(browsers[0])));
  expect(outcomes).toEqual(count(12).map(() => 200));
  expect(await codeOf(await resend(crowd[0]?.browsers[0] as Browser))).toBe('too_many_attempts');
  const here = fixture.browser(fixture.mailing[0], address);
  expect((await signUp(here, 'late@example.com')).status).toBe(200);
  expect((await signUp(fixture.browser(fixture.mailing[0]), 'far@example.com')).status).toBe(200);
  await mailedToken('far@example.com');
  expect(fixture.mail.mails.filter(({ to }) => to === 'late@example.com')).toEqual([]);
});

test('variants of an address that is not verified get few reset links together', async () => {
  const { sql } = fixture.database;
  const people = await newcomers(2, () => undefined);
  const box = crypto.randomUUID();
  const emails = people.map((_, index) => `${box}+${index}@example.com`);
  for (const [index, { id }] of people.entries())
    await sql`update users set email = ${emails[index] ?? ''} where id = ${id}`;
  const ask = (email = '') =>
    fixture.browser(fixture.mailing[0]).send('POST', '/api/auth/request-password-reset', { email });
  const sentTo = (start = '') => fixture.mail.mails.filter(({ to }) => to.startsWith(start)).length;
  for (const index of count(5)) {
    await ask(emails[index % 2]);
    await eventually('the link', () => sentTo(box) === index + 1);
  }
  expect((await ask(emails[1])).status).toBe(200);
  // An address that is verified has its own, whatever others asked for.
  await sql`update users set email_verified = true where id = ${people[0]?.id ?? ''}`;
  await ask(emails[0]);
  await eventually('one more', () => sentTo(emails[0]) === 4);
  expect(sentTo(emails[1])).toBe(2);
});

describe('links to join an account', () => {
  async function openLink(account: string, userId: string): Promise<string> {
    const actor = { door: 'dashboard', userId, address: null } as const;
    const { token } = await fixture.database.sql.begin((transaction) =>
      createInvitation(transaction, actor, { accountId: account, role: 'member', email: null }),
    );
    secrets.add(token);
    return token;
  }

  test('do not spare whoever creates a login from verifying the address', async () => {
    await fixture.database.sql`delete from sign_in_attempts`;
    const { id, account } = await fixture.newcomer();
    const join = async (gateway: SignUpFixture['unmailed'], email: string) => {
      const browser = fixture.browser(gateway);
      const token = await openLink(account, id);
      const body = { token, name: '', email, password };
      expect((await browser.send('POST', '/api/auth/invitation/sign-up', body)).status).toBe(200);
      return browser;
    };
    const browser = await join(fixture.mailing[0], 'guest@example.com');
    expect((await me(browser)).user.must_verify_email).toBe(true);
    expect((await verify(browser, await mailedToken('guest@example.com'))).status).toBe(200);
    expect((await me(browser)).user.must_verify_email).toBe(false);
    // Where no mail can be sent, nobody has to.
    const plain = await join(fixture.unmailed, 'plain-guest@example.com');
    expect((await me(plain)).user.must_verify_email).toBe(false);
  });

  test('are not for those who still have to verify, and stay valid', async () => {
    const { id, account } = await fixture.newcomer();
    const eve = await fixture.newcomer();
    const token = await openLink(account, id);
    const accept = () => eve.browsers[0].send('POST', '/api/auth/invitation/accept', { token });
    expect(await codeOf(await accept())).toBe('email_verification_required');
    expect((await verify(eve.browsers[0], await eve.link())).status).toBe(200);
    expect((await accept()).status).toBe(200);
  });
});

describe('what is given in a day is bounded', () => {
  test('for a network, when twenty ask at once at two gateways', async () => {
    const crowd = await newcomers(20, () => '203.0.113.9');
    await verifyAtOnce(crowd);
    expect(await countGiven(crowd.map(({ account }) => account))).toBe(perNetwork);
    const states = await Promise.all(crowd.map(({ browsers, account }) => overview(browsers[0], account)));
    expect(states.filter(({ welcome }) => welcome?.state === 'refused')).toHaveLength(20 - perNetwork);
    const [someone] = crowd;
    expect((await newKey(someone?.browsers[0] as Browser, someone?.account ?? '')).status).toBe(200);
  });

  test('for the networks of one IPv6 site together', async () => {
    const crowd = await newcomers(10, (index) => `2001:db8:7:${index.toString(16)}::1`);
    await verifyAtOnce(crowd);
    expect(await countGiven(crowd.map(({ account }) => account))).toBe(2 * perNetwork);
  });

  test('in all, and again the next day', async () => {
    const crowd = await newcomers(20, () => undefined);
    await verifyAtOnce(crowd);
    expect(await countGiven(crowd.map(({ account }) => account))).toBe(perDay);
    const late = await fixture.newcomer();
    await verifyAtOnce([late]);
    expect(await countGiven([late.account])).toBe(0);
    await fixture.endDay();
    const next = await fixture.newcomer();
    await verifyAtOnce([next]);
    expect(await countGiven([next.account])).toBe(1);
    // Who was refused once is not given anything later.
    expect((await overview(late.browsers[0], late.account)).welcome).toEqual({ state: 'refused' });
  });
});

describe('where mail is not configured', () => {
  test('credit is given with the sign-up, to so many of a network that sign up at once', async () => {
    const total = perNetwork + 2;
    const browsers = count(total).map(() => fixture.browser(fixture.unmailed, '198.51.100.7'));
    const responses = await Promise.all(
      browsers.map((browser, index) => signUp(browser, `plain-${index}@example.com`)),
    );
    expect(responses.map(({ status }) => status)).toEqual(browsers.map(() => 200));
    const people = await Promise.all(browsers.map(me));
    expect(people.map(({ user }) => user.must_verify_email)).toEqual(browsers.map(() => false));
    const accounts = people.map((person) => person.accounts[0]?.id ?? '');
    expect(await countGiven(accounts)).toBe(perNetwork);
    const keys = await Promise.all(browsers.map((browser, index) => newKey(browser, accounts[index] ?? '')));
    expect(keys.map(({ status }) => status)).toEqual(browsers.map(() => 200));
  });

  test('those who had to verify their address no longer have to', async () => {
    const { browsers, account } = await fixture.newcomer();
    const browser = fixture.browser(fixture.unmailed);
    for (const [name, value] of browsers[0].cookies) browser.cookies.set(name, value);
    expect((await newKey(browser, account)).status).toBe(200);
  });
});

test('people from before are not asked to verify anything', async () => {
  const { id, browsers, account } = await fixture.newcomer();
  await fixture.database.sql`update users set must_verify_email = default where id = ${id}`;
  expect((await me(browsers[0])).user.must_verify_email).toBe(false);
  expect((await newKey(browsers[0], account)).status).toBe(200);
});
