/** Codes that give credit: made at the command line, redeemed once by an owner, on a gateway without a payment provider. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { PaymentOptions } from '../../src/console/contract.ts';
import { referenceOf } from '../../src/ledger/reference.ts';
import type { ErrorBody } from '../support/chat-fixture.ts';
import { runCommand } from '../support/commands.ts';
import { type ConsoleFixture, openConsoleFixture } from '../support/console-fixture.ts';
import { startGateway } from '../support/gateway.ts';

let fixture: ConsoleFixture;

beforeAll(async () => {
  fixture = await openConsoleFixture(undefined, (environment) =>
    startGateway({ ...environment, TRUSTED_PROXIES: '127.0.0.1/32' }),
  );
}, 60_000);

afterAll(() => fixture.close());

type Created = { batch: string; codes: string[] };

async function create(...words: string[]): Promise<Created> {
  const created = await runCommand<Created>(['code', 'create', ...words], fixture.environment);
  for (const code of created.codes) fixture.canaries.add(code);
  return created;
}

const path = (rest: string) => `/api/console/accounts/${fixture.account}/payments${rest}`;

async function redeem(
  code: string,
  by: 'owner' | 'member' | 'stranger' = 'owner',
  headers: Record<string, string> = {},
): Promise<string> {
  const response = await fixture.people[by].send('POST', path('/redeem'), { code }, headers);
  const body = (await response.json()) as ErrorBody & { amount: string };
  return response.ok ? body.amount : body.error.code;
}

const balance = async () => {
  const [row] = await fixture.database.sql`
    select balance::float8::text as balance from accounts where id = ${fixture.account}`;
  return row.balance;
};

test('each is redeemed once, although several ask at the same time', async () => {
  const { codes } = await create('--amount', '10', '--count', '2', '--note', 'Welcome');
  expect(codes).toHaveLength(2);
  const [code = '', other = ''] = codes;
  expect(await redeem(code, 'member')).toBe('permission_denied');
  expect(await redeem(code, 'stranger')).toBe('account_not_found');
  const outcomes = await Promise.all([1, 2, 3, 4].map(() => redeem(` ${code} `)));
  expect(outcomes.toSorted()).toEqual(['10.000000000000', 'invalid_code', 'invalid_code', 'invalid_code']);
  expect(await balance()).toBe('110');
  expect(await redeem(other)).toBe('10.000000000000');
  const [entry] = await fixture.database.sql`
    select kind, memo, actor from ledger_entries where account_id = ${fixture.account} order by number desc limit 1`;
  expect(entry).toEqual({ kind: 'credit', memo: 'Welcome', actor: null });
});

test('expired, voided and mistyped ones give nothing, and nobody learns why', async () => {
  const before = await balance();
  const expired = await create('--amount', '5', '--expires', new Date(Date.now() + 60_000).toISOString());
  await fixture.database.sql`update credit_codes set expires_at = now() where batch = ${expired.batch}`;
  const voided = await create('--amount', '5', '--category', 'promotional');
  expect(
    await runCommand<{ voided: number }>(['code', 'void', voided.batch], fixture.environment),
  ).toMatchObject({ voided: 1 });
  for (const code of [expired.codes[0] ?? '', voided.codes[0] ?? '', 'tg_code_nothing', ''])
    expect(await redeem(code)).toBe('invalid_code');
  expect(await balance()).toBe(before);
  const [batch] = await runCommand<unknown[]>(['code', 'list'], fixture.environment);
  expect(batch).toMatchObject({
    batch: voided.batch,
    count: 1,
    redeemed: 0,
    voided: 1,
    category: 'promotional',
  });
});

test('what is promotional or lasts for some days becomes a grant; other credit does not', async () => {
  type Grant = { category: string; amount: string; expires_at: string | null; memo: string | null };
  const grants = () =>
    runCommand<Grant[]>(['grant', 'list', '--account', fixture.account], fixture.environment);
  const codeOf = async (...words: string[]) => (await create('--amount', '4', ...words)).codes[0] ?? '';
  await redeem(await codeOf());
  expect(await grants()).toEqual([]);
  await redeem(await codeOf('--category', 'promotional', '--note', 'Gift'));
  await redeem(await codeOf('--grant-days', '30'));
  const [lasting, gift, before, ...more] = await grants();
  expect(more).toEqual([]);
  expect(lasting).toMatchObject({ category: 'paid', amount: '4.000000000000', memo: 'Code' });
  const days = (Date.parse(lasting?.expires_at ?? '') - Date.now()) / (24 * 60 * 60 * 1000);
  expect(days).toBeWithin(29.9, 30.01);
  expect(gift).toMatchObject({ category: 'promotional', expires_at: null, memo: 'Gift' });
  expect(before).toMatchObject({ category: 'paid', entry_number: null });
  const [batch] = await runCommand<unknown[]>(['code', 'list'], fixture.environment);
  expect(batch).toMatchObject({ category: 'paid', grant_days: 30, redeemed: 1 });
});

test('guesses are bounded, also by the network of whoever has many users and addresses', async () => {
  const { sql } = fixture.database;
  const from = (host: number, network = '2001:db8:0:1') => ({ 'x-forwarded-for': `${network}::${host}` });
  /** Until no more is allowed. */
  const guess = async (by: 'owner' | 'member') => {
    let outcome = '';
    for (let count = 1; count < 25 && outcome !== 'too_many_attempts'; count++)
      outcome = await redeem('wrong', by, from(count));
    expect(outcome).toBe('too_many_attempts');
  };
  await guess('owner');
  const { codes } = await create('--amount', '5');
  expect(await redeem(codes[0] ?? '')).toBe('too_many_attempts');
  await sql`update memberships set role = 'owner' where account_id = ${fixture.account}`;
  await guess('member');
  expect(await redeem('wrong', 'member', from(1, '2001:db8:0:2'))).toBe('invalid_code');
});

test('nothing can be paid here, and the page says so', async () => {
  const response = await fixture.people.member.send('GET', path(''));
  expect((await response.json()) as PaymentOptions).toMatchObject({
    is_online: false,
    contact: null,
    card: null,
  });
  const refused = await fixture.people.owner.send('POST', path('/checkout'), {
    amount: '5',
    saves_card: false,
  });
  expect(((await refused.json()) as ErrorBody).error.code).toBe('payments_not_configured');
  const events = await fetch(`${fixture.gateway.origin}/api/payments/stripe/events`, { method: 'POST' });
  expect(events.status).toBe(404);
});

test('the database makes references as the gateway does', async () => {
  const text = 're_1/2 ä';
  const [row] = await fixture.database.sql`select reference_id(${text}) as id`;
  expect(row.id).toBe(referenceOf(text).id);
});
