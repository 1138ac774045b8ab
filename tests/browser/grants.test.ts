/** Grants and allowances: an operator gives, voids and ends them; an owner sees what is left, and what paid for what. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import type { Statement } from '../../src/console/contract.ts';
import { expectNoComplaints, visit, waitUntilLoaded } from '../support/browser.ts';
import { chatCatalog } from '../support/chat-fixture.ts';
import { type DashboardFixture, openDashboardFixture } from '../support/dashboard-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { type HeldProvider, heldModel, startHeldProvider } from '../support/held-provider.ts';
import { checkLooks } from '../support/looks.ts';

let fixture: DashboardFixture;
let held: HeldProvider;

beforeAll(async () => {
  held = startHeldProvider();
  fixture = await openDashboardFixture((url) => chatCatalog(url, heldModel(held, url)));
}, 60_000);

afterAll(async () => {
  await fixture?.close();
  await held.stop();
}, 60_000);

async function chat(model: string, content: string): Promise<string> {
  const response = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${fixture.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, max_tokens: 1000, messages: [{ role: 'user', content }] }),
  });
  expect(response.status).toBe(200);
  await response.text();
  return response.headers.get('x-service-request-id') ?? '';
}

async function give(amount: string, memo: string, grant: Record<string, unknown>): Promise<void> {
  const path = `/api/console/operator/accounts/${fixture.account}/credit`;
  const body = { amount, memo, reference: crypto.randomUUID(), grant };
  expect((await fixture.people.operator.send('POST', path, body)).status).toBe(200);
}

async function kinds(): Promise<string[]> {
  const response = await fixture.people.owner.send('GET', `/api/console/accounts/${fixture.account}/ledger`);
  return ((await response.json()) as Statement).data.map(({ kind }) => kind);
}

const rowOf = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });

/** Of the newest charge. */
let request = '';

test('an operator makes a credit a grant, creates an allowance, and voids a grant', async () => {
  const watched = await fixture.enter('operator', `/operator/accounts/${fixture.account}?tab=grants`);
  const { page } = watched;
  await page.getByText('No grants').waitFor();
  await page.getByRole('button', { name: 'Add credit' }).click();
  await page.getByLabel('Amount in USD').fill('0.001');
  await page.getByLabel('Memo').fill('Welcome');
  await page.getByLabel('Make it a grant').check();
  await page.getByLabel('Priority').fill('101');
  await page.getByLabel('Expires').fill('2026-01-01T12:00');
  await page.getByRole('dialog').getByRole('button', { name: 'Add credit' }).click();
  await page.getByText('Enter a whole number from 0 to 100.').waitFor();
  await page.getByText('Choose a time in the future.').waitFor();
  await page.getByLabel('Priority').fill('1');
  await page.getByLabel('Expires').fill('2099-01-31T12:00');
  await checkLooks(page, 'grant-new');
  await page.getByRole('dialog').getByRole('button', { name: 'Add credit' }).click();
  await page.getByRole('button', { name: 'Done' }).click();
  await rowOf(page, 'Welcome').getByText('$0.001 of $0.001').waitFor();
  await rowOf(page, 'Balance before the first grant').getByText('$100.00 of $100.00').waitFor();

  await page.getByRole('button', { name: 'New allowance' }).click();
  await page.getByRole('button', { name: 'Create allowance' }).click();
  await page.getByText('Enter an amount such as 20 or 0.50.').waitFor();
  await page.getByLabel('Amount in USD').fill('10');
  await page.getByLabel('Note').fill('Team plan');
  await checkLooks(page, 'allowance-new');
  await page.getByRole('button', { name: 'Create allowance' }).click();
  await page.getByText('$10.00 each month', { exact: true }).waitFor();

  request = await chat('full', '[[usage 1000 100]] hi');
  await give('2', 'A mistake', { category: 'promotional', priority: 0, expires_at: null });
  const running = chat('held', 'held');
  await held.holds(1);
  await page.reload();
  await page.getByRole('button', { name: 'Actions for A mistake' }).click();
  await page.getByRole('menuitem', { name: 'Void' }).click();
  await page.getByText('Held by requests in progress').waitFor();
  await page.getByRole('button', { name: 'Void grant' }).click();
  await page.getByText('Enter a reason.').waitFor();
  await page.getByLabel('Reason').fill('Given to the wrong account');
  await checkLooks(page, 'grant-void');
  await page.getByRole('button', { name: 'Void grant' }).click();
  await rowOf(page, 'A mistake').getByText('Held by requests in progress').waitFor();
  held.release();
  await running;
  await give('1', 'Expiring', {
    category: 'paid',
    priority: 99,
    expires_at: new Date(Date.now() + 2000).toISOString(),
  });
  await eventually('both have ended', async () => {
    const found = await kinds();
    return found.includes('expiry') && found.filter((kind) => kind === 'void').length === 2;
  });
  await page.reload();
  await rowOf(page, 'Expiring').getByText('Expired', { exact: true }).waitFor();
  await waitUntilLoaded(page);
  await checkLooks(page, 'grants-operator');
  await page.getByRole('link', { name: 'Statement' }).click();
  await page.getByText('What was left of entry').first().waitFor();
  expectNoComplaints(watched);
  await watched.close();
}, 120_000);

