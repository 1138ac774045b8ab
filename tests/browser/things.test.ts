/** The pages of a key, a model and a provider: what they say is what the tables hold, and names lead on. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import type { RequestPage } from '../../src/console/request-contract.ts';
import { expectNoComplaints, waitUntilLoaded } from '../support/browser.ts';
import { chatCatalog } from '../support/chat-fixture.ts';
import { type DashboardFixture, openDashboardFixture } from '../support/dashboard-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { checkLooks } from '../support/looks.ts';

const everything = '[text_input, text_output, streaming, function_calling]';
const slashed = `
  vendor/one: { name: One, maker: Vendor, workload: chat, context_window: 128000, capabilities: ${everything}, pricing: { billing_type: token, input: "1.5", output: "6" }, providers: [gone, backup, main] }
`;
let fixture: DashboardFixture;
/** The name of the key of the fixture. */
let keyName: string;

beforeAll(async () => {
  fixture = await openDashboardFixture((url) => chatCatalog(url, { providers: '', models: slashed }));
  await ask({ model: 'plain', max_tokens: 3_000 });
  await setLimit('0.002');
  for (let times = 0; times < 4; times += 1) await ask({ model: 'plain', max_tokens: 3_000 });
  await setLimit(null);
  for (const model of ['full', 'vendor/one', 'vendor/one', 'fallback', 'twofold']) await ask({ model });
  await ask({ model: 'full', content: 'Hi [[status 503]]' });
  await ask({ model: 'no/such-model' });
  await setLimit('0.002');
  await eventually('the refusals', async () => {
    const response = await fixture.people.owner.send(
      'GET',
      `/api/console/accounts/${fixture.account}/requests?status=refused`,
    );
    return ((await response.json()) as RequestPage).data.length === 5;
  });
  const [row] = await fixture.database.sql`select name from api_keys where id = ${fixture.keyId}`;
  keyName = row.name;
}, 60_000);

afterAll(async () => {
  await fixture?.close();
}, 60_000);

async function setLimit(limit: string | null): Promise<void> {
  const path = `/api/console/accounts/${fixture.account}/keys/${fixture.keyId}`;
  const response = await fixture.people.owner.send('PATCH', path, { monthly_limit: limit });
  expect(response.status).toBe(200);
}

async function ask({
  content = 'Hi',
  ...body
}: Readonly<{ model: string; max_tokens?: number; content?: string }>): Promise<void> {
  const response = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${fixture.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, messages: [{ role: 'user', content }] }),
  });
  await response.text();
}

/** The cells of a row, by the headers of their columns. */
async function cellsOf(page: Page, table: string, row: string): Promise<Record<string, string>> {
  const rows = page.getByRole('table', { name: table, exact: true });
  const cells = rows.locator('tbody tr').filter({ hasText: row }).first().locator('td');
  await cells.first().waitFor();
  const headers = await rows.locator('thead th').allInnerTexts();
  const texts = await cells.evaluateAll((all) =>
    all.map((cell) => (cell as unknown as { innerText: string }).innerText),
  );
  return Object.fromEntries(headers.map((header, at) => [header.trim(), (texts[at] ?? '').trim()]));
}

/** The figure with this label, among those at the top of a page. */
async function statOf(page: Page, label: string): Promise<string> {
  const stat = page.locator('dl > div').filter({ has: page.getByText(label, { exact: true }) });
  return await stat.locator('dd').first().innerText();
}

const cents = (amount: string) => `$${Number(amount).toFixed(2)}`;

