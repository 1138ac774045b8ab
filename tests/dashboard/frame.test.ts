/** The dashboard's frame in a real browser: signing in and out, finding one's way, and what everyone may expect of it. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { desktop, expectNoComplaints, type Look, openPage, phone, type Watched } from '../support/browser.ts';
import { type Person, signIn, visitor } from '../support/console-fixture.ts';
import { cookiesOf, type DashboardFixture, openDashboardFixture } from '../support/dashboard-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { overflowOf, violationsOf } from '../support/looks.ts';

let fixture: DashboardFixture;
const opened: Watched[] = [];

beforeAll(async () => {
  fixture = await openDashboardFixture();
}, 60_000);

afterEach(async () => {
  for (const watched of opened.splice(0)) {
    expectNoComplaints(watched);
    await watched.close();
  }
});

afterAll(async () => {
  await fixture?.close();
}, 60_000);

async function visit(look: Look = desktop): Promise<Watched> {
  const watched = await openPage(fixture.browser, fixture.gateway.origin, look);
  opened.push(watched);
  return watched;
}

/** Someone who is already signed in. */
async function visitAs(person: Person, path: string, look: Look = desktop) {
  const watched = await fixture.enter(person, path, { look });
  opened.push(watched);
  return watched.page;
}

/** Waits from outside: the page's policy refuses to evaluate a condition inside it. */
async function becomes(page: Page, expression: string, expected: string): Promise<void> {
  await eventually(
    `${expression} to be ${expected}`,
    async () => (await page.evaluate(expression)) === expected,
  );
}

