/** The explorer: what happened, to whom, why and what it cost, by mouse and by keyboard. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import type { RequestPage } from '../../src/console/request-contract.ts';
import { desktop, expectNoComplaints, focused, phone, tabTo, takePicture } from '../support/browser.ts';
import { type DashboardFixture, openDashboardFixture } from '../support/dashboard-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { checkLooks, violationsOf } from '../support/looks.ts';

let fixture: DashboardFixture;
/** Its balance covers no request. */
let poor: Awaited<ReturnType<DashboardFixture['customer']>>;
let refusedId: string;

beforeAll(async () => {
  fixture = await openDashboardFixture();
  for (const model of ['full', 'plain', 'tiered', 'fallback']) await ask(fixture.key, { model });
  await ask(fixture.key, { model: 'full', content: 'Hi [[status 503]]' }, { 'x-end-user': 'user-1842' });
  await ask(fixture.key, { model: 'no/such-model' });
  poor = await fixture.customer('0.0144');
  refusedId = await ask(poor.key, { model: 'tiered', max_tokens: 8_000 });
  await eventually('the refusals', async () => {
    const response = await fixture.people.operator.send(
      'GET',
      '/api/console/operator/requests?status=refused',
    );
    return ((await response.json()) as RequestPage).data.length === 2;
  });
}, 60_000);

afterAll(async () => {
  await fixture?.close();
}, 60_000);

/** Returns the request ID. */
async function ask(
  key: string,
  { content = 'Hi', ...body }: Readonly<{ model: string; max_tokens?: number; content?: string }>,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const response = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ ...body, messages: [{ role: 'user', content }] }),
  });
  await response.text();
  return response.headers.get('x-service-request-id') ?? '';
}

/** Without the account, which is part of every address of a customer. */
function searchOf(page: Page): Record<string, string> {
  const { account: _account, ...search } = Object.fromEntries(new URL(page.url()).searchParams);
  return search;
}

const rowsOf = (page: Page) => page.getByRole('table', { name: 'Requests', exact: true }).locator('tbody tr');
const panelOf = (page: Page) => page.locator('dialog');

