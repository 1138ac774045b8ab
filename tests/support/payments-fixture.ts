/** Two gateways that take payments, a Stripe of our own, and people: the owner of an account, and an operator. */
import { join } from 'node:path';
import type { Payment, PaymentOptions } from '../../src/console/contract.ts';
import type { OrderState } from '../../src/payments/order.ts';
import { addCheapUser } from './cheap-user.ts';
import { createDatabase, type TestDatabase } from './cluster.ts';
import { runCommand } from './commands.ts';
import { eventually } from './eventually.ts';
import { type FakeStripe, startFakeStripe } from './fake-stripe.ts';
import { bundled, type Gateway, launchGateway, temporaryFolder } from './gateway.ts';
import { freePorts } from './workers.ts';

/** What the tests read of answers. */
export type SentBody = Readonly<{
  error: Readonly<{ code: string; param?: string }>;
  data: readonly Readonly<Record<string, unknown>>[];
  state: string;
  url: string;
  amount: string;
}>;

/** Sends a request to the first gateway, or to another one. */
export type Sender = (
  method: string,
  path: string,
  body?: unknown,
  origin?: string,
) => Promise<{ status: number; body: SentBody }>;

export type PaymentsFixture = Readonly<{
  stripe: FakeStripe;
  database: TestDatabase;
  gateways: readonly Gateway[];
  environment: Readonly<Record<string, string>>;
  operator: Sender;
  cookies: Readonly<Record<'owner' | 'operator', string>>;
  /** A new account without credit, and its owner, who has all of them. */
  customer: () => Promise<Customer>;
  /** Has the next look fail there. */
  failAt: (path: string) => void;
  close: () => Promise<void>;
}>;

export type Customer = Readonly<{
  account: string;
  send: Sender;
  /** The path of something that belongs to the account. */
  path: (rest: string) => string;
  /** Opens a checkout. Returns the IDs of the order and of the session. */
  checkout: (amount: string, savesCard?: boolean) => Promise<{ order: string; session: string }>;
  orderState: (order: string) => Promise<OrderState | undefined>;
  balance: () => Promise<string>;
  /** Waits until the balance is this, in USD. */
  hasBalance: (amount: string) => Promise<void>;
  /** All but charges, the oldest first. */
  entries: () => Promise<string[]>;
  payments: () => Promise<Payment[]>;
  options: () => Promise<PaymentOptions>;
  /** Why the card is not charged by itself. */
  pausedReason: () => Promise<string | null>;
  /** Has the card charged by itself: 20 USD when less than 5 are left. */
  choose: (changes?: Readonly<Record<string, unknown>>) => ReturnType<Sender>;
  spend: (amount: string) => Promise<void>;
  /** 50 USD. */
  giveCredit: () => ReturnType<Sender>;
}>;

const password = 'correct horse battery';
const topUp = { is_on: true, threshold: '5', amount: '20', target: null, monthly_cap: '100' };

export async function openPaymentsFixture(more: Record<string, string> = {}): Promise<PaymentsFixture> {
  const stripe = startFakeStripe();
  // The address of this gateway has to be known before it starts.
  const port = freePorts(1);
  const publicUrl = `http://127.0.0.1:${port}`;
  const database = await createDatabase();
  const environment = {
    DATABASE_URL: database.url,
    PUBLIC_URL: publicUrl,
    AUTH_SECRET: 'a secret that only these tests need',
    PAYMENTS: 'stripe',
    STRIPE_SECRET_KEY: stripe.secretKey,
    STRIPE_WEBHOOK_SECRET: stripe.webhookSecret,
    STRIPE_API_URL: stripe.url,
    ...more,
  };
  const start = (at: number) =>
    launchGateway(
      { ...environment, PORT: `${at}`, TOLLGATE_DATA: temporaryFolder() },
      { command: sweeping() },
    ).listening;
  // One after the other: the first one migrates.
  const first = await start(port);
  const gateways = [first, await start(0)];
  await addCheapUser(database.sql, 'operator@example.com', password, { accountId: null, role: 'owner' });
  const operator = await enter(first.origin, 'operator@example.com');
  // One for all accounts, because signing in often is limited.
  const words = ['account', 'create', '--name', 'First', '--credit', '0'];
  const { id: accountId } = await runCommand<{ id: string }>(words, environment);
  const { id: ownerId } = await addCheapUser(database.sql, 'owner@example.com', password, { accountId });
  const owner = { id: ownerId, ...(await enter(first.origin, 'owner@example.com')) };
  return {
    stripe,
    database,
    gateways,
    environment,
    operator: operator.send,
    cookies: { owner: owner.cookie, operator: operator.cookie },
    customer: () => newCustomer({ database, stripe, environment, operator: operator.send }, owner),
    // Twice for each look, because the client repeats a call.
    failAt: (path) => stripe.fail(...Array(2).fill({ path, when: 'before' as const })),
    close: async () => {
      const audit = await runCommand<{ holds: boolean }>(['ledger', 'audit', '--full'], environment);
      await Promise.all(gateways.map((gateway) => gateway.stop()));
      const logs = gateways.map((gateway) => gateway.output()).join('');
      await database.close();
      await stripe.stop();
      if (!audit.holds) throw new Error(`The ledger is broken after these tests:\n${JSON.stringify(audit)}`);
      for (const secret of [stripe.secretKey, stripe.webhookSecret])
        if (logs.includes(secret)) throw new Error('A secret was logged.');
    },
  };
}