test('an owner sees what the balance consists of, and what each charge was drawn from', async () => {
  const watched = await fixture.enter('owner', '/billing?tab=credit');
  const { page } = watched;
  await page.getByText('Promotional credit', { exact: true }).waitFor();
  await page.getByText(/^\$9\.\d+ expires on 1 /).waitFor();
  await rowOf(page, 'Welcome').getByText('Used').waitFor();
  await rowOf(page, 'A mistake').getByText('Given to the wrong account').first().waitFor();
  await rowOf(page, '$10.00 each month').getByText('Team plan').waitFor();
  expect(await page.getByRole('button', { name: /^Actions for / }).count()).toBe(0);
  await waitUntilLoaded(page);
  await checkLooks(page, 'billing-grants');
  await page.getByRole('link', { name: 'Entries' }).click();
  // The keyboard opens the line, and a tap does too.
  const line = page.getByText('From 2 grants').first();
  await line.focus();
  await page.keyboard.press('Enter');
  await page.getByText('$0.001 from promotional credit (entry 2)').waitFor();
  await page.getByText('$0.0002 from the allowance (entry 3)').waitFor();
  await rowOf(page, 'What was left of entry').getByText('Expired', { exact: true }).waitFor();
  await waitUntilLoaded(page);
  await checkLooks(page, 'billing-entries');
  await visit(page, `/requests/${request}`);
  await page.getByText('Drawn from grants:').waitFor();
  await page.getByText('$0.001 from promotional credit (entry 2)').waitFor();
  await waitUntilLoaded(page);
  await checkLooks(page, 'generation-grants');
  expectNoComplaints(watched);
  await watched.close();

  const plain = await fixture.enter('stranger', '/billing?tab=credit');
  await plain.page.getByText('Redeem').waitFor();
  await waitUntilLoaded(plain.page);
  for (const text of ['Grants', 'Allowances', 'Paid credit'])
    expect(await plain.page.getByText(text, { exact: true }).count()).toBe(0);
  expectNoComplaints(plain);
  await plain.close();
}, 90_000);

test('an operator ends an allowance, and its owner no longer sees it', async () => {
  const watched = await fixture.enter('operator', `/operator/accounts/${fixture.account}?tab=grants`);
  const { page } = watched;
  await page.getByRole('button', { name: 'Actions for $10.00 each month' }).click();
  await page.getByRole('menuitem', { name: 'End' }).click();
  await page.getByRole('button', { name: 'End allowance' }).click();
  await rowOf(page, '$10.00 each month').getByText('Ended').waitFor();
  expectNoComplaints(watched);
  await watched.close();
  const owners = await fixture.enter('owner', '/billing?tab=credit');
  await owners.page.getByText('Grants', { exact: true }).waitFor();
  expect(await owners.page.getByText('$10.00 each month').count()).toBe(0);
  await owners.close();
}, 60_000);
