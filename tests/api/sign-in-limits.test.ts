/** How often something may be tried at /api/auth, by whom and for whom. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { deriveKeys } from '../../src/lib/derived-keys.ts';
import { type Attempts, type Limit, openAttempts } from '../../src/people/attempts.ts';
import { invitationMailLimits } from '../../src/people/invitations.ts';
import { createResetToken } from '../../src/people/reset-link.ts';
import {
  guessLimits,
  mailboxOf,
  networkLimits,
  resetRequestLimits,
  signUpLimits,
  verificationMailLimits,
} from '../../src/people/sign-in-limits.ts';
import {
  type Browser,
  codeOf,
  openBrowser,
  openSignInFixture,
  password,
  type SignInFixture,
} from '../support/sign-in-fixture.ts';

let fixture: SignInFixture;
/** The counters of the gateways. */
let attempts: Attempts;

beforeAll(async () => {
  fixture = await openSignInFixture();
  const [{ secret }] = (await fixture.database.sql`select secret from gateway_secret`) as [
    { secret: string },
  ];
  attempts = openAttempts(fixture.database.sql, deriveKeys(secret)('sign-in attempts'));
});

afterAll(() => fixture.close());

const tryPassword = async (browser: Browser, email: string, secret = 'wrong password') =>
  await codeOf(await browser.send('POST', '/api/auth/sign-in/email', { email, password: secret }));

async function times<Result>(count: number, run: (index: number) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let index = 0; index < count; index++) results.push(await run(index));
  return results;
}

/** Uses up a limit without the work that it guards. */
const exhaust = (limit: Limit, count = limit.max) => times(count, () => attempts.take([limit]));

const alone = (network: string) => ({ network, sites: [] });

/** The limit of this name, for the widest network that it counts. */
function limitOf(limits: readonly Limit[], scope: string): Limit {
  const limit = limits.findLast((candidate) => candidate.scope === scope);
  if (limit === undefined) throw new Error(`Nothing limits ${scope}.`);
  return limit;
}

const guesses = (count: number) => Array.from({ length: count }, () => 'invalid_credentials');

describe('wrong passwords', () => {
  test('ten from one network for one address, then 429 with Retry-After, also for the right one', async () => {
    await fixture.addUser('ann@example.com');
    const browser = fixture.browser();
    expect(await times(10, () => tryPassword(browser, 'ann@example.com'))).toEqual(guesses(10));
    const refused = await browser.send('POST', '/api/auth/sign-in/email', {
      email: 'ANN@example.com',
      password,
    });
    expect(refused.status).toBe(429);
    expect(await codeOf(refused)).toBe('too_many_attempts');
    const waitSeconds = Number(refused.headers.get('retry-after'));
    expect(waitSeconds).toBeGreaterThan(60);
    expect(waitSeconds).toBeLessThanOrEqual(90);
    // Neither another address from there nor the same one from elsewhere is affected.
    await fixture.addUser('bob@example.com');
    expect(await tryPassword(browser, 'bob@example.com', password)).toBe(200);
    expect(await tryPassword(fixture.browser(), 'ann@example.com', password)).toBe(200);
  });

  test('an unknown address is limited in the same way', async () => {
    const browser = fixture.browser();
    await exhaust(guessLimits('nobody@example.com', '10.9.9.9/32', false)[0] as Limit, 9);
    const same = fixture.browser('10.9.9.9');
    expect(await tryPassword(same, 'nobody@example.com')).toBe('invalid_credentials');
    expect(await tryPassword(same, 'nobody@example.com')).toBe('too_many_attempts');
    expect(await tryPassword(browser, 'nobody@example.com')).toBe('invalid_credentials');
  });

  test('signing in properly costs nothing', async () => {
    await fixture.addUser('carol@example.com');
    const browser = fixture.browser();
    expect(await times(9, () => tryPassword(browser, 'carol@example.com'))).toEqual(guesses(9));
    expect(await times(12, () => tryPassword(browser, 'carol@example.com', password))).toEqual(
      Array.from({ length: 12 }, () => 200),
    );
    expect(await times(2, () => tryPassword(browser, 'carol@example.com'))).toEqual([
      'invalid_credentials',
      'too_many_attempts',
    ]);
  });

  test('many at once are counted one by one, on both gateways together', async () => {
    await fixture.addUser('dora@example.com');
    const address = '127.0.0.1';
    const browsers = [fixture.browser(address), openBrowser(fixture.plain)];
    const outcomes = await Promise.all(
      Array.from({ length: 24 }, (_, index) =>
        tryPassword(browsers[index % 2] as Browser, 'dora@example.com'),
      ),
    );
    expect(outcomes.filter((code) => code === 'invalid_credentials')).toHaveLength(10);
    expect(outcomes.filter((code) => code === 'too_many_attempts')).toHaveLength(14);
  });

  test('changing the password is guessing it, too', async () => {
    await fixture.addUser('eve@example.com');
    const browser = await fixture.signedIn('eve@example.com');
    const change = async (currentPassword: string) =>
      await codeOf(
        await browser.send('POST', '/api/auth/change-password', {
          currentPassword,
          newPassword: 'another horse',
        }),
      );
    expect(await times(10, () => change('wrong password'))).toEqual(guesses(10));
    expect(await change(password)).toBe('too_many_attempts');
    expect(await tryPassword(browser, 'eve@example.com', password)).toBe('too_many_attempts');
    expect((await browser.send('GET', '/api/console/me')).status).toBe(200);
  });
});

