/** What a person does on the first day, in one go: from the printed password to a credit, on a first start. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import OpenAI from 'openai';
import type { Browser, Page } from 'playwright-core';
import {
  expectNoComplaints,
  openBrowser,
  openPage,
  takePicture,
  visit,
  type Watched,
  waitUntilLoaded,
} from '../support/browser.ts';
import { preparedFolder } from '../support/embedded.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { checkLooks } from '../support/looks.ts';

let gateway: Gateway;
let browser: Browser;
let watched: Watched;
let page: Page;
let secret = '';
let requestId = '';

beforeAll(async () => {
  const environment = { TOLLGATE_DATA: await preparedFolder() };
  [gateway, browser] = await Promise.all([startGateway(environment), openBrowser()]);
  watched = await openPage(browser, gateway.origin);
  page = watched.page;
}, 60_000);

afterAll(async () => {
  await browser?.close();
  await gateway?.stop();
}, 60_000);

const heading = (name: string | RegExp) => page.getByRole('heading', { level: 1, name });

/** Some of the operator's pages have the name of one of the account's, which is above it. */
async function go(name: string): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name, exact: true }).first().click();
  await heading(name).waitFor();
}

async function sayHello(apiKey: string) {
  const client = new OpenAI({ apiKey, baseURL: `${gateway.origin}/v1`, maxRetries: 0, timeout: 20_000 });
  const messages = [{ role: 'user' as const, content: 'Hello' }];
  return await client.chat.completions.create({ model: 'sandbox-chat', messages }).withResponse();
}

async function refusalOf(apiKey: string): Promise<unknown> {
  return await sayHello(apiKey).then(
    () => null,
    (error: unknown) => error,
  );
}

test('signs in with what the first start printed', async () => {
  await page.goto('/');
  await heading('Sign in').waitFor();
  expect(new URL(page.url()).pathname).toBe('/sign-in');
  const [, email = '', password = ''] =
    /E-mail:\s+(\S+)\s+Password:\s+(\S+)/.exec(await printed(/Password:\s+\S+/)) ?? [];
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill('not this one');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('The e-mail address or the password is wrong.').waitFor();
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await heading('Overview').waitFor();
  const [cookie] = await page.context().cookies();
  expect(cookie).toMatchObject({ name: 'tollgate_session', httpOnly: true, sameSite: 'Lax', path: '/' });
});

/** What the gateway has printed, once this is in it. */
async function printed(pattern: RegExp): Promise<string> {
  await eventually(`${pattern}`, () => pattern.test(gateway.output()));
  return gateway.output();
}

test('makes a key, which is shown once', async () => {
  await go('Keys');
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name').fill('Walk');
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByRole('button', { name: 'Copy key' }).click();
  secret = (await page.getByTestId('secret').textContent()) ?? '';
  expect(secret).toMatch(/^svc_sk_\w+$/);
  expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(secret);
  await page.getByRole('button', { name: 'I have saved it' }).click();
  await page.getByRole('row', { name: /Walk/ }).waitFor();
  expect(await page.content()).not.toContain(secret);
});

test('calls the API with it, and sees the Generation and what it cost', async () => {
  await go('Requests');
  const { data: completion, response } = await sayHello(secret);
  requestId = response.headers.get('x-service-request-id') ?? '';
  expect(completion.id).toBe(requestId);
  const row = page.getByRole('row', { name: /sandbox-chat.*Walk/s });
  await row.first().waitFor();
  const known = await fetch(`${gateway.origin}/v1/generations/${requestId}`, {
    headers: { authorization: `Bearer ${secret}` },
  });
  const { cost } = (await known.json()) as { cost: { total: string } };
  await row.first().getByRole('link').first().click();
  await page.getByRole('link', { name: 'Open as a page' }).click();
  await page.waitForURL(`**/requests/${requestId}?*`);
  await page.getByText(`$${cost.total}`).first().waitFor();
  await page.getByText(requestId).first().waitFor();
});

test('replaces the key: the new one is accepted, the old one refused', async () => {
  const old = secret;
  await go('Keys');
  await page.getByRole('button', { name: 'Actions for Walk' }).click();
  await page.getByRole('menuitem', { name: 'Replace' }).click();
  await page.getByLabel('Revoke the old key').selectOption({ label: 'Immediately' });
  await page.getByRole('button', { name: 'Replace key' }).click();
  secret = (await page.getByTestId('secret').textContent()) ?? '';
  expect(secret).not.toBe(old);
  await page.getByRole('button', { name: 'Copy key' }).click();
  await page.getByRole('button', { name: 'I have saved it' }).click();
  expect((await sayHello(secret)).data.choices).toHaveLength(1);
  expect(await refusalOf(old)).toMatchObject({ status: 401, code: 'invalid_api_key' });
});

test('hits a spend limit, and sees why', async () => {
  await page.getByRole('button', { name: 'Actions for Walk' }).click();
  await page.getByRole('menuitem', { name: 'Edit' }).click();
  await page.getByLabel('Monthly limit in USD').fill('0.000001');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The key “Walk” was changed.').waitFor();
  expect(await refusalOf(secret)).toMatchObject({ status: 403, code: 'monthly_spend_limit_exceeded' });
  await page.getByRole('row', { name: /Walk/ }).getByText('100%').waitFor();
  await takePicture(page, 'walk-key-at-limit');
  await go('Overview');
  await page.getByText('The key “Walk” has reached its monthly limit').waitFor();
  await takePicture(page, 'walk-limit-reached');
});

