/** What a new customer sees, from the sign-up to the first request that works: with mail and Stripe, and without either. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import { type Sandbox, startSandbox } from '../../sandbox/server.ts';
import {
  expectNoComplaints,
  openBrowser,
  openPage,
  visit,
  type Watched,
  waitUntilLoaded,
} from '../support/browser.ts';
import { type Gateway, startGateway, temporaryFolder, writeCatalog } from '../support/gateway.ts';
import { checkLooks } from '../support/looks.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { openPaymentsFixture, type PaymentsFixture } from '../support/payments-fixture.ts';
import { createKey, newPassword, signUp, smallAndGrand, verificationLink } from '../support/sign-up-page.ts';

let fixture: PaymentsFixture;
let browser: Browser;
let mail: MailServer;
let sandbox: Sandbox;
/** Neither sends mail nor takes payments, and gives nothing. */
let plain: Gateway;

beforeAll(async () => {
  mail = startMailServer();
  sandbox = startSandbox({ keepEntries: 100 });
  const settings = {
    SIGN_UP: 'open',
    MAIN_KEY: 'provider-key-canary',
    TOLLGATE_CATALOG: writeCatalog(smallAndGrand(sandbox.url)),
    OPERATOR_CONTACT: 'mailto:billing@example.com',
  };
  [fixture, browser] = await Promise.all([
    openPaymentsFixture({
      ...settings,
      SMTP_URL: mail.url,
      MAIL_FROM: 'Tollgate <noreply@example.com>',
      WELCOME_GRANT: '5',
      WELCOME_GRANTS_PER_NETWORK: '1',
    }),
    openBrowser(),
  ]);
  plain = await startGateway({
    ...settings,
    DATABASE_URL: fixture.environment.DATABASE_URL ?? '',
    TOLLGATE_DATA: temporaryFolder(),
    AUTH_SECRET: fixture.environment.AUTH_SECRET ?? '',
  });
}, 60_000);

afterAll(async () => {
  await browser.close();
  await plain.stop();
  await fixture.close();
  await sandbox.stop();
  mail.stop();
});

async function signUpAs(email: string, origin = fixture.gateways[0]?.origin ?? ''): Promise<Watched> {
  const watched = await openPage(browser, origin);
  await signUp(watched.page, email);
  return watched;
}

const step = (page: Page, title: string) =>
  page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: title }) });
const done = (page: Page, title: string) => page.getByRole('heading', { name: `${title} (done)` }).waitFor();

