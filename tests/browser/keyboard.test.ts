/** What people do without a mouse, to the end of each flow. The focus is never lost: the next key goes on from where it is. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { Locator, Page } from 'playwright-core';
import { parseMoney } from '../../src/lib/money.ts';
import { bookEntries } from '../support/booked-entries.ts';
import {
  desktop,
  expectNoComplaints,
  focused,
  phone,
  tabTo,
  take,
  visit,
  type Watched,
  waitUntilLoaded,
} from '../support/browser.ts';
import { chatCatalog } from '../support/chat-fixture.ts';
import { type DashboardFixture, openDashboardFixture } from '../support/dashboard-fixture.ts';
import { startGateway } from '../support/gateway.ts';

let fixture: DashboardFixture;
let watched: Watched;
let page: Page;
/** An account that has a statement of last month, too. */
let older: string;

beforeAll(async () => {
  let sandboxUrl = '';
  fixture = await openDashboardFixture(
    (url) => {
      sandboxUrl = url;
      return `${chatCatalog(url)}price_groups: { partner: { discount: "10" }, reseller: { discount: "30" } }\n`;
    },
    (environment) =>
      startGateway({
        ...environment,
        DECISIONS_BASE_URL: `${sandboxUrl}/v1`,
        DECISIONS_API_KEY: 'provider-key-canary',
        DECISIONS_MODEL: 'sandbox-decision-latest',
      }),
  );
  const { sql } = fixture.database;
  older = (await fixture.customer('0')).account;
  await sql`
    insert into memberships (user_id, account_id, role)
    select id, ${older}, 'owner' from users where email = 'owner@example.com'`;
  const lastMonth = new Date(Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth() - 1, 2));
  await bookEntries(sql, older, [{ kind: 'credit', amount: parseMoney('50') ?? 0n, at: lastMonth }]);
  await ask('full', 'Hi [[status 503]]');
  watched = await fixture.enter('owner', `/billing?account=${older}`);
  page = watched.page;
}, 60_000);

afterAll(async () => {
  await fixture?.close();
}, 60_000);

async function ask(model: string, content: string): Promise<void> {
  const response = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${fixture.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
  });
  await response.text();
}

/** Tabs to it and presses a key there. */
async function press(goal: Locator, key = 'Enter', way: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  await tabTo(page, goal, way);
  await page.keyboard.press(key);
}

const write = async (field: Locator, text: string) => {
  await press(field, 'Control+a');
  await page.keyboard.type(text);
};

const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
const chosen = (group: string) =>
  page.getByRole('group', { name: group }).getByRole('radio', { checked: true });

/** Goes there, as another person where one is named. */
async function open(path: string, person?: 'owner' | 'operator'): Promise<void> {
  if (person === undefined) {
    await visit(page, path);
  } else {
    await watched.close();
    watched = await fixture.enter(person, path);
    page = watched.page;
  }
  await page.locator('h1').first().waitFor();
  await waitUntilLoaded(page);
}

/** Whether what has the focus, or the label that stands for it, is on the screen with nothing above it. */
const isInSight = () =>
  page.evaluate<boolean>(`(() => {
    const focused = document.activeElement;
    if (focused === document.body) return true;
    const shown = focused.closest('label') ?? focused;
    const boxes = [...shown.getClientRects()].sort((one, other) => other.width - one.width);
    const points = [[0.1, 0.5], [0.9, 0.5], [0.5, 0.1], [0.5, 0.9]];
    return boxes.slice(0, 1).some(({ left, top, width, height }) =>
      points.every(([x, y]) => shown.contains(document.elementFromPoint(left + width * x, top + height * y))));
  })()`);