describe('signing in', () => {
  test('leads to where one wanted to be, and back out', async () => {
    const { page } = await visit();
    await page.goto('/account?from=mail');
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(new URL(page.url()).searchParams.get('next')).toBe('/account?from=mail');
    await page.getByLabel('E-mail').fill('owner@example.com');
    await page.getByLabel('Password').fill('not the password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByLabel('Password').inputValue()).toBe('');
    await page.getByLabel('Password').fill('correct horse battery');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Profile' }).waitFor();
    expect(page.url()).toEndWith('/account?from=mail');
    await page.getByRole('button', { name: 'owner@example.com' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await becomes(page, 'document.activeElement?.getAttribute("name")', 'email');
    await page.goto('/account');
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  test('a session that is ended elsewhere ends here with the next step', async () => {
    const { page } = await visit();
    // A page that requests nothing by itself once it is loaded.
    await page.goto('/sign-in?next=/account');
    await page.getByLabel('E-mail').fill('member@example.com');
    await page.getByLabel('Password').fill('correct horse battery');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Current', { exact: true }).waitFor();
    await page.context().clearCookies();
    await page.getByRole('link', { name: 'Billing', exact: true }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(new URL(page.url()).searchParams.get('next')).toBe(`/billing?account=${fixture.account}`);
  });

  test('sessions are listed, and another one can be ended', async () => {
    const page = await visitAs('stranger', '/account');
    const { page: elsewhere } = await visit();
    await elsewhere.goto('/sign-in');
    await elsewhere.getByLabel('E-mail').fill('stranger@example.com');
    await elsewhere.getByLabel('Password').fill('correct horse battery');
    await elsewhere.getByRole('button', { name: 'Sign in' }).click();
    await elsewhere.getByRole('link', { name: 'Keys', exact: true }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: /^End the session in Chrome/ }).click();
    await page.getByText('The session has ended.').waitFor();
    await elsewhere.reload();
    await elsewhere.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  test('a password is changed, after which only the new one counts, and only here one stays signed in', async () => {
    const { origin } = fixture.gateway;
    const elsewhere = visitor(origin, await signIn(origin, 'member'));
    const page = await visitAs('member', '/account');
    await page.getByLabel('Current password').fill('not the password');
    await page.getByLabel('New password').fill('another horse battery');
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('The current password is wrong.').waitFor();
    await page.getByLabel('Current password').fill('correct horse battery');
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('Your password was changed.').waitFor();
    expect((await elsewhere.send('GET', '/api/console/me')).status).toBe(401);
    await page.reload();
    await page.getByText('Current', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: /^End the session/ }).count()).toBe(0);
    const { page: again } = await visit();
    await again.goto('/sign-in');
    await again.getByLabel('E-mail').fill('member@example.com');
    await again.getByLabel('Password').fill('correct horse battery');
    await again.getByRole('button', { name: 'Sign in' }).click();
    await again.getByRole('alert').waitFor();
    await again.getByLabel('Password').fill('another horse battery');
    await again.getByRole('button', { name: 'Sign in' }).click();
    await again.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  });

  test('a token is read out of the address and does not stay there', async () => {
    const { page } = await visit();
    await page.goto('/reset-password#token=not-a-token');
    await page.getByLabel('New password').fill('a new password');
    expect(page.url()).toEndWith('/reset-password');
    await page.getByRole('button', { name: 'Save password' }).click();
    await page.getByRole('heading', { name: 'This link does not work' }).waitFor();
  });
});

describe('finding one’s way', () => {
  test('another page takes the focus to its heading and names the window', async () => {
    const page = await visitAs('owner', '/account');
    await page.getByRole('heading', { name: 'Profile' }).waitFor();
    expect(await page.evaluate('document.activeElement === document.body')).toBe(true);
    await page.getByRole('link', { name: 'Keys', exact: true }).click();
    await becomes(page, 'document.activeElement?.tagName', 'H1');
    await becomes(page, 'document.title', 'Keys · Tollgate');
  });

  test('the first stop of the keyboard skips the sidebar', async () => {
    const page = await visitAs('owner', '/account');
    await page.getByRole('heading', { name: 'Profile' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await becomes(page, 'document.activeElement?.id', 'content');
  });

  test('on a phone the menu is a drawer with its own menus, which closes after a choice', async () => {
    const page = await visitAs('owner', '/account', phone);
    await page.getByRole('button', { name: 'Open menu' }).click();
    const drawer = page.getByRole('dialog', { name: 'Menu' });
    await drawer.getByRole('button', { name: 'owner@example.com' }).click();
    await becomes(page, 'document.activeElement?.textContent', 'Profile');
    for (const next of ['Guides', 'API reference']) {
      await page.keyboard.press('ArrowDown');
      await becomes(page, 'document.activeElement?.textContent', next);
    }
    await page.keyboard.press('Escape');
    expect(await drawer.isVisible()).toBe(true);
    await drawer.getByRole('link', { name: 'Usage' }).click();
    await drawer.waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
    expect(await overflowOf(page)).toBe(0);
  });

  test('an operator without an account comes to the home of operators, and others find nothing there', async () => {
    const page = await visitAs('operator', '/');
    await page.getByRole('heading', { name: 'Gateway', level: 1 }).waitFor();
    expect(page.url()).toEndWith('/operator');
    expect(await page.getByRole('link', { name: 'Keys', exact: true }).count()).toBe(0);
    const other = await visitAs('owner', '/operator/accounts');
    await other.getByRole('heading', { name: 'Page not found' }).waitFor();
    expect(await other.getByRole('link', { name: 'Accounts' }).count()).toBe(0);
  });

  test('an unknown address says so', async () => {
    const { page } = await visit();
    expect((await page.goto('/nothing/here'))?.status()).toBe(404);
    await page.getByRole('heading', { name: 'Page not found' }).waitFor();
    expect(await page.getByRole('navigation').count()).toBe(0);
  });

  test('an unknown address keeps the menu for someone who has signed in', async () => {
    const page = await visitAs('owner', '/account');
    await page.getByRole('heading', { name: 'Profile' }).waitFor();
    await page.goto('/nothing/here');
    await page.getByRole('heading', { name: 'Page not found' }).waitFor();
    await page.getByRole('navigation').getByRole('link', { name: 'Keys', exact: true }).click();
    await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor();
    await page.goto('/keys/nothing');
    await page.getByRole('navigation').getByRole('link', { name: 'Usage', exact: true }).waitFor();
    await page.context().clearCookies();
    await page.goto('/nothing/here');
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  test('light and dark are remembered, and there before anything is painted', async () => {
    const page = await visitAs('owner', '/account');
    await page.getByRole('radio', { name: 'Dark' }).check({ force: true });
    const background = 'getComputedStyle(document.documentElement).backgroundColor';
    await becomes(page, 'document.documentElement.className', 'dark');
    const dark = await page.evaluate(background);
    await page.route('**/assets/main-*', (route) => route.abort());
    await page.reload({ waitUntil: 'domcontentloaded' });
    expect(await page.evaluate('document.documentElement.className')).toBe('dark');
    expect(await page.evaluate(background)).toBe(dark);
  });
});

test('a browser with full storage still shows the chosen account', async () => {
  const { sql } = fixture.database;
  await sql`update accounts set name = 'Second' where id = ${fixture.strangersAccount}`;
  await sql`insert into memberships (user_id, account_id, role)
    select id, ${fixture.strangersAccount}, 'member' from users where email = 'owner@example.com'`;
  const page = await visitAs('owner', '/keys');
  await page.evaluate(
    'localStorage.setItem("tollgate.account", "none"); Storage.prototype.setItem = () => { throw new Error() }',
  );
  await page.getByRole('button', { name: 'Test' }).click();
  await page.getByRole('menuitemradio', { name: 'Second' }).click();
  await page.getByRole('button', { name: 'Second' }).waitFor();
});

test('a link carries the account that it is about, to someone who has another one selected', async () => {
  const { sql } = fixture.database;
  await sql`update accounts set name = 'Third' where id = ${fixture.strangersAccount}`;
  await sql`insert into memberships (user_id, account_id, role)
    select id, ${fixture.strangersAccount}, 'member' from users where email = 'owner@example.com'
    on conflict do nothing`;
  const sender = await visitAs('stranger', '/requests?status=failed');
  await sender.getByRole('heading', { name: 'Requests', level: 1 }).waitFor();
  const link = sender.url();
  const page = await visitAs('owner', '/billing');
  await page.getByRole('button', { name: 'Test' }).waitFor();
  await page.goto(link);
  await page.getByRole('button', { name: 'Third' }).waitFor();
  expect(new URL(page.url()).searchParams.get('status')).toBe('failed');
  // The address of a link that is copied has it too, and it stays while filters change.
  const keys = page.getByRole('link', { name: 'Keys', exact: true });
  expect(await keys.getAttribute('href')).toBe(`/keys?account=${fixture.strangersAccount}`);
  await page.goto('/account');
  await page.getByRole('button', { name: 'Third' }).waitFor();
  await page.goBack();
  await page.getByRole('button', { name: 'Third' }).click();
  await page.getByRole('menuitemradio', { name: 'Test' }).click();
  await page.getByRole('button', { name: 'Test' }).waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'Test' }).waitFor();
  expect(new URL(page.url()).search).toBe(`?account=${fixture.account}`);
  await page.goBack();
  await page.getByRole('button', { name: 'Third' }).waitFor();
});

test('a link to an account of others says so, and shows nothing of one’s own in its place', async () => {
  const page = await visitAs('stranger', `/billing?account=${fixture.account}`);
  await page.getByRole('heading', { name: 'You do not have access to this account' }).waitFor();
  expect(await page.getByText('Balance').count()).toBe(0);
  await page.getByRole('link', { name: 'Billing', exact: true }).click();
  await page.getByRole('heading', { name: 'Billing', level: 1 }).waitFor();
});

describe('what everyone may expect', () => {
  test('the first page is less than 200 KB of packed scripts, without those of other pages', async () => {
    const { origin } = fixture.gateway;
    const context = await fixture.browser.newContext({ baseURL: origin });
    await context.addCookies(cookiesOf(fixture.people.owner.cookie, origin));
    // The other pages are fetched once the browser is idle.
    await context.addInitScript('window.requestIdleCallback = () => 0');
    const page = await context.newPage();
    const scripts = new Set<string>();
    page.on('response', (response) => {
      if (response.url().endsWith('.js')) scripts.add(response.url());
    });
    await page.goto('/');
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await page.waitForLoadState('networkidle');
    const sizes = await Promise.all(
      [...scripts].map(async (url) => {
        const packed = await fetch(url, { headers: { 'accept-encoding': 'gzip' }, decompress: false });
        return (await packed.bytes()).length;
      }),
    );
    expect([...scripts].filter((url) => !url.startsWith(fixture.gateway.origin))).toEqual([]);
    expect(sizes.length).toBeGreaterThan(1);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(200_000);
    await context.close();
  });

  test.each([
    ['owner', false],
    ['operator', true],
  ] as const)('the pages of operators are fetched for the %s: %p', async (person, isOperator) => {
    const page = await visitAs(person, '/docs');
    const fetched = new Set<string>();
    page.on('response', (response) => {
      fetched.add(/([a-z-]+)-page-[^/]*\.js$/.exec(response.url())?.[1] ?? '');
    });
    await page.goto('/account');
    // One of the last of all pages, and of those that are not for operators.
    await eventually('the pages are there', () => fetched.has(isOperator ? 'reconciliation' : 'decisions'));
    await page.waitForLoadState('networkidle');
    expect([fetched.has('usage'), fetched.has('margins')]).toEqual([true, isOperator]);
  });

  const looks = { 'by day': desktop, 'on a phone at night': { ...phone, colorScheme: 'dark' } } as const;

  async function expectNothingSerious(page: Page): Promise<void> {
    for (const [name, { width, height, colorScheme }] of Object.entries(looks)) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height });
      expect([name, await violationsOf(page), await overflowOf(page)]).toEqual([name, [], 0]);
    }
  }

  test.each(['/sign-in', '/sign-up', '/forgot-password', '/reset-password#token=x', '/nothing'])(
    'nothing stands in anyone’s way at %s, by day and on a phone at night',
    async (path) => {
      const { page } = await visit();
      await page.goto(path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await expectNothingSerious(page);
    },
  );

  test('nor for someone who has signed in', async () => {
    const page = await visitAs('owner', '/account');
    await page.getByRole('heading', { name: 'Profile' }).waitFor();
    await page.getByText('Current', { exact: true }).waitFor();
    await expectNothingSerious(page);
  });
});