test('a new customer verifies the address, gets credit and a key, and runs what the page shows', async () => {
  const watched = await signUpAs('ann@example.com');
  const { page } = watched;
  const first = await verificationLink(mail, 'ann@example.com');
  await page.getByText('Five steps to your first request').waitFor();
  await step(page, 'Get credit').getByText('if some is left by then').waitFor();
  expect(await page.getByRole('button', { name: 'Create a key' }).count()).toBe(0);
  expect(await page.getByText('The balance is used up').count()).toBe(0);
  await checkLooks(page, 'first-page-unverified');
  await visit(page, '/keys');
  await page.getByText('Until then you can look at everything').waitFor();
  await page.getByRole('button', { name: 'New key' }).first().click();
  await page.getByLabel('Name', { exact: true }).fill('Too early');
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByText('Verify your e-mail address first').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await checkLooks(page, 'keys-unverified');
  await visit(page, '/');
  await page.getByRole('button', { name: 'Send the mail again' }).click();
  await page.getByText('A new link is on its way to ann@example.com.').waitFor();
  const second = await verificationLink(mail, 'ann@example.com');
  expect(second).not.toBe(first);

  const tab = await page.context().newPage();
  await tab.goto(second);
  await tab.getByText('Your e-mail address is verified.').waitFor();
  await tab.getByRole('heading', { name: 'Get started' }).waitFor();
  expect(tab.url()).not.toContain('token');
  await tab.close();
  // The page that was left open notices by itself.
  await done(page, 'Verify your e-mail address');
  await done(page, 'Get credit');
  await step(page, 'Get credit').getByText('$5.00 of welcome credit was added').waitFor();
  const secret = await createKey(page);
  await done(page, 'Create a key');
  const code = page.getByRole('region', { name: 'First request' });
  const command = await code.innerText();
  expect(command).toContain(secret);
  expect(command).toContain('"small"');
  await page.getByText('Python', { exact: true }).click();
  expect(await code.innerText()).toContain(`api_key="${secret}"`);
  await waitUntilLoadedApartFromWaiting(page);
  await checkLooks(page, 'first-page-key');
  const run = Bun.spawn(['sh', '-c', command], { stdout: 'pipe', stderr: 'ignore' });
  expect(await new Response(run.stdout).text()).toContain('"choices"');
  await page.getByRole('link', { name: 'View request' }).waitFor();
  await done(page, 'Send a request');
  await done(page, 'See it appear');
  await page.getByRole('heading', { name: 'Top models' }).waitFor();
  await checkLooks(page, 'first-page-done');
  // A reload forgets the secret.
  await page.reload();
  await page.getByRole('heading', { name: 'Latest requests' }).waitFor();
  expect(await page.content()).not.toContain(secret);
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

/** The dot of the last step keeps breathing until the request arrives. */
async function waitUntilLoadedApartFromWaiting(page: Page): Promise<void> {
  await page.locator('.animate-breathe:not(.rounded-full)').first().waitFor({ state: 'detached' });
}

test('who comes when enough was given is told so, signs in to verify, and pays', async () => {
  const watched = await signUpAs('bob@example.com');
  const { page } = watched;
  const link = await verificationLink(mail, 'bob@example.com');
  await page.goto('/verify-email#token=not-a-token');
  await page.getByRole('heading', { name: 'This link does not work' }).waitFor();
  await checkLooks(page, 'verify-email-unusable');
  await page.context().clearCookies();
  await page.goto('/healthz');
  await page.goto(link);
  await page.getByText('Sign in with the password that you chose').waitFor();
  await checkLooks(page, 'verify-email-signed-out');
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.getByLabel('E-mail').fill('bob@example.com');
  await page.getByLabel('Password', { exact: true }).fill(newPassword);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('Your e-mail address is verified.').waitFor();
  await step(page, 'Get credit').getByText('There is no welcome credit for this account').waitFor();
  await page.getByText('Four steps to your first request').waitFor();
  await checkLooks(page, 'first-page-refused');

  await page.getByRole('link', { name: 'Add credit' }).click();
  await page.route('https://stripe.example/pay/*', async (route) => {
    const session = [...fixture.stripe.objects.values()].find(({ url }) => url === route.request().url());
    fixture.stripe.pay(String(session?.id));
    await route.fulfill({ status: 303, headers: { location: String(session?.success_url) } });
  });
  await page.getByLabel('Amount in USD').fill('30');
  await page.getByRole('button', { name: 'Pay with Stripe' }).click();
  await page.getByText('$30.00 was added.').waitFor();
  await visit(page, '/');
  await done(page, 'Get credit');
  await page.getByText('$30.00 is available.').waitFor();
  // A link that was used before leads to where it led then.
  await page.goto('/healthz');
  await page.goto(link);
  await page.getByRole('heading', { name: 'Get started' }).waitFor();
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('without mail, Stripe and welcome credit, the page says whom to ask', async () => {
  const watched = await signUpAs('carl@example.com', plain.origin);
  const { page } = watched;
  await page.getByText('Four steps to your first request').waitFor();
  const credit = step(page, 'Get credit');
  expect(await credit.getByRole('link', { name: 'Ask the operator' }).getAttribute('href')).toBe(
    'mailto:billing@example.com',
  );
  expect(await credit.innerText()).not.toContain('welcome');
  await waitUntilLoadedApartFromWaiting(page);
  await checkLooks(page, 'first-page-plain');
  await createKey(page);
  await credit.getByRole('link', { name: 'Redeem a code' }).click();
  await page.getByLabel('Code').waitFor();
  await waitUntilLoaded(page);
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);