test('months are turned to their end, and a statement is saved and printed', async () => {
  await waitUntilLoaded(page);
  const before = button('Month before');
  await press(before);
  await page.waitForURL(/month=/);
  // There is no month before this one, and the focus stays nevertheless.
  await page.keyboard.press('Enter');
  await focused(before);
  expect(await before.isDisabled()).toBe(true);
  const month = page.getByLabel('Month', { exact: true });
  await press(month, 'ArrowUp');
  await page.waitForURL((url) => !url.searchParams.has('month'));
  await focused(month);
  const downloading = page.waitForEvent('download');
  await press(page.getByRole('link', { name: 'CSV' }));
  expect(readFileSync(await (await downloading).path(), 'utf8')).toContain('50');
  await press(page.getByRole('link', { name: 'Print' }), 'Enter', 'Shift+Tab');
  await page.getByRole('heading', { name: 'Statement of account' }).waitFor();
  await focused(page.locator('main'));
  await press(page.getByRole('link', { name: 'Billing' }));
  await focused(page.getByRole('heading', { name: 'Billing', level: 1 }));
});

test('the threshold for warnings is saved by the key and by the button', async () => {
  await press(page.getByRole('link', { name: 'Credit and payments' }));
  const threshold = page.getByLabel('Warn below, in USD');
  const saved = () => page.waitForResponse((response) => response.request().method() !== 'GET');
  await write(threshold, '7');
  await Promise.all([saved(), page.keyboard.press('Enter')]);
  await page.getByText('Saved.').waitFor();
  await focused(threshold);
  await page.keyboard.press('Control+a');
  await page.keyboard.type('8');
  await Promise.all([saved(), press(button('Save'))]);
  // There is nothing more to save.
  await button('Save').and(page.locator('[aria-disabled]:not([aria-busy])')).waitFor();
  await focused(button('Save'));
  await page.reload();
  await waitUntilLoaded(page);
  expect(await threshold.inputValue()).toBe('8.00');
});

test('a search is cleared, and its field goes on', async () => {
  await open(`/models?account=${fixture.account}`);
  const search = page.getByLabel('Search models');
  await write(search, 'nothing');
  await page.getByText('No matching models').waitFor();
  await press(button('Clear search'));
  await page.getByText('No matching models').waitFor({ state: 'detached' });
  await focused(search);
});

test('an error code becomes a filter, and a range is written', async () => {
  await open(`/requests?account=${fixture.account}`);
  await press(page.getByRole('region', { name: 'Error codes' }).getByRole('button').first());
  await page.getByRole('button', { name: /^Error code: / }).waitFor();
  await focused(button('Add filter'));
  await tabTo(page, chosen('Range'), 'Shift+Tab');
  const custom = page.getByRole('radio', { name: 'Custom' });
  while ((await custom.and(page.locator(':focus')).count()) === 0) await page.keyboard.press('ArrowRight');
  await press(page.getByLabel('To', { exact: true }), 'ArrowUp');
  const before = page.url();
  await press(button('Show'));
  await page.waitForURL((url) => url.href !== before);
  await focused(button('Show'));
  await press(page.getByLabel('To', { exact: true }), 'Delete', 'Shift+Tab');
  await focused(page.getByLabel('To', { exact: true }));
});

test('what the panel of a request covers is used without it', async () => {
  await open(`/billing?account=${fixture.account}`);
  await take(page, { ...desktop, width: 1024 });
  await open(`/requests?account=${fixture.account}`);
  const row = page.locator('[data-open]').first();
  const title = page.getByRole('dialog').getByRole('heading').first();
  await press(row);
  await focused(title);
  await press(page.getByRole('link', { name: 'Open as a page' }));
  await focused(page.getByRole('heading', { level: 1 }));
  await page.goBack();
  await focused(title);
  await page.keyboard.press('Escape');
  await title.waitFor({ state: 'detached' });
  await focused(row);
  await page.keyboard.press('Enter');
  await focused(title);
  const chart = page.getByRole('slider', { name: 'Requests over time' });
  await tabTo(page, chart, 'Shift+Tab');
  await title.waitFor({ state: 'detached' });
  await focused(chart);
  await take(page, desktop);
});

