/** Who gets which events as mails. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createAccount } from '../../src/accounts/account-store.ts';
import { publishEvents } from '../../src/events/publish.ts';
import { createLog } from '../../src/lib/log.ts';
import { type Attempts, openAttempts } from '../../src/people/attempts.ts';
import { sendEventMails } from '../../src/people/event-mail.ts';
import { type Mail, type Mailer, openMailer } from '../../src/people/mailer.ts';
import { addCheapUser } from '../support/cheap-user.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { startMailServer } from '../support/mail-server.ts';

let database: TestDatabase;
let attempts: Attempts;
let account: string;
const mails: Mail[] = [];
let nextOutcome: Mailer['deliver'] = async () => 'sent';
const mailer: Mailer = {
  origin: 'https://gateway.test',
  send: () => undefined,
  deliver: async (mail) => {
    const outcome = await nextOutcome(mail);
    if (outcome === 'sent') mails.push(mail);
    return outcome;
  },
  close: async () => undefined,
};

beforeAll(async () => {
  database = await createDatabase();
  attempts = openAttempts(database.sql, Buffer.alloc(32));
  ({ id: account } = await createAccount(database.sql, 'Acme <b>', 0n));
  for (const [email, role] of [
    ['owner@example.com', 'owner'],
    ['quiet@example.com', 'owner'],
    ['member@example.com', 'member'],
    ['curious@example.com', 'member'],
  ] as const)
    await addCheapUser(database.sql, email, 'correct horse battery', { accountId: account, role });
  await addCheapUser(database.sql, 'operator@example.com', 'correct horse battery', {
    accountId: null,
    role: 'owner',
  });
  await choose('quiet@example.com', '{key_expiry}');
  await choose('curious@example.com', '{low_balance}');
});

afterAll(() => database.close());

async function choose(email: string, kinds: string): Promise<void> {
  await database.sql`
    insert into mail_choices (user_id, account_id, kinds)
    select id, ${account}, ${kinds}::text[] from users where email = ${email}`;
}

/** Sorted by whom they are to. */
async function mailsAbout(type: string, data: object, count: number): Promise<Mail[]> {
  const before = mails.length;
  await happen(type, data);
  await eventually(`${count} mails about ${type}`, () => mails.length === before + count);
  return mails.slice(before).toSorted((one, other) => (one.to < other.to ? -1 : 1));
}

const send = () => sendEventMails({ sql: database.sql, mailer, attempts });

async function happen(type: string, data: object): Promise<void> {
  await database.sql`
    insert into events (account_id, type, data) values (${account}, ${type}, ${JSON.stringify(data)}::text::jsonb)`;
  await publishEvents(database.sql);
  await Promise.all([send(), send()]);
}

test('owners get them unless they chose otherwise, members if they chose so, each once', async () => {
  await happen('balance.low', { balance: '4.200000000000', threshold: '5.000000000000' });
  await eventually('two mails', () => mails.length === 2);
  expect(mails.map(({ to }) => to).toSorted()).toEqual(['curious@example.com', 'owner@example.com']);
  expect(mails[0]?.text).toContain('The balance of your account is 4.20 USD, which is below 5.00 USD.');
  // Whoever names an account does not choose what a mail says.
  expect(mails.some(({ text, html }) => `${text}${html}`.includes('Acme'))).toBe(false);
  expect(mails[0]?.text).toContain(`https://gateway.test/billing?account=${account}`);
  await happen('key.expired', { hint: 'svc_sk_…abcd' });
  await eventually('two more', () => mails.length === 4);
  expect(
    mails
      .slice(2)
      .map(({ to }) => to)
      .toSorted(),
  ).toEqual(['owner@example.com', 'quiet@example.com']);
  await happen('budget.reached', { percent: 80, used: '8.000000000000', amount: '10.500000000000' });
  await eventually('one more', () => mails.length === 5);
  expect(mails[4]).toMatchObject({ to: 'owner@example.com', subject: '80 % of a budget are used' });
  const [expiring] = await mailsAbout(
    'grant.expiring',
    { category: 'promotional', remaining: '5.000000000000', expires_at: '2026-11-20T09:30:00.000Z' },
    1,
  );
  expect(expiring?.text).toContain(
    '5.00 USD of the promotional credit of your account expire on 2026-11-20 at 09:30 UTC.',
  );
  await happen('key.created', {});
  expect(await database.sql`select 1 from event_mails`).toHaveLength(0);
  expect(mails).toHaveLength(6);
});

