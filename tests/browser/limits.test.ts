/** Limits, as an owner, a member and an operator see and set them. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { expectNoComplaints, visit, waitUntilLoaded } from '../support/browser.ts';
import { type DashboardFixture, openDashboardFixture } from '../support/dashboard-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { checkLooks } from '../support/looks.ts';

let fixture: DashboardFixture;

beforeAll(async () => {
  fixture = await openDashboardFixture();
}, 60_000);

afterAll(async () => {
  await fixture?.close();
}, 60_000);

async function chat(endUser: string): Promise<[status: number, code: string | undefined]> {
  const response = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${fixture.key}`,
      'content-type': 'application/json',
      'x-end-user': endUser,
    },
    body: JSON.stringify({
      model: 'full',
      max_tokens: 5,
      messages: [{ role: 'user', content: '[[usage 1000 5]] hi' }],
    }),
  });
  const { error } = (await response.json()) as { error?: { code: string } };
  return [response.status, error?.code];
}

const rowOf = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });

async function act(page: Page, limit: string, action: 'Change' | 'Remove'): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${limit}` }).click();
  await page.getByRole('menuitem', { name: action }).click();
}

async function newLimit(page: Page, fill: (page: Page) => Promise<unknown>): Promise<void> {
  await page.getByRole('button', { name: 'New limit' }).click();
  await fill(page);
  await page.getByRole('button', { name: 'Set limit' }).click();
  await page.getByText('The limit was set.').first().waitFor();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

test('an owner sets, changes and removes limits, and requests obey them', async () => {
  const watched = await fixture.enter('owner', '/limits');
  const { page } = watched;
  await page.getByText('No limits').waitFor();
  await page.getByRole('button', { name: 'New limit' }).click();
  await page.getByRole('button', { name: 'Set limit' }).click();
  await page.getByText('Enter an amount such as 20 or 0.50.').waitFor();
  await page.getByLabel('Most in USD').fill('0.01');
  await page.getByLabel('Allow more for a while').check();
  await page.getByLabel('More in USD').fill('0.005');
  await page.getByLabel('Until').fill('2099-01-31T12:00');
  await checkLooks(page, 'limit-new');
  await page.getByRole('button', { name: 'Set limit' }).click();
  await rowOf(page, 'Spend per day').getByText('with $0.005 more until').waitFor();
  await newLimit(page, async () => {
    await page.getByLabel('For', { exact: true }).selectOption('Each end user');
    await page.getByLabel('Kind').selectOption('Requests per minute');
    await page.getByLabel('Most').fill('3');
  });
  await newLimit(page, async () => {
    await page.getByLabel('For', { exact: true }).selectOption('One end user');
    await page.getByLabel('End user', { exact: true }).fill('ann');
    await page.getByLabel('Kind').selectOption('Requests per minute');
    await page.getByLabel('Most').fill('9');
  });
  await newLimit(page, async () => {
    await page.getByLabel('For', { exact: true }).selectOption('One key');
    await page.getByLabel('Key', { exact: true }).last().selectOption({ index: 1 });
    await page.getByLabel('Kind').selectOption('Tokens per minute');
    await page.getByLabel('Most').fill('50000');
  });
  // If a minute ends in between, the next request is the first one of its minute.
  await eventually('the first request of a minute is shown', async () => {
    expect((await chat('ann'))[0]).toBe(200);
    await page.reload();
    await waitUntilLoaded(page);
    await rowOf(page, 'End user ann').waitFor();
    return await rowOf(page, 'End user ann').getByText('1 of 9').isVisible();
  });
  await rowOf(page, 'Each end user').getByText('3 for each of them').waitFor();
  await checkLooks(page, 'limits');
  await act(page, 'Spend per day, this account', 'Change');
  await page.getByLabel('Allow more for a while').uncheck();
  await page.getByLabel('Most in USD').fill('0');
  await page.getByRole('button', { name: 'Save' }).click();
  await rowOf(page, 'Spend per day').getByText('of $0.00').waitFor();
  expect(await chat('ann')).toEqual([403, 'spend_limit_exceeded']);
  await act(page, 'Spend per day, this account', 'Remove');
  await checkLooks(page, 'limit-remove');
  await page.getByRole('button', { name: 'Remove limit' }).click();
  await rowOf(page, 'Spend per day').waitFor({ state: 'detached' });
  expect((await chat('ann'))[0]).toBe(200);
  expectNoComplaints(watched);
  await watched.close();
}, 90_000);

test('an operator sets limits that an owner sees and cannot change; members only look', async () => {
  const operators = await fixture.enter('operator', `/operator/accounts/${fixture.account}?tab=limits`);
  await newLimit(operators.page, async (page) => {
    await page.getByLabel('Kind').selectOption('Spend per month');
    await page.getByLabel('Most in USD').fill('500');
  });
  await rowOf(operators.page, 'Spend per month').getByText('Operator').waitFor();
  await checkLooks(operators.page, 'limits-operator');
  expectNoComplaints(operators);
  await operators.close();

  // Neither breaks a line by itself.
  await fixture.people.operator.send('POST', `/api/console/operator/accounts/${fixture.account}/limits`, {
    scope: 'end_user',
    end_user: 'W'.repeat(256),
    kind: 'spend_per_week',
    amount: '999999999999',
  });
  const owners = await fixture.enter('owner', '/limits');
  await rowOf(owners.page, 'Spend per week')
    .getByText(/counted since \d+ \w+, \d\d:\d\d/)
    .waitFor();
  await rowOf(owners.page, 'Spend per month').getByText('of $500.00').waitFor();
  const menus = owners.page.getByRole('button', { name: /^Actions for / });
  expect(await menus.count()).toBe(3);
  expect(await rowOf(owners.page, 'Spend per month').getByRole('button').count()).toBe(0);
  await visit(owners.page, '/keys');
  await owners.page.getByRole('link', { name: '1 limit' }).waitFor();
  await checkLooks(owners.page, 'keys-with-limits');
  await owners.page.getByRole('link', { name: '1 limit' }).click();
  await rowOf(owners.page, 'Tokens per minute').waitFor();
  await rowOf(owners.page, 'Spend per month').waitFor({ state: 'detached' });
  expect(await owners.page.getByRole('row').count()).toBe(2);
  await visit(owners.page, '/audit-log');
  await rowOf(owners.page, 'spend per month, the account').getByText('Set a limit').waitFor();
  await checkLooks(owners.page, 'limits-audit-log');
  expectNoComplaints(owners);
  await owners.close();

  const members = await fixture.enter('member', '/limits');
  await rowOf(members.page, 'Spend per month').waitFor();
  await members.page.getByText('Only owners can set, change and remove limits.').waitFor();
  expect(await members.page.getByRole('button', { name: /^(Actions for|New limit)/ }).count()).toBe(0);
  await checkLooks(members.page, 'limits-member');
  expectNoComplaints(members);
  await members.close();
}, 90_000);