describe('a network', () => {
  test('is the /64 of an IPv6 address, and an IPv4 address however it is written', async () => {
    await fixture.addUser('fay@example.com');
    const fromMany = await times(11, (index) =>
      tryPassword(fixture.browser(`2001:db8:1:2:${index}::${index}`), 'fay@example.com'),
    );
    expect(fromMany).toEqual([...guesses(10), 'too_many_attempts']);
    expect(await tryPassword(fixture.browser('2001:db8:1:3::1'), 'fay@example.com', password)).toBe(200);

    const forms = [
      '192.0.2.7',
      '::ffff:192.0.2.7',
      '::FFFF:c000:207',
      '192.0.2.7:5555',
      '[::ffff:192.0.2.7]:80',
    ];
    const asForms = await times(11, (index) =>
      tryPassword(fixture.browser(forms[index % forms.length]), 'fay@example.com'),
    );
    expect(asForms).toEqual([...guesses(10), 'too_many_attempts']);
  });

  test('cannot be made up by a client: what it writes itself is left of what the proxy adds', async () => {
    await fixture.addUser('gil@example.com');
    const outcomes = await times(11, (index) =>
      tryPassword(fixture.browser(`203.0.113.${index}, unknown, 198.51.100.4`), 'gil@example.com'),
    );
    expect(outcomes).toEqual([...guesses(10), 'too_many_attempts']);
  });

  test('cannot be made up at all without a trusted proxy, whatever the header is called', async () => {
    await fixture.addUser('hal@example.com');
    const outcomes = await times(11, async (index) => {
      const forged = `203.0.113.${index}`;
      const response = await openBrowser(fixture.plain, fixture.plain.origin, forged).send(
        'POST',
        '/api/auth/sign-in/email',
        { email: 'hal@example.com', password: 'wrong password' },
        {
          forwarded: `for=${forged}`,
          'x-real-ip': forged,
          'x-client-address': forged,
          'cf-connecting-ip': forged,
        },
      );
      return await codeOf(response);
    });
    expect(outcomes).toEqual([...guesses(10), 'too_many_attempts']);
    const [session] = await fixture.database.sql`select 1 from sessions where ip_address like '203.0.113.%'`;
    expect(session).toBeUndefined();
  });

  test('has 30 tries in 15 minutes, whatever they are', async () => {
    const browser = fixture.browser('198.51.100.30');
    await exhaust(limitOf(networkLimits(alone('198.51.100.30/32'), false), 'network'), 29);
    const send = async (path: string, body: object) => await codeOf(await browser.send('POST', path, body));
    const link = { token: 'x'.repeat(43), newPassword: 'another horse' };
    expect(await send('/api/auth/reset-password', link)).toBe('invalid_reset_token');
    expect(await send('/api/auth/reset-password', link)).toBe('too_many_attempts');
    expect(await tryPassword(browser, 'new@example.com')).toBe('too_many_attempts');
    expect(await send('/api/auth/request-password-reset', { email: 'new@example.com' })).toBe(
      'too_many_attempts',
    );
    expect(await send('/api/auth/sign-up/email', { name: '', email: 'new@example.com', password })).toBe(
      'too_many_attempts',
    );
    expect(await fixture.database.sql`select 1 from users where email = 'new@example.com'`).toHaveLength(0);
  });
});

