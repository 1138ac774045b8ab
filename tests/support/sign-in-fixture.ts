/** Gateways that share a database and differ in how people sign in, and browsers that keep their cookies. */
import { createUser, putPassword } from '../../src/people/user-store.ts';
import type { ErrorBody } from './chat-fixture.ts';
import { createDatabase, type TestDatabase } from './cluster.ts';
import { type Environment, type Gateway, startGateway, temporaryFolder } from './gateway.ts';
import { type MailServer, startMailServer } from './mail-server.ts';

export const publicUrl = 'http://dashboard.test';
export const password = 'correct horse canary';

export type Browser = Readonly<{
  /** What the browser would send, by name. Tests may plant cookies here. */
  cookies: Map<string, string>;
  send: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Response>;
}>;

/**
 * A browser that has opened the dashboard at this address. Its own IP address, as it states it, counts only with a
 * gateway that trusts the tests as a proxy.
 */
export function openBrowser(gateway: Gateway, address = gateway.origin, clientAddress = ''): Browser {
  const cookies = new Map<string, string>();
  return {
    cookies,
    send: async (method, path, body, headers = {}) => {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const response = await fetch(`${gateway.origin}${path}`, {
        method,
        redirect: 'manual',
        headers: {
          ...(cookie === '' ? {} : { cookie }),
          ...(method === 'GET' ? { 'sec-fetch-site': 'same-origin' } : { origin: address }),
          ...(clientAddress === '' ? {} : { 'x-forwarded-for': clientAddress }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      for (const line of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        if (/; Max-Age=0/i.test(line)) cookies.delete(name);
        else cookies.set(name, value);
      }
      return response;
    },
  };
}

export type SignInFixture = Readonly<{
  database: TestDatabase;
  mail: MailServer;
  environment: Environment;
  /** Open to sign-up, sends mail, behind a proxy that it trusts, and known to browsers as `publicUrl`. */
  open: Gateway;
  /** A gateway without any settings. */
  plain: Gateway;
  /** A browser at the open gateway, in its own network unless one is given. */
  browser: (clientAddress?: string) => Browser;
  /** A browser that has signed in. */
  signedIn: (email: string, secret?: string) => Promise<Browser>;
  /** Has the password of the tests, unless none has been chosen yet. */
  addUser: (email: string, hasPassword?: boolean) => Promise<{ id: string; email: string }>;
  /** Both logs so far. */
  output: () => string;
  close: () => Promise<void>;
}>;

export async function openSignInFixture(): Promise<SignInFixture> {
  const database = await createDatabase();
  const mail = startMailServer();
  const environment = { DATABASE_URL: database.url, TOLLGATE_DATA: temporaryFolder(), LOG_LEVEL: 'debug' };
  const [open, plain] = await Promise.all([
    startGateway({
      ...environment,
      SIGN_UP: 'open',
      SMTP_URL: mail.url,
      MAIL_FROM: 'Tollgate <noreply@dashboard.test>',
      PUBLIC_URL: publicUrl,
      TRUSTED_PROXIES: '127.0.0.1',
    }),
    startGateway(environment),
  ]);
  // A hash contains its own cost; this one is cheap to check, so that the tests do not spend minutes on it.
  const cheapHash = await Bun.password.hash(password, { algorithm: 'argon2id', memoryCost: 8, timeCost: 1 });
  let networks = 0;
  const browser = (clientAddress?: string) => {
    networks += 1;
    return openBrowser(open, publicUrl, clientAddress ?? `10.1.${networks >> 8}.${networks & 255}`);
  };
  return {
    database,
    mail,
    environment,
    open,
    plain,
    browser,
    signedIn: async (email, secret = password) => {
      const opened = browser();
      const response = await opened.send('POST', '/api/auth/sign-in/email', { email, password: secret });
      if (response.status !== 200) throw new Error(`Signing in answered ${response.status}.`);
      return opened;
    },
    addUser: async (email, hasPassword = true) => {
      const user = { email, password: null, isOperator: false, accountId: null, role: 'owner' as const };
      const created = await createUser(database.sql, user);
      if (created === null) throw new Error(`${email} is taken.`);
      if (hasPassword)
        await database.sql.begin((transaction) => putPassword(transaction, created.id, cheapHash));
      return created;
    },
    output: () => open.output() + plain.output(),
    close: async () => {
      await Promise.all([open.stop(), plain.stop()]);
      mail.stop();
      await database.close();
    },
  };
}

/** The code of a refusal, or the status of a success. */
export async function codeOf(response: Response): Promise<string | number> {
  const body = (await response.json()) as ErrorBody | null;
  return body !== null && 'error' in body ? body.error.code : response.status;
}