test('runs a decision', async () => {
  await go('Decisions');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByRole('tab', { name: 'Details' }).click();
  await page.getByText('Sandbox', { exact: true }).waitFor();
  await page
    .getByText(/^req_[0-9a-f]{32}$/)
    .first()
    .waitFor();
  await takePicture(page, 'walk-decision');
});

test('credits the account as the operator, once however often it is pressed', async () => {
  await visit(page, '/operator/accounts');
  await page.getByRole('button', { name: /Actions for Demo|Credit Demo/ }).click();
  await page.getByRole('menuitem', { name: /credit/i }).click();
  await page.getByLabel('Amount in USD').fill('12.50');
  await page.getByLabel('Memo').fill('Invoice 7');
  await page.getByRole('button', { name: 'Add credit' }).dblclick();
  await page.getByText('$12.50 was added to Demo.').waitFor();
  await page.getByRole('button', { name: 'Done' }).click();
  await go('Billing');
  await page.getByRole('link', { name: 'Entries' }).click();
  const credited = page.getByRole('row', { name: /Invoice 7/ });
  await credited.first().waitFor();
  expect(await credited.count()).toBe(1);
});

type Place = readonly [pattern: string, title: RegExp];

/** Looked at as thoroughly with more in them, by the tests of homes, requests and things. */
const lookedAtElsewhere = [
  '/',
  '/keys/$id',
  '/models',
  '/models/$id',
  '/requests',
  '/operator',
  '/operator/providers',
  '/operator/providers/$id',
  '/operator/requests',
  '/operator/requests/$id',
];

/** The other pages of the app, as the router has them. */
const places: readonly Place[] = [
  ['/keys', /^Keys$/],
  ['/limits', /^Limits$/],
  ['/requests/$id', /^sandbox-chat/],
  ['/usage', /^Usage$/],
  ['/billing', /^Billing$/],
  ['/billing/statement/$month', /^Statement of account$/],
  ['/playground', /^Playground$/],
  ['/decisions', /^Decisions$/],
  ['/team', /^Team$/],
  ['/webhooks', /^Webhooks$/],
  ['/audit-log', /^Audit log$/],
  ['/account', /./],
  ['/operator/accounts', /^Accounts$/],
  ['/operator/accounts/$id', /^Demo/],
  ['/operator/users', /^Users$/],
  ['/operator/catalog', /^Catalogue$/],
  ['/operator/nodes', /^Nodes$/],
  ['/operator/margins', /^Margins$/],
  ['/operator/ledger', /^Ledger$/],
  ['/operator/payments', /^Payments$/],
  ['/operator/reconciliation', /^Reconciliation$/],
  ['/operator/tokens', /^Admin tokens$/],
  ['/operator/webhooks', /^Webhooks$/],
  ['/operator/audit-log', /^Audit log$/],
  ['/nowhere', /^Page not found$/],
];

const signedOutPlaces: readonly Place[] = [
  ['/sign-in', /^Sign in$/],
  ['/sign-up', /./],
  ['/forgot-password', /./],
  ['/reset-password', /./],
  ['/verify-email', /./],
  ['/invitation', /./],
  ['/docs', /./],
];

/** What stands for the parameter of an address. */
async function valueFor(pattern: string): Promise<string> {
  if (pattern.endsWith('$month')) return new Date().toISOString().slice(0, 7);
  if (pattern.startsWith('/requests')) return requestId;
  const { data } = await page.evaluate<{ data: { id: string }[] }>(
    `fetch('/api/console/operator/accounts').then((response) => response.json())`,
  );
  return data[0]?.id ?? '';
}

async function checkPlace([pattern, title]: Place): Promise<void> {
  const [parameter] = /\$\w+/.exec(pattern) ?? [];
  const path = parameter === undefined ? pattern : pattern.replace(parameter, await valueFor(pattern));
  await visit(page, path);
  await heading(title).first().waitFor();
  await waitUntilLoaded(page);
  await checkLooks(page, `page${pattern.replaceAll('/', '-')}`, true);
}

test('the places to look at are all that there are', () => {
  const router = readFileSync(join(import.meta.dir, '../../dashboard/router.tsx'), 'utf8');
  const routes = [...router.matchAll(/getParentRoute: \(\) => (\w+), path: '([^']+)', component/g)];
  const paths = routes.map(([, parent, path = '']) =>
    posix.join('/', parent === 'ofOperator' ? 'operator' : '', path).replace(/(?<=.)\/$/, ''),
  );
  expect(paths.length).toBeGreaterThan(30);
  const looked = new Set([
    ...[...places, ...signedOutPlaces].map(([pattern]) => pattern),
    ...lookedAtElsewhere,
  ]);
  expect(paths.filter((path) => !looked.has(path))).toEqual([]);
});

test.each(places)('%s looks right by day, at night and on a phone', async (pattern, title) => {
  await checkPlace([pattern, title]);
});

test('signs out, after which the cookie no longer works', async () => {
  const cookies = await page.context().cookies();
  await page.goto('/');
  await page.getByRole('button', { name: /demo/i }).last().click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await heading('Sign in').waitFor();
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  const answer = await fetch(`${gateway.origin}/api/console/me`, { headers: { cookie } });
  expect(answer.status).toBe(401);
});

test.each(signedOutPlaces)('%s looks right to whoever has not signed in', async (path, title) => {
  await page.goto(path);
  await heading(title).first().waitFor();
  await checkLooks(page, `page${path.replaceAll('/', '-')}`, true);
  expectNoComplaints(watched);
});
