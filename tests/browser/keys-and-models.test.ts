/** The pages Keys and Models, as an owner and as a member walk through them. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import type { Keys, NewKey } from '../../src/console/contract.ts';
import { expectNoComplaints, focused, phone, tabTo, takePicture, visit } from '../support/browser.ts';
import { chatCatalog } from '../support/chat-fixture.ts';
import { type DashboardFixture, openDashboardFixture } from '../support/dashboard-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { checkLooks, violationsOf } from '../support/looks.ts';

/** A model that has every cache price. */
const cachedModel = `
  cached: { workload: chat, providers: [main], pricing: { billing_type: token, input: "1", output: "2", cache_read: "0.1", cache_write: "1.25", cache_write_long: "2" } }
`;
const priceGroups = 'price_groups: { partner: { discount: "50" } }\n';
let fixture: DashboardFixture;

beforeAll(async () => {
  fixture = await openDashboardFixture(
    (url) => `${chatCatalog(url, { providers: '', models: cachedModel })}${priceGroups}`,
  );
}, 60_000);

afterAll(async () => {
  await fixture?.close();
}, 60_000);

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
  await eventually(`the answer ${code}`, async () => (await chatWith(key, model)) === code);
}

const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name });

async function act(page: Page, name: string, action: 'Edit' | 'Replace' | 'Revoke'): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${name}` }).click();
  await page.getByRole('menuitem', { name: action }).click();
}

const focusedLabel = (page: Page) => page.evaluate('document.activeElement?.getAttribute("aria-label")');

async function takeSecret(page: Page): Promise<string> {
  const secret = (await page.getByTestId('secret').textContent()) ?? '';
  expect(secret).toStartWith('svc_sk_');
  expect(await page.getByRole('region', { name: 'Command with your key' }).textContent()).toContain(secret);
  expect(await focusedLabel(page)).toBe('Copy key');
  await page.keyboard.press('Enter');
  await page.getByText('Copied', { exact: true }).first().waitFor();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(secret);
  // Only the button closes it. Browsers close a dialog at a second Escape, whatever the page says to the first.
  for (let times = 0; times < 3; times += 1) await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'I have saved it' }).click();
  await page.getByTestId('secret').waitFor({ state: 'detached' });
  expect(await page.content()).not.toContain(secret);
  return secret;
}

test('an owner makes, changes, replaces and revokes a key, and the API agrees', async () => {
  const watched = await fixture.enter('owner', '/keys');
  const { page } = watched;
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByText('Enter a name.').waitFor();
  await page.getByLabel('Name', { exact: true }).fill('Batch jobs');
  await page.getByLabel('Requests per minute').fill('120');
  await page.getByLabel('Concurrent requests').fill('7');
  await page.getByLabel(/^Monthly limit/).fill('2.5');
  await page.getByText('Selected models').click();
  await page.getByLabel('Search models').fill('fu');
  await page.getByLabel('plain').waitFor({ state: 'detached' });
  await page.getByLabel('full').check();
  await page.getByLabel('Expires').selectOption('30');
  await page.getByRole('button', { name: 'Create key' }).click();
  const first = await takeSecret(page);
  const row = await rowOf(page, 'Batch jobs').textContent();
  for (const words of ['Active', '120', '7 concurrent', '$2.50', 'full']) expect(row).toContain(words);
  expect(await chatWith(first, 'full')).toBeNull();
  expect(await chatWith(first, 'plain')).toBe('model_not_allowed');

  await act(page, 'Batch jobs', 'Edit');
  expect(await page.getByLabel(/^Monthly limit/).inputValue()).toBe('2.5');
  await page.getByLabel(/^Monthly limit/).fill('0');
  await page.getByLabel('Name', { exact: true }).fill('Nightly jobs');
  await page.getByRole('button', { name: 'Save' }).click();
  await rowOf(page, 'Nightly jobs').getByText('100%').waitFor();
  await rowOf(page, 'Nightly jobs').getByText('At limit').waitFor();
  expect(await rowOf(page, 'Nightly jobs').getByText('Active').count()).toBe(0);
  await waitForCode(first, 'full', 'monthly_spend_limit_exceeded');

  await act(page, 'Nightly jobs', 'Edit');
  await page.getByLabel(/^Monthly limit/).fill('');
  await page.getByRole('button', { name: 'Save' }).click();
  await rowOf(page, 'Nightly jobs').getByText('no limit').waitFor();

  await act(page, 'Nightly jobs', 'Replace');
  await page.getByLabel('Revoke the old key').selectOption('now');
  await page.getByRole('button', { name: 'Replace key' }).click();
  const second = await takeSecret(page);
  expect(second).not.toBe(first);
  expect(await chatWith(second, 'full')).toBeNull();
  await waitForCode(first, 'full', 'invalid_api_key');
  expect(await rowOf(page, 'Nightly jobs').count()).toBe(1);
  await page.getByRole('switch', { name: /Show revoked/ }).check();
  await rowOf(page, 'Nightly jobs').filter({ hasText: 'Revoked' }).waitFor();
  expect(new URL(page.url()).searchParams.get('revoked')).toBe('shown');

  await act(page, 'Nightly jobs', 'Revoke');
  const revoke = page.getByRole('button', { name: 'Revoke key' });
  expect(await revoke.isDisabled()).toBe(true);
  await page.getByLabel('Type Nightly jobs to confirm').fill('Nightly jobs');
  await revoke.click();
  await page.getByText('was revoked.').waitFor();
  await waitForCode(second, 'full', 'invalid_api_key');
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('a key is made, limited and revoked without a mouse, and the focus is never lost', async () => {
  const watched = await fixture.enter('owner', '/keys');
  const { page } = watched;
  const { keyboard } = page;
  const dialog = page.getByRole('dialog');
  const choose = async (action: string) => {
    await keyboard.press('Enter');
    const item = page.getByRole('menuitem', { name: action });
    await page.getByRole('menuitem', { name: 'Edit' }).and(page.locator(':focus')).waitFor();
    while ((await item.and(page.locator(':focus')).count()) === 0) await keyboard.press('ArrowDown');
    await keyboard.press('Enter');
    await dialog.waitFor();
  };
  const create = page.getByRole('button', { name: 'New key' });
  await tabTo(page, create);
  await keyboard.press('Enter');
  await focused(dialog.getByLabel('Name', { exact: true }));
  await keyboard.press('Escape');
  await focused(create);
  await keyboard.press('Enter');
  await focused(dialog.getByLabel('Name', { exact: true }));
  await keyboard.type('By hand');
  await keyboard.press('Enter');
  await focused(page.getByRole('button', { name: 'Copy key' }));
  await keyboard.press('Enter');
  await tabTo(page, page.getByRole('button', { name: 'I have saved it' }));
  await keyboard.press('Enter');
  await focused(create);
  const actions = page.getByRole('button', { name: 'Actions for By hand' });
  await tabTo(page, actions);
  await choose('Edit');
  await tabTo(page, dialog.getByLabel(/^Monthly limit/));
  await keyboard.type('0.002');
  await keyboard.press('Enter');
  await rowOf(page, 'By hand').getByText('of $0.002').waitFor();
  await focused(actions);
  await choose('Revoke');
  await keyboard.type('By hand');
  await keyboard.press('Enter');
  await rowOf(page, 'By hand').waitFor({ state: 'detached' });
  // It is where the row was, and not at the start of the page.
  await page.locator('tbody :focus').waitFor();
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('a replaced key stays in force until it ends', async () => {
  const watched = await fixture.enter('owner', '/keys');
  const { page } = watched;
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Mobile app');
  await page.getByRole('button', { name: 'Create key' }).click();
  const first = await takeSecret(page);
  await act(page, 'Mobile app', 'Replace');
  await page.getByLabel('Revoke the old key').selectOption('time');
  await page.getByRole('button', { name: 'Replace key' }).click();
  await page.getByText('Choose a date and time.').waitFor();
  await page.getByLabel('Time').fill('2040-01-01T00:00');
  await page.getByRole('button', { name: 'Replace key' }).click();
  await page.getByText('The old key must end within 30 days.').waitFor();
  await page.getByLabel('Revoke the old key').selectOption('hour');
  await page.getByRole('button', { name: 'Replace key' }).click();
  const second = await takeSecret(page);
  await rowOf(page, 'Mobile app').filter({ hasText: 'Replaced' }).getByText('expires in').waitFor();
  expect([await chatWith(first, 'full'), await chatWith(second, 'full')]).toEqual([null, null]);
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('a key that nobody copied is not lost to a single click', async () => {
  const watched = await fixture.enter('owner', '/keys');
  const { page } = watched;
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Copied by hand');
  await page.keyboard.press('Enter');
  const secret = page.getByTestId('secret');
  await secret.waitFor();
  await page.getByRole('button', { name: 'I have saved it' }).click();
  await page.getByText('You have not copied it').waitFor();
  expect(await focusedLabel(page)).toBe('Copy key');
  await checkLooks(page, 'keys-not-copied');
  await page.getByRole('button', { name: 'Close without copying' }).click();
  await secret.waitFor({ state: 'detached' });
  // Selecting the text and copying it is as good as the button.
  await act(page, 'Copied by hand', 'Replace');
  await page.getByRole('button', { name: 'Replace key' }).click();
  await secret.click();
  await page.keyboard.press('Control+c');
  expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(await secret.innerText());
  await page.getByRole('button', { name: 'I have saved it' }).click();
  await secret.waitFor({ state: 'detached' });
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('hundreds of keys are searched, sorted and paged, and chosen by their names', async () => {
  await fixture.database.sql`
    with made as (
      insert into api_keys (id, account_id, name, hash, hint, requests_per_minute)
      select gen_random_uuid(), ${fixture.strangersAccount}, 'Robot ' || lpad(at::text, 3, '0'),
             sha256(at::text::bytea), 'svc_sk_…' || lpad(to_hex(at), 4, '0'), 60
      from generate_series(1, 500) as at
      returning id
    )
    insert into api_key_meters (key_id) select id from made`;
  await fixture.database.sql`
    update api_key_meters set last_used_at = now() from api_keys
    where api_keys.id = key_id and account_id = ${fixture.strangersAccount} and name = 'Robot 300'`;
  const watched = await fixture.enter('stranger', '/keys');
  const { page } = watched;
  const rows = page.getByRole('table', { name: 'Keys of this account' }).locator('tbody tr');
  const first = rows.first();
  await page.getByText('1–25 of 501').waitFor();
  expect(await rows.count()).toBe(25);
  await page.getByLabel('Sort by').selectOption('name');
  await rows.nth(1).getByText('Robot 001').waitFor();
  await page.getByRole('button', { name: 'Next' }).click();
  await first.getByText('Robot 025').waitFor();
  expect(new URL(page.url()).search).toStartWith('?sort=name&page=2&account=');
  await checkLooks(page, 'keys-hundreds');
  await page.reload();
  await first.getByText('Robot 025').waitFor();
  // Another order begins at its start.
  await page.getByLabel('Sort by').selectOption('used');
  await first.getByText('Robot 300').waitFor();
  await page.getByLabel('Sort by').selectOption('newest');
  await first.getByText('Robot 300').waitFor({ state: 'detached' });
  await page.getByText('1–25 of 501').waitFor();
  expect(new URL(page.url()).search).toStartWith('?account=');
  await page.getByLabel('Search keys').fill('robot 499');
  await page.getByText('1–1 of 1').waitFor();
  await page.getByLabel('Search keys').fill('no robot');
  await page.getByText('No matching keys').waitFor();

  await visit(page, '/requests');
  await page.getByRole('button', { name: 'Add filter' }).click();
  const editor = page.getByRole('dialog', { name: 'Filter' });
  await editor.getByRole('button', { name: 'Key', exact: true }).click();
  await editor
    .getByRole('button', { name: /^Robot/ })
    .nth(5)
    .waitFor();
  expect(await editor.getByRole('button').count()).toBeLessThanOrEqual(52);
  expect(await violationsOf(page)).toEqual([]);
  await takePicture(page, 'requests-key-picker');
  await editor.getByRole('textbox', { name: 'Key' }).fill('robot 499');
  await editor.getByRole('button', { name: /Robot 498/ }).waitFor({ state: 'detached' });
  await page.keyboard.press('Enter');
  await page.waitForURL(/key=/);
  await page.getByRole('button', { name: 'Key: Robot 499' }).waitFor();
  const picker = page.getByRole('combobox', { name: 'Key' });
  await visit(page, '/playground');
  await picker.waitFor();
  expect(await page.locator('option').count()).toBeLessThan(50);
  await picker.fill('robot 300');
  await page.getByRole('option', { name: /Robot 300/ }).click();
  expect(await picker.inputValue()).toStartWith('Robot 300');
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('a member sees the keys, and whom to ask', async () => {
  const watched = await fixture.enter('member', '/keys');
  const { page } = watched;
  await page.getByText('Ask owner@example.com').waitFor();
  await page.getByRole('cell', { name: 'Active' }).first().waitFor();
  expect(await page.getByRole('button', { name: /New key|Actions for/ }).count()).toBe(0);
  // The shipped font, and it is there.
  expect(await page.evaluate('getComputedStyle(document.body).fontFamily')).toStartWith('Geist,');
  expect(await page.evaluate('document.fonts.check("13px Geist")')).toBe(true);
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('what cannot be loaded says so, with a way to try again', async () => {
  const watched = await fixture.enter('owner', '/models');
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
}, 60_000);

test('models are found, calculated and tried', async () => {
  const watched = await fixture.enter('owner', '/models?workload=chat');
  const { page } = watched;
  const linkTo = (name: string) => page.getByRole('table', { name: 'Models' }).getByRole('link', { name });
  await linkTo('tiered').waitFor();
  expect(await linkTo('picture').count()).toBe(0);
  await page.getByRole('button', { name: 'Tool calls' }).click();
  await linkTo('plain').waitFor({ state: 'detached' });
  await page.getByLabel('Search models').fill('tier');
  await page.getByRole('status').getByText('1 model').first().waitFor();
  expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
    workload: 'chat',
    can: 'function_calling',
    q: 'tier',
    account: fixture.account,
  });
  await linkTo('tiered').click();
  await page.getByText('Up to 1K input tokens').waitFor();

  const total = page.getByTestId('total');
  await page.getByLabel('Input tokens').fill('100');
  await page.getByLabel('Output tokens').fill('1');
  expect(await total.textContent()).toBe('$0.000102');
  // With one token more, the second tier counts for all of them.
  await page.getByLabel('Input tokens').fill('101');
  expect(await total.textContent()).toBe('$0.000307000001');
  await page.getByLabel('Output tokens').fill('some');
  await page.getByText('Enter a whole number.').waitFor();

  await page.getByRole('button', { name: 'Copy model ID tiered' }).click();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe('tiered');
  await page.getByRole('link', { name: /Try tiered/ }).click();
  await page.getByRole('heading', { name: 'Playground', level: 1 }).waitFor();
  expect(await page.getByLabel('Model').inputValue()).toBe('tiered');

  await visit(page, '/models/cached');
  await page.getByRole('row', { name: 'Cache write, kept longer $2' }).waitFor();
  await page.getByLabel('Input tokens').fill('1000');
  await page.getByLabel('Output tokens').fill('0');
  await page.getByLabel('Of the input, read from a cache').fill('900');
  await page.getByLabel('Of the input, written to a cache').fill('100');
  // 900 × 0.1 and 100 × 1.25 for a million, instead of 1,000 × 1.
  expect(await total.textContent()).toBe('$0.000215');
  await page.getByText('$0.000785').waitFor();
  await page.getByLabel('Of the input, written to be kept longer').fill('1');
  await page.getByText('More than the input tokens.').first().waitFor();
  await page.goto('/models/picture');
  await page.getByLabel('Images', { exact: true }).fill('3');
  expect(await total.textContent()).toBe('$0.12');
  await page.goto('/models?q=nothing-like-this');
  await page.getByText('No matching models').waitFor();
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('an account that gets other prices sees them at once, although the browser keeps the models', async () => {
  const watched = await fixture.enter('member', '/models?q=cached');
  const { page } = watched;
  await page.getByText('The models of this gateway').waitFor();
  const { sql } = fixture.database;
  await sql`update accounts set price_group = 'partner' where id = ${fixture.account}`;
  await page.reload();
  await page.getByText('your account’s own prices (partner)').waitFor();
  await sql`update accounts set price_group = null where id = ${fixture.account}`;
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('a key that has expired can be given another name', async () => {
  const made = await fixture.people.owner.send('POST', `/api/console/accounts/${fixture.account}/keys`, {
    name: 'Old jobs',
  });
  const { key } = (await made.json()) as NewKey;
  await fixture.database.sql`update api_keys set expires_at = now() - interval '1 day' where id = ${key.id}`;
  const watched = await fixture.enter('owner', '/keys');
  const { page } = watched;
  await rowOf(page, 'Old jobs').getByText('Expired').waitFor();
  await act(page, 'Old jobs', 'Edit');
  await page.getByLabel('Name', { exact: true }).fill('Retired jobs');
  await page.getByRole('button', { name: 'Save' }).click();
  await rowOf(page, 'Retired jobs').getByText('Expired').waitFor();
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('what is held counts against a limit and is shown separately from what is spent', async () => {
  const watched = await fixture.enter('owner', '/models');
  const { page } = watched;
  await page.route('**/keys', async (route) => {
    const response = await route.fetch();
    const { data, limited } = (await response.json()) as Keys;
    const amounts = { monthly_limit: '10', month_spent: '6', held: '3' };
    await route.fulfill({ response, json: { data: data.map((key) => ({ ...key, ...amounts })), limited } });
  });
  await page.getByRole('link', { name: 'Keys', exact: true }).click();
  const row = page.getByRole('row').nth(1);
  await row.getByText('plus $3.00 held').waitFor();
  await row.getByText('90%').waitFor();
  await row.getByText('$6.00 of $10.00').waitFor();
  expect(await row.getByRole('meter').getAttribute('aria-valuenow')).toBe('90');
  await checkLooks(page, 'keys-near-limit');
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('a phone lays rows out as blocks, and they are still read as a table, each name once', async () => {
  const watched = await fixture.enter('owner', '/keys', { look: phone });
  const { page } = watched;
  await page.getByText('Active').first().waitFor();
  // This browser always reads it as a table. Others do if the roles are given.
  expect(
    await page.locator('table:not([role]), table :is(thead, tbody, tr, th, td):not([role])').count(),
  ).toBe(0);
  const devtools = await page.context().newCDPSession(page);
  const { nodes } = await devtools.send('Accessibility.getFullAXTree');
  const shown = nodes.filter(({ ignored }) => !ignored);
  const named = (role: string) =>
    shown.filter((node) => node.role?.value === role).map(({ name }) => String(name?.value));
  expect(named('table')).toEqual(['Keys of this account']);
  const headers = ['Name', 'Status', 'Spent this month', 'Last used', 'Actions'];
  expect(named('columnheader')).toEqual(headers);
  const rowCount = await page.locator('tbody tr').count();
  expect(named('row')).toHaveLength(rowCount + 1);
  expect(named('cell')).toHaveLength(rowCount * headers.length);
  expect(named('StaticText').filter((text) => text === 'Spent this month')).toHaveLength(1);
  await watched.close();
}, 60_000);

test('the dialogs can be used by everyone', async () => {
  const watched = await fixture.enter('owner', '/keys');
  const { page } = watched;
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByText('Selected models').click();
  await page.getByLabel('full').check();
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByText('Enter a name.').waitFor();
  await checkLooks(page, 'keys-create');
  await visit(page, '/models/cached');
  await page.getByTestId('total').waitFor();
  await checkLooks(page, 'model-cached');
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);
