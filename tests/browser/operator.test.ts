/** The operator's pages and the team page, as a person walks through them. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { formatDay } from '../../dashboard/kit/format-figures.ts';
import type { Audit, Audits, CatalogStatus, Providers } from '../../src/console/operator-contract.ts';
import { lossOf } from '../../src/ledger/settlement.ts';
import { newId } from '../../src/lib/ids.ts';
import { addDays, dayOf } from '../../src/usage/days.ts';
import { bill } from '../support/billed-usage.ts';
import { expectNoComplaints, openPage, takePicture, visit, type Watched } from '../support/browser.ts';
import { chatCatalog } from '../support/chat-fixture.ts';
import { runCommand } from '../support/commands.ts';
import { signIn, visitor } from '../support/console-fixture.ts';
import { type DashboardFixture, openDashboardFixture } from '../support/dashboard-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/gateway.ts';
import { checkLooks } from '../support/looks.ts';
import { dollars, impossible, settleAs } from '../support/rare-settlements.ts';

let fixture: DashboardFixture;
let operator: Watched;
/** A request that failed. */
let failedId: string;

async function ask<Answer>(method: 'GET' | 'POST', path: string): Promise<Answer> {
  const response = await fixture.people.operator.send(method, path, method === 'GET' ? undefined : {});
  return (await response.json()) as Answer;
}

/** The ID of the request, once it is answered. */
async function chat(model: string, content: string): Promise<string> {
  const response = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${fixture.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
  });
  await response.text();
  return response.headers.get('x-service-request-id') ?? '';
}

const rowOf = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text });

/** Searches as a person does, without loading the app again. */
async function find(page: Page, what: 'accounts' | 'users', words: string): Promise<void> {
  const path = `/operator/${what}`;
  if (new URL(page.url()).pathname !== path) await visit(page, path);
  await page.getByLabel(`Search ${what}`, { exact: true }).fill(words);
  await page.waitForURL((url) => (url.searchParams.get('search') ?? '') === words);
}

