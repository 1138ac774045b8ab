/** The billing page: pay, save a card, have it charged automatically, redeem a code; and what operators see of it. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { createKey } from '../../src/keys/key-store.ts';
import { newId, uuidFromRequestId } from '../../src/lib/ids.ts';
import { parseMoney } from '../../src/lib/money.ts';
import { bookEntries } from '../support/booked-entries.ts';
import {
  expectNoComplaints,
  focused,
  openBrowser,
  openPage,
  tabTo,
  takePicture,
  visit,
  type Watched,
  waitUntilLoaded,
} from '../support/browser.ts';
import { runCommand } from '../support/commands.ts';
import { cookiesOf } from '../support/dashboard-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { checkLooks, overflowOf } from '../support/looks.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { type Customer, openPaymentsFixture, type PaymentsFixture } from '../support/payments-fixture.ts';
import { refund, settleAs } from '../support/rare-settlements.ts';

let fixture: PaymentsFixture;
let browser: Browser;
let mail: MailServer;

beforeAll(async () => {
  mail = startMailServer();
  [fixture, browser] = await Promise.all([
    openPaymentsFixture({
      OPERATOR_CONTACT: 'mailto:billing@example.com',
      SMTP_URL: mail.url,
      MAIL_FROM: 'gateway@example.com',
    }),
    openBrowser(),
  ]);
}, 60_000);

afterAll(async () => {
  await browser.close();
  await fixture.close();
  mail.stop();
});

async function enter(person: 'owner' | 'operator', path: string): Promise<Watched> {
  const origin = fixture.gateways[0]?.origin ?? '';
  const watched = await openPage(browser, origin);
  await watched.page.context().addCookies(cookiesOf(fixture.cookies[person], origin));
  await watched.page.goto(path);
  return watched;
}

/** Pays on Stripe's page as soon as it is opened, and comes back. */
async function payAtStripe(page: Page): Promise<void> {
  await page.route('https://stripe.example/pay/*', async (route) => {
    const session = [...fixture.stripe.objects.values()].find(({ url }) => url === route.request().url());
    fixture.stripe.pay(String(session?.id));
    await route.fulfill({ status: 303, headers: { location: String(session?.success_url) } });
  });
}

async function payFor(page: Page, payer: Customer): Promise<void> {
  await page.getByLabel('Amount in USD').fill('30');
  await page.getByLabel('Save the card for automatic top-ups').check();
  await page.getByRole('button', { name: 'Pay with Stripe' }).click();
  await page.getByText('$30.00 was added.').waitFor();
  await payer.hasBalance('30');
}

/** By keyboard: fill up to 50 USD when less than 40 are available, having first asked for something else. */
async function setUpTopUps(page: Page): Promise<void> {
  const { keyboard } = page;
  const dialog = page.getByRole('dialog');
  const save = dialog.getByRole('button', { name: 'Save', exact: true });
  await tabTo(page, page.getByRole('button', { name: 'Set up' }));
  await keyboard.press('Enter');
  await focused(dialog.getByRole('switch'));
  await tabTo(page, dialog.getByLabel('When less than this is available'));
  await keyboard.type('40');
  await tabTo(page, dialog.getByRole('radio', { checked: true }));
  await keyboard.press('ArrowRight');
  const target = dialog.getByLabel('Target');
  await tabTo(page, target);
  await keyboard.type('fifty');
  await tabTo(page, save);
  await keyboard.press('Enter');
  await dialog.locator('[aria-live]').getByText('The parameter target is invalid').waitFor();
  await focused(target);
  await checkLooks(page, 'billing-automatic');
  await keyboard.press('Control+a');
  await keyboard.type('50');
  await keyboard.press('Enter');
  await focused(page.getByRole('button', { name: 'Change settings' }));
}

/** By keyboard, too: turns them off, then removes the card. */
async function endTopUps(page: Page): Promise<void> {
  await tabTo(page, page.getByRole('button', { name: 'Change settings' }));
  await page.keyboard.press('Enter');
  await focused(page.getByRole('switch'));
  await page.keyboard.press('Space');
  await tabTo(page, page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }));
  await page.keyboard.press('Enter');
  await focused(page.getByRole('button', { name: 'Set up' }));
  await tabTo(page, page.getByRole('button', { name: 'Remove card' }));
  await page.keyboard.press('Enter');
  await focused(page.getByRole('button', { name: 'Cancel' }));
  await tabTo(page, page.getByRole('dialog').getByRole('button', { name: 'Remove card' }));
  await page.keyboard.press('Enter');
  await focused(page.getByRole('button', { name: 'Save a card' }));
}

