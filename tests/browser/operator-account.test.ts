/** The operator's page of an account, and the customer's own pages as operators see them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { newId } from '../../src/lib/ids.ts';
import { takePicture, visit, type Watched, waitUntilLoaded } from '../support/browser.ts';
import { type DashboardFixture, openDashboardFixture } from '../support/dashboard-fixture.ts';
import { checkLooks } from '../support/looks.ts';

let fixture: DashboardFixture;
let operator: Watched;

const rowOf = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });

beforeAll(async () => {
  fixture = await openDashboardFixture();
  await fixture.database.sql`update accounts set name = 'Northwind' where id = ${fixture.account}`;
  // An account without a request shows first steps instead, and waits for one.
  const response = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${fixture.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'plain', messages: [{ role: 'user', content: '[[status 503]]' }] }),
  });
  await response.text();
  operator = await fixture.enter('operator', '/operator');
}, 60_000);

afterAll(async () => {
  await fixture?.close();
}, 60_000);

describe('the page of an account', () => {
  const partsOf = (page: Page) => page.getByRole('navigation', { name: 'Parts of the account' });

  test('has its parts in the address, and suspends', async () => {
    const { page } = operator;
    await visit(page, `/operator/accounts/${fixture.account}?tab=members`);
    await rowOf(page, 'owner@example.com').getByText('Owner', { exact: true }).waitFor();
    await checkLooks(page, 'operator-account-members');
    for (const [label, tab, heading] of [
      ['Keys', 'keys', 'Keys'],
      ['Grants', 'grants', 'Grants'],
      ['Limits', 'limits', 'Limits'],
      ['Log', 'log', 'Changes'],
    ] as const) {
      await partsOf(page).getByRole('link', { name: label }).click();
      await page.waitForURL(`**/operator/accounts/*?tab=${tab}`);
      await page.getByRole('heading', { name: heading }).waitFor();
      await waitUntilLoaded(page);
      await checkLooks(page, `operator-account-${tab}`);
    }
    const shown = () => partsOf(page).locator('[aria-current=page]').allInnerTexts();
    expect(await shown()).toEqual(['Log']);
    await page.goto(`/operator/accounts/${fixture.account}?tab=nonsense`);
    const heading = page.getByRole('heading', { name: 'Problems' });
    await heading.waitFor();
    const middles = await Promise.all(
      [heading, page.getByRole('group', { name: 'Range' })].map(async (one) => {
        const { y, height } = (await one.boundingBox()) ?? { y: 0, height: 0 };
        return y + height / 2;
      }),
    );
    expect(Math.abs((middles[0] ?? 0) - (middles[1] ?? Infinity))).toBeLessThan(2);
    expect(await shown()).toEqual(['Activity']);
    await page.goto(`/operator/accounts/${fixture.account}?tab=requests`);
    await page.waitForURL(`**/operator/requests?account=${fixture.account}`);
    await page.goto(`/operator/accounts/${fixture.account}?tab=log`);
    await page.getByRole('button', { name: 'Suspend' }).click();
    await page.getByRole('button', { name: 'Suspend account' }).click();
    await rowOf(page, 'Suspended the account').waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Resume account' }).click();
    await page.getByRole('button', { name: 'Suspend' }).waitFor();
  });

  test('begins with what happened: figures, problems by code, and the requests themselves', async () => {
    const { page } = operator;
    await page.goto(`/operator/accounts/${fixture.account}`);
    const problem = page.getByRole('table', { name: 'Problems' }).locator('tbody tr');
    await problem.getByText('provider_unavailable', { exact: true }).waitFor();
    expect(await partsOf(page).locator('[aria-current=page]').allInnerTexts()).toEqual(['Activity']);
    await page.getByRole('slider', { name: 'Requests over time' }).waitFor();
    await page.getByRole('radio', { name: /30 days/ }).check({ force: true });
    await page.waitForURL('**range=30d*');
    await problem.getByRole('link', { name: /with provider_unavailable/ }).click();
    await page.waitForURL('**/operator/requests?**');
    const search = new URL(page.url()).searchParams;
    expect([search.get('account'), search.get('error_code'), search.get('range')]).toEqual([
      fixture.account,
      'provider_unavailable',
      '30d',
    ]);
    await rowOf(page, 'provider_unavailable').first().waitFor();
  });

  test('leads from a key to its page, in the account that it belongs to', async () => {
    const { page } = operator;
    await page.goto(`/operator/accounts/${fixture.account}?tab=keys`);
    await page.getByRole('link', { name: 'API key', exact: true }).click();
    await page.waitForURL(`**/keys/${fixture.keyId}?account=${fixture.account}`);
    await page.getByRole('heading', { level: 1, name: 'API key' }).waitFor();
    await page.getByText('You are looking at Northwind as an operator.').waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Find anything' }).fill('Limits');
    await page.getByRole('option', { name: 'Limits' }).first().click();
    await page.waitForURL(`**/limits?account=${fixture.account}`);
  });

  test('shows a key that its monthly limit blocks as what it is', async () => {
    const { page } = operator;
    const { sql } = fixture.database;
    const { account, keyId } = fixture;
    const id = newId();
    await sql`
      insert into generations (id, account_id, key_id, workload, model, provider, status, streaming, fallback,
        attempt_count, latency_ms, created_at, completed_at, hold)
      values (${id}, ${account}, ${keyId}, 'chat', 'full', 'Main', 'completed', false, false, 1, 5, now(), now(), 0.05)`;
    await sql`update api_keys set monthly_limit = 0.03 where id = ${keyId}`;
    await page.goto(`/operator/accounts/${account}?tab=keys`);
    const row = rowOf(page, 'API key');
    await row.getByText('Blocked', { exact: true }).waitFor();
    await row.getByText('$0.03 left, a typical request holds $0.05').waitFor();
    await checkLooks(page, 'operator-account-blocked-key');
    await sql`delete from generations where id = ${id}`;
    await sql`update api_keys set monthly_limit = null where id = ${keyId}`;
  });

  test('leads to what its customer sees, where nothing can be changed', async () => {
    const { page } = operator;
    await page.getByRole('link', { name: 'See what they see' }).click();
    const banner = page.getByRole('region', { name: 'Looking as an operator' });
    await banner.getByText('You are looking at Northwind as an operator.').waitFor();
    await page.waitForURL(`**/?account=${fixture.account}`);
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await waitUntilLoaded(page);
    await checkLooks(page, 'foreign-overview');
    const pages = page.getByRole('navigation', { name: 'Pages' });
    for (const name of ['Keys', 'Limits', 'Usage', 'Billing', 'Team', 'Webhooks', 'Audit log']) {
      await pages.getByRole('link', { name, exact: true }).first().click();
      await page.getByRole('heading', { level: 1, name }).waitFor();
      await page.waitForURL(`**?account=${fixture.account}*`);
      await banner.waitFor();
      await waitUntilLoaded(page);
      expect(await page.getByText('could not be').count()).toBe(0);
      const changing = /^(New|Add|Invite|Create|Edit|Save|Revoke|Remove|Redeem|Pay|Set|Actions for)/;
      expect([name, await page.getByRole('main').getByRole('button', { name: changing }).count()]).toEqual([
        name,
        0,
      ]);
      await takePicture(page, `foreign-${name.toLowerCase().replace(' ', '-')}`);
    }
    for (const name of ['Playground', 'Providers'])
      expect([name, await pages.getByRole('link', { name }).count()]).toEqual([name, 0]);
    const month = new Date().toISOString().slice(0, 7);
    await visit(page, `/billing/statement/${month}?account=${fixture.account}`);
    await page.getByRole('heading', { level: 1, name: 'Statement of account' }).waitFor();
    await banner.waitFor();
    await visit(page, `/playground?account=${fixture.account}`);
    await page.getByText('This page is for members of the account').waitFor();
    await banner.getByRole('link', { name: 'Open the operator’s page of Northwind' }).click();
    await page.waitForURL(`**/operator/accounts/${fixture.account}*`);
    await partsOf(page).waitFor();
  });

  test('and a link that a customer sends opens the same page; leaving ends it', async () => {
    const { page } = operator;
    await page.goto(`/keys?account=${fixture.account}`);
    await page.getByRole('table', { name: 'Keys of this account' }).waitFor();
    await page.getByText('You are looking at Northwind as an operator.').waitFor();
    await page.getByRole('link', { name: 'Leave' }).click();
    await page.waitForURL('**/operator/accounts');
    await page.goto(`/keys?account=${newId()}`);
    await page.getByText('The link is about an account that does not exist').waitFor();
    await page.getByRole('link', { name: 'Go to Accounts' }).click();
    await page.waitForURL('**/operator/accounts');
  });
});