test('on a phone the menu and the filters give the focus back', async () => {
  await open(`/keys?account=${fixture.account}`);
  await take(page, phone);
  const menu = page.getByRole('dialog', { name: 'Menu' });
  const requests = menu.getByRole('link', { name: 'Requests' });
  await press(button('Open menu'), 'Enter', 'Shift+Tab');
  await focused(button('Close menu'));
  await page.keyboard.press('Escape');
  await menu.waitFor({ state: 'detached' });
  await focused(button('Open menu'));
  await page.keyboard.press('Enter');
  await press(requests);
  await focused(page.getByRole('heading', { name: 'Requests', level: 1 }));
  await press(button('Open menu'), 'Enter', 'Shift+Tab');
  // One is there already.
  await press(requests);
  await menu.waitFor({ state: 'detached' });
  await focused(button('Open menu'));
  await press(page.getByRole('region', { name: 'Error codes' }).getByRole('button').first());
  const filters = button('Filters (1)');
  await focused(filters);
  await page.keyboard.press('Enter');
  const sheet = page.getByRole('dialog', { name: 'Filters' });
  await press(sheet.getByRole('button', { name: /^Remove the filter/ }), 'Enter', 'Shift+Tab');
  await focused(button('Close'));
  await page.keyboard.press('Escape');
  await sheet.waitFor({ state: 'detached' });
  await focused(button('Filters'));
  await take(page, desktop);
});

test('on a phone no bar, hidden header or toast covers what has the focus', async () => {
  await take(page, phone);
  const first = page.getByRole('link', { name: 'Skip to content' });
  const covered: string[] = [];
  for (const path of ['/models', '/models/full']) {
    await open(`${path}?account=${fixture.account}`);
    await tabTo(page, first, 'Shift+Tab');
    // Once around, from the end of the page to its start.
    do {
      await page.keyboard.press('Shift+Tab');
      if (!(await isInSight())) covered.push(await page.evaluate('document.activeElement.outerHTML'));
    } while ((await first.and(page.locator(':focus')).count()) === 0);
  }
  expect(covered).toEqual([]);
  await open(`/billing?tab=credit&account=${fixture.account}`);
  const threshold = page.getByLabel('Warn below, in USD');
  await write(threshold, '9');
  // So small that the toast appears where the field is.
  await page.setViewportSize({ width: 320, height: phone.height });
  const { y, height } = (await threshold.boundingBox()) ?? { y: 0, height: 0 };
  await page.setViewportSize({ width: 320, height: Math.ceil(y + height) });
  await page.keyboard.press('Enter');
  await page.getByText('Saved.').waitFor();
  await focused(threshold);
  expect(await isInSight()).toBe(true);
  await take(page, desktop);
});

test('costs are calculated, and a sample is chosen and copied', async () => {
  await open(`/models/full?account=${fixture.account}`);
  await write(page.getByLabel('Input tokens'), '1000000');
  await write(page.getByLabel('Output tokens'), '1000000');
  await page.getByText('$3.00').first().waitFor();
  const samples = page.getByRole('group').filter({ hasText: 'Python' });
  await press(samples.getByRole('radio', { checked: true }), 'ArrowRight');
  await focused(samples.getByRole('radio', { name: 'Python' }));
  await press(page.getByRole('button', { name: /^Copy: .* as code/ }));
  await page.getByText('Copied', { exact: true }).first().waitFor();
  expect(await page.evaluate<string>('navigator.clipboard.readText()')).toContain('import');
});

test('a decision is changed and run', async () => {
  await open(`/decisions?account=${fixture.account}`);
  const questions = page.getByRole('group', { name: /^Question \d/ });
  const count = await questions.count();
  await press(button('Add question'));
  await focused(questions.nth(count).getByLabel('Name'));
  await press(questions.nth(count).getByRole('button', { name: /^Remove Question/ }), 'Enter', 'Shift+Tab');
  await questions.nth(count).waitFor({ state: 'detached' });
  await questions
    .nth(count - 1)
    .locator(':focus')
    .waitFor();
  await press(button('Run'));
  await page.getByRole('heading', { name: 'urgency' }).waitFor();
  await focused(button('Run'));
  await press(page.getByRole('tab', { selected: true }), 'ArrowRight');
  await focused(page.getByRole('tab', { name: 'Details', selected: true }));
});