test('someone without credit pays, is topped up automatically, redeems a code, and gets a refund', async () => {
  const { stripe } = fixture;
  const payer = await fixture.customer();
  const watched = await enter('owner', `/billing?tab=credit&account=${payer.account}`);
  const { page } = watched;
  await waitUntilLoaded(page);
  await page.getByText('Test mode: no real money moves').waitFor();
  const view = page.getByRole('navigation', { name: 'Views of billing' }).locator('[aria-current=page]');
  expect(await view.allInnerTexts()).toEqual(['Credit and payments']);
  await checkLooks(page, 'billing-empty');
  stripe.setTax(19);
  await payAtStripe(page);
  await payFor(page, payer);
  await page.getByText('Visa ending in 4242, expires 07/2031').waitFor();

  await setUpTopUps(page);
  await payer.hasBalance('50');
  stripe.setTax(0);

  const words = ['code', 'create', '--amount', '10', '--note', 'Welcome'];
  const { codes } = await runCommand<{ codes: string[] }>(words, fixture.environment);
  await page.getByLabel('Code').fill('tg_code_wrong');
  await page.getByRole('button', { name: 'Redeem' }).click();
  await page.getByText('This code is not valid').waitFor();
  await page.getByLabel('Code').fill(codes[0] ?? '');
  await page.getByRole('button', { name: 'Redeem' }).click();
  await payer.hasBalance('60');

  const [automatic, first] = await payer.payments();
  expect([automatic?.kind, first?.kind]).toEqual(['automatic', 'checkout']);
  await fixture.operator('POST', `/api/console/operator/payments/${first?.id}/refunds`, {
    amount: '11.90',
    reference: crypto.randomUUID(),
  });
  await page.reload();
  await page.getByText('Refund $11.90').waitFor();
  await page.getByText('Automatic top-up', { exact: true }).nth(1).waitFor();
  expect(
    await page.getByRole('link', { name: 'View', exact: true }).first().getAttribute('href'),
  ).toStartWith('https://stripe.example/invoices/');
  await waitUntilLoaded(page);
  await checkLooks(page, 'billing-paid');
  await endTopUps(page);
  expect((await payer.options()).card).toBeNull();
  expectNoComplaints(watched);
  await watched.close();
});

test('a card is saved without a payment', async () => {
  const payer = await fixture.customer();
  const watched = await enter('owner', `/billing?tab=credit&account=${payer.account}`);
  const { page } = watched;
  await page.route('https://stripe.example/save/*', async (route) => {
    const session = [...fixture.stripe.objects.values()].find(({ url }) => url === route.request().url());
    fixture.stripe.saveCard(String(session?.id));
    await route.fulfill({ status: 303, headers: { location: String(session?.success_url) } });
  });
  await page.getByRole('button', { name: 'Save a card' }).click();
  await page.getByText('The card was saved.').waitFor();
  await page.getByText('Visa ending in 4242, expires 07/2031').waitFor();
  await waitUntilLoaded(page);
  await checkLooks(page, 'billing-card');
  expectNoComplaints(watched);
  await watched.close();
});

/** A customer with charges of two models in the month before, and of one now, of which one was refunded. */
async function customerOfTwoMonths(): Promise<{ account: string; before: string; now: string }> {
  const { sql } = fixture.database;
  const { account } = await fixture.customer();
  const created = await createKey(sql, {
    accountId: account,
    name: 'Batch jobs',
    requestsPerMinute: 100,
    monthlyLimit: null,
    allowedModels: null,
    expiresAt: null,
  });
  const keyId = created?.id ?? '';
  const now = new Date().toISOString().slice(0, 7);
  const before = new Date(Date.parse(`${now}-01`) - 1).toISOString().slice(0, 7);
  const cost = (text: string) => -(parseMoney(text) ?? 0n);
  await bookEntries(sql, account, [
    { kind: 'credit', amount: -cost('50'), at: `${before}-01T00:00:00Z` },
    { kind: 'charge', amount: cost('1.25'), at: `${before}-02T10:00:00Z`, model: 'large', keyId },
    { kind: 'charge', amount: cost('0.000123'), at: `${before}-02T11:00:00Z`, model: 'small', keyId },
    { kind: 'correction', amount: cost('-2'), at: `${before}-28T23:59:59Z` },
  ]);
  await settleAs(fixture.database, { accountId: account, keyId });
  const refunded = await settleAs(fixture.database, { accountId: account, keyId });
  await refund(fixture.database, { accountId: account, keyId }, uuidFromRequestId(refunded) ?? '');
  return { account, before, now };
}

