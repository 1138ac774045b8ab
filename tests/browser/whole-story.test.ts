/**
 * A customer on a phone, from the sign-up to a refund; the company's own system, which is told the same by signed events;
 * and the mails.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import OpenAI from 'openai';
import type { Browser, Page } from 'playwright-core';
import { Webhook } from 'standardwebhooks';
import { type Sandbox, startSandbox } from '../../sandbox/server.ts';
import {
  expectNoComplaints,
  openBrowser,
  openPage,
  phone,
  visit,
  waitUntilLoaded,
} from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { writeCatalog } from '../support/gateway.ts';
import { checkLooks } from '../support/looks.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { openPaymentsFixture, type PaymentsFixture } from '../support/payments-fixture.ts';
import { createKey, signUp, smallAndGrand, verificationLink } from '../support/sign-up-page.ts';
import { type Received, type Receiver, startReceiver } from '../support/webhook-receiver.ts';

let fixture: PaymentsFixture;
let browser: Browser;
let mail: MailServer;
let sandbox: Sandbox;
let receiver: Receiver;

const email = 'ann@example.com';

beforeAll(async () => {
  mail = startMailServer();
  sandbox = startSandbox({ keepEntries: 100 });
  receiver = startReceiver();
  [fixture, browser] = await Promise.all([
    openPaymentsFixture({
      SIGN_UP: 'open',
      WELCOME_GRANT: '1',
      SMTP_URL: mail.url,
      MAIL_FROM: 'Tollgate <noreply@example.com>',
      MAIN_KEY: 'provider-key-canary',
      TOLLGATE_CATALOG: writeCatalog(smallAndGrand(sandbox.url)),
    }),
    openBrowser(),
  ]);
}, 60_000);

afterAll(async () => {
  await browser.close();
  await fixture.close();
  await receiver.stop();
  await sandbox.stop();
  mail.stop();
});

/** Pays on Stripe's page as soon as it is opened, and comes back. */
async function payWithCard(page: Page, amount: string): Promise<void> {
  await page.route('https://stripe.example/pay/*', async (route) => {
    const session = [...fixture.stripe.objects.values()].find(({ url }) => url === route.request().url());
    fixture.stripe.pay(String(session?.id));
    await route.fulfill({ status: 303, headers: { location: String(session?.success_url) } });
  });
  await page.getByLabel('Amount in USD').fill(amount);
  await page.getByLabel('Save the card for automatic top-ups').check();
  await page.getByRole('button', { name: 'Pay with Stripe' }).click();
  await page.getByText(`$${amount}.00 was added.`).waitFor();
}

async function call(key: string): Promise<void> {
  const client = new OpenAI({ apiKey: key, baseURL: `${fixture.gateways[1]?.origin}/v1`, maxRetries: 0 });
  const answer = await client.chat.completions.create({
    model: 'small',
    max_tokens: 20,
    messages: [{ role: 'user', content: 'hello' }],
  });
  expect(answer.usage?.total_tokens).toBeGreaterThan(0);
}

/** The one mail whose subject is like this. */
async function mailAbout(subject: RegExp): Promise<void> {
  await eventually(`a mail about ${subject}`, async () => subject.test((await mail.next(email)).data));
}

test('a person signs up, pays, calls, is warned, topped up and refunded, and a program is told the same', async () => {
  const { body } = await fixture.operator('POST', '/api/console/operator/webhooks', {
    url: receiver.url,
    types: null,
  });
  const verifier = new Webhook((body as unknown as { secret: string }).secret);
  const watched = await openPage(browser, fixture.gateways[0]?.origin ?? '', phone);
  const { page } = watched;

  await signUp(page, email);
  await page.goto(await verificationLink(mail, email));
  await page.getByText('Your e-mail address is verified.').waitFor();
  const key = await createKey(page);
  await visit(page, '/billing?tab=credit');
  await payWithCard(page, '20');
  await mailAbout(/^Subject: .*(paid|payment)/im);

  // 21 USD are there. A mail is sent, and then the card charged, when there is less.
  await visit(page, '/webhooks');
  await page.getByLabel('Warn below, in USD').fill('21');
  await page.getByRole('button', { name: 'Save' }).click();
  await call(key);
  await mailAbout(/^Subject: .*balance/im);
  await visit(page, '/billing?tab=credit');
  await page.getByRole('button', { name: 'Set up' }).click();
  await page.getByLabel('When less than this is available').fill('21');
  await page.getByLabel('Amount', { exact: true }).fill('15');
  await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
  const account = await accountOf();
  await balanceBetween(account, 35, 36);

  const [, first] = await fixture.database.sql<{ id: string }[]>`
    select id from payment_orders where account_id = ${account} order by created_at desc`;
  const refunded = await fixture.operator('POST', `/api/console/operator/payments/${first?.id}/refunds`, {
    amount: '5',
    reference: crypto.randomUUID(),
  });
  expect(refunded.status).toBe(200);
  await balanceBetween(account, 30, 31);

  await page.reload();
  await page.getByText('Refund $5.00').waitFor();
  await page.getByText('Automatic top-up', { exact: true }).first().waitFor();
  await waitUntilLoaded(page);
  await checkLooks(page, 'whole-story-billing');
  await page.getByRole('link', { name: 'Entries' }).click();
  await page.getByText('Welcome', { exact: false }).first().waitFor();
  expectNoComplaints(watched);
  await watched.close();

  const told = [
    ['credit.added', { amount: '1.000000000000' }],
    ['key.created', {}],
    ['payment.succeeded', { amount: '20.000000000000' }],
    ['credit.added', { amount: '20.000000000000' }],
    ['balance.low', {}],
    ['payment.succeeded', { amount: '15.000000000000' }],
    ['credit.added', { amount: '15.000000000000' }],
    ['payment.refunded', {}],
    ['balance.corrected', { amount: '-5.000000000000' }],
  ] as const;
  for (const [type, data] of told)
    await receiver.next(`${type} ${JSON.stringify(data)}`, (one) => isLike(one, account, type, data));
  const ofAccount = receiver.received.filter((one) => one.body.account_id === account);
  for (const { text, headers } of ofAccount) expect(() => verifier.verify(text, headers)).not.toThrow();
  const sequence = new Set(ofAccount.map((one) => one.body.sequence));
  expect([...sequence].sort((one, other) => one - other)).toEqual(
    Array.from(sequence, (_, place) => place + 1),
  );
}, 120_000);

function isLike(one: Received, account: string, type: string, data: Record<string, string>): boolean {
  return (
    one.body.type === type &&
    one.body.account_id === account &&
    Object.entries(data).every(([name, value]) => one.body.data[name] === value)
  );
}

async function accountOf(): Promise<string> {
  const [row] = await fixture.database.sql`
    select account_id from memberships join users on users.id = user_id where email = ${email}`;
  return row.account_id;
}

async function balanceBetween(account: string, low: number, high: number): Promise<void> {
  await eventually(`a balance between ${low} and ${high}`, async () => {
    const [row] = await fixture.database
      .sql`select balance::float8 as balance from accounts where id = ${account}`;
    return row.balance > low && row.balance < high;
  });
}
