/** The pages about webhooks, of owners and of operators. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { expectNoComplaints } from '../support/browser.ts';
import { type DashboardFixture, openDashboardFixture } from '../support/dashboard-fixture.ts';
import { checkLooks } from '../support/looks.ts';
import { type Receiver, startReceiver } from '../support/webhook-receiver.ts';

let fixture: DashboardFixture;
let receiver: Receiver;

beforeAll(async () => {
  fixture = await openDashboardFixture();
  receiver = startReceiver(({ body }) =>
    body.type === 'webhook.test' ? new Response('ok') : new Response(null, { status: 503 }),
  );
}, 60_000);

afterAll(async () => {
  await receiver?.stop();
  await fixture?.close();
}, 60_000);

test('an operator adds a webhook, sends a test, and looks at what was sent', async () => {
  const watched = await fixture.enter('operator', '/operator/webhooks');
  const { page } = watched;
  await page.getByText('No webhooks yet').waitFor();
  await page.getByRole('button', { name: 'Add webhook' }).first().click();
  const form = page.getByRole('dialog');
  await form.getByLabel('Address').fill(receiver.url);
  await form.getByLabel('All events, including those added later').uncheck();
  await form.getByLabel('key.created').check();
  await checkLooks(page, 'webhook-form');
  await form.getByRole('button', { name: 'Add webhook' }).click();
  const secret = await page.getByTestId('webhook-secret').innerText();
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  fixture.canaries.add(secret.slice('whsec_'.length));
  await page.getByRole('button', { name: 'Copy secret' }).click();
  await page.getByRole('button', { name: 'I have saved it' }).click();
  await page.getByRole('button', { name: /^Actions for 127/ }).click();
  await page.getByRole('menuitem', { name: 'Send a test' }).click();
  await page.getByText('Delivered').waitFor();
  await fixture.people.owner.send('POST', `/api/console/accounts/${fixture.account}/keys`, { name: 'New' });
  await page.getByText('Retrying').waitFor();
  await checkLooks(page, 'webhooks');
  await page.getByRole('button', { name: 'webhook.test', exact: true }).click();
  const details = page.getByRole('dialog');
  await details.getByText('HTTP/1.1 200 OK').waitFor();
  await checkLooks(page, 'webhook-delivery');
  await details.getByRole('button', { name: 'Close' }).last().click();
  await page.getByRole('button', { name: 'Actions for webhook.test' }).click();
  await page.getByRole('menuitem', { name: 'Send again' }).click();
  await page.getByText('It is being sent again.').waitFor();
  await page.getByRole('button', { name: /^Actions for 127/ }).click();
  await page.getByRole('menuitem', { name: 'Replay events' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click();
  await page.getByText('3 events are being sent again.').waitFor();
  expectNoComplaints(watched);
  await watched.close();
});

test('an owner sets the balance to be warned below, and is told what an address has to be', async () => {
  const watched = await fixture.enter('owner', `/webhooks?account=${fixture.account}`);
  const { page } = watched;
  await page.getByLabel('Warn below, in USD').fill('12.5');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  const [stored] = await fixture.database.sql`
    select low_balance from account_details where account_id = ${fixture.account}`;
  expect(stored.low_balance).toBe('12.500000000000');
  await page.getByRole('button', { name: 'Add webhook' }).first().click();
  await page.getByRole('dialog').getByLabel('Address').fill('http://example.com/');
  await page.getByRole('dialog').getByRole('button', { name: 'Add webhook' }).click();
  await page.getByText(/expected an https address/).waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await checkLooks(page, 'webhooks-owner');
  expectNoComplaints(watched);
  await watched.close();
});