describe('a wider IPv6 network', () => {
  const client = {
    network: '2001:db8:77:101::/64',
    sites: ['2001:db8:77:100::/56', '2001:db8:77::/48'],
  };
  const [, narrow, wide] = networkLimits(client, false) as [Limit, Limit, Limit];

  test('has more tries than a network in it, but not as many as all of those, except where the user is known', async () => {
    expect([narrow.subject, narrow.max, wide.subject, wide.max]).toEqual([
      '2001:db8:77:100::/56',
      60,
      '2001:db8:77::/48',
      120,
    ]);
    await fixture.addUser('known@example.com');
    const home = fixture.browser('2001:db8:77:1ff::1');
    expect(await tryPassword(home, 'known@example.com', password)).toBe(200);
    await exhaust(narrow, 59);
    const neighbour = fixture.browser('2001:db8:77:1fe::1');
    expect(await tryPassword(neighbour, 'known@example.com', password)).toBe('too_many_attempts');
    expect(await tryPassword(home, 'known@example.com', password)).toBe(200);
    const further = fixture.browser('2001:db8:77:2ff::1');
    expect(await tryPassword(further, 'known@example.com', password)).toBe(200);
    await exhaust(wide, 118);
    const furthest = fixture.browser('2001:db8:77:3ff::1');
    expect(await tryPassword(furthest, 'known@example.com', password)).toBe('too_many_attempts');
    expect(await tryPassword(further, 'known@example.com', password)).toBe(200);
    expect(await tryPassword(fixture.browser('2001:db8:78::1'), 'known@example.com', password)).toBe(200);
  });

  test('has 40 sign-ups an hour', async () => {
    const limit = limitOf(signUpLimits('', client), 'sign-up-network');
    expect([limit.subject, limit.max]).toEqual(['2001:db8:77::/48', 40]);
  });
});

describe('mails', () => {
  test.each([
    ['ann+1@example.com', 'ann@example.com'],
    ['Ann+a+b@Example.com', 'ann@example.com'],
    ['a.n.n+x@gmail.com', 'ann@gmail.com'],
    ['a.nn@googlemail.com', 'ann@gmail.com'],
    ['a.nn@example.com', 'a.nn@example.com'],
    ['+tag@example.com', '+tag@example.com'],
  ])('%s is counted as %s', (email, mailbox) => {
    expect(mailboxOf(email)).toBe(mailbox);
    expect(mailboxOf(mailbox)).toBe(mailbox);
    const client = alone('192.0.2.1/32');
    for (const [limits, scope] of [
      [signUpLimits(email, client), 'sign-up-email'],
      [verificationMailLimits(email, client, 'first'), 'verification-email'],
      [verificationMailLimits(email, client, 'again'), 'verification-email-day'],
      [invitationMailLimits('account', email), 'invitation-email'],
    ] as const)
      expect(limitOf(limits, scope).subject).toBe(mailbox);
  });

  test('that are sent again leave enough for those who sign up, and no network uses up either', () => {
    const client = { network: '2001:db8:1:2::/64', sites: ['2001:db8:1::/56', '2001:db8::/48'] };
    const [first, again] = (['first', 'again'] as const).map((which) =>
      limitOf(verificationMailLimits('ann@example.com', client, which), 'verification-emails'),
    );
    expect(first?.subject).not.toBe(again?.subject);
    expect([first?.max, again?.max]).toEqual([300, 200]);
    const site = limitOf(verificationMailLimits('ann@example.com', client, 'first'), 'verification-network');
    expect([site.subject, site.max]).toEqual(['2001:db8::/48', 48]);
  });
});

