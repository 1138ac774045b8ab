/** Grants and allowances at the admin API: how they are given, spent, listed, voided and ended, and what is refused. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { newId } from '../../src/lib/ids.ts';
import { moneyFromDatabase } from '../../src/lib/money.ts';
import {
  type AdminFixture,
  bodyOf,
  openAdminFixture,
  type Program,
  refusalOf,
} from '../support/admin-fixture.ts';
import { runPage } from '../support/doc-commands.ts';
import { eventually } from '../support/eventually.ts';

let fixture: AdminFixture;
let program: Program;

beforeAll(async () => {
  fixture = await openAdminFixture();
  program = await fixture.program();
});

afterAll(() => fixture.close());

type Balances = { paid: string; promotional: string; allowance: string };
type Account = { balance: string; balances: Balances };
type Grant = {
  id: string;
  entry_number: number | null;
  state: string;
  category: string;
  amount: string;
  remaining: string;
};
type Draw = { grant_id: string; category: string; amount: string };
type Entry = { number: number; kind: string; amount: string; memo: string | null; drawn_from: Draw[] | null };
type Allowance = { id: string; next_at: string | null; ended_at: string | null };
type List<Item> = { data: Item[]; has_more: boolean; next_cursor: string | null };

const later = '2099-01-31T12:00:00.000Z';
const usd = (amount: string) => `${amount}.000000000000`;

async function newAccount(credit = '10') {
  const { account, key } = await fixture.customer(credit);
  const path = `/accounts/${account}`;
  const credits = (body: object) => program.send('POST', `${path}/credits`, { reference: newId(), ...body });
  return {
    key,
    path,
    give: (body: object) => bodyOf<{ entry_number: number; balance: string }>(credits(body)),
    refuse: (body: object) => refusalOf(credits(body)),
    show: () => bodyOf<Account>(program.send('GET', path)),
    grants: (query = '') => bodyOf<List<Grant>>(program.send('GET', `${path}/grants${query}`)),
    entries: async () => (await bodyOf<List<Entry>>(program.send('GET', `${path}/ledger-entries`))).data,
    allow: (body: object, key_ = newId()) =>
      program.send('POST', `${path}/allowances`, body, { 'idempotency-key': key_ }),
  };
}

async function chat(key: string): Promise<string> {
  const response = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'full',
      max_tokens: 5,
      messages: [{ role: 'user', content: '[[usage 10 5]] hi' }],
    }),
  });
  expect(response.status).toBe(200);
  await response.text();
  return response.headers.get('x-service-request-id') ?? '';
}

describe('a credit', () => {
  test('without terms is a plain one: nothing is told apart', async () => {
    const { key, path, give, show, grants, entries } = await newAccount();
    await give({ amount: '2', category: null, priority: null, expires_at: null });
    await chat(key);
    const account = await show();
    expect(account.balances).toEqual({ paid: account.balance, promotional: usd('0'), allowance: usd('0') });
    expect((await grants()).data).toEqual([]);
    expect((await entries()).map((entry) => entry.drawn_from)).toEqual([null, null, null]);
    const listed = await bodyOf<List<Account & { id: string }>>(program.send('GET', '/accounts?limit=1'));
    expect(listed.data).toMatchObject([{ id: path.slice('/accounts/'.length), balances: account.balances }]);
  });

  test('with a category is a grant, which the next charge is drawn from, and a refund goes back to', async () => {
    const { key, path, give, show, grants, entries } = await newAccount();
    const tiny = { amount: '0.000001', category: 'promotional', memo: 'Welcome' };
    expect(await give(tiny)).toMatchObject({ entry_number: 2, balance: '10.000001000000' });
    const generation = await chat(key);
    const [charge, credit] = await entries();
    const { data: all } = await grants();
    expect(all).toMatchObject([
      { entry_number: 2, category: 'promotional', memo: 'Welcome', state: 'used', remaining: usd('0') },
      { entry_number: null, category: 'paid', amount: usd('10'), memo: null, state: 'active' },
    ]);
    const [promotional, before] = all;
    const rest = -moneyFromDatabase(charge?.amount ?? '') - 1_000_000n;
    expect(rest).toBeGreaterThan(0n);
    const drawn = (charge?.drawn_from ?? []).toSorted((a, b) => a.category.localeCompare(b.category));
    expect(drawn.map((draw) => [draw.grant_id, draw.category, moneyFromDatabase(draw.amount)])).toEqual([
      [before?.id ?? '', 'paid', rest],
      [promotional?.id ?? '', 'promotional', 1_000_000n],
    ]);
    expect(credit?.drawn_from).toBeNull();
    const found = await bodyOf<Entry>(program.send('GET', `/generations/${generation}`));
    expect(found.drawn_from).toEqual(charge?.drawn_from ?? null);

    const account = await show();
    expect(account.balances).toEqual({ paid: account.balance, promotional: usd('0'), allowance: usd('0') });
    expect(await bodyOf(program.send('GET', `${path}/grants/${promotional?.id}`))).toEqual(
      promotional as never,
    );

    const refund = { reason: 'Cut short', reference: newId() };
    await bodyOf(program.send('POST', `/generations/${generation}/refunds`, refund));
    const [refunded] = await entries();
    expect(refunded).toMatchObject({ kind: 'refund' });
    const sum = (refunded?.drawn_from ?? []).reduce(
      (all_, { amount }) => all_ + moneyFromDatabase(amount),
      0n,
    );
    expect(sum).toBe(moneyFromDatabase(charge?.amount ?? ''));
    expect((await show()).balances).toEqual({
      paid: usd('10'),
      promotional: '0.000001000000',
      allowance: usd('0'),
    });
  });

  test('that expires leaves by itself; its retry passes afterwards, a new one does not', async () => {
    const { give, refuse, show, grants, entries } = await newAccount();
    const soon = { amount: '3', reference: 'soon', expires_at: new Date(Date.now() + 1500).toISOString() };
    expect(await give(soon)).toMatchObject({ already_credited: false, balance: usd('13') });
    const ended = await eventually('the end of the grant', async () => {
      const [grant] = (await grants()).data;
      return grant?.state === 'expired' && grant;
    });
    expect(ended).toMatchObject({ category: 'paid', priority: 50 });
    expect(await show()).toMatchObject({ balance: usd('10'), balances: { paid: usd('10') } });
    const [expiry] = await entries();
    expect(expiry).toMatchObject({ kind: 'expiry', amount: `-${usd('3')}`, concerns_entry: 2 });
    expect(expiry?.drawn_from).toMatchObject([{ category: 'paid', amount: usd('3') }]);
    expect(await give(soon)).toMatchObject({ already_credited: true, balance: usd('10') });
    expect(await refuse({ ...soon, reference: 'late' })).toEqual([400, 'invalid_parameter', 'expires_at']);
    expect(await entries()).toHaveLength(3);
  });

  test('is given once for its reference, and with other terms refused', async () => {
    const { give, refuse } = await newAccount();
    const grant = { amount: '1', reference: 'R', category: 'promotional', priority: 10, expires_at: later };
    await give(grant);
    expect(await give(grant)).toMatchObject({ already_credited: true });
    for (const other of [{ category: 'paid' }, { priority: 11 }, { expires_at: null }])
      expect(await refuse({ ...grant, ...other })).toEqual([409, 'reference_in_use', 'reference']);
  });

  test.each([
    [{ category: 'free' }, 'category'],
    [{ priority: 101 }, 'priority'],
    [{ priority: -1 }, 'priority'],
    [{ priority: '5' }, 'priority'],
    [{ expires_at: 'tomorrow' }, 'expires_at'],
    [{ expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
  ])('with %j is refused by name', async (terms, param) => {
    const { refuse, entries } = await newAccount();
    expect(await refuse({ amount: '1', ...terms })).toEqual([400, 'invalid_parameter', param]);
    expect(await entries()).toHaveLength(1);
  });
});

test('grants are listed by page: the newest first, and active ones in the order of spending', async () => {
  const { give, path, grants } = await newAccount();
  const terms = [
    { category: 'promotional' },
    { category: 'promotional', expires_at: later },
    { category: 'paid', priority: 1 },
    { category: 'allowance' },
    { category: 'promotional', priority: 99 },
  ];
  for (const each of terms) await give({ amount: '1', ...each });
  const numbersOf = async (query: string) => {
    const numbers: (number | null)[] = [];
    let cursor: string | null = null;
    do {
      const more: string = cursor === null ? '' : `&cursor=${cursor}`;
      const page: List<Grant> = await grants(`?limit=2${query}${more}`);
      expect(page.data.length).toBeLessThanOrEqual(2);
      numbers.push(...page.data.map(({ entry_number: number }) => number));
      cursor = page.next_cursor;
    } while (cursor !== null);
    return numbers;
  };
  expect(await numbersOf('')).toEqual([6, 5, 4, 3, 2, null]);
  expect(await numbersOf('&active=true')).toEqual([4, 3, 5, 2, null, 6]);
  const [first] = (await grants('?active=true&limit=1')).data;
  await bodyOf(program.send('POST', `${path}/grants/${first?.id}/void`, { reason: 'Wrong' }));
  expect(await numbersOf('&active=true')).toEqual([3, 5, 2, null, 6]);
  const { next_cursor: cursor } = await grants('?limit=2');
  expect(await refusalOf(program.send('GET', `${path}/grants?active=true&cursor=${cursor}`))).toEqual([
    400,
    'invalid_cursor',
    'cursor',
  ]);
  expect(await refusalOf(program.send('GET', `${path}/grants?active=yes`))).toEqual([
    400,
    'invalid_parameter',
    'active',
  ]);
});

test('a grant is voided with a reason, once, and only what is left of it leaves', async () => {
  const { key, path, give, show, grants, entries } = await newAccount();
  await give({ amount: '5', category: 'promotional' });
  await chat(key);
  const [grant, before] = (await grants()).data;
  const send = (id: string, body: object) => program.send('POST', `${path}/grants/${id}/void`, body);
  expect(await refusalOf(send(grant?.id ?? '', {}))).toEqual([400, 'missing_required_parameter', 'reason']);
  const voided = await bodyOf(send(grant?.id ?? '', { reason: 'Abuse' }));
  expect(voided).toMatchObject({ state: 'voided', remaining: usd('0'), void_reason: 'Abuse' });
  expect(await bodyOf(send(grant?.id ?? '', { reason: 'Again' }))).toEqual(voided as never);
  const [entry, charge, ...more] = await entries();
  expect(more).toHaveLength(2);
  expect(entry).toMatchObject({ kind: 'void', memo: 'Abuse', is_by_hand: true, concerns_entry: 2 });
  expect(moneyFromDatabase(entry?.amount ?? '') + moneyFromDatabase(charge?.amount ?? '')).toBe(
    -moneyFromDatabase('5'),
  );
  expect(await show()).toMatchObject({ balance: usd('10'), balances: { promotional: usd('0') } });
  const [change] = await fixture.database.sql`
    select action, after ->> 'reason' as reason from audit_log where action = 'void_grant' order by id desc limit 1`;
  expect(change).toEqual({ action: 'void_grant', reason: 'Abuse' });

  // The balance from before, a grant that is spent, and none at all.
  expect((await refusalOf(send(before?.id ?? '', { reason: 'x' })))[1]).toBe('grant_not_found');
  await give({ amount: '0.000000000001', category: 'promotional' });
  await chat(key);
  const [spent] = (await grants()).data;
  expect(await refusalOf(send(spent?.id ?? '', { reason: 'x' }))).toEqual([409, 'nothing_left', undefined]);
  for (const id of [newId(), 'x'])
    expect(await refusalOf(send(id, { reason: 'x' }))).toEqual([404, 'grant_not_found', undefined]);
});

describe('an allowance', () => {
  const monthly = { amount: '5', every: 'month', note: 'Plan gold' };

  test('is given at once, created once for its Idempotency-Key, and ended', async () => {
    const { path, show, grants, allow } = await newAccount();
    expect(await refusalOf(program.send('POST', `${path}/allowances`, monthly))).toEqual([
      400,
      'invalid_parameter',
      'Idempotency-Key',
    ]);
    const created = await bodyOf<Allowance>(allow(monthly, 'plan'));
    expect(created).toMatchObject({ ...monthly, amount: usd('5'), priority: 50, ended_at: null });
    expect(created.next_at).toMatch(/-01T00:00:00\.000Z$/);
    expect((await bodyOf<Allowance>(allow(monthly, 'plan'))).id).toBe(created.id);
    const balances = { paid: usd('10'), promotional: usd('0'), allowance: usd('5') };
    expect(await show()).toMatchObject({ balance: usd('15'), balances });
    const listed = await bodyOf<List<Account>>(program.send('GET', '/accounts?limit=1'));
    expect(listed.data).toMatchObject([{ balance: usd('15'), balances }]);
    expect((await grants('?active=true')).data[0]).toMatchObject({
      category: 'allowance',
      allowance_id: created.id,
      expires_at: created.next_at,
      memo: 'Plan gold',
    });

    const one = `${path}/allowances/${created.id}`;
    const ended = await bodyOf<Allowance>(program.send('POST', `${one}/end`));
    expect(ended).toMatchObject({ next_at: null, ended_at: expect.stringMatching(/Z$/) });
    expect(await bodyOf<Allowance>(program.send('POST', `${one}/end`))).toEqual(ended);
    expect(await bodyOf<Allowance>(program.send('GET', one))).toEqual(ended);
    const all = await bodyOf<List<Allowance>>(program.send('GET', `${path}/allowances`));
    expect(all).toMatchObject({ data: [ended], has_more: false });
    expect((await show()).balances.allowance).toBe(usd('5'));
    for (const id of [newId(), 'x'])
      expect((await refusalOf(program.send('GET', `${path}/allowances/${id}`)))[1]).toBe(
        'allowance_not_found',
      );
  });

  test('is one of at most 20', async () => {
    const { path, allow } = await newAccount();
    const made: Allowance[] = [];
    for (let count = 0; count < 20; count += 1) made.push(await bodyOf(allow({ amount: '1', every: 'day' })));
    expect(await refusalOf(allow(monthly))).toEqual([400, 'too_many_allowances', undefined]);
    await bodyOf(program.send('POST', `${path}/allowances/${made[0]?.id}/end`));
    expect((await allow(monthly)).status).toBe(201);
  });

  test.each([
    [{ ...monthly, every: 'year' }, 'every'],
    [{ ...monthly, amount: '0' }, 'amount'],
    [{ ...monthly, priority: 1.5 }, 'priority'],
    [{ ...monthly, note: 'two\nlines' }, 'note'],
  ])('with %j is refused by name', async (draft, param) => {
    const { allow } = await newAccount();
    expect(await refusalOf(allow(draft))).toEqual([400, 'invalid_parameter', param]);
  });
});

test('the commands of docs/grants.md run as they are written', async () => {
  const { exitCode, output, problems } = await runPage('grants.md', fixture);
  expect([exitCode, problems]).toEqual([0, '']);
  const lines = output.split('\n');
  const answers = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as object);
  expect(answers).toMatchObject([
    { object: 'credit', already_credited: false },
    { object: 'allowance', every: 'month', ended_at: null },
    { object: 'grant', state: 'voided' },
    { object: 'allowance', ended_at: expect.any(String) },
    { object: 'account', balances: { paid: usd('70') } },
    { object: 'list', has_more: true },
  ]);
  expect(output).toContain(' is voided: 5 USD left account ');
}, 60_000);
