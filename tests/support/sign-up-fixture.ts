/** Gateways where anyone may sign up and gets credit to begin with, and customers who have just done so. */
import { insertAccount } from '../../src/accounts/account-store.ts';
import { createVerificationToken } from '../../src/people/email-verification.ts';
import { insertMembership, insertUser, putPassword } from '../../src/people/user-store.ts';
import { createDatabase, type TestDatabase } from './cluster.ts';
import { type Environment, type Gateway, startGateway, temporaryFolder } from './gateway.ts';
import { type MailServer, startMailServer } from './mail-server.ts';
import { type Browser, openBrowser, password, publicUrl } from './sign-in-fixture.ts';

/** Small, so that few customers reach them. */
export const perNetwork = 3;
export const perDay = 7;

/** Someone who signed up and has not verified their address. */
export type Newcomer = Readonly<{
  id: string;
  email: string;
  account: string;
  /** Signed in, at the first gateway that sends mail and at the second one. */
  browsers: readonly [Browser, Browser];
  /** A new link that verifies the address. */
  link: () => Promise<string>;
}>;

export type SignUpFixture = Readonly<{
  database: TestDatabase;
  mail: MailServer;
  environment: Environment;
  /** Two that send mail, and one that cannot. */
  mailing: readonly [Gateway, Gateway];
  unmailed: Gateway;
  /** A browser in its own network, unless one is given. */
  browser: (gateway: Gateway, clientAddress?: string) => Browser;
  newcomer: (clientAddress?: string) => Promise<Newcomer>;
  /** Everything decided so far was decided yesterday. */
  endDay: () => Promise<void>;
  output: () => string;
  close: () => Promise<void>;
}>;

export async function openSignUpFixture(): Promise<SignUpFixture> {
  const database = await createDatabase();
  const { sql } = database;
  const mail = startMailServer();
  const environment = {
    DATABASE_URL: database.url,
    TOLLGATE_DATA: temporaryFolder(),
    LOG_LEVEL: 'debug',
    SIGN_UP: 'open',
    WELCOME_GRANT: '5',
    WELCOME_GRANTS_PER_NETWORK: `${perNetwork}`,
    WELCOME_GRANTS_PER_DAY: `${perDay}`,
    PUBLIC_URL: publicUrl,
    TRUSTED_PROXIES: '127.0.0.1',
  };
  const withMail = { ...environment, SMTP_URL: mail.url, MAIL_FROM: 'Tollgate <noreply@dashboard.test>' };
  const first = await startGateway(withMail);
  const [second, unmailed] = await Promise.all([startGateway(withMail), startGateway(environment)]);
  const gateways = [first, second, unmailed];
  // A hash contains its own cost; this one is cheap to check.
  const cheapHash = await Bun.password.hash(password, { algorithm: 'argon2id', memoryCost: 8, timeCost: 1 });
  let networks = 0;
  const browser: SignUpFixture['browser'] = (gateway, clientAddress) => {
    networks += 1;
    return openBrowser(gateway, publicUrl, clientAddress ?? `10.1.${networks >> 8}.${networks & 255}`);
  };
  /** What signing up does, without the time that a new password takes. */
  const signUp = (email: string) =>
    sql.begin(async (transaction) => {
      const user = await insertUser(transaction, {
        ...{ email, name: 'New', passwordHash: cheapHash, isOperator: false },
        ...{ isEmailVerified: false, mustVerifyEmail: true },
      });
      if (user === null) throw new Error(`${email} is taken.`);
      await putPassword(transaction, user.id, cheapHash);
      const account = await insertAccount(transaction, 'New', 0n);
      await insertMembership(transaction, user.id, account.id, 'owner');
      await transaction`insert into welcome_grants (user_id, account_id) values (${user.id}, ${account.id})`;
      return { id: user.id, account: account.id };
    });
  return {
    database,
    mail,
    environment,
    mailing: [first, second],
    unmailed,
    browser,
    newcomer: async (clientAddress) => {
      const email = `${crypto.randomUUID()}@example.com`;
      const { id, account } = await signUp(email);
      const here = browser(first, clientAddress);
      const there = browser(second, clientAddress);
      // Signing in counts towards the limits of its own network, so it happens elsewhere.
      const elsewhere = browser(first);
      const signIn = await elsewhere.send('POST', '/api/auth/sign-in/email', { email, password });
      if (signIn.status !== 200) throw new Error(`${email} could not sign in: ${await signIn.text()}`);
      for (const { cookies } of [here, there])
        for (const [name, value] of elsewhere.cookies) cookies.set(name, value);
      return { id, email, account, browsers: [here, there], link: () => createVerificationToken(sql, id) };
    },
    endDay: async () => {
      await sql`update welcome_grants set decided_at = decided_at - interval '1 day'`;
    },
    output: () => gateways.map((gateway) => gateway.output()).join(''),
    close: async () => {
      await Promise.all(gateways.map((gateway) => gateway.stop()));
      mail.stop();
      await database.close();
    },
  };
}