test('each month is a sum that leads from one balance to the next, also on paper', async () => {
  const { account, before } = await customerOfTwoMonths();
  const watched = await enter('owner', `/billing?account=${account}`);
  const { page } = watched;
  const table = (name: string | RegExp) => page.getByRole('table', { name });
  const textsOf = async (name: string | RegExp) => {
    await table(name).waitFor();
    const rows = await table(name).locator('tr').allInnerTexts();
    return rows.slice(1).map((row) => row.replaceAll(/\s+/g, ' ').trim());
  };
  expect((await textsOf(/^Statement of/)).map((row) => row.replace(/^Opening.*\$/, 'Opening $'))).toEqual([
    'Opening $50.74',
    'Requests × 2 −$0.50',
    'Refunds of requests × 1 +$0.25',
    'Balance now $50.49',
  ]);
  // Every digit is there when one looks closer.
  await table(/^Statement of/)
    .getByTitle('$50.499877 USD', { exact: true })
    .waitFor();
  expect(await textsOf('Charges by model')).toEqual([
    'full 2 $0.50 $0.25 $0.25 100.0%',
    'Total 2 $0.50 $0.25 $0.25',
  ]);
  await waitUntilLoaded(page);
  await checkLooks(page, 'billing-month');
  const view = page.getByRole('navigation', { name: 'Views of billing' }).locator('[aria-current=page]');
  expect(await view.allInnerTexts()).toEqual(['Months']);
  await page.getByRole('button', { name: 'Month before' }).click();
  await page.waitForURL(`**month=${before}*`);
  await page.getByText('Corrections').waitFor();
  expect((await textsOf(/^Statement of/)).slice(1)).toEqual([
    'Credit added × 1 +$50.00',
    'Requests × 2 −$1.25',
    'Corrections × 1 +$2.00',
    'Rounding −$0.01',
    'Closing balance $50.74',
  ]);
  await page.getByText('By day').click();
  await page.waitForURL('**by=day*');
  const day = table('Charges by day').getByRole('link').first();
  const address = new URL((await day.getAttribute('href')) ?? '', 'http://here');
  expect([address.pathname, address.searchParams.get('from'), address.searchParams.get('to')]).toEqual([
    '/requests',
    `${before}-02T00:00:00.000Z`,
    `${before}-03T00:00:00.000Z`,
  ]);
  await page.getByText('By key').click();
  expect((await textsOf('Charges by key'))[0]).toStartWith('Batch jobs 2 $1.25 ');
  await checkLooks(page, 'billing-month-before');
  const downloading = page.waitForEvent('download');
  await page.getByRole('link', { name: 'CSV' }).click();
  const file = readFileSync(await (await downloading).path(), 'utf8')
    .trimEnd()
    .split('\r\n');
  expect(file).toHaveLength(7);
  expect(file.at(-1)).toEndWith(',closing_balance,,,,,,,50.749877000000');

  await page.getByRole('link', { name: 'Print' }).click();
  await page.getByRole('heading', { name: 'Statement of account' }).waitFor();
  await page.getByText(account).waitFor();
  expect(await page.getByRole('navigation').count()).toBe(0);
  expect((await textsOf('Requests by model'))[0]).toBe('large 1 $1.25');
  await checkLooks(page, 'billing-statement');
  // As wide as A4 without its margins.
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  await page.setViewportSize({ width: 673, height: 1000 });
  await takePicture(page, 'billing-statement-paper');
  expect(await overflowOf(page)).toBe(0);
  expect(await page.getByRole('button', { name: 'Print' }).isVisible()).toBe(false);
  // A4 has the size that the style sheet asks for, and all of it fits on one page.
  const paper = await page.pdf({ preferCSSPageSize: true });
  expect(paper.toString('latin1').match(/\/Type \/Page\b/g)).toHaveLength(1);
  expect(paper.toString('latin1')).toMatch(/\/MediaBox \[0 0 59[45]\.?\d* 84[12]\.?\d*\]/);
  if (process.env.TOLLGATE_PICTURES !== undefined)
    writeFileSync(join(process.env.TOLLGATE_PICTURES, 'billing-statement.pdf'), paper);
  await page.emulateMedia({ media: null });
  expectNoComplaints(watched);
  await watched.close();
});