test('a message that failed is sent again', async () => {
  await open(`/playground?model=full&account=${fixture.account}`);
  await write(page.getByLabel('Message', { exact: true }), 'Hi [[status 429]]');
  await page.keyboard.press('Enter');
  await press(button('Try again'), 'Enter', 'Shift+Tab');
  await focused(page.getByLabel('Message', { exact: true }));
});

test('an operator corrects a balance, having seen what it does', async () => {
  await open(`/operator/accounts/${fixture.account}`, 'operator');
  const dialog = page.getByRole('dialog');
  await press(button('Correct balance'));
  await focused(dialog.getByRole('radio', { name: 'Take from the balance' }));
  await page.keyboard.press('ArrowRight');
  await write(dialog.getByLabel('Amount in USD'), '1.25');
  await page.keyboard.press('Enter');
  await dialog.locator('[aria-live]').getByText('Enter a reason.').waitFor();
  await focused(dialog.getByLabel('Reason'));
  await page.keyboard.type('By hand');
  await page.keyboard.press('Enter');
  await focused(button('Back'));
  await press(button('Give $1.25'));
  await page.getByText('Booked: $1.25.').waitFor();
  await dialog.waitFor({ state: 'detached' });
  await focused(button('Correct balance'));
});

test('an operator puts an account into a price group, into another, and into none', async () => {
  await open('/operator/accounts', 'operator');
  const row = page.getByRole('row').filter({ has: page.locator(`[href$="${fixture.account}"]`) });
  const actions = row.getByRole('button', { name: /^Actions for/ });
  const prices = page.getByRole('dialog').getByLabel('Prices');
  await tabTo(page, actions);
  for (const [key, group] of [
    ['ArrowDown', 'partner'],
    ['End', 'reseller'],
    ['Home', ''],
  ] as const) {
    await page.keyboard.press('Enter');
    await focused(page.getByRole('menuitem').first());
    // The letter with which it starts.
    await page.keyboard.press('p');
    await focused(page.getByRole('menuitem', { name: 'Prices' }));
    await page.keyboard.press('Enter');
    await focused(prices);
    await prices.locator('option[value=partner]').waitFor({ state: 'attached' });
    await page.keyboard.press(key);
    expect(await prices.inputValue()).toBe(group);
    await press(button('Save'));
    await prices.waitFor({ state: 'detached' });
    await focused(actions);
    await row.getByText(/^(partner|reseller)$/).waitFor(group === '' ? { state: 'detached' } : {});
  }
});

test('someone is invited, joins, and another invitation is revoked', async () => {
  await open(`/team?account=${fixture.account}`, 'owner');
  const dialog = page.getByRole('dialog');
  const invite = async () => {
    await press(button('Invite'), 'Enter', 'Shift+Tab');
    await focused(dialog.getByLabel('Role'));
    await press(button('Create link'));
    await focused(button('Copy link'));
    await page.keyboard.press('Enter');
    await page.getByText('Copied', { exact: true }).first().waitFor();
    await press(button('I have sent it'));
    await focused(button('Invite'));
    return new URL(await page.evaluate<string>('navigator.clipboard.readText()'));
  };
  await invite();
  const revoke = page.getByRole('button', { name: /^Revoke the invitation/ });
  await press(revoke);
  await focused(button('Cancel'));
  await press(button('Revoke invitation'));
  await revoke.waitFor({ state: 'detached' });
  // With its last row the table has gone, too.
  await focused(page.getByRole('heading', { name: 'Team', level: 1 }));
  const { pathname, hash } = await invite();
  await page.context().clearCookies();
  await page.goto(`${pathname}${hash}`);
  await write(page.getByLabel('Name'), 'Ada');
  await write(page.getByLabel('E-mail'), 'ada@example.com');
  await write(page.getByLabel('Password', { exact: true }), 'a password of her own');
  await page.keyboard.press('Enter');
  await focused(page.getByRole('heading', { name: 'Overview', level: 1 }));
  expectNoComplaints(watched);
});