test('the page of a key says why it is refused, with the figures of the tables', async () => {
  const { sql } = fixture.database;
  const watched = await fixture.enter('owner', '/keys');
  const { page } = watched;
  await page.getByRole('link', { name: keyName, exact: true }).click();
  await page.getByRole('heading', { name: new RegExp(`^${keyName}`) }).waitFor();
  expect(new URL(page.url()).pathname).toBe(`/keys/${fixture.keyId}`);
  await page.getByText('does not cover a typical request').waitFor();
  await waitUntilLoaded(page);
  expect(await page.getByRole('heading', { level: 1 }).innerText()).toContain('Blocked');

  const [meter] = await sql<{ spent: string; left: string; hold: string; limit: string }[]>`
    select month_spent::text as spent, (monthly_limit - month_spent - held)::text as left, monthly_limit::text as limit,
           (select percentile_disc(0.5) within group (order by hold) from generations
            where key_id = api_keys.id and status = 'completed')::text as hold
    from api_key_meters join api_keys on api_keys.id = key_id where key_id = ${fixture.keyId}`;
  if (meter === undefined) throw new Error('There is no such key.');
  expect(await statOf(page, 'Spent this month')).toBe(cents(meter.spent).replace('$0.00', '<$0.01'));
  const titles = await page
    .locator('dl')
    .first()
    .locator('[title]')
    .evaluateAll((all) => all.map((one) => one.getAttribute('title')));
  const exactly = (amount: string) => `$${amount.replace(/0+$/, '')} USD`;
  for (const amount of [meter.spent, meter.left, meter.hold]) expect(titles).toContain(exactly(amount));

  const codes = await sql<{ code: string; refused: number; failed: number }[]>`
    select code, sum(refused)::int as refused, sum(failed)::int as failed from (
      select code, 1 as refused, 0 as failed from refusals where key_id = ${fixture.keyId}
      union all
      select error_code, 0, 1 from generations where key_id = ${fixture.keyId} and status = 'failed'
    ) as problems group by code`;
  expect(codes).toHaveLength(3);
  for (const { code, refused, failed } of codes)
    expect(await cellsOf(page, 'Problems by code', code)).toMatchObject({
      Refused: `${refused}`,
      Failed: `${failed}`,
    });
  const models = await sql<
    { model: string; completed: number; ended: number; refused: number; cost: string }[]
  >`
    select model, count(*) filter (where status = 'completed')::int as completed, count(*) filter (where status <> 'refused')::int as ended,
           count(*) filter (where status = 'refused')::int as refused, sum(cost)::text as cost
    from (
      select model, status, coalesce(cost_total, 0) as cost from generations where key_id = ${fixture.keyId}
      union all select model, 'refused', 0 from refusals where key_id = ${fixture.keyId} and model <> 'no/such-model'
    ) as requests group by model`;
  for (const { model, completed, ended, refused } of models)
    expect(await cellsOf(page, 'Models', model)).toMatchObject({
      Requests: `${ended + refused}`,
      Refused: `${refused}`,
      Errors: `${Math.round(((ended - completed + refused) / (ended + refused)) * 1000) / 10}%`,
    });
  await page
    .getByRole('table', { name: 'History of this key' })
    .getByText('Changed an API key')
    .first()
    .waitFor();
  await checkLooks(page, 'key', true);

  // The code leads to its requests, with the key as a filter.
  await page.getByRole('link', { name: 'monthly_spend_limit_exceeded' }).click();
  await page.waitForURL('**/requests?**');
  expect(Object.fromEntries(new URL(page.url()).searchParams)).toMatchObject({
    key: fixture.keyId,
    error_code: 'monthly_spend_limit_exceeded',
    range: '7d',
  });
  await page.goBack();
  await page.getByRole('button', { name: 'Raise the limit' }).click();
  await page.getByLabel(/^Monthly limit/).fill('5');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('does not cover a typical request').waitFor({ state: 'detached' });
  await setLimit('0.002');
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('a member sees a key without its history, and changes nothing', async () => {
  const watched = await fixture.enter('member', `/keys/${fixture.keyId}`);
  const { page } = watched;
  await page.getByText('does not cover a typical request').waitFor();
  await waitUntilLoaded(page);
  expect(await page.getByRole('button', { name: /Edit|Replace|Revoke|Raise/ }).count()).toBe(0);
  expect(await page.getByText('History', { exact: true }).count()).toBe(0);
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('models are a table, and each has a page with its price, its code and its figures', async () => {
  const { sql } = fixture.database;
  const watched = await fixture.enter('owner', '/models');
  const { page } = watched;
  const [own] = await sql<{ completed: number; failed: number; cost: string }[]>`
    select count(*) filter (where status = 'completed')::int as completed,
           count(*) filter (where status = 'failed')::int as failed, sum(cost_total)::text as cost
    from generations where model = 'vendor/one'`;
  if (own === undefined) throw new Error('There are no such requests.');
  await page.getByRole('link', { name: 'One vendor/one' }).waitFor();
  await waitUntilLoaded(page);
  await page.getByRole('cell', { name: '100%' }).first().waitFor();
  expect(await cellsOf(page, 'Models', 'vendor/one')).toMatchObject({
    'Input / 1M': '$1.50',
    'Output / 1M': '$6.00',
    Context: '128K',
    Success: '100%',
    'Your spend': '<$0.01',
  });
  const titles = page.getByRole('row').filter({ hasText: 'vendor/one' }).locator('[title$=USD]').last();
  expect(await titles.getAttribute('title')).toBe(`$${own.cost.replace(/0+$/, '')} USD`);
  await checkLooks(page, 'models', true);
  await page.getByRole('button', { name: 'Input / 1M' }).click();
  await page.getByRole('button', { name: 'Input / 1M' }).click();
  await page.waitForURL('**sort=-input**');
  expect(await page.locator('tbody tr').first().innerText()).toContain('vendor/one');

  await page.getByRole('link', { name: 'One vendor/one' }).click();
  await page.getByRole('heading', { level: 1, name: 'One' }).waitFor();
  expect(new URL(page.url()).pathname).toBe('/models/vendor%2Fone');
  await waitUntilLoaded(page);
  expect(await cellsOf(page, 'Providers of this model', 'Backup')).toMatchObject({
    Requests: `${own.completed + own.failed}`,
    Success: '100%',
  });
  expect(await cellsOf(page, 'Keys', keyName)).toMatchObject({ Requests: `${own.completed + own.failed}` });
  const code = page.getByRole('region', { name: /as code$/ });
  expect(await code.innerText()).toContain(`${fixture.gateway.origin}/v1/chat/completions`);
  await checkLooks(page, 'model', true);
  for (const [format, path] of [
    ['Messages', '/v1/messages'],
    ['Responses', '/v1/responses'],
  ] as const) {
    await page.getByText(format, { exact: true }).click();
    await page.getByRole('region', { name: `${format} as code` }).waitFor();
    expect(await code.innerText()).toContain(`${fixture.gateway.origin}${path}`);
  }
  // A reload finds it too: the slash is part of the name.
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'One' }).waitFor();
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('a provider shows its calls, its errors and its models, as the tables have them', async () => {
  const { sql } = fixture.database;
  const watched = await fixture.enter('operator', '/operator/providers');
  const { page } = watched;
  const providers = await sql<{ provider: string; attempts: number; failed: number }[]>`
    select provider, count(*)::int as attempts, count(*) filter (where status = 'failed')::int as failed
    from attempts group by provider`;
  expect(providers.map(({ provider }) => provider).toSorted()).toEqual(['Backup', 'Gone', 'Main']);
  const share = (failed: number, attempts: number) => `${Math.round((failed / attempts) * 1000) / 10}%`;
  for (const { provider, attempts, failed } of providers)
    expect(await cellsOf(page, 'Providers', provider)).toMatchObject({
      'Last hour': `${attempts}`,
      'Last 24 h': `${attempts}`,
      Failed: share(failed, attempts),
    });
  expect(await cellsOf(page, 'Providers', 'Gone')).toMatchObject({ State: '100% failed' });
  await checkLooks(page, 'providers', true);

  await page.getByRole('link', { name: /^Gone/ }).first().click();
  await page.getByRole('heading', { level: 1, name: /^Gone/ }).waitFor();
  await waitUntilLoaded(page);
  expect(await page.getByRole('heading', { level: 1 }).innerText()).toContain('100% failed');
  const codes = await sql<{ error_code: string; failed: number }[]>`
    select error_code, count(*)::int as failed from attempts where provider = 'Gone' and status = 'failed' group by error_code`;
  for (const { error_code: code, failed } of codes)
    expect(await cellsOf(page, 'Errors by code', code)).toMatchObject({ Calls: `${failed}` });
  const models = await sql<{ model: string; calls: number; succeeded: number }[]>`
    select model, count(*)::int as calls, count(*) filter (where attempts.status = 'succeeded')::int as succeeded
    from attempts join generations on generations.id = generation_id where attempts.provider = 'Gone' group by model`;
  expect(models).toHaveLength(2);
  for (const { model, calls, succeeded } of models)
    expect(await cellsOf(page, 'Models of this provider', model)).toMatchObject({
      Calls: `${calls}`,
      Success: share(succeeded, calls),
    });
  expect(await statOf(page, 'Calls')).toBe(`${models.reduce((sum, { calls }) => sum + calls, 0)}`);
  await page.getByText('7 d', { exact: true }).click();
  await page.waitForURL('**range=7d**');
  await page.getByRole('radio', { name: 'The last 7 days' }).and(page.locator(':checked')).waitFor();
  await page.getByText('Errors by code', { exact: true }).first().click();
  await page.getByRole('slider', { name: 'Errors by code over time' }).waitFor();
  await checkLooks(page, 'provider', true);
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);