/** The command that starts a gateway whose sweeps nobody has to wait for. */
const sweeping = () =>
  bundled('sweeping-gateway') ?? [process.execPath, join(import.meta.dir, 'sweeping-gateway.ts')];

async function enter(origin: string, email: string): Promise<Readonly<{ cookie: string; send: Sender }>> {
  const signedIn = await fetch(`${origin}/api/auth/sign-in/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin },
    body: JSON.stringify({ email, password }),
  });
  if (signedIn.status !== 200) throw new Error(`Signing in answered ${signedIn.status}.`);
  const cookie = signedIn.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  const send: Sender = async (method, path, body, to = origin) => {
    const response = await fetch(`${to}${path}`, {
      method,
      headers: {
        cookie,
        ...(method === 'GET' ? { 'sec-fetch-site': 'same-origin' } : { origin }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: JSON.parse(text || 'null') as SentBody };
  };
  return { cookie, send };
}

async function newCustomer(
  {
    database: { sql },
    stripe,
    environment,
    operator,
  }: Pick<PaymentsFixture, 'database' | 'stripe' | 'environment' | 'operator'>,
  owner: Readonly<{ id: string; send: Sender }>,
): Promise<Customer> {
  const words = ['account', 'create', '--name', 'Payer', '--credit', '0'];
  const { id: account } = await runCommand<{ id: string }>(words, environment);
  await sql`insert into memberships (user_id, account_id, role) values (${owner.id}, ${account}, 'owner')`;
  const { send } = owner;
  const path = (rest: string) => `/api/console/accounts/${account}/${rest}`;
  const balance = async () => {
    const [row] = await sql`select balance::float8::text as balance from accounts where id = ${account}`;
    return row.balance as string;
  };
  const options = async () => (await send('GET', path('payments'))).body as unknown as PaymentOptions;
  const operate = (what: string, body: object) =>
    operator('POST', `/api/console/operator/accounts/${account}/${what}`, {
      reference: crypto.randomUUID(),
      ...body,
    });
  return {
    account,
    send,
    path,
    checkout: async (amount, savesCard = false) => {
      const { status, body } = await send('POST', path('payments/checkout'), {
        amount,
        saves_card: savesCard,
      });
      const session = [...stripe.objects.values()].find(({ url }) => url === body.url);
      if (status !== 200 || session === undefined) throw new Error(JSON.stringify(body));
      return { order: String(session.client_reference_id), session: String(session.id) };
    },
    orderState: async (order) => {
      const [row] = await sql`select state from payment_orders where id = ${order}`;
      return row?.state;
    },
    balance,
    hasBalance: async (amount) => {
      await eventually(`a balance of ${amount}`, async () => (await balance()) === amount);
    },
    entries: async () => {
      const rows = await sql`
        select kind, amount::float8::text as amount from ledger_entries
        where account_id = ${account} and kind <> 'charge' order by number`;
      return rows.map((row: { kind: string; amount: string }) => `${row.kind} ${row.amount}`);
    },
    payments: async () => {
      const { body } = await send('GET', path('payments/orders'));
      return body.data as unknown as Payment[];
    },
    options,
    pausedReason: async () => (await options()).automatic?.paused_reason ?? null,
    choose: (changes = {}) => send('PATCH', path('payments/automatic'), { ...topUp, ...changes }),
    spend: async (amount) => {
      const correction = { amount: `-${amount}`, reason: 'Spent', entry_number: null, request_id: null };
      await operate('corrections', correction);
    },
    giveCredit: () => operate('credit', { amount: '50', memo: null }),
  };
}