test('each person chooses which mails they get', async () => {
  const payer = await fixture.customer();
  const watched = await enter('owner', `/team?account=${payer.account}`);
  const { page } = watched;
  const payments = page.getByRole('switch', { name: 'Payments' });
  await payments.click();
  const chosen = async () => {
    const [row] = await fixture.database
      .sql`select kinds from mail_choices where account_id = ${payer.account}`;
    return row?.kinds as string[] | undefined;
  };
  await eventually('the choice', chosen);
  expect(await chosen()).toEqual(['low_balance', 'budget', 'grant_expiry', 'key_expiry']);
  await waitUntilLoaded(page);
  await checkLooks(page, 'team-mail');
  expectNoComplaints(watched);
  await watched.close();
});

test('older payments are on further pages', async () => {
  const payer = await fixture.customer();
  const days = Array.from({ length: 12 }, (_, day) => day + 1);
  for (const day of days)
    await fixture.database.sql`
      insert into payment_orders (id, account_id, kind, amount, currency, is_live, customer, state)
      values (${newId()}, ${payer.account}, 'checkout', ${day}, 'usd', false, 'cus_1', 'expired')`;
  const watched = await enter('owner', `/billing?tab=credit&account=${payer.account}`);
  const { page } = watched;
  const pages = page.getByRole('navigation', { name: 'Pages of Payments' });
  await page.getByText('$12.00', { exact: true }).waitFor();
  expect(await page.getByText('$2.00', { exact: true }).count()).toBe(0);
  await pages.getByRole('button', { name: 'Older' }).click();
  await page.getByText('$2.00', { exact: true }).waitFor();
  await pages.getByText('Page 2').waitFor();
  await checkLooks(page, 'billing-older');
  await pages.getByRole('button', { name: 'Newer' }).click();
  await page.getByText('$12.00', { exact: true }).waitFor();
  expectNoComplaints(watched);
  await watched.close();
});

test('operators see all payments, and refund one', async () => {
  const { stripe } = fixture;
  const payer = await fixture.customer();
  const { session, order } = await payer.checkout('25');
  stripe.pay(session);
  await payer.send('POST', payer.path(`payments/orders/${order}/check`), {});
  stripe.dispute(stripe.intentOf(session), 'warning_needs_response');
  stripe.warn(stripe.intentOf(session), false);
  const watched = await enter('operator', '/operator/accounts');
  const { page } = watched;
  await visit(page, `/operator/payments?search=${order}`);
  await page.getByRole('button', { name: 'Actions for Payer' }).click();
  await page.getByRole('menuitem', { name: 'Refund' }).click();
  await page.getByLabel('Amount in USD, with tax').fill('100');
  await page.getByRole('button', { name: 'Refund', exact: true }).click();
  await page.getByText('This is more than can be taken').waitFor();
  await page.getByLabel('Amount in USD, with tax').fill('5');
  await page.getByRole('button', { name: 'Refund', exact: true }).click();
  await payer.hasBalance('20');
  await page.getByText('Refund $5.00').waitFor();
  await page.getByText('made with stolen card').waitFor();
  await checkLooks(page, 'operator-payments');

  // Someone has changed the price of another one, and Stripe cannot be reached about a third.
  const [odd, late] = [await payer.checkout('40'), await payer.checkout('15')];
  for (const one of [odd, late]) stripe.pay(one.session);
  Object.assign(stripe.objects.get(odd.session) ?? {}, { amount_subtotal: 3000 });
  const check = (id: string) => fixture.operator('POST', `/api/console/operator/payments/${id}/check`, {});
  await check(odd.order);
  stripe.fail(...Array(40).fill({ path: `/sessions/${late.session}`, when: 'before' }));
  await check(late.order);
  await page.goto(`/operator/payments?search=${late.order}`);
  const attention = page.getByRole('table', { name: 'Payments that need attention' });
  await attention.getByText('differs from the order: amount').waitFor();
  await attention.getByRole('button', { name: 'Actions for Payer' }).first().click();
  await page.getByRole('menuitem', { name: 'Ask Stripe again' }).click();
  await page.getByText('Try again later').waitFor();
  await checkLooks(page, 'operator-payments-stuck');
  await attention.getByRole('button', { name: 'Actions for Payer' }).last().click();
  await page.getByRole('menuitem', { name: 'Refund' }).click();
  await page.getByText('Nothing was credited for this payment').waitFor();
  await page.getByRole('button', { name: 'Refund', exact: true }).click();
  await attention.getByText('differs from the order: amount').waitFor({ state: 'detached' });
  expectNoComplaints(watched);
  await watched.close();
});
