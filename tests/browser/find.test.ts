/** The box that finds anything: with the keyboard, on a phone, as a customer and as an operator. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { expectNoComplaints, phone } from '../support/browser.ts';
import { type DashboardFixture, openDashboardFixture } from '../support/dashboard-fixture.ts';
import { checkLooks } from '../support/looks.ts';

let fixture: DashboardFixture;

beforeAll(async () => {
  fixture = await openDashboardFixture();
  const { sql } = fixture.database;
  await sql`update api_keys set name = 'Production' where id = ${fixture.keyId}`;
  await sql`update accounts set name = 'Blue Harbour' where id = ${fixture.account}`;
}, 60_000);

afterAll(async () => {
  await fixture?.close();
}, 60_000);

const box = (page: Page) => page.getByRole('combobox', { name: 'Find anything' });
/** Presses a key that opens it. What is typed before it has the focus would be lost. */
async function open(page: Page, key: string): Promise<void> {
  await page.keyboard.press(key);
  await box(page).and(page.locator(':focus')).waitFor();
}
const option = (page: Page, name: RegExp) => page.getByRole('option', { name });
const placeOf = (page: Page) => {
  const { pathname, searchParams } = new URL(page.url());
  searchParams.delete('account');
  return `${pathname}${searchParams.size === 0 ? '' : `?${searchParams}`}`;
};

test('a customer finds keys, models, pages and requests without the mouse', async () => {
  const watched = await fixture.enter('member', '/team');
  const { page } = watched;
  await page.getByRole('heading', { name: 'Team', level: 1 }).waitFor();
  // Once the list has come, the page listens to the keyboard.
  await page.getByText('owner@example.com').first().waitFor();
  await open(page, 'Control+k');
  await option(page, /^Overview/).waitFor();
  await page.keyboard.type('produc');
  await option(page, /Production/).waitFor();
  await checkLooks(page, 'find-box');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: /Production/, level: 1 }).waitFor();
  await open(page, '/');
  await option(page, /Production/).waitFor();
  await page.keyboard.type('billing');
  await page.keyboard.press('Escape');
  await box(page).waitFor({ state: 'detached' });
  expect(placeOf(page)).toBe(`/keys/${fixture.keyId}`);
  await open(page, '/');
  await page.keyboard.type('us');
  await option(page, /^Usage/).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
  const id = '01890a5dac96774bbcceb302099a8057';
  await open(page, 'Control+k');
  await page.keyboard.insertText(`refused: req_${id}.`);
  await option(page, new RegExp(id)).click();
  await page.waitForURL(`**/requests/req_${id}*`);
  expectNoComplaints(watched);
  await watched.close();
});

test('a pasted key is found by its end, and never sent', async () => {
  const watched = await fixture.enter('member', '/team');
  const { page } = watched;
  const addresses: string[] = [];
  page.on('request', (request) => addresses.push(request.url()));
  await page.getByRole('button', { name: 'Find anything' }).click();
  await box(page).fill(fixture.key);
  await option(page, /Production/).waitFor();
  expect(addresses.filter((address) => address.includes(fixture.key.slice(0, 12)))).toEqual([]);
  await watched.close();
});

test('on a phone an operator finds accounts and people', async () => {
  const watched = await fixture.enter('operator', '/operator/nodes', { look: phone });
  const { page } = watched;
  await page.getByRole('button', { name: 'Find anything' }).click();
  // The newest come first, except for what has exactly this name.
  await fixture.database
    .sql`update accounts set name = 'Blue Harbour East' where id = ${fixture.strangersAccount}`;
  const accounts = page.getByRole('group', { name: 'Accounts' }).getByRole('option');
  const namesFor = async (text: string) => {
    await box(page).fill(text);
    await page.getByText('2 places').waitFor();
    return (await accounts.allInnerTexts()).map((words) => words.split('\n')[0]);
  };
  expect(await namesFor('harbour')).toEqual(['Blue Harbour East', 'Blue Harbour']);
  expect(await namesFor('blue harbour')).toEqual(['Blue Harbour', 'Blue Harbour East']);
  await box(page).fill('member@');
  await option(page, /member@example\.com/).click();
  await page.getByRole('heading', { name: 'Users', level: 1 }).waitFor();
  await page.getByText('member@example.com').first().waitFor();
  expect(placeOf(page)).toBe('/operator/users?search=member%40example.com');
  expectNoComplaints(watched);
  await watched.close();
});
