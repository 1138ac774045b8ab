/** The homes of a customer and of an operator: what they say, and where their figures lead. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { newId } from '../../src/lib/ids.ts';
import { expectNoComplaints, waitUntilLoaded } from '../support/browser.ts';
import { type DashboardFixture, openDashboardFixture } from '../support/dashboard-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { checkLooks } from '../support/looks.ts';

let fixture: DashboardFixture;

async function chat(body: object): Promise<number> {
  const response = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${fixture.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'hi' }], ...body }),
  });
  await response.text();
  return response.status;
}

/** 70 requests: 22 that completed, one of them by a fallback, and 48 that the balance did not cover. */
beforeAll(async () => {
  fixture = await openDashboardFixture();
  const large = { model: 'tiered', max_tokens: 8_000 };
  for (let count = 0; count < 21; count += 1) expect(await chat(large)).toBe(200);
  expect(await chat({ ...large, model: 'fallback' })).toBe(200);
  const { sql } = fixture.database;
  const [{ less }] = await sql<[{ less: string }]>`
    select (0.0144 - balance)::text as less from accounts where id = ${fixture.account}`;
  const corrected = await fixture.people.operator.send(
    'POST',
    `/api/console/operator/accounts/${fixture.account}/corrections`,
    { amount: less, entry_number: null, request_id: null, reason: 'Test', reference: newId() },
  );
  expect(corrected.status).toBe(200);
  for (let count = 0; count < 48; count += 1) expect(await chat(large)).toBe(402);
  await eventually('the refusals', async () => {
    const [row] = await sql<[{ count: number }]>`select count(*)::int as count from refusals`;
    return row.count === 48 || null;
  });
}, 60_000);

afterAll(async () => {
  await fixture?.close();
}, 60_000);

test('a customer whose requests are refused sees how many, why, and what to do', async () => {
  const watched = await fixture.enter('owner', '/');
  const { page } = watched;
  const figure = (label: string) => page.getByText(label, { exact: true }).locator('xpath=../..');
  await figure('Error rate').getByText('68.6%', { exact: true }).waitFor();
  await page.getByRole('definition').getByText('70', { exact: true }).waitFor();
  await figure('Available').getByText('$0.01', { exact: true }).waitFor();
  await figure('Available')
    .getByText(/A typical request holds \$0\.03\d*, which no longer fits/)
    .waitFor();
  await page.getByText('A typical request no longer fits the balance').waitFor();
  expect(await page.getByText('Lasts for').count()).toBe(0);
  const problem = page.getByRole('row', { name: /insufficient_balance/ });
  await problem.getByText('Add credit.').waitFor();
  await waitUntilLoaded(page);
  await checkLooks(page, 'home-customer', true);
  await problem.getByRole('link', { name: '48' }).click();
  await page.getByRole('heading', { name: 'Requests', level: 1 }).waitFor();
  const search = new URL(page.url()).searchParams;
  expect([search.get('error_code'), search.get('range')]).toEqual(['insufficient_balance', '24h']);
  await page.goBack();
  await page.getByRole('radio', { name: 'The last 7 days' }).check({ force: true });
  await page.waitForURL(/range=7d/);
  await page.getByRole('link', { name: 'Error rate' }).click();
  await page.waitForURL(/\/requests\?.*chart=errors/);
  expect(new URL(page.url()).searchParams.get('range')).toBe('7d');
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('an operator sees money, providers, refusals and what is wrong', async () => {
  const { sql } = fixture.database;
  const circuit = {
    provider: 'main',
    model: 'full',
    state: 'half_open',
    consecutive_failures: 5,
    until: null,
  };
  const report = {
    circuits: [{ ...circuit, failing_since: new Date().toISOString() }],
    price_version: '2026-11',
    catalog_error: null,
  };
  await sql`insert into nodes (id, name, heartbeat_at, report) values (${newId()}, 'sick', now() + interval '1 hour', ${report})`;
  const watched = await fixture.enter('operator', '/operator');
  const { page } = watched;
  await page.getByRole('heading', { name: 'Gateway', level: 1 }).waitFor();
  await page.getByRole('link', { name: 'full fails at Main' }).waitFor();
  const gone = page.getByRole('table', { name: 'Providers' }).getByRole('row', { name: /Gone/ });
  await gone.getByText('100%', { exact: true }).waitFor();
  const dry = page.getByRole('table', { name: 'Accounts running dry' });
  await dry.getByText('Out of money').waitFor();
  await waitUntilLoaded(page);
  await checkLooks(page, 'home-operator', true);
  const refused = page.getByRole('table', { name: 'Refusals' }).getByRole('link', { name: '48' });
  await refused.click();
  await page.waitForURL(/\/operator\/requests\?/);
  const search = new URL(page.url()).searchParams;
  expect([search.get('status'), search.get('error_code')]).toEqual(['refused', 'insufficient_balance']);
  await sql`delete from nodes where name = 'sick'`;
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);