async function choose(page: Page, subject: string, item: string): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${subject}` }).click();
  await page.getByRole('menuitem', { name: item }).click();
}

/** Lists the parts of texts that are broken over two lines without a break opportunity. Runs in the page. */
const brokenWords = `((table) => {
  const found = [];
  const texts = document.createTreeWalker(table, NodeFilter.SHOW_TEXT);
  while (texts.nextNode() !== null) {
    const node = texts.currentNode;
    for (const { 0: word, index } of node.textContent.matchAll(/[^\\s_/-]+[_/-]?/g)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
      if (lines.size > 1) found.push(word);
    }
  }
  return found;
})(document.querySelector('table[aria-label="Recent failures"]'))`;

/** Sold for more than it costs. */
const soldModel = `  sold: { workload: chat, pricing: { billing_type: token, input: "4", output: "8" }, providers: [
          { provider: main, cost: { billing_type: token, input: "3", output: "6" } }] }`;

beforeAll(async () => {
  fixture = await openDashboardFixture((url) => chatCatalog(url, { providers: '', models: soldModel }));
  await fixture.database.sql`update accounts set name = 'Northwind' where id = ${fixture.account}`;
  failedId = await chat('plain', '[[status 503]]');
  await eventually('the failure to be recorded', async () => {
    const { failures } = await ask<Providers>('GET', '/api/console/operator/providers');
    return failures.some(({ request_id: id }) => id === failedId);
  });
  operator = await fixture.enter('operator', '/operator');
}, 60_000);

afterAll(async () => {
  await fixture?.close();
}, 60_000);

describe('accounts', () => {
  test('are found by name and ID', async () => {
    const { page } = operator;
    await page.goto('/operator/accounts');
    await rowOf(page, 'Northwind').waitFor();
    await page.getByLabel('Search accounts').fill('north');
    await page.waitForURL('**?search=north');
    await rowOf(page, 'Test').waitFor({ state: 'detached' });
    await page.goto(`/operator/accounts?search=${fixture.strangersAccount}`);
    await rowOf(page, 'Test').waitFor();
    expect(await rowOf(page, 'Northwind').count()).toBe(0);
    await page.getByLabel('Search accounts').fill('nobody has this name');
    await page.getByText('No matching accounts').waitFor();
  });

  test('are made with a first credit', async () => {
    const { page } = operator;
    await find(page, 'accounts', '');
    await rowOf(page, 'Northwind').waitFor();
    await page.getByRole('button', { name: 'New account' }).click();
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByText('Enter a name.').waitFor();
    await page.getByLabel('Name', { exact: true }).fill('Blue Harbour');
    await page.getByLabel('Initial credit in USD').fill('ten');
    await page.getByText('Enter an amount such as 20 or 0.50.').waitFor();
    await page.getByLabel('Initial credit in USD').fill('10');
    await page.getByRole('button', { name: 'Create account' }).click();
    await rowOf(page, 'Blue Harbour').getByText('$10.00').waitFor();
    // While it is open, what is typed goes to it and not to the search.
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  test('are credited once, even when the answer is lost and the button is pressed again', async () => {
    const { page } = operator;
    await find(page, 'accounts', 'Blue');
    let isLost = false;
    await page.route('**/credit', async (route) => {
      if (isLost) return await route.continue();
      isLost = true;
      await route.fetch();
      return await route.abort();
    });
    await choose(page, 'Blue Harbour', 'Add credit');
    await page.getByLabel('Amount in USD').fill('2.5');
    await page.getByLabel('Memo').fill('Invoice 7');
    await page.getByRole('definition').filter({ hasText: '$12.50' }).waitFor();
    await checkLooks(page, 'operator-credit');
    await page.getByRole('button', { name: 'Add credit' }).click();
    await page.getByText('The gateway cannot be reached.').waitFor();
    await page.getByRole('button', { name: 'Add credit' }).click();
    await page.getByText('$2.50 was added to Blue Harbour.').waitFor();
    await page.getByText('The new balance is $12.50.').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.unroute('**/credit');
    await rowOf(page, 'Blue Harbour').getByText('$12.50').waitFor();
    const entries = await fixture.database.sql`
      select memo from ledger_entries where amount = 2.5`;
    expect(entries.map(({ memo }: { memo: string }) => memo)).toEqual(['Invoice 7']);
  });

  test('have a page with every movement, from which a credit is undone once its effect was shown', async () => {
    const { page } = operator;
    await find(page, 'accounts', 'Blue');
    await page.getByRole('link', { name: 'Blue Harbour' }).click();
    await page.waitForURL('**/operator/accounts/*');
    await page.getByRole('link', { name: 'Statement' }).click();
    await choose(page, 'entry 2', 'Undo');
    await page.getByRole('button', { name: 'Continue' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Balance after').waitFor();
    expect(await dialog.getByRole('definition').allInnerTexts()).toEqual([
      'Undoes entry 2',
      '$12.50',
      '−$2.50',
      '$10.00',
    ]);
    await checkLooks(page, 'operator-undo');
    await dialog.getByRole('button', { name: 'Take $2.50' }).click();
    const undone = rowOf(page, 'About entry 2');
    await undone.getByText('operator@example.com').waitFor();
    await page.getByRole('button', { name: 'Correct balance' }).click();
    await dialog.getByLabel('Amount in USD').fill('10.01');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText('Enter a reason.').waitFor();
    await dialog.getByLabel('Reason').fill('Paid out');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText('The most that can be taken now is 10 USD.').waitFor();
    await checkLooks(page, 'operator-correction');
    await dialog.getByText('Add to the balance').click();
    await dialog.getByLabel('Amount in USD').fill('2.5');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByRole('button', { name: 'Give $2.50' }).click();
    await rowOf(page, 'Paid out').getByText('+$2.50').waitFor();
    await checkLooks(page, 'operator-account');
  });

  test('are suspended and resumed', async () => {
    const { page } = operator;
    await find(page, 'accounts', 'Blue');
    await choose(page, 'Blue Harbour', 'Suspend');
    await page.getByText('new requests with its keys are refused').waitFor();
    await takePicture(page, 'operator-suspend');
    await page.getByRole('button', { name: 'Suspend account' }).click();
    await rowOf(page, 'Blue Harbour').getByText('Suspended').waitFor();
    await choose(page, 'Blue Harbour', 'Resume');
    await page.getByRole('button', { name: 'Resume account' }).click();
    await rowOf(page, 'Blue Harbour').getByText('Active').waitFor();
  });
});

describe('users', () => {
  test('are created with a link that is shown once and lets them choose a password', async () => {
    const { page } = operator;
    await visit(page, '/operator/users');
    await page.getByRole('button', { name: 'New user' }).click();
    await page.getByRole('button', { name: 'Create user' }).click();
    await page.getByText('Choose an account, or make the user an operator.').waitFor();
    await page.getByLabel('E-mail', { exact: true }).fill('grace@example.com');
    await page.getByLabel('Search accounts by name or ID').fill('blue');
    await page.getByRole('radio', { name: 'Northwind' }).waitFor({ state: 'detached' });
    await page.getByRole('radio', { name: 'Blue Harbour' }).check();
    await page.getByLabel('Search accounts by name or ID').press('Enter');
    await page.getByLabel('Role').selectOption('member');
    await checkLooks(page, 'operator-create-user');
    await page.getByRole('button', { name: 'Create user' }).click();
    const link = new URL(await page.getByTestId('password-link').innerText());
    expect(link.origin).toBe(fixture.gateway.origin);
    await page.getByText('It works once and expires in an hour').waitFor();
    await takePicture(page, 'operator-link');
    await page.getByRole('button', { name: 'Copy link' }).click();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(link.href);
    await page.getByRole('button', { name: 'I have sent it' }).click();
    expect(await page.getByTestId('password-link').count()).toBe(0);
    await rowOf(page, 'grace@example.com').getByText('Blue Harbour').waitFor();
    const chosen = await fixture.people['signed out'].send('POST', '/api/auth/reset-password', {
      token: new URLSearchParams(link.hash.slice(1)).get('token'),
      newPassword: 'a password of her own',
    });
    expect(chosen.status).toBe(200);
    await signIn(fixture.gateway.origin, 'grace', 'a password of her own');
  });

  test('whose address is taken are refused at the field', async () => {
    const { page } = operator;
    await find(page, 'accounts', 'Blue');
    await choose(page, 'Blue Harbour', 'Add user');
    await page.getByLabel('E-mail').fill('member@example.com');
    await page.getByRole('button', { name: 'Create user' }).click();
    await page.getByText('This e-mail address is already in use.').waitFor();
    expect(await page.getByLabel('E-mail').getAttribute('aria-invalid')).toBe('true');
    await page.getByRole('button', { name: 'Cancel' }).click();
  });

  test('get another link, another account, and other rights', async () => {
    const { page } = operator;
    await find(page, 'users', 'grace');
    await choose(page, 'grace@example.com', 'Create password link');
    await page.getByRole('button', { name: 'Create link' }).click();
    await page.getByTestId('password-link').waitFor();
    await page.getByRole('button', { name: 'Copy link' }).click();
    await page.getByRole('button', { name: 'I have sent it' }).click();
    await choose(page, 'grace@example.com', 'Add to account');
    await page.getByRole('radio', { name: 'Northwind' }).check();
    await page.getByRole('button', { name: 'Add to account', exact: true }).click();
    await rowOf(page, 'grace@example.com').getByText('Northwind').waitFor();
    await choose(page, 'grace@example.com', 'Make operator');
    await page.getByRole('button', { name: 'Make operator' }).click();
    await rowOf(page, 'grace@example.com').getByText('Operator').waitFor();
    await choose(page, 'grace@example.com', 'Remove as operator');
    await page.getByRole('button', { name: 'Remove as operator' }).click();
    await rowOf(page, 'grace@example.com').getByText('Operator').waitFor({ state: 'detached' });
  });

  test('whose address is not verified are marked, and get rights only after a warning', async () => {
    const { page } = operator;
    await fixture.database.sql`update users set email_verified = false where email = 'grace@example.com'`;
    await page.goto('/operator/users?search=grace');
    const row = rowOf(page, 'grace@example.com');
    await row.getByText('Not verified').waitFor();
    await choose(page, 'grace@example.com', 'Add to account');
    await page.getByText('This address is not verified').waitFor();
    await page.getByRole('radio', { name: 'Northwind' }).check();
    await page.getByLabel('Role').selectOption('owner');
    await takePicture(page, 'operator-unverified');
    await page.getByRole('button', { name: 'Add anyway', exact: true }).click();
    await row.getByText('owner').waitFor();
    await choose(page, 'grace@example.com', 'Make operator');
    await page.getByText('This address is not verified').waitFor();
    await page.getByRole('button', { name: 'Make operator anyway' }).click();
    await row.getByText('Operator').waitFor();
    await fixture.database.sql`
      update users set email_verified = true, is_operator = false where email = 'grace@example.com'`;
    await fixture.database.sql`
      update memberships set role = 'member' from users where users.id = user_id and email = 'grace@example.com'`;
    await page.goto('/operator/users?search=grace');
    await row.waitFor();
    expect(await row.getByText('Not verified').count()).toBe(0);
  });

  test('are signed out everywhere', async () => {
    const { page } = operator;
    const { origin } = fixture.gateway;
    const elsewhere = visitor(origin, await signIn(origin, 'grace', 'a password of her own'));
    expect((await elsewhere.send('GET', '/api/console/me')).status).toBe(200);
    await find(page, 'users', 'grace');
    await choose(page, 'grace@example.com', 'Sign out everywhere');
    await page.getByRole('button', { name: 'Sign out everywhere' }).click();
    await page.getByText('2 sessions of grace@example.com ended.').waitFor();
    expect((await elsewhere.send('GET', '/api/console/me')).status).toBe(401);
  });
});

describe('providers', () => {
  test('show their failures, and lead to the request that failed', async () => {
    const { page } = operator;
    await visit(page, '/operator/providers');
    await page.getByRole('row').filter({ hasText: 'Main' }).getByText('100% failed').first().waitFor();
    await page.getByRole('table', { name: 'Circuits' }).getByText('Failing', { exact: true }).waitFor();
    await page.getByText('Absent · NO_KEY').waitFor();
    await page.getByRole('row').filter({ hasText: 'provider_unavailable' }).getByRole('link').first().click();
    await page.waitForURL(`**/operator/requests/${failedId}`);
    await page.getByRole('heading', { name: 'plain for Northwind' }).waitFor();
    await page.getByText('HTTP status 503').waitFor();
  });

  test('have a place to look up any request', async () => {
    const { page } = operator;
    await visit(page, '/operator/providers');
    const box = page.getByLabel('Find a request by its ID');
    const find = page.getByRole('button', { name: 'Find', exact: true });
    const heights = await Promise.all([box, find].map(async (one) => (await one.boundingBox())?.height));
    expect(heights[0]).toBe(heights[1] ?? 0);
    await box.fill('req_nothing');
    await find.click();
    await page.getByText('A request ID is “req_” followed by 32 characters').waitFor();
    await box.fill(`x-service-request-id: ${failedId}`);
    await find.click();
    await page.getByRole('heading', { name: 'plain for Northwind' }).waitFor();
    await page.goto(`/operator/requests/req_${'0'.repeat(32)}`);
    await page.getByText('No account has this request').waitFor();
  });
});

describe('the table of failures', () => {
  test('breaks no word on a wide screen, only long names where they have a mark', async () => {
    const { page } = operator;
    const failure: Providers['failures'][number] = {
      request_id: failedId,
      account: { id: fixture.account, name: 'Northwind Logistics International' },
      model: 'anthropic/claude-sonnet-4-5-20250929-thinking',
      provider: 'Amazon Bedrock Frankfurt',
      attempt: 1,
      error: 'provider_authentication_error',
      upstream_status: 401,
      at: new Date().toISOString(),
    };
    await page.route('**/operator/providers', async (route) => {
      const response = await route.fetch();
      const providers = (await response.json()) as Providers;
      await route.fulfill({ response, json: { ...providers, failures: [failure] } satisfies Providers });
    });
    await page.setViewportSize({ width: 1440, height: 900 });
    await visit(page, '/operator/catalog');
    await visit(page, '/operator/providers');
    const table = page.getByRole('table', { name: 'Recent failures' });
    await table.getByText('401').waitFor();
    expect(await page.evaluate<string[]>(brokenWords)).toEqual([]);
    await takePicture(page, 'operator-failures-1440');
    await page.unroute('**/operator/providers');
    await checkLooks(page, 'operator-failures');
  });
});

test('a circuit is shown as open until its time, and then as decided by the next call', async () => {
  const { page } = operator;
  const { sql } = fixture.database;
  const circuit = { provider: 'main', model: 'plain', consecutive_failures: 5, state: 'open' };
  const report = (minutes: number) => ({
    circuits: [{ ...circuit, until: new Date(Date.now() + minutes * 60_000).toISOString() }],
    price_version: '1',
    catalog_error: null,
  });
  // A node that is alive for as long as this takes. Its circuit opened, and then nobody called the model.
  await sql`
    insert into nodes (id, name, heartbeat_at, report)
    values (${newId()}, 'quiet-node', now() + interval '1 hour', ${JSON.stringify(report(5))}::text::jsonb)`;
  const line = page.getByRole('row').filter({ hasText: 'quiet-node' });
  const owner = await fixture.enter('owner', '/');
  const notice = owner.page.getByText(/^plain is unavailable at /);
  await notice.waitFor();
  await visit(page, '/operator/nodes');
  await visit(page, '/operator/providers');
  await line.getByText('Circuit open').waitFor();
  await sql`update nodes set report = ${JSON.stringify(report(-90))}::text::jsonb where name = 'quiet-node'`;
  await line.getByText('Half open').waitFor();
  expect(await line.innerText()).toContain('Decides whether it closes');
  await owner.page.reload();
  await notice.waitFor();
  await owner.page.getByText('no call has succeeded since').waitFor();
  await owner.close();
  await sql`delete from nodes where name = 'quiet-node'`;
});

describe('the catalogue', () => {
  test('says why a model cannot be called', async () => {
    const { page } = operator;
    await visit(page, '/operator/catalog');
    await rowOf(page, 'disabled').getByText('It is disabled.').waitFor();
    await rowOf(page, 'unpriced').getByText('It has no price.').waitFor();
    await page.getByText('Not callable').first().click();
    await page.waitForURL('**?show=not-callable');
    await rowOf(page, 'absent: no key').getByText('NO_KEY is not set.').waitFor();
    expect(await rowOf(page, 'renamed').count()).toBe(0);
  });

  test('warns of what can be sold below cost', async () => {
    const { page } = operator;
    const file = fixture.environment.TOLLGATE_CATALOG ?? '';
    const text = readFileSync(file, 'utf8');
    const costs = 'cost: { input: "1.25", output: "2", cache_write: "1.5" }';
    writeFileSync(file, text.replaceAll(/( (?:full|plain):.*)\[main\]/g, `$1[{ provider: main, ${costs} }]`));
    try {
      await page.goto('/operator/catalog');
      await page.getByText('Some prices need your attention').waitFor();
      await page.getByText('plain can be sold below its cost at main: input is sold at 1 USD').waitFor();
      await checkLooks(page, 'operator-catalog-below-cost');
    } finally {
      writeFileSync(file, text);
    }
    await page.getByText('Some prices need your attention').waitFor({ state: 'detached' });
  });

  test('shows in full why a changed file was not loaded', async () => {
    const { page } = operator;
    const file = fixture.environment.TOLLGATE_CATALOG ?? '';
    const text = readFileSync(file, 'utf8');
    const isBroken = async () =>
      (await ask<CatalogStatus>('GET', '/api/console/operator/catalog')).error !== null;
    writeFileSync(file, `${text}\nnot_a_field: true\n`);
    try {
      await eventually('the broken catalogue', isBroken);
      await page.goto('/operator/catalog');
      await page.getByText('The current file could not be loaded').waitFor();
      await page.getByLabel('Error message', { exact: true }).getByText('not_a_field').waitFor();
      await checkLooks(page, 'operator-catalog-error');
    } finally {
      writeFileSync(file, text);
    }
    await eventually('the old catalogue', async () => !(await isBroken()));
  });
});

test('nodes show the one that answers, alive', async () => {
  const { page } = operator;
  await visit(page, '/operator/nodes');
  await rowOf(page, 'This node').getByText('Alive').waitFor();
  await rowOf(page, 'This node')
    .getByText(/^\d+ s ago$/)
    .waitFor();
});

test('the audit log says who did what', async () => {
  const { page } = operator;
  await page.goto('/operator/audit-log');
  await rowOf(page, 'Added credit').getByText('$2.50').waitFor();
  await rowOf(page, 'Added credit').getByRole('link', { name: 'Blue Harbour' }).waitFor();
  // The fixture made its key with the command line.
  await rowOf(page, 'Created an API key').first().getByText('Command line').waitFor();
});

test('the ledger is audited on demand', async () => {
  const { page } = operator;
  await page.goto('/operator/ledger');
  await page.getByText('No audit yet').waitFor();
  const { database, account: accountId, keyId } = fixture;
  for (let times = 0; times < 2; times += 1)
    await settleAs(
      database,
      { accountId, keyId },
      {
        status: 'failed',
        errorCode: 'provider_stream_error',
        cost: null,
        usage: null,
        loss: lossOf('usage_missing'),
      },
    );
  await page.getByRole('button', { name: 'Run audit' }).click();
  await page.getByText('The ledger is consistent').waitFor();
  const writtenOff = page.getByRole('definition').filter({ hasText: 'unknown amount' });
  expect(await writtenOff.innerText()).toBe('2 of unknown amount');
  const { data } = await ask<Audits>('GET', '/api/console/operator/ledger-audit');
  expect(Number(data[0]?.totals?.balance)).toBe(212.5);
  await page.getByText('$212.50').waitFor();
  const dated = page.getByText('As of the audit at').getByRole('time');
  expect(await dated.getAttribute('datetime')).toBe(data[0]?.started_at ?? '');
  await page.reload();
  await page.getByText('The ledger is consistent').waitFor();
  const broken: Audit = {
    id: '01890a5d-ac96-774b-bcce-b302099a8057',
    state: 'broken',
    is_full: true,
    started_at: new Date().toISOString(),
    finished_at: new Date().toISOString(),
    steps_done: 19,
    step_count: 19,
    findings: [{ invariant: 'no Generation is charged twice', checked: 12, violations: 3 }],
    totals: {
      balance: '1234567.123456789012',
      held: '12345.123456789012',
      written_off: '123.123456789012',
      unknown_write_offs: 72,
      not_believed: '98765.123456789012',
    },
  };
  const running: Audit = {
    ...broken,
    id: '01890a5d-ac96-774b-bcce-b302099a8058',
    state: 'running',
    finished_at: null,
    steps_done: 7,
    findings: [],
    totals: null,
  };
  await page.route('**/ledger-audit', (route) =>
    route.fulfill({
      json: { data: [running, broken] } satisfies Audits,
    }),
  );
  await page.reload();
  await page.getByText('The ledger is inconsistent').waitFor();
  await page.getByText('and 72 of unknown amount').waitFor();
  await page.getByText('A full audit is running: 7 of 19 rules were checked.').waitFor();
  const progress = page.getByRole('meter', { name: 'Progress of the audit' });
  expect(await progress.getAttribute('aria-valuenow')).toBe('36.8');
  expect(await page.getByRole('button', { name: 'Run audit' }).isDisabled()).toBe(true);
  await rowOf(page, 'No Generation is charged twice.').getByText('Violated', { exact: true }).waitFor();
  await checkLooks(page, 'operator-audit');
  await page.unroute('**/ledger-audit');
});

test('a request is refunded from its page, in parts', async () => {
  const owner = { accountId: fixture.account, keyId: fixture.keyId };
  const id = await settleAs(fixture.database, owner);
  const { page } = operator;
  await visit(page, `/operator/requests/${id}`);
  const dialog = page.getByRole('dialog');
  const answered = new Set<string>();
  await page.route('**/refunds', async (route) => {
    const { reference, is_preview: isPreview } = route.request().postDataJSON();
    if (isPreview || answered.has(reference)) return await route.continue();
    answered.add(reference);
    await route.fetch();
    return await route.abort();
  });
  for (const [amount, button] of [
    ['0.1', 'Give $0.10'],
    ['', 'Give $0.15'],
  ] as const) {
    await page.getByRole('button', { name: 'Refund' }).click();
    await dialog.getByLabel('Amount in USD').fill(amount);
    await dialog.getByLabel('Reason').fill('Cut short');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    const confirm = dialog.getByRole('button', { name: button });
    await confirm.click();
    // Each answer is lost once. The second time it is pressed, or looked at, it says that nothing was booked again.
    await dialog.getByText('The gateway cannot be reached.').waitFor();
    if (amount === '') await confirm.click();
    else {
      await dialog.getByRole('button', { name: 'Back' }).click();
      await dialog.getByRole('button', { name: 'Continue' }).click();
      await dialog.getByText('Nothing was booked again.').waitFor();
      await checkLooks(page, 'operator-booked-before');
      await dialog.getByRole('button', { name: 'Close', exact: true }).last().click();
    }
    await dialog.waitFor({ state: 'detached' });
    if (amount === '') await page.getByText('$0.15 was booked before. Nothing was booked again.').waitFor();
    if (amount !== '') {
      await page.getByText('Partly refunded', { exact: true }).waitFor();
      await checkLooks(page, 'operator-refund');
    }
  }
  await page.unroute('**/refunds');
  await page.getByText('Refunded', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Refund' }).waitFor({ state: 'detached' });
});

test('a settlement that the database refused is noticed on every page, and explained at the ledger', async () => {
  const { page } = operator;
  const { database, account: accountId, keyId } = fixture;
  const id = await settleAs(database, { accountId, keyId }, impossible);
  await page.goto('/operator/accounts');
  const menu = page.getByRole('navigation', { name: 'Pages' });
  await menu.getByRole('link', { name: 'Ledger 1 failed settlement' }).click();
  await page.getByText('The database rejected the settlement of a request').waitFor();
  await page.getByRole('region', { name: 'Retry command' }).getByText('tollgate ledger retry').waitFor();
  const row = page.getByRole('table', { name: 'Failed settlements' }).locator('tbody tr');
  for (const words of ['Northwind', '$0.25', '22003']) await row.getByText(words).waitFor();
  await checkLooks(page, 'operator-dead-letters');
  await row.getByTitle(id).click();
  await page.waitForURL(`**/operator/requests/${id}`);
  await page.getByRole('heading', { name: 'full for Northwind' }).waitFor();
  await database.sql`delete from dead_letters`;
  await page.goto('/operator/ledger');
  await page.getByText('The ledger is consistent').waitFor();
  expect(await page.getByText('Failed settlements').count()).toBe(0);
});

test('reported usage that was not believed is shown to operators only', async () => {
  const { page } = operator;
  const { database, account: accountId, keyId } = fixture;
  const id = await settleAs(
    database,
    { accountId, keyId },
    {
      loss: {
        reason: 'implausible_usage',
        amount: dollars('60'),
        reported: { inputTokens: 10, outputTokens: 100_000_000 },
        counts: null,
      },
    },
  );
  await visit(page, `/operator/requests/${id}`);
  await page
    .getByText(
      'The provider reported 100,000,000 output tokens, but at most 5 were requested. Charged for 5.',
    )
    .waitFor();
  await page.getByText('The difference of $60.00 was not charged to anyone.').waitFor();
  await checkLooks(page, 'operator-implausible');
  const owner = await fixture.enter('owner', `/requests/${id}`);
  await owner.page.getByText('The total was deducted from the balance.').waitFor();
  expect(await owner.page.content()).not.toContain('100,000,000');
  await owner.close();
  const contradictory = await settleAs(
    database,
    { accountId, keyId },
    {
      loss: {
        reason: 'implausible_usage',
        amount: dollars('0.5'),
        reported: { inputTokens: 10, outputTokens: 5 },
        counts: { prompt_tokens: 10, completion_tokens: 5, cached_tokens: 900, total_tokens: 15 },
      },
    },
  );
  await page.goto(`/operator/requests/${contradictory}`);
  await page.getByText('The provider reported counts that contradict each other.').waitFor();
  await page.getByRole('listitem').getByText('cached_tokens: 900').waitFor();
  await checkLooks(page, 'operator-contradiction');
});

describe('the team', () => {
  test('is seen by members, who cannot change it', async () => {
    const member = await fixture.enter('member', '/team');
    await rowOf(member.page, 'owner@example.com').waitFor();
    expect(await member.page.getByRole('button', { name: /^Actions for/ }).count()).toBe(0);
    expectNoComplaints(member);
    await member.close();
  });

  test('is changed by owners, of whom one stays', async () => {
    const owner = await fixture.enter('owner', '/');
    const { page } = owner;
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Team' }).click();
    await choose(page, 'owner@example.com', 'Leave account');
    await page.getByRole('button', { name: 'Leave account' }).click();
    await page.getByText('An account needs an owner, and this is the last one.').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await choose(page, 'grace@example.com', 'Make an owner');
    await takePicture(page, 'team-owner');
    await page.getByRole('button', { name: 'Make an owner' }).click();
    await rowOf(page, 'grace@example.com').getByText('Owner', { exact: true }).waitFor();
    await choose(page, 'grace@example.com', 'Remove');
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await rowOf(page, 'grace@example.com').waitFor({ state: 'detached' });
    await rowOf(page, 'member@example.com').waitFor();
    expectNoComplaints(owner);
    await owner.close();
  });

  test('is joined by those whom its owners invite, new or not, and by nobody else', async () => {
    const owner = await fixture.enter('owner', '/team');
    const { page } = owner;
    const open = page.getByRole('table', { name: 'Open invitations' }).locator('tbody tr');
    /** The link, as a place in the app. */
    const invite = async (role: 'owner' | 'member') => {
      await page.getByRole('button', { name: 'Invite' }).click();
      await page.getByLabel('Role').selectOption(role);
      // This gateway cannot send mail.
      expect(await page.getByLabel('E-mail').count()).toBe(0);
      await page.getByRole('button', { name: 'Create link' }).click();
      const link = new URL(await page.getByTestId('invitation-link').innerText());
      expect([link.origin, link.search]).toEqual([fixture.gateway.origin, '']);
      await page.getByRole('button', { name: 'Copy link' }).click();
      await page.getByRole('button', { name: 'I have sent it' }).click();
      return `${link.pathname}${link.hash}`;
    };
    const links = [await invite('owner'), await invite('member'), await invite('member')] as const;
    await open.nth(2).waitFor();
    await checkLooks(page, 'team');
    // The newest comes first.
    await open.first().getByRole('button', { name: 'Revoke the invitation' }).click();
    await page.getByRole('button', { name: 'Revoke invitation', exact: true }).click();
    await open.nth(2).waitFor({ state: 'detached' });

    const guest = await openPage(fixture.browser, fixture.gateway.origin);
    const guestPage = guest.page;
    await guestPage.goto(links[2]);
    await guestPage.getByText('This invitation does not work').waitFor();
    await guestPage.evaluate(`location.hash = ${JSON.stringify(links[0].split('#')[1])}`);
    await guestPage.getByRole('heading', { name: 'Join Northwind' }).waitFor();
    expect(guestPage.url()).toEndWith('/invitation');
    await checkLooks(guestPage, 'invitation');
    await guestPage.getByLabel('Name').fill('Ada');
    await guestPage.getByLabel('E-mail').fill('ada@example.com');
    await guestPage.getByLabel('Password', { exact: true }).fill('a password of her own');
    await guestPage.getByRole('button', { name: 'Create login and join' }).click();
    await guestPage.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    await rowOf(page, 'ada@example.com').getByText('Owner', { exact: true }).waitFor();
    expectNoComplaints(guest);
    await guest.close();

    const known = await openPage(fixture.browser, fixture.gateway.origin);
    const knownPage = known.page;
    await knownPage.goto(links[1]);
    const signInAs = async (name: string) => {
      await knownPage.getByRole('link', { name: 'Sign in' }).click();
      await knownPage.getByLabel('E-mail').fill(`${name}@example.com`);
      await knownPage.getByLabel('Password').fill('correct horse battery');
      expect(knownPage.url()).not.toContain('token');
      await knownPage.getByRole('button', { name: 'Sign in' }).click();
      await knownPage.getByText(`You are signed in as ${name}@example.com`).waitFor();
    };
    await signInAs('member');
    await knownPage.getByRole('button', { name: 'Join', exact: true }).click();
    await knownPage.getByText('This user already belongs to the account.').waitFor();
    await knownPage.getByRole('button', { name: 'Use another sign-in' }).click();
    await signInAs('stranger');
    await takePicture(knownPage, 'invitation-signed-in');
    await knownPage.getByRole('button', { name: 'Join', exact: true }).click();
    await knownPage.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
    // The account that was joined is selected.
    await knownPage.getByRole('main').getByText('Northwind', { exact: true }).waitFor();
    await knownPage.goto(links[1]);
    await knownPage.getByText('This invitation does not work').waitFor();
    expectNoComplaints(known);
    await known.close();
    await open.first().waitFor({ state: 'detached' });
    expectNoComplaints(owner);
    await owner.close();
  });
});

test.each([
  ['providers', '/operator/providers', 'Absent · NO_KEY'],
  ['generation', () => `/operator/requests/${failedId}`, 'HTTP status 503'],
  ['catalog', '/operator/catalog', 'It is disabled.'],
  ['ledger', '/operator/ledger', 'The ledger is consistent'],
  ['audit-log', '/operator/audit-log', 'Added credit'],
] as const)('the filled page %s can be used by everyone', async (name, path, words) => {
  const { page } = operator;
  await visit(page, typeof path === 'string' ? path : path());
  await page.getByText(words).first().waitFor();
  await checkLooks(page, `operator-${name}`);
});

test('a provider that the operator has to see to says so in plain words, until it works again', async () => {
  const { page } = operator;
  await visit(page, '/operator/providers');
  await chat('locked', 'hello');
  await chat('tiered', '[[status 402]]');
  await chat('renamed', '[[status 404]]');
  await page.getByText('rejected the key of this gateway (401)').waitFor();
  const unpaid = page.getByText('requires payment (402). Add credit to your account there.');
  await unpaid.waitFor();
  await page.getByText('does not know the model (404). It was retired').waitFor();
  await page.getByText('Last error').first().waitFor();
  await checkLooks(page, 'operator-setbacks');
  await chat('tiered', 'hello');
  await unpaid.waitFor({ state: 'detached' });
  expect(await page.getByText('does not know the model (404)').count()).toBe(1);
});

test('what a provider billed is shown next to the metered cost, with what may explain a difference', async () => {
  const { page } = operator;
  const today = dayOf(new Date());
  const [even, off] = [addDays(today, -8), addDays(today, -7)];
  const command = ['reconcile', '--provider', 'main', '--from', even, '--to', addDays(today, -6)];
  await visit(page, '/operator/reconciliation');
  await page.getByText('No bill has been read yet').waitFor();

  expect(await runCommand(command, fixture.environment).then(String, String)).toContain('--file CSV');
  await page.reload();
  await page.getByText('The bill could not be read').waitFor();
  await page.getByText('No day has been compared yet.').waitFor();

  const served = (at: string, providerCost?: bigint) => ({
    keyId: fixture.keyId,
    model: 'renamed',
    billedAt: new Date(at),
    startedAt: new Date(at),
    inputTokens: 10,
    outputTokens: 5,
    cost: 2_000_000_000_000n,
    provider: 'Main',
    ...(providerCost === undefined ? {} : { providerCost }),
  });
  await bill(fixture.database.sql, fixture.account, [
    served(`${even}T12:00:00Z`, 1_250_000_000_000n),
    served(`${off}T12:00:00Z`, 1_000_000_000_000n),
    served(`${off}T13:00:00Z`),
  ]);
  const readBill = async (...lines: string[]) => {
    const file = join(temporaryFolder(), 'bill.csv');
    writeFileSync(file, ['day,model,amount', ...lines].join('\n'));
    await runCommand([...command, '--file', file], fixture.environment);
    await page.reload();
  };
  await readBill(`${even},vendor/renamed,1.25`, `${off},vendor/renamed,9`);
  await readBill(`${even},vendor/renamed,1.25`, `${off},vendor/renamed,1.5`, `${off},vendor/other,0.25`);
  // As if it had been compared when it was still preliminary.
  await fixture.database.sql`update reconciled_days set is_preliminary = true`;
  await page.reload();
  const evenRow = rowOf(page, formatDay(even, true));
  const offRow = rowOf(page, formatDay(off, true));
  await evenRow.getByText('Within', { exact: true }).waitFor();
  await offRow.getByText('Differs', { exact: true }).waitFor();
  expect(await offRow.innerText()).toMatch(/\$4\.00[^$]*\$1\.00[^$]*\$1\.75[^$]*\$0\.75/);
  await offRow.getByText('was $9.00').waitFor();
  await page.getByText('No bill', { exact: true }).waitFor();
  await page.getByText('1 day differs').waitFor();
  expect(await page.getByText('The bill could not be read').count()).toBe(0);
  await checkLooks(page, 'operator-reconciliation');

  await offRow.getByRole('button', { name: 'Details' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('The cost of 1 call is unknown').waitFor();
  await dialog.getByText('$0.25 was billed for models that no model of the catalogue stands for').waitFor();
  await dialog.getByText('Not in the catalogue').waitFor();
  expect(await dialog.getByRole('table', { name: 'Versions of the bill' }).getByRole('row').count()).toBe(3);
  await checkLooks(page, 'operator-reconciliation-day');
  await page.keyboard.press('Escape');

  await visit(page, '/operator/audit-log');
  const action = rowOf(page, 'Reconciled the bill').first();
  await action.getByText('Command line').waitFor();
  await action.getByRole('link', { name: 'main' }).click();
  await page.getByRole('heading', { level: 1, name: 'Reconciliation' }).waitFor();
});

test('margins show what is left, by whatever they are grouped, and name what is unknown', async () => {
  for (const content of ['[[usage 1000 1000]]', '[[usage 1000 1000]]', '[[not-json]]'])
    await chat('sold', content);
  await chat('full', '[[usage 1000 1000]]');
  const { page } = operator;
  await visit(page, '/operator/margins?by=model');
  const sold = rowOf(page, 'sold');
  await sold.waitFor();
  const cells = await sold.getByRole('cell').allTextContents();
  expect(cells).toEqual([
    'sold',
    'Requests2',
    'Revenue$0.02',
    'Cost$0.02',
    'Uncharged–',
    'Margin<$0.0125.0%',
    'Margin %25.0%',
    'Unknown1',
  ]);
  await page.getByText(/The cost of \d+ requests? is unknown/).waitFor();
  await page.getByText('What it asks is unknown.').waitFor();
  await checkLooks(page, 'operator-margins');
  await page.getByText('Account', { exact: true }).click();
  await rowOf(page, 'Northwind').waitFor();
  expect(new URL(page.url()).searchParams.get('by')).toBe('account');
  const downloading = page.waitForEvent('download');
  await page.getByRole('link', { name: 'CSV' }).click();
  expect(readFileSync(await (await downloading).path(), 'utf8')).toContain(
    `"${fixture.account}","Northwind",`,
  );
});

test('nobody else has these pages', async () => {
  const owner = await fixture.enter('owner', '/operator/accounts');
  await owner.page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
  expect(await owner.page.getByRole('link', { name: 'Ledger' }).count()).toBe(0);
  await owner.close();
});

test('an operator who signs out everywhere is out here too, and no page complained on the way', async () => {
  const { page } = operator;
  await find(page, 'users', 'operator');
  await choose(page, 'operator@example.com', 'Sign out everywhere');
  await page.getByText('including this one').waitFor();
  await page.getByRole('button', { name: 'Sign out everywhere' }).click();
  await page.waitForURL('**/sign-in?next=*');
  expectNoComplaints(operator);
});
