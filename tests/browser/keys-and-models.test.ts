/** The pages Keys and Models, as an owner and as a member walk through them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Browser, Page } from 'playwright-core';
import {
  desktop,
  desktopAtNight,
  expectNoComplaints,
  type Look,
  openBrowser,
  openPage,
  overflowOf,
  phone,
  seriousViolations,
  takePicture,
  type Watched,
} from '../support/browser.ts';
import { type ConsoleFixture, openConsoleFixture, type Person } from '../support/console-fixture.ts';

let fixture: ConsoleFixture;
let browser: Browser;

beforeAll(async () => {
  [fixture, browser] = await Promise.all([openConsoleFixture(), openBrowser()]);
}, 60_000);

afterAll(async () => {
  await browser?.close();
  await fixture?.close();
}, 30_000);

async function enter(person: Person, path: string, look: Look = desktop): Promise<Watched> {
  const watched = await openPage(browser, fixture.gateway.origin, look);
  const cookies = fixture.people[person].cookie.split('; ').map((pair) => {
    const at = pair.indexOf('=');
    return { name: pair.slice(0, at), value: pair.slice(at + 1), url: fixture.gateway.origin };
  });
  await watched.page.context().addCookies(cookies);
  await watched.page.goto(path);
  return watched;
}

/** What the API answers to a short chat with this key: its error code, or null. */
async function chatWith(key: string, model: string): Promise<string | null> {
  const response = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 5 }),
  });
  const { error } = (await response.json()) as { error?: { code: string } };
  return error?.code ?? null;
}

/** Other nodes hear of a change a moment later. */
async function waitForCode(key: string, model: string, code: string | null): Promise<void> {
  while ((await chatWith(key, model)) !== code) await Bun.sleep(50);
}

const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name });