test('an address of an earlier version leads to the same requests', async () => {
  const watched = await fixture.enter('owner', '/generations?status=failed&model=full&cursor=old');
  const { page } = watched;
  await rowsOf(page).getByText('provider_unavailable').waitFor();
  expect(new URL(page.url()).pathname).toBe('/requests');
  expect(searchOf(page)).toEqual({ status: 'failed', model: 'full', range: '30d' });
  expect(await rowsOf(page).count()).toBe(1);
  await page.goto(`/operator/generations/${refusedId}`);
  await page.getByText('Page not found').first().waitFor();
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('filters are chips, which are the address, and a click on a cell makes one', async () => {
  const watched = await fixture.enter('owner', '/requests');
  const { page } = watched;
  await rowsOf(page).nth(5).waitFor();
  await page.getByRole('button', { name: 'Add filter' }).click();
  const editor = page.getByRole('dialog', { name: 'Filter' });
  await editor.getByRole('button', { name: 'Status', exact: true }).press('Enter');
  await editor.getByRole('button', { name: 'Completed', exact: true }).press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Status: Failed' }).waitFor();
  expect(searchOf(page)).toEqual({ status: 'failed' });
  await rowsOf(page).nth(1).waitFor({ state: 'detached' });
  await rowsOf(page).getByTitle('Only user-1842').click();
  await page.getByRole('button', { name: 'End user: user-1842' }).waitFor();
  expect(searchOf(page)).toEqual({ status: 'failed', end_user: 'user-1842' });
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await rowsOf(page).nth(5).waitFor();
  // Values are listed as they occur.
  await page.getByRole('button', { name: 'Add filter' }).click();
  await editor.getByRole('button', { name: 'Model', exact: true }).click();
  await editor.getByRole('textbox', { name: 'Model' }).fill('fall');
  await editor.getByRole('button', { name: /^fallback/ }).waitFor();
  await page.keyboard.press('Enter');
  await rowsOf(page).nth(1).waitFor({ state: 'detached' });
  expect(await rowsOf(page).innerText()).toContain('Backup');
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('error codes are counted under the chart, and each is a filter', async () => {
  const watched = await fixture.enter('owner', '/requests');
  const { page } = watched;
  const codes = page.getByRole('region', { name: 'Error codes' }).getByRole('button');
  await codes.nth(1).waitFor();
  const texts = await codes.evaluateAll((found) =>
    found.map((one) => [...one.children].map(({ textContent }) => textContent)),
  );
  expect(texts.toSorted()).toEqual([
    ['model_not_found', '1'],
    ['provider_unavailable', '1'],
  ]);
  await codes.getByText('model_not_found').click();
  await page.getByRole('button', { name: 'Error code: model_not_found' }).waitFor();
  expect(searchOf(page)).toEqual({ error_code: 'model_not_found' });
  await rowsOf(page).nth(1).waitFor({ state: 'detached' });
  await rowsOf(page).getByText('no/such-model').waitFor();
  // One code is not counted beside itself.
  await codes.first().waitFor({ state: 'detached' });
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('filters are added, changed and removed without a mouse, and the focus stays with them', async () => {
  const watched = await fixture.enter('owner', '/requests');
  const { page } = watched;
  await rowsOf(page).nth(5).waitFor();
  const add = page.getByRole('button', { name: 'Add filter' });
  const editor = page.getByRole('dialog', { name: 'Filter' });
  await tabTo(page, add);
  await page.keyboard.press('Enter');
  await focused(editor.getByRole('button', { name: 'Status', exact: true }));
  await page.keyboard.press('Escape');
  await focused(add);
  await page.keyboard.press('Enter');
  await focused(editor.getByRole('button', { name: 'Status', exact: true }));
  await page.keyboard.press('Enter');
  await focused(editor.getByRole('button', { name: 'In progress', exact: true }));
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForURL('**status=failed*');
  await focused(add);
  const chip = page.getByRole('button', { name: 'Status: Failed' });
  await tabTo(page, chip, 'Shift+Tab');
  await page.keyboard.press('Enter');
  await focused(editor.getByRole('button', { name: 'In progress', exact: true }));
  await page.keyboard.press('Escape');
  await focused(chip);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await chip.waitFor({ state: 'detached' });
  await focused(add);
  // What an arrow key reaches in a row filters as well.
  await rowsOf(page).nth(5).waitFor();
  await tabTo(page, rowsOf(page).nth(1).locator('[data-open]'));
  await page.keyboard.press('ArrowRight');
  await focused(rowsOf(page).nth(1).getByTitle('Only full'));
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Model: full' }).waitFor();
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test.each([
  ['status=odd', 'Status: odd'],
  ['nonsense=1', 'nonsense: 1'],
])(
  '%s is an error, and not ignored',
  async (query, chip) => {
    const watched = await fixture.enter('owner', `/requests?${query}`);
    const { page } = watched;
    await page.getByRole('alert').getByText('The address of this page asks for something unknown').waitFor();
    await page.getByRole('button', { name: chip }).waitFor();
    expect(await rowsOf(page).count()).toBe(0);
    await page.getByRole('button', { name: 'Remove this filter' }).click();
    await rowsOf(page).nth(5).waitFor();
    expectNoComplaints(watched);
    await watched.close();
  },
  60_000,
);

test('dragging in the histogram narrows the range, as Shift, arrows and Enter do', async () => {
  const watched = await fixture.enter('owner', '/requests?range=1h');
  const { page } = watched;
  const chart = page.getByRole('slider', { name: 'Requests over time' });
  await chart.waitFor();
  const box = (await chart.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  const middle = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width / 2, middle);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 2, middle, { steps: 4 });
  await takePicture(page, 'requests-dragging');
  await page.mouse.up();
  await page.waitForURL('**from=*');
  const { from = '', to = '', range } = searchOf(page);
  expect(range).toBeUndefined();
  expect(Date.parse(to) - Date.parse(from)).toBeWithin(25 * 60_000, 40 * 60_000);
  await rowsOf(page).nth(5).waitFor();
  // It has the new steps, which are fewer.
  await eventually('the narrowed chart', async () => Number(await chart.getAttribute('aria-valuemax')) < 45);
  await chart.focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('Shift+ArrowRight');
  await page.keyboard.press('Enter');
  await page.getByText('No requests in this range').waitFor();
  expect(searchOf(page).from).toBe(from);
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('a request opens beside the list; j and k move, Escape closes, and the focus is where one is', async () => {
  const watched = await fixture.enter('owner', '/requests');
  const { page } = watched;
  await rowsOf(page).nth(5).waitFor();
  await page.locator('h1').click();
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await panelOf(page).getByRole('heading', { name: 'full' }).waitFor();
  await panelOf(page).getByText('The provider is unavailable.').first().waitFor();
  await page.keyboard.press('k');
  await panelOf(page).getByRole('heading', { name: 'no/such-model' }).waitFor();
  await panelOf(page).getByText('There is no model with this name.').waitFor();
  expect(await page.evaluate('document.activeElement.tagName')).toBe('H2');
  const { request = '' } = searchOf(page);
  await checkLooks(page, 'requests-panel', true);
  await page.reload();
  await panelOf(page).getByRole('heading', { name: 'no/such-model' }).waitFor();
  await rowsOf(page).nth(5).waitFor();
  await page.keyboard.press('Escape');
  await panelOf(page).waitFor({ state: 'detached' });
  expect(searchOf(page)).toEqual({});
  await eventually('the focus is in the list again', () =>
    page.evaluate<boolean>(
      `document.activeElement.closest('[data-request]')?.dataset.request === ${JSON.stringify(request)}`,
    ),
  );
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('an operator sees whose request was refused, what was missing and what to do', async () => {
  const watched = await fixture.enter('operator', '/operator/requests?status=refused');
  const { page } = watched;
  await rowsOf(page).getByText('insufficient_balance').click();
  await page.getByRole('button', { name: 'Error code: insufficient_balance' }).waitFor();
  await rowsOf(page).nth(1).waitFor({ state: 'detached' });
  await rowsOf(page).first().getByRole('link').click();
  const panel = panelOf(page);
  await panel.getByText(/Hold \$0\.\d+, available \$0\.0144:/).waitFor();
  await panel.getByText(/add credit or lower max_tokens to [\d,]+\./).waitFor();
  await panel.getByRole('link', { name: 'Go to the account' }).waitFor();
  await checkLooks(page, 'operator-requests-refused', true);
  await panel.getByRole('link', { name: 'Open as a page' }).click();
  await page.waitForURL(`**/operator/requests/${refusedId}`);
  await page.getByText(/Hold \$0\.\d+, available/).waitFor();
  await checkLooks(page, 'operator-request-refused', true);
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('a filter by an account without requests has its name', async () => {
  const watched = await fixture.enter('operator', `/operator/requests?account=${fixture.strangersAccount}`);
  await watched.page.getByRole('button', { name: 'Account: Test' }).waitFor();
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('every tab of the chart looks right by day, at night and on a phone', async () => {
  const watched = await fixture.enter('owner', '/requests?range=15m&tz=utc&live=no');
  const { page } = watched;
  await rowsOf(page).nth(5).waitFor();
  await page.getByRole('slider').waitFor();
  await checkLooks(page, 'requests', true);
  // The panel, and the page that it leads to, are by the same clock.
  const clock = page.getByText(/^\d+ \w+ \d{4}, \d\d:\d\d:\d\d UTC$/).first();
  await rowsOf(page).first().getByRole('link').click();
  await panelOf(page).locator(clock).waitFor();
  await page.getByRole('link', { name: 'Open as a page' }).click();
  await page.waitForURL('**/requests/req_*');
  await clock.waitFor();
  await page.goBack();
  await panelOf(page).getByRole('button', { name: 'Close (Escape)' }).click();
  await panelOf(page).waitFor({ state: 'detached' });
  for (const [tab, label] of [
    ['Error rate', 'Error rate over time'],
    ['p50/p95', 'Duration over time'],
    ['First token', 'Time to first token over time'],
    ['Cost', 'Cost over time'],
  ] as const) {
    await page.getByText(tab, { exact: true }).first().click();
    await page.getByRole('slider', { name: label }).waitFor();
    await takePicture(page, `requests-${label.toLowerCase().replaceAll(' ', '-')}`);
  }
  await page.setViewportSize(phone);
  await page.getByRole('button', { name: 'Filters' }).click();
  const sheet = page.getByRole('dialog', { name: 'Filters' });
  await sheet.getByRole('button', { name: 'Status', exact: true }).waitFor();
  await takePicture(page, 'requests-sheet');
  expect(await violationsOf(page)).toEqual([]);
  await sheet.getByRole('button', { name: 'Status', exact: true }).click();
  await sheet.getByRole('button', { name: 'Refused', exact: true }).click();
  await rowsOf(page).nth(1).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Filters (1)' }).waitFor();
  await page.setViewportSize(desktop);
  expectNoComplaints(watched);
  await watched.close();
}, 120_000);