describe('one address from everywhere', () => {
  const anywhere = (email: string) => guessLimits(email, '', false)[1] as Limit;

  test('100 a day from strangers, but not where the user has signed in before, nor after a reset link', async () => {
    const { id } = await fixture.addUser('ida@example.com');
    const home = fixture.browser('198.51.100.50');
    expect(await tryPassword(home, 'ida@example.com', password)).toBe(200);
    await exhaust(anywhere('ida@example.com'));

    const abroad = fixture.browser('198.51.100.51');
    expect(await tryPassword(abroad, 'ida@example.com', password)).toBe('too_many_attempts');
    expect(await tryPassword(home, 'ida@example.com', password)).toBe(200);

    const { token } = await createResetToken(fixture.database.sql, id);
    await abroad.send('POST', '/api/auth/reset-password', { token, newPassword: 'another horse' });
    expect(await tryPassword(abroad, 'ida@example.com', 'another horse')).toBe(200);
  });

  test('one network cannot use it up: what its own limit refuses does not count', async () => {
    const browser = fixture.browser();
    await fixture.addUser('jon@example.com');
    const outcomes = await times(15, () => tryPassword(browser, 'jon@example.com'));
    expect(outcomes.filter((code) => code === 'too_many_attempts')).toHaveLength(5);
    await exhaust(anywhere('jon@example.com'), 90);
    expect(async () => await attempts.take([anywhere('jon@example.com')])).toThrow('Too many attempts');
  });
});

describe('mails and new accounts', () => {
  test('five mails an hour to one address, whether or not someone has it', async () => {
    await fixture.addUser('kim@example.com');
    for (const email of ['kim@example.com', 'not-there@example.com']) {
      const ask = async () =>
        await codeOf(await fixture.browser().send('POST', '/api/auth/request-password-reset', { email }));
      await exhaust(limitOf(resetRequestLimits(email, alone('')), 'reset-email'), 4);
      expect(await times(2, ask)).toEqual([200, 'too_many_attempts']);
    }
  });

  test('ten sign-ups an hour from one network, five with one address', async () => {
    const signUp = async (address: string, email: string) =>
      await codeOf(
        await fixture.browser(address).send('POST', '/api/auth/sign-up/email', { name: '', email, password }),
      );
    await exhaust(limitOf(signUpLimits('', alone('198.51.100.60/32')), 'sign-up-network'), 9);
    expect(await signUp('198.51.100.60', 'lea@example.com')).toBe(200);
    expect(await signUp('198.51.100.60', 'max@example.com')).toBe('too_many_attempts');
    await exhaust(limitOf(signUpLimits('lea@example.com', alone('')), 'sign-up-email'), 4);
    expect(await signUp('198.51.100.61', 'lea@example.com')).toBe('too_many_attempts');
  });
});

/** Attempts for unknown users. `isFull` resolves when one is refused, so the queue is full. */
function flood(count: number, addressOf: (index: number) => string | undefined) {
  const crowd = crypto.randomUUID();
  const emailOf = (index: number) => `${index}-${crowd}@example.com`;
  const { promise: isFull, resolve } = Promise.withResolvers<void>();
  const answers = Array.from({ length: count }, async (_, index) => {
    const code = await tryPassword(fixture.browser(addressOf(index)), emailOf(index));
    if (code === 'too_many_attempts') resolve();
    return code;
  });
  const outcomes = Promise.all(answers);
  return { emailOf, isFull: Promise.race([isFull, outcomes]), outcomes };
}

/** Dozens of real hashes, one after the other. */
const patientMs = 180_000;

