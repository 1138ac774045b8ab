/** What happens to people on an ordinary day: links that were used, a gateway that goes away, a change of mind. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import type { NewKey } from '../../src/console/contract.ts';
import type { ResetLink } from '../../src/console/operator-contract.ts';
import {
  expectNoComplaints,
  openPage,
  phone,
  takePicture,
  visit,
  waitUntilLoaded,
} from '../support/browser.ts';
import { type DashboardFixture, openDashboardFixture } from '../support/dashboard-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { checkLooks, overflowOf } from '../support/looks.ts';

let fixture: DashboardFixture;
/** The same gateway once more, with a decision provider. */
let deciding: Gateway;

beforeAll(async () => {
  fixture = await openDashboardFixture();
  deciding = await startGateway({
    ...fixture.environment,
    DECISIONS_BASE_URL: `${fixture.sandbox.url}/v1`,
    DECISIONS_API_KEY: 'provider-key-canary',
    DECISIONS_MODEL: 'sandbox-decision-latest',
  });
}, 60_000);

afterAll(async () => {
  await deciding?.stop();
  await fixture?.close();
}, 60_000);

const focusedName = (page: Page) => page.evaluate('document.activeElement?.getAttribute("name")');

test('a new link in the same tab begins anew, and its token does not stay in the address', async () => {
  const [user] = await fixture.database.sql<{ id: string }[]>`
    select id from users where email = 'stranger@example.com'`;
  const made = await fixture.people.operator.send(
    'POST',
    `/api/console/operator/users/${user?.id}/reset-link`,
    {},
  );
  const { reset_url: resetUrl } = (await made.json()) as ResetLink;
  const watched = await openPage(fixture.browser, fixture.gateway.origin);
  const { page } = watched;
  await page.goto('/reset-password#token=not-a-token');
  await page.getByLabel('New password').fill('another horse battery');
  await page.getByRole('button', { name: 'Save password' }).click();
  await page.getByText('Ask the operator of this gateway for a new one.').waitFor();
  await page.evaluate(`location.hash = ${JSON.stringify(new URL(resetUrl).hash)}`);
  await page.getByLabel('New password').fill('another horse battery');
  expect(page.url()).toEndWith('/reset-password');
  await page.getByRole('button', { name: 'Save password' }).click();
  await page.getByRole('heading', { name: 'Your password was changed' }).waitFor();
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('Tab goes from the e-mail to the password, and a person whose session has ended is told so', async () => {
  const first = await openPage(fixture.browser, fixture.gateway.origin);
  await first.page.goto('/billing');
  await first.page.getByLabel('E-mail').press('Tab');
  expect(await focusedName(first.page)).toBe('password');
  expect(await first.page.getByText('Your session has ended.').count()).toBe(0);
  await first.close();
  const watched = await fixture.enter('owner', '/billing');
  const { page } = watched;
  await page.getByRole('heading', { name: 'Billing', level: 1 }).waitFor();
  await page.context().clearCookies();
  await page.reload();
  await page.getByText('Your session has ended. Sign in again.').waitFor();
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('every example of the reference and of a guide can be copied, with the address of this gateway', async () => {
  const watched = await openPage(fixture.browser, fixture.gateway.origin);
  const { page } = watched;
  for (const path of ['/docs', '/docs/chat']) {
    await page.goto(path);
    const blocks = page.locator('pre');
    expect(await page.getByRole('button', { name: 'Copy', includeHidden: true }).count()).toBe(
      await blocks.count(),
    );
    await page.getByRole('button', { name: 'Copy' }).first().click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    const texts = await blocks.evaluateAll((found) => found.map(({ textContent }) => textContent));
    expect(texts.map((text) => text?.trimEnd())).toContain(copied);
    expect(copied).toContain(fixture.gateway.origin);
  }
  await checkLooks(page, 'guide');
  // Whoever reaches it by another name reads that one.
  const { port } = new URL(fixture.gateway.origin);
  await page.goto(`http://localhost:${port}/docs/chat`);
  await page.getByText(`curl http://localhost:${port}/v1/chat/completions`).first().waitFor();
  await page.getByRole('link', { name: 'Playground' }).click();
  await page.waitForURL('**/sign-in?**');
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

describe('a gateway that is gone', () => {
  test('is reported for as long as it is gone', async () => {
    const watched = await fixture.enter('owner', '/');
    const { page } = watched;
    const note = page.getByText('The gateway cannot be reached. This page may be out of date.');
    await page.getByText('Available', { exact: true }).first().waitFor();
    expect(await note.count()).toBe(0);
    await page.route('**/api/**', (route) => route.abort());
    await page.getByRole('link', { name: 'Team', exact: true }).click();
    await note.waitFor();
    await takePicture(page, 'everyday-unreachable');
    await page.unroute('**/api/**');
    await note.waitFor({ state: 'detached' });
    await page.getByText('member@example.com').waitFor();
    expectNoComplaints(watched);
    await watched.close();
  }, 60_000);

  test('leaves the app in place: all pages except those whose code never came, and these once it can be loaded', async () => {
    const watched = await fixture.enter('owner', '/docs');
    const { page, complaints } = watched;
    await page.route('**/assets/keys-page-*', (route) => route.abort());
    const lastFetched = page.waitForResponse('**/assets/decisions-page-*');
    await page.goto('/account');
    await (await lastFetched).finished();
    await page.route('**/assets/**', (route) => route.abort());
    await page.getByRole('link', { name: 'Decisions', exact: true }).click();
    await page.getByRole('heading', { name: 'Decisions', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'Keys', exact: true }).click();
    await page.getByText('This page could not be displayed').waitFor();
    await takePicture(page, 'everyday-missing-code');
    await page.unroute('**/assets/keys-page-*');
    await page.unroute('**/assets/**');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor();
    expect(complaints.filter((text) => !text.includes('Its code could not be loaded.'))).toEqual([]);
    await watched.close();
  }, 60_000);
});

describe('the playground', () => {
  const conversation = (page: Page) => page.getByRole('log', { name: 'Conversation' });
  const say = async (page: Page, text: string) => {
    await page.getByLabel('Message', { exact: true }).fill(text);
    await page.getByRole('button', { name: 'Send' }).click();
  };
  const toEnd = (page: Page) =>
    conversation(page).evaluate((list) => list.scrollHeight - list.scrollTop - list.clientHeight);

  test('scrolls to the end after a stop, and after a new message of someone who had scrolled up', async () => {
    const watched = await fixture.enter('owner', '/playground?model=full');
    const { page } = watched;
    await say(page, 'Go on [[long 900]] [[chunk-delay 2]]');
    await eventually('the answer to fill the window', () =>
      conversation(page).evaluate((list) => list.scrollTop >= 200),
    );
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('The provider still finishes it, so all of it may be charged.').waitFor();
    await say(page, 'Next [[say Here I am.]]');
    await conversation(page).getByText('Here I am.', { exact: true }).waitFor();
    await conversation(page).getByText('Cost').last().waitFor();
    expect(await toEnd(page)).toBeLessThan(80);
    await conversation(page).evaluate((list) => list.scrollTo({ top: 0 }));
    await say(page, 'Last [[say And here.]]');
    await conversation(page).getByText('And here.', { exact: true }).waitFor();
    expect(await toEnd(page)).toBeLessThan(80);
    expectNoComplaints(watched);
    await watched.close();
  }, 60_000);

  test('links what failed to its Generation, and does not send the question again with the next one', async () => {
    const watched = await fixture.enter('owner', '/playground?model=full');
    const { page } = watched;
    await say(page, 'Hello [[status 429]]');
    await page.getByText('The provider is limiting requests.').waitFor();
    await page.getByRole('link', { name: 'View request' }).waitFor();
    const sending = page.waitForRequest('**/playground/chat');
    await say(page, 'Again [[say Yes.]]');
    const sent = (await sending).postDataJSON() as { request: { messages: unknown } };
    expect(sent.request.messages).toEqual([{ role: 'user', content: 'Again [[say Yes.]]' }]);
    await conversation(page).getByText('Yes.', { exact: true }).waitFor();
    await conversation(page).getByText('You (left out of the next request)').waitFor();
    expectNoComplaints(watched);
    await watched.close();
  }, 60_000);

  test('says in plain words that the key has ended, or that the account is suspended', async () => {
    const { owner, operator } = fixture.people;
    const keys = `/api/console/accounts/${fixture.account}/keys`;
    const account = `/api/console/operator/accounts/${fixture.account}`;
    const made = await owner.send('POST', keys, { name: 'Short-lived' });
    const { key } = (await made.json()) as NewKey;
    const watched = await fixture.enter('owner', `/playground?model=full&key=${key.id}`);
    const { page } = watched;
    await page.getByLabel('Message', { exact: true }).waitFor();
    expect((await owner.send('POST', `${keys}/${key.id}/revoke`, {})).status).toBe(200);
    await say(page, 'Hello');
    await page.getByText('This key is no longer active. Choose another one.').waitFor();
    expect((await operator.send('POST', `${account}/suspend`, {})).status).toBe(200);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('This account is suspended. Ask the operator why.').waitFor();
    expect((await operator.send('POST', `${account}/resume`, {})).status).toBe(200);
    expect(await page.getByRole('link', { name: 'View request' }).count()).toBe(0);
    expectNoComplaints(watched);
    await watched.close();
  }, 60_000);
});

test('a decision that was changed is one’s own, is kept, and is not replaced without asking', async () => {
  const watched = await fixture.enter('owner', '/decisions', { origin: deciding.origin });
  const { page } = watched;
  const state = page.getByLabel('State as JSON');
  const chooser = page.getByLabel('Start from an example');
  const old = page.getByText('These answers are from before your last change.');
  await state.press('Control+Enter');
  await page.getByRole('heading', { name: 'urgency' }).waitFor();
  expect([await chooser.inputValue(), await old.count()]).toEqual(['support', 0]);
  await state.fill('{"mine": true}');
  await old.waitFor();
  await takePicture(page, 'everyday-decision-changed');
  expect(await chooser.locator('option:checked').textContent()).toBe('Custom');
  await page.getByRole('link', { name: 'Keys', exact: true }).click();
  await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor();
  await page.getByRole('link', { name: 'Decisions', exact: true }).click();
  await state.waitFor();
  expect(await state.inputValue()).toBe('{"mine": true}');
  await chooser.selectOption('quality');
  await page.getByRole('button', { name: 'Cancel' }).click();
  expect(await state.inputValue()).toBe('{"mine": true}');
  await chooser.selectOption('quality');
  await page.getByRole('button', { name: 'Replace' }).click();
  await page.getByLabel('Instructions').waitFor();
  expect(await chooser.inputValue()).toBe('quality');
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

test('names of any length stay within the window, and a phone says which account it is', async () => {
  const { sql } = fixture.database;
  await sql`update accounts set name = ${'N'.repeat(170)} where id = ${fixture.account}`;
  await sql`update api_keys set name = ${'W'.repeat(120)} where id = ${fixture.keyId}`;
  const watched = await fixture.enter('owner', '/', { look: phone });
  const { page } = watched;
  await page.getByRole('banner').getByText('NNN').waitFor();
  for (const [path, heading] of [
    ['/', 'Overview'],
    ['/account', 'Profile'],
    ['/keys', 'Keys'],
    ['/team', 'Team'],
  ] as const) {
    if (path !== '/') await visit(page, path);
    await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
    await waitUntilLoaded(page);
    for (const width of [390, 640, 1280]) {
      await page.setViewportSize({ width, height: 844 });
      await takePicture(page, `everyday-long-${heading}-${width}`);
      expect([path, width, await overflowOf(page), await widestOver(page)]).toEqual([path, width, 0, []]);
    }
  }
  expectNoComplaints(watched);
  await watched.close();
}, 60_000);

/** Elements whose text is wider than their part of the page. Figures reach into its margin of 16 pixels. */
async function widestOver(page: Page): Promise<string[]> {
  return await page
    .locator('main section, main header')
    .evaluateAll((boxes) =>
      boxes
        .filter((box) => box.scrollWidth > box.clientWidth + 17)
        .map((box) => (box.textContent ?? '').slice(0, 40)),
    );
}