async function act(page: Page, name: string, action: 'Change' | 'Replace' | 'Revoke'): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${name}` }).click();
  await page.getByRole('menuitem', { name: action }).click();
}

async function takeSecret(page: Page): Promise<string> {
  const secret = (await page.getByTestId('secret').textContent()) ?? '';
  expect(secret).toStartWith('svc_sk_');
  expect(await page.getByRole('region', { name: 'the command with your key' }).textContent()).toContain(
    secret,
  );
  await page.getByRole('button', { name: 'Copy the key' }).click();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(secret);
  // Only the button closes it.
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByTestId('secret').waitFor({ state: 'detached' });
  expect(await page.content()).not.toContain(secret);
  return secret;
}

test('an owner makes, changes, replaces and revokes a key, and the API agrees', async () => {
  const watched = await enter('owner', '/keys');
  const { page } = watched;
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByRole('button', { name: 'Create the key' }).click();
  await page.getByText('Give the key a name.').waitFor();
  await page.getByLabel('Name', { exact: true }).fill('Batch jobs');
  await page.getByLabel('Requests per minute').fill('120');
  await page.getByLabel(/^Monthly limit/).fill('2.5');
  await page.getByText('Only these').click();
  await page.getByLabel('Search models').fill('fu');
  await page.getByLabel('plain').waitFor({ state: 'detached' });
  await page.getByLabel('full').check();
  await page.getByLabel('Expires').selectOption('30');
  await page.getByRole('button', { name: 'Create the key' }).click();
  const first = await takeSecret(page);
  const row = await rowOf(page, 'Batch jobs').textContent();
  for (const words of ['Active', '120', '$2.50', 'full']) expect(row).toContain(words);
  expect(await chatWith(first, 'full')).toBeNull();
  expect(await chatWith(first, 'plain')).toBe('model_not_allowed');

  await act(page, 'Batch jobs', 'Change');
  expect(await page.getByLabel(/^Monthly limit/).inputValue()).toBe('2.5');
  await page.getByLabel(/^Monthly limit/).fill('0');
  await page.getByLabel('Name', { exact: true }).fill('Nightly jobs');
  await page.getByRole('button', { name: 'Save' }).click();
  await rowOf(page, 'Nightly jobs').getByText('100 %').waitFor();
  await waitForCode(first, 'full', 'monthly_spend_limit_exceeded');

  await act(page, 'Nightly jobs', 'Change');
  await page.getByLabel(/^Monthly limit/).fill('');
  await page.getByRole('button', { name: 'Save' }).click();
  await rowOf(page, 'Nightly jobs').getByText('no limit').waitFor();

  await act(page, 'Nightly jobs', 'Replace');
  await page.getByLabel('The old key ends').selectOption('now');
  await page.getByRole('button', { name: 'Replace the key' }).click();
  const second = await takeSecret(page);
  expect(second).not.toBe(first);
  expect(await chatWith(second, 'full')).toBeNull();
  await waitForCode(first, 'full', 'invalid_api_key');
  expect(await rowOf(page, 'Nightly jobs').count()).toBe(1);
  await page.getByRole('switch', { name: /Show revoked/ }).check();
  await rowOf(page, 'Nightly jobs').filter({ hasText: 'Revoked' }).waitFor();
  expect(new URL(page.url()).searchParams.get('revoked')).toBe('shown');

  await act(page, 'Nightly jobs', 'Revoke');
  const revoke = page.getByRole('button', { name: 'Revoke the key' });
  expect(await revoke.isDisabled()).toBe(true);
  await page.getByLabel('Write Nightly jobs to confirm').fill('Nightly jobs');
  await revoke.click();
  await page.getByText('is revoked.').waitFor();
  await waitForCode(second, 'full', 'invalid_api_key');
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('a replaced key stays in force until it ends', async () => {
  const watched = await enter('owner', '/keys');
  const { page } = watched;
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Mobile app');
  await page.getByRole('button', { name: 'Create the key' }).click();
  const first = await takeSecret(page);
  await act(page, 'Mobile app', 'Replace');
  await page.getByLabel('The old key ends').selectOption('time');
  await page.getByRole('button', { name: 'Replace the key' }).click();
  await page.getByText('Choose a day and a time.').waitFor();
  await page.getByLabel('Time').fill('2040-01-01T00:00');
  await page.getByRole('button', { name: 'Replace the key' }).click();
  await page.getByText('The old key must end within 30 days.').waitFor();
  await page.getByLabel('The old key ends').selectOption('hour');
  await page.getByRole('button', { name: 'Replace the key' }).click();
  const second = await takeSecret(page);
  await rowOf(page, 'Mobile app').filter({ hasText: 'Replaced' }).getByText('ends in').waitFor();
  expect([await chatWith(first, 'full'), await chatWith(second, 'full')]).toEqual([null, null]);
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('a member sees the keys, and whom to ask', async () => {
  const watched = await enter('member', '/keys');
  const { page } = watched;
  await page.getByText('ask owner@example.com').waitFor();
  await page.getByRole('cell', { name: 'Active' }).first().waitFor();
  expect(await page.getByRole('button', { name: /Create a key|Actions for/ }).count()).toBe(0);
  expectNoComplaints(watched);
  await watched.close();
}, 30_000);

test('what cannot be loaded says so, with a way to try again', async () => {
  const watched = await enter('owner', '/models');
  const { page } = watched;
  await page.route('**/keys', (route) =>
    route.fulfill({
      status: 400,
      headers: { 'x-service-request-id': 'req_example' },
      json: { error: { message: 'The keys rest today.', type: 'internal_error', code: 'invalid_request' } },
    }),
  );
  await page.getByRole('link', { name: 'Keys', exact: true }).click();
  await page.getByText('The keys rest today.').waitFor();
  await page.getByText('req_example').waitFor();
  await page.unroute('**/keys');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('cell', { name: 'Active' }).first().waitFor();
  await watched.close();
}, 30_000);

test('models are found, calculated and tried', async () => {
  const watched = await enter('owner', '/models?workload=chat');
  const { page } = watched;
  await page.getByRole('heading', { name: 'tiered' }).waitFor();
  expect(await page.getByRole('heading', { name: 'picture' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Calls tools' }).click();
  await page.getByRole('heading', { name: 'plain' }).waitFor({ state: 'detached' });
  await page.getByLabel('Search models').fill('tier');
  await page.getByText('1 model', { exact: true }).waitFor();
  expect(new URL(page.url()).search).toBe('?workload=chat&can=function_calling&q=tier');
  await page.getByText('Up to 1K input tokens').waitFor();

  await page.getByRole('button', { name: 'Calculate the cost of tiered' }).click();
  const total = page.getByTestId('total');
  await page.getByLabel('Input tokens').fill('100');
  await page.getByLabel('Output tokens').fill('1');
  expect(await total.textContent()).toBe('$0.000102');
  // One token more, and the second tier counts for all of them.
  await page.getByLabel('Input tokens').fill('101');
  expect(await total.textContent()).toBe('$0.000307000001');
  await page.getByLabel('Output tokens').fill('some');
  await page.getByText('Enter a whole number.').waitFor();
  await page.getByRole('button', { name: 'Close' }).last().click();

  await page.getByRole('button', { name: 'Copy the model ID tiered' }).click();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe('tiered');
  await page.getByRole('link', { name: /Try it.*tiered/ }).click();
  await page.getByRole('heading', { name: 'Playground', level: 1 }).waitFor();
  expect(await page.getByLabel('Model').inputValue()).toBe('tiered');

  await page.goto('/models?q=picture');
  await page.getByRole('button', { name: 'Calculate the cost of picture' }).click();
  await page.getByLabel('Images').fill('3');
  expect(await total.textContent()).toBe('$0.12');
  await page.goto('/models?q=nothing-like-this');
  await page.getByText('No model fits').waitFor();
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

describe.each([
  ['light', desktop],
  ['dark', desktopAtNight],
  ['phone', phone],
] as const)('in %s', (name, look) => {
  test('the pages can be used by everyone', async () => {
    const watched = await enter('owner', '/keys', look);
    const { page } = watched;
    const check = async (what: string) => {
      expect(await seriousViolations(page)).toEqual([]);
      expect(await overflowOf(page)).toBe(0);
      await takePicture(page, `${what}-${name}`);
    };
    await page.getByText('Active').first().waitFor();
    await check('keys');
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByText('Only these').click();
    await page.getByLabel('full').check();
    await check('keys-create');
    await page.goto('/models');
    await page.getByRole('heading', { name: 'tiered' }).waitFor();
    await check('models');
    await page.getByRole('button', { name: 'Calculate the cost of full' }).click();
    await check('models-calculate');
    expectNoComplaints(watched);
    await watched.close();
  }, 60_000);
});