describe('while more is tried than can be checked', () => {
  test(
    'a /48 does not take every slot: others get their turn',
    async () => {
      await fixture.addUser('honest@example.com');
      const { isFull, outcomes } = flood(40, (index) => `2001:db8:aaaa:${index.toString(16)}::1`);
      await isFull;
      expect(await tryPassword(fixture.browser(), 'honest@example.com', password)).toBe(200);
      expect(await outcomes).toContain('too_many_attempts');
    },
    patientMs,
  );

  test(
    'others are refused at once, which does not count as a guess, and earlier ones keep their places',
    async () => {
      await fixture.addUser('regular@example.com');
      const home = fixture.browser();
      expect(await tryPassword(home, 'regular@example.com', password)).toBe(200);
      const { emailOf, isFull, outcomes } = flood(60, () => undefined);
      await isFull;
      expect(await tryPassword(home, 'regular@example.com', password)).toBe(200);
      const codes = await outcomes;
      const refused = codes.flatMap((code, index) => (code === 'too_many_attempts' ? [index] : []));
      expect(refused.length).toBeGreaterThan(0);
      expect(codes.filter((code) => code === 'invalid_credentials')).toHaveLength(60 - refused.length);
      await exhaust(guessLimits(emailOf(refused[0] ?? 0), '', false)[1] as Limit);
    },
    patientMs,
  );

  test(
    'a refused request has neither signed up nor changed a password',
    async () => {
      await fixture.addUser('changing@example.com');
      const changing = await fixture.signedIn('changing@example.com');
      const newcomers = Array.from({ length: 4 }, (_, index) => `newcomer-${index}@example.com`);
      const signUp = async (email: string) => {
        const body = { name: '', email, password };
        return await codeOf(await fixture.browser().send('POST', '/api/auth/sign-up/email', body));
      };
      // One gets through before the flood: on a busy machine nobody else may.
      const [first = '', ...others] = newcomers;
      const firstAnswer = await signUp(first);
      const signingUp = others.map(signUp);
      const change = { currentPassword: password, newPassword: 'another horse' };
      const changed = changing.send('POST', '/api/auth/change-password', change).then(codeOf);
      const { outcomes } = flood(60, () => undefined);
      const isThere = async (email: string) =>
        (await fixture.database.sql`select 1 from users where email = ${email}`).length > 0;
      const answers = [firstAnswer, ...(await Promise.all(signingUp))];
      expect(answers).toContain(200);
      expect(await Promise.all(newcomers.map(isThere))).toEqual(answers.map((code) => code === 200));
      const isChanged = (await changed) === 200;
      expect(await outcomes).toContain('too_many_attempts');
      const secret = isChanged ? 'another horse' : password;
      expect(await tryPassword(fixture.browser(), 'changing@example.com', secret)).toBe(200);
    },
    patientMs,
  );
});

describe('the counter', () => {
  const limit = (subject: string, max: number): Limit => ({
    scope: 'test',
    subject,
    max,
    periodSeconds: 3600,
  });
  const outcomes = async (limits: readonly Limit[], count: number) =>
    await Promise.all(
      Array.from({ length: count }, () =>
        attempts.take(limits).then(
          () => 'taken',
          (error: unknown) => (error as { retryAfterSeconds: number }).retryAfterSeconds,
        ),
      ),
    );

  test('lets exactly as many through as it says, however many come at once', async () => {
    const results = await outcomes([limit('crowd', 5)], 40);
    expect(results.filter((result) => result === 'taken')).toHaveLength(5);
    for (const wait of results.filter((result) => result !== 'taken')) {
      expect(wait).toBeGreaterThan(700);
      expect(wait).toBeLessThanOrEqual(720);
    }
  });

  test('counts against all limits or none', async () => {
    const [wide, narrow] = [limit('wide', 10), limit('narrow', 2)];
    expect((await outcomes([wide, narrow], 6)).filter((result) => result === 'taken')).toHaveLength(2);
    expect((await outcomes([wide], 20)).filter((result) => result === 'taken')).toHaveLength(8);
  });

  test('there is no deadlock, in whatever order limits are named', async () => {
    const all = Array.from({ length: 6 }, (_, index) => limit(`circle-${index}`, 1000));
    await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const order = index % 2 === 0 ? all : all.toReversed();
        await attempts.take(order);
        await attempts.giveBack(order);
      }),
    );
  });

  test('what is returned can be taken again', async () => {
    const one = limit('returned', 1);
    expect(await outcomes([one], 1)).toEqual(['taken']);
    expect(await outcomes([one], 1)).not.toEqual(['taken']);
    await attempts.giveBack([one]);
    expect(await outcomes([one], 1)).toEqual(['taken']);
  });

  test('its names reveal neither networks nor addresses', async () => {
    const rows = await fixture.database.sql`select encode(name, 'escape') as name from sign_in_attempts`;
    expect(rows.length).toBeGreaterThan(20);
    for (const { name } of rows) expect(name).not.toMatch(/example|198\.51/);
    const unkeyed = new Bun.CryptoHasher('sha256')
      .update(JSON.stringify(['network', '127.0.0.1/32']))
      .digest();
    expect(await fixture.database.sql`select 1 from sign_in_attempts where name = ${unkeyed}`).toHaveLength(
      0,
    );
  });
});
