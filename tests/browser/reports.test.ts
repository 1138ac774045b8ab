/** The pages about requests, their cost and what is left: Overview, Requests, Usage and Billing. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import type { GenerationDetail, NewKey, Statement, Usage } from '../../src/console/contract.ts';
import type { RequestPage } from '../../src/console/request-contract.ts';
import type { Settlement } from '../../src/ledger/operations.ts';
import { lossOf } from '../../src/ledger/settlement.ts';
import { uuidFromRequestId } from '../../src/lib/ids.ts';
import { desktop, expectNoComplaints, takePicture, visit } from '../support/browser.ts';
import { type DashboardFixture, openDashboardFixture } from '../support/dashboard-fixture.ts';
import { launchGateway, programWith } from '../support/gateway.ts';
import { checkLooks } from '../support/looks.ts';
import { dollars, refund, settleAs } from '../support/rare-settlements.ts';

let fixture: DashboardFixture;

/** More than a page of them, of several models and outcomes. */
const requestCount = 54;

beforeAll(async () => {
  fixture = await openDashboardFixture(
    undefined,
    (environment) =>
      launchGateway(environment, { command: [...programWith('exports-up-to-now.ts'), 'serve'] }).listening,
  );
  const models = ['full', 'plain', 'tiered', 'twofold', 'renamed'];
  for (let at = 0; at < requestCount; at += 9) {
    await Promise.all(
      Array.from({ length: 9 }, (_, more) =>
        ask(fixture.key, models[(at + more) % models.length] ?? '', 'Hi'),
      ),
    );
  }
  await ask(fixture.key, 'full', 'Hi [[status 503]]');
}, 60_000);

afterAll(async () => {
  await fixture?.close();
}, 60_000);

/** Returns the request ID. */
async function ask(
  key: string,
  model: string,
  content: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const response = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
  });
  await response.text();
  return response.headers.get('x-service-request-id') ?? '';
}

async function answerOf<Answer>(path: string): Promise<Answer> {
  const response = await fixture.people.owner.send('GET', `/api/console/accounts/${fixture.account}/${path}`);
  expect(response.status).toBe(200);
  return (await response.json()) as Answer;
}

/** Without the account, which is part of every address. */
function searchOf(page: Page): Record<string, string> {
  const { account: _account, ...search } = Object.fromEntries(new URL(page.url()).searchParams);
  return search;
}