test('payments are mailed with their receipt, disputes to operators too, and nobody gets two mails about one', async () => {
  const { sql } = database;
  const order = crypto.randomUUID();
  await sql`
    insert into payment_orders (id, account_id, kind, amount, currency, is_live, customer, receipt_url)
    values (${order}, ${account}, 'automatic', 25, 'usd', false, 'cus_1', 'https://stripe.example/receipt')`;
  const payment = { payment_id: order, kind: 'automatic', amount: '25.000000000000' };
  const [paid] = await mailsAbout('payment.succeeded', { ...payment, paid: '29.750000000000' }, 1);
  expect(paid).toMatchObject({ to: 'owner@example.com', subject: 'Credit was added automatically' });
  expect(paid?.text).toContain('29.75 USD were paid, and 25.00 USD of credit were added to your account.');
  expect(paid?.text).toContain('\nhttps://stripe.example/receipt\n');

  const [failed] = await mailsAbout('payment.failed', { ...payment, kind: 'checkout' }, 1);
  expect(failed?.subject).toBe('A payment has failed');
  const reversal = { payment_id: order, amount: '29.750000000000', credit: '25.000000000000' };
  const [refunded] = await mailsAbout('payment.refunded', reversal, 1);
  expect(refunded?.text).toContain('29.75 USD of a payment of your account were refunded');

  // An owner who is an operator gets it once, with what an operator needs.
  await sql`update users set is_operator = true where email = 'quiet@example.com'`;
  const disputed = await mailsAbout('payment.disputed', reversal, 3);
  expect(disputed.map(({ to }) => to)).toEqual([
    'operator@example.com',
    'owner@example.com',
    'quiet@example.com',
  ]);
  expect(disputed.map(({ text }) => text.includes('https://gateway.test/operator/payments'))).toEqual([
    true,
    false,
    true,
  ]);

  const warning = { account_id: account, payment_id: order, fraud_type: 'made_with_stolen_card' };
  await sql`
    insert into events (type, data)
    values ('payment.warned', ${JSON.stringify({ ...warning, is_actionable: true })}::text::jsonb)`;
  const before = mails.length;
  await publishEvents(sql);
  await send();
  await eventually('two mails', () => mails.length === before + 2);
  const warned = mails.slice(before);
  expect(warned.map(({ to }) => to).toSorted()).toEqual(['operator@example.com', 'quiet@example.com']);
  expect(warned[0]?.text).toContain(`a payment of account ${account} as fraud: made with stolen card.`);
});

test('a mail is kept until a server has taken it, or never will, and sent by one node', async () => {
  const { sql } = database;
  const low = { balance: '1.000000000000', threshold: '5.000000000000' };
  const waiting = async () =>
    await sql<{ attempts: number; is_resting: boolean }[]>`
      select attempts, taken_until > now() as is_resting from event_mails`;
  const before = mails.length;
  let tries = 0;
  nextOutcome = async () => {
    tries += 1;
    return 'failed';
  };
  await happen('balance.low', low);
  expect([tries, mails.length]).toEqual([2, before]);
  expect([...(await waiting())]).toEqual([
    { attempts: 1, is_resting: true },
    { attempts: 1, is_resting: true },
  ]);
  // While one node waits for the server, no other sends the same.
  await sql`update event_mails set taken_until = now()`;
  const held = Promise.withResolvers<void>();
  nextOutcome = async ({ to }) => {
    tries += 1;
    await held.promise;
    return to === 'owner@example.com' ? 'sent' : 'refused';
  };
  const sending = send();
  await eventually('both', () => tries === 4);
  await send();
  expect(tries).toBe(4);
  expect(await waiting()).toHaveLength(2);
  held.resolve();
  await sending;
  expect(mails.slice(before).map(({ to }) => to)).toEqual(['owner@example.com']);
  expect(await waiting()).toHaveLength(0);
});

test('nobody gets many, accounts take turns, and few are sent at once', async () => {
  const { sql } = database;
  await sql`delete from sign_in_attempts`;
  const { id: crowded } = await createAccount(sql, 'Crowded', 0n);
  for (let index = 0; index < 22; index++)
    await addCheapUser(sql, `owner${index}@crowd.test`, 'correct horse battery', { accountId: crowded });
  const tell = (id: string, count: number) => sql`
    insert into events (account_id, type, data)
    select ${id}, 'budget.reached', '{"percent": 80, "used": "1", "amount": "2"}' from generate_series(1, ${count}::int)`;
  await tell(account, 50);
  await tell(crowded, 1);
  await publishEvents(sql);
  let open = 0;
  let most = 0;
  nextOutcome = async () => {
    open += 1;
    most = Math.max(most, open);
    await Bun.sleep(0);
    open -= 1;
    return 'sent';
  };
  const before = mails.length;
  await send();
  const sent = mails.slice(before).map(({ to }) => to.split('@')[1]);
  const count = (domain: string, list = sent) => list.filter((one) => one === domain).length;
  expect([count('example.com'), count('crowd.test'), most <= 20]).toEqual([20, 20, true]);
  expect(count('crowd.test', sent.slice(0, 20))).toBe(10);
  expect(await sql`select 1 from event_mails`).toHaveLength(0);
});

test('nothing is mailed to an address that nobody has proved to read', async () => {
  const { sql } = database;
  await sql`delete from sign_in_attempts`;
  await sql`update users set email_verified = false where email = 'owner@example.com'`;
  const before = mails.length;
  await happen('budget.reached', { percent: 80, used: '8.000000000000', amount: '10.500000000000' });
  expect(mails).toHaveLength(before);
  await sql`update users set email_verified = true where email = 'owner@example.com'`;
  const [mail] = await mailsAbout('budget.reached', { percent: 80, used: '8', amount: '10.5' }, 1);
  expect(mail?.to).toBe('owner@example.com');
});

test('what a server says decides whether a mail is tried again', async () => {
  const server = startMailServer();
  const log = createLog('error', () => undefined);
  const real = openMailer(
    { url: server.url, from: 'gateway@example.com', origin: 'https://gateway.test' },
    log,
  );
  const mail = { to: 'owner@example.com', subject: 'S', text: 'T', html: '<p>T</p>' };
  expect(await real.deliver(mail)).toBe('sent');
  server.refuse(true);
  expect(await real.deliver(mail)).toBe('refused');
  server.stop();
  expect(await real.deliver(mail)).toBe('failed');
  expect(server.mails).toHaveLength(1);
});