test('a new account is led to its first request, and sees it appear', async () => {
  const watched = await fixture.enter('stranger', '/');
  const { page } = watched;
  await page.getByRole('heading', { name: 'Get started' }).waitFor();
  const command = await page.getByRole('region', { name: 'First request' }).innerText();
  expect(command).toContain(`curl ${fixture.gateway.origin}/v1/chat/completions`);
  await page.getByText('Waiting for your first request').waitFor();
  const made = await fixture.people.stranger.send(
    'POST',
    `/api/console/accounts/${fixture.strangersAccount}/keys`,
    { name: 'First' },
  );
  const { secret } = (await made.json()) as NewKey;
  const id = await ask(secret, 'full', 'Say hello.');
  await page.getByRole('link', { name: 'View request' }).click();
  await page.waitForURL(`**/requests/${id}?*`);
  await page.getByRole('heading', { level: 1, name: 'full' }).waitFor();
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('the overview shows the money, the requests and what was used most', async () => {
  const watched = await fixture.enter('owner', '/');
  const { page } = watched;
  const { balance } = await answerOf<Statement>('ledger');
  const exact = balance.replace(/0+$/, '');
  // In cents, and to the same digit as the statement when one looks closer.
  const figure = page.getByText('Available', { exact: true }).locator('xpath=../..');
  await figure.getByText('$99.99', { exact: true }).waitFor();
  await figure.getByTitle(`$${exact} USD`).dblclick();
  await page.keyboard.press('Control+c');
  expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(exact);
  await figure.getByText(/^Lasts /).waitFor();
  await page.getByRole('row', { name: /provider_unavailable/ }).waitFor();
  await page.getByRole('heading', { name: 'Latest requests' }).waitFor();
  const keys = page.getByRole('table', { name: 'Top keys' });
  await keys.getByRole('link', { name: `${requestCount + 1}` }).waitFor();
  const chart = page.getByRole('slider', { name: 'Requests over time' });
  const now = await chart.getAttribute('aria-valuetext');
  await chart.focus();
  await page.keyboard.press('ArrowLeft');
  expect(await chart.getAttribute('aria-valuetext')).not.toBe(now);
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('a running request is followed in the list until it ends, and leads to its page', async () => {
  const watched = await fixture.enter('owner', '/requests');
  const { page } = watched;
  const rows = page.getByRole('table', { name: 'Requests', exact: true }).locator('tbody tr');
  await rows.first().getByText('Failed').first().waitFor();
  const asked = ask(fixture.key, 'fallback', 'Slowly [[delay 7000]] [[usage 834 567]]');
  await rows.first().getByText('In progress').first().waitFor();
  await rows.first().getByText('Completed').first().waitFor();
  const id = await asked;
  expect(await rows.first().innerText()).toContain('1,401');
  expect(await rows.first().innerText()).toMatch(/Gone\s*→/);
  await rows.first().getByRole('link').click();
  await page.getByRole('link', { name: 'Open as a page' }).click();
  await page.waitForURL(`**/requests/${id}?*`);
  await page.getByRole('heading', { level: 1, name: 'fallback' }).waitFor();
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('one can page forward and come back, also from a request', async () => {
  await settleAs(fixture.database, { accountId: fixture.account, keyId: fixture.keyId });
  const watched = await fixture.enter('owner', '/requests');
  const { page } = watched;
  const rows = page.getByRole('table', { name: 'Requests', exact: true }).locator('tbody tr');
  await rows.nth(49).waitFor();
  await page.getByRole('button', { name: 'Older', exact: true }).click();
  await page.getByText('Page 2').waitFor();
  await rows.nth(49).waitFor({ state: 'detached' });
  const oldest = await rows.count();
  await rows.last().getByRole('link').click();
  await page.getByRole('heading', { name: 'Attempts' }).waitFor();
  await page.goBack();
  await page.getByRole('heading', { name: 'Attempts' }).waitFor({ state: 'detached' });
  await page.getByText('Page 2').waitFor();
  expect(await rows.count()).toBe(oldest);
  await page.reload();
  await page.getByText('Page 2').waitFor();
  expect(await rows.count()).toBe(oldest);
  await page.getByRole('button', { name: 'Newer', exact: true }).click();
  await page.getByText('Page 1').waitFor();
  await page.goto('/requests?cursor=nonsense');
  await page.getByRole('button', { name: 'Go to the newest' }).click();
  await rows.nth(49).waitFor();
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('a request has a page, with its exact cost, its attempts and its JSON', async () => {
  const id = await ask(fixture.key, 'fallback', 'Hello [[usage 987 7]]');
  const watched = await fixture.enter('owner', `/requests/${id}`);
  const { page } = watched;
  const { request: generation } = await answerOf<{ request: GenerationDetail }>(`requests/${id}`);
  expect(generation.cost?.total).toBe('0.001001000000');
  for (const amount of [generation.cost?.input, generation.cost?.output, generation.cost?.total])
    await page.getByText(`$${amount}`).waitFor();
  await page.getByText('Charged', { exact: true }).waitFor();
  const attempts = page.getByRole('list').filter({ hasText: 'started' }).getByRole('listitem');
  expect(await attempts.count()).toBe(2);
  expect(await attempts.first().innerText()).toContain('provider_unavailable');
  await page.getByRole('button', { name: 'Copy request ID' }).click();
  expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(id);
  await page.getByText('Raw JSON').click();
  const json = await page.getByRole('region', { name: 'Generation as JSON' }).innerText();
  expect(JSON.parse(json)).toEqual(generation);
  await page.goto(`/requests/req_${'0'.repeat(32)}`);
  await page.getByText('No such request in this account').waitFor();
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('a failure is explained, and nothing was charged for it', async () => {
  const { data } = await answerOf<RequestPage>('requests?status=failed&limit=1');
  const watched = await fixture.enter('member', `/requests/${data[0]?.id}`);
  const { page } = watched;
  await page.getByText('The provider is unavailable.').first().waitFor();
  await page.getByText('Not charged', { exact: true }).waitFor();
  await page.getByText('HTTP status 503').waitFor();
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('usage is shown for the days and by what the address says, and is downloaded for the same days', async () => {
  const watched = await fixture.enter('owner', '/usage');
  const { page } = watched;
  const table = page.getByRole('table', { name: 'Usage by model' });
  await table.getByText('tiered').waitFor();
  expect(await page.getByRole('slider').getAttribute('aria-valuemax')).toBe('30');
  await page.getByText('7 days', { exact: true }).click();
  await page.locator('[role=slider][aria-valuemax="7"]').waitFor();
  await page.getByText('By key', { exact: true }).click();
  await page.getByText('Day', { exact: true }).click();
  await page.getByRole('table', { name: 'Usage by day' }).waitFor();
  expect(searchOf(page)).toEqual({ range: '7', by: 'key', table: 'day' });
  await page.getByText('Custom', { exact: true }).click();
  await page.getByRole('textbox', { name: 'From' }).fill('2026-02-10');
  await page.getByRole('textbox', { name: 'To' }).fill('2026-02-09');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.getByText('The start date must not be after the end date.').waitFor();
  await page.getByRole('textbox', { name: 'To' }).fill('2026-02-11');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.getByText('No usage on these days').waitFor();
  expect(searchOf(page)).toMatchObject({ range: 'custom', from: '2026-02-10', to: '2026-02-11' });
  await page.goto('/usage?range=7');
  const downloading = page.waitForEvent('download');
  await page.getByRole('link', { name: 'CSV' }).click();
  const csv = readFileSync(await (await downloading).path(), 'utf8');
  expect(csv).toContain('tiered');
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('the statement has the credit, each charge with its request, and the running balance', async () => {
  const watched = await fixture.enter('owner', '/billing?tab=entries');
  const { page } = watched;
  const { data } = await answerOf<Statement>('ledger?limit=50');
  const rows = page.getByRole('table', { name: 'Entries' }).locator('tbody tr');
  await rows.nth(49).waitFor();
  const newest = data[0];
  await rows
    .first()
    .getByTitle(`−$${newest?.amount.slice(1).replace(/0+$/, '')} USD`, { exact: true })
    .waitFor();
  await page.getByRole('button', { name: 'Older' }).click();
  await page.getByText('+$100.00').waitFor();
  expect(await rows.last().innerText()).toContain('Credit added');
  await page.getByRole('button', { name: 'Newer' }).click();
  await rows.first().getByRole('link').click();
  await page.waitForURL(`**/requests/${newest?.generation?.id}?*`);
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('owners export their account, operators all of them, and members nothing', async () => {
  const download = async (page: Page) => {
    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download' }).click();
    return readFileSync(await (await downloading).path(), 'utf8');
  };
  const watched = await fixture.enter('owner', '/billing?tab=entries');
  const { page } = watched;
  await page.getByRole('button', { name: 'Export' }).click();
  const dialog = page.getByRole('dialog');
  await checkLooks(page, 'export');
  const entries = await download(page);
  expect(entries).toStartWith('id,created_at,account_id,');
  expect(entries).toContain(`${fixture.account}:1,`);
  expect(entries).not.toContain(fixture.strangersAccount);
  await dialog.getByLabel('From').fill('2126-01-01');
  await dialog.getByText('Choose two days, the first one first.').waitFor();
  expect(await dialog.getByRole('button', { name: 'Download' }).isDisabled()).toBe(true);
  expectNoComplaints(watched);
  await watched.close();

  const operator = await fixture.enter('operator', '/operator/accounts');
  await operator.page.getByRole('button', { name: 'Export' }).click();
  await operator.page.getByLabel('What').selectOption('entries');
  await operator.page.getByText('JSON lines').click();
  const all = await download(operator.page);
  for (const account of [fixture.account, fixture.strangersAccount])
    expect(all).toContain(`{"id":"${account}:1",`);
  expectNoComplaints(operator);
  await operator.close();

  const member = await fixture.enter('member', '/billing?tab=entries');
  await member.page.getByRole('table', { name: 'Entries' }).waitFor();
  expect(await member.page.getByRole('button', { name: 'Export' }).count()).toBe(0);
  expectNoComplaints(member);
  await member.close();
}, 60_000);

test('an estimated charge is marked, and a refund leads to the request that it is for', async () => {
  const { database, strangersAccount: accountId, strangersKeyId: keyId } = fixture;
  await settleAs(
    database,
    { accountId, keyId },
    { status: 'failed', errorCode: 'provider_timeout', isEstimated: true, loss: lossOf('usage_missing') },
  );
  const refunded = await settleAs(database, { accountId, keyId });
  await refund(database, { accountId, keyId }, uuidFromRequestId(refunded) ?? '');
  const watched = await fixture.enter('stranger', '/billing?tab=entries');
  const { page } = watched;
  const rows = page.getByRole('table', { name: 'Entries' }).locator('tbody tr');
  const refundRow = rows.filter({ hasText: 'Refund' });
  await refundRow.getByText('+$0.25').waitFor();
  await refundRow.getByText('The response could not be delivered.').waitFor();
  await rows.filter({ hasText: 'Estimated' }).getByText('−$0.25').waitFor();
  await checkLooks(page, 'billing-refund');
  await refundRow.getByRole('link').click();
  await page.waitForURL(`**/requests/${refunded}?*`);
  await page.getByText('Refunded', { exact: true }).waitFor();
  await page.getByText('$0.25 was charged. $0.25 was refunded, because').waitFor();
  await checkLooks(page, 'generation-refunded');
  await visit(page, '/billing?tab=entries');
  await rows.filter({ hasText: 'Estimated' }).getByRole('link').click();
  await page.getByText('The gateway ended this call before the provider reported its usage.').waitFor();
  await page.getByText('Estimated', { exact: true }).waitFor();
  await checkLooks(page, 'generation-estimated');
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('a failure and a filtered list are accessible', async () => {
  const { data } = await answerOf<RequestPage>('requests?status=failed&limit=1');
  const watched = await fixture.enter('owner', '/requests?status=failed');
  const { page } = watched;
  await page.getByText('provider_unavailable').first().waitFor();
  await checkLooks(page, 'requests-failed');
  await visit(page, `/requests/${data[0]?.id}`);
  await page.getByText('Attempts').first().waitFor();
  await checkLooks(page, 'generation');
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('requests are found by whom they were for, by customers and by operators', async () => {
  const search = { 'x-end-user': 'user-1842', 'x-tags': 'team=search, env=prod' };
  const first = await ask(fixture.key, 'full', 'Hi', search);
  const last = await ask(fixture.key, 'plain', 'Hi', {
    'x-end-user': 'a-name-so-long-that-it-does-not-fit-into-a-column@customers.example',
    'x-tags': 'team=search, job=nightly-summaries, stage=of-several-with-a-long-name',
  });
  const watched = await fixture.enter('owner', '/requests');
  const { page } = watched;
  const rows = page.getByRole('table', { name: 'Requests', exact: true }).locator('tbody tr');
  await rows.nth(1).getByText('user-1842').waitFor();
  await checkLooks(page, 'attributed');
  await page.getByRole('button', { name: 'Add filter' }).click();
  const editor = page.getByRole('dialog', { name: 'Filter' });
  await editor.getByRole('button', { name: 'Tag', exact: true }).click();
  await editor.getByRole('textbox', { name: 'Tag' }).fill('team=search');
  await page.keyboard.press('Enter');
  await rows.nth(2).waitFor({ state: 'detached' });
  await rows.getByTitle('Only user-1842').click();
  await rows.nth(1).waitFor({ state: 'detached' });
  expect(searchOf(page)).toEqual({ tag: 'team=search', end_user: 'user-1842' });
  const downloading = page.waitForEvent('download');
  await page.getByRole('link', { name: 'CSV' }).click();
  const csv = readFileSync(await (await downloading).path(), 'utf8');
  expect([csv.includes(first), csv.includes(last)]).toEqual([true, false]);
  await rows.first().getByRole('link').click();
  await page.getByText('Tags', { exact: true }).waitFor();
  await takePicture(page, 'attributed-request');
  await page.getByRole('link', { name: 'team=search' }).click();
  await rows.nth(1).waitFor();
  expect(searchOf(page)).toEqual({ tag: 'team=search', range: '30d' });
  expectNoComplaints(watched);
  await watched.close();

  const operator = await fixture.enter('operator', '/operator/requests?end_user=user-1842');
  const found = operator.page.getByRole('table', { name: 'Requests', exact: true }).locator('tbody tr');
  await found.first().getByText('user-1842').waitFor();
  expect(await found.count()).toBe(1);
  await checkLooks(operator.page, 'end-users');
  await operator.page.goto(`/operator/requests/${first}`);
  await operator.page.getByRole('link', { name: 'env=prod' }).click();
  await found.first().getByText('user-1842').waitFor();
  expectNoComplaints(operator);
  await operator.close();
}, 120_000);

/** A million input tokens at 1 USD for each, 0.10 from a cache, 1.25 and 2 into one; 5,000 output tokens at 2 USD. */
const cachedRequest = {
  usage: {
    inputTokens: 1_000_000,
    outputTokens: 5_000,
    cached: { read: 900_000, write: 30_000, writeLong: 20_000 },
    units: 1_005_000,
    unit: 'tokens',
    tier: null,
  },
  cost: {
    input: dollars('0.2175'),
    output: dollars('0.01'),
    total: dollars('0.2275'),
    cached: {
      read: dollars('0.09'),
      write: dollars('0.0375'),
      writeLong: dollars('0.04'),
      saved: dollars('0.7825'),
    },
  },
} satisfies Partial<Settlement>;

type Box = Readonly<{ x: number; y: number; width: number; height: number }>;

/** By more than is lost to rounding. */
function overlap(one: Box, other: Box): boolean {
  const shared = (start: 'x' | 'y', size: 'width' | 'height') =>
    Math.min(one[start] + one[size], other[start] + other[size]) - Math.max(one[start], other[start]);
  return shared('x', 'width') > 0.5 && shared('y', 'height') > 0.5;
}

test('input from caches is shown with its prices, its share and what it saved', async () => {
  const { database, account: accountId, keyId } = fixture;
  const id = await settleAs(database, { accountId, keyId }, cachedRequest);
  const watched = await fixture.enter('owner', `/requests/${id}`);
  const { page } = watched;
  const costs = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Cost' }) });
  await costs.getByText('900,000 tokens × $0.10 per 1M').waitFor();
  const lines = (await costs.locator('dl > div').allInnerTexts()).map((text) => text.split(/\n+/));
  expect(lines).toEqual([
    ['Fresh input', '50,000 tokens × $1.00 per 1M', '$0.050000000000'],
    ['Read from a cache', '900,000 tokens × $0.10 per 1M', '$0.090000000000'],
    ['Written to a cache', '30,000 tokens × $1.25 per 1M', '$0.037500000000'],
    ['Written to a cache for longer', '20,000 tokens × $2.00 per 1M', '$0.040000000000'],
    ['Input', '1,000,000 tokens', '$0.217500000000'],
    ['Output', '5,000 tokens × $2.00 per 1M', '$0.010000000000'],
    ['Total', '$0.227500000000'],
  ]);
  await checkLooks(page, 'generation-cached');
  await visit(page, '/usage');
  const { totals } = await answerOf<Usage>('usage');
  expect(totals).toMatchObject({ cache_read_tokens: 900_000, cache_write_tokens: 50_000 });
  const read = page.getByText('Input read from caches', { exact: true }).locator('xpath=..');
  await read.getByText(`900,000 of ${totals.input_tokens.toLocaleString('en-US')} tokens`).waitFor();
  const saved = page.getByText('Saved by caches', { exact: true }).first().locator('xpath=..');
  await saved.getByText('$0.78', { exact: true }).waitFor();
  const row = page.getByRole('table', { name: 'Usage by model' }).getByRole('row', { name: /^full/ });
  expect(await row.innerText()).toMatch(/\d\d(\.\d)?%\s+\$0\.78/);
  await checkLooks(page, 'usage-caches');
  // Where the layout changes, and right beside it.
  for (const width of [640, 767, 768, 769, 1024, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    await takePicture(page, `usage-caches-${width}`);
    const cells = await page.getByRole('table', { name: 'Usage by model' }).locator('tbody td').all();
    const boxes = (await Promise.all(cells.map((cell) => cell.boundingBox()))).filter((box) => box !== null);
    expect({
      width,
      overlapping: boxes.filter((box, at) => boxes.slice(0, at).some((other) => overlap(box, other))),
    }).toEqual({
      width,
      overlapping: [],
    });
  }
  await page.setViewportSize(desktop);
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('usage without caches says so, and caches that only cost are not called a saving', async () => {
  const { database, strangersAccount: accountId, strangersKeyId: keyId } = fixture;
  await settleAs(database, { accountId, keyId });
  const watched = await fixture.enter('stranger', '/usage');
  const { page } = watched;
  await page.getByText('No input was read from a cache on these days').waitFor();
  expect(await page.getByRole('columnheader', { name: /Saved by caches|Images/ }).count()).toBe(0);
  await checkLooks(page, 'usage-without-caches');
  const { usage, cost } = cachedRequest;
  await settleAs(
    database,
    { accountId, keyId },
    {
      usage: { ...usage, cached: { read: 0, write: 950_000, writeLong: 0 } },
      cost: {
        ...cost,
        cached: { read: 0n, write: dollars('0.2'), writeLong: 0n, saved: dollars('-0.0435') },
      },
    },
  );
  await page.reload();
  const added = page.getByText('Added by caches', { exact: true }).locator('xpath=..');
  await added.getByText('$0.04', { exact: true }).waitFor();
  await page.getByRole('table', { name: 'Usage by model' }).getByText('−$0.04').first().waitFor();
  await takePicture(page, 'usage-caches-added');
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('a cost that the balance did not cover is shown as far as it was paid, without prices', async () => {
  const { account: accountId, keyId } = await fixture.customer('1');
  const { usage, cost } = cachedRequest;
  const id = await settleAs(
    fixture.database,
    { accountId, keyId },
    {
      usage,
      cost: { ...cost, input: dollars('0.9'), output: dollars('0.4'), total: dollars('1.3') },
    },
  );
  const watched = await fixture.enter('operator', `/operator/requests/${id}`);
  const { page } = watched;
  await page.getByText('$1.00 was charged, and $0.30 was written off.').waitFor();
  await page.getByText('Each line is what was paid of it').waitFor();
  expect(await page.getByText('per 1M').count()).toBe(0);
  const output = page.locator('dl > div').filter({ hasText: '5,000 tokens' });
  expect((await output.innerText()).split(/\n+/)).toEqual(['Output', '5,000 tokens', '$0.100000000000']);
  await checkLooks(page, 'generation-cut');
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);
