/** /api/console/operator/…/corrections, …/refunds and …/ledger: money that operators move, and what customers see of it. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Statement } from '../../src/console/contract.ts';
import type {
  AuditLog,
  BookedMovement,
  OperatorAccount,
  OperatorStatement,
} from '../../src/console/operator-contract.ts';
import type { FoundGeneration } from '../../src/console/request-contract.ts';
import type { ErrorBody } from '../support/chat-fixture.ts';
import { type ConsoleFixture, openConsoleFixture } from '../support/console-fixture.ts';
import { tollgate } from '../support/gateway.ts';
import { dollars, settleAs } from '../support/rare-settlements.ts';

let fixture: ConsoleFixture;

beforeAll(async () => {
  fixture = await openConsoleFixture();
});

afterAll(async () => {
  expect(
    (await tollgate(['ledger', 'audit', '--full'], { DATABASE_URL: fixture.database.url })).exitCode,
  ).toBe(0);
  await fixture.close();
});

const operatorRoot = '/api/console/operator';

async function ask<Answer>(method: string, path: string, body?: unknown, by = fixture.people.operator) {
  const response = await by.send(method, path, body);
  return { status: response.status, body: (await response.json()) as Answer };
}

const correct = (account: string, changes: Record<string, unknown>) =>
  ask<BookedMovement & ErrorBody>('POST', `${operatorRoot}/accounts/${account}/corrections`, {
    amount: '-1',
    reason: 'A mistake',
    reference: crypto.randomUUID(),
    entry_number: null,
    request_id: null,
    ...changes,
  });

const refund = (request: string, changes: Record<string, unknown>) =>
  ask<BookedMovement & ErrorBody>('POST', `${operatorRoot}/generations/${request}/refunds`, {
    amount: null,
    reason: 'A bad answer',
    reference: crypto.randomUUID(),
    ...changes,
  });

async function newAccount(credit: string): Promise<string> {
  const draft = { name: 'Corrected', credit, reference: crypto.randomUUID() };
  return (await ask<OperatorAccount>('POST', `${operatorRoot}/accounts`, draft)).body.id;
}

describe('a correction', () => {
  test('is shown before it is booked, then booked once', async () => {
    const account = await newAccount('20');
    const order = { amount: '-5.5', reference: crypto.randomUUID(), entry_number: 1 };
    const shown = {
      account_id: account,
      amount: '-5.500000000000',
      balance: '14.500000000000',
      held: '0.000000000000',
    };
    const preview = await correct(account, { ...order, is_preview: true });
    expect(preview).toEqual({
      status: 200,
      body: { ...shown, entry_number: null, is_repeated: false } as never,
    });
    const booked = await correct(account, order);
    expect(booked.body).toEqual({ ...shown, entry_number: 2, is_repeated: false } as never);
    const again = await correct(account, { ...order, reference: order.reference.toUpperCase() });
    expect(again.body).toEqual({ ...shown, entry_number: 2, is_repeated: true } as never);
    const other = await correct(account, { ...order, reason: 'Another' });
    expect([other.status, other.body.error.code, other.body.error.param]).toEqual([
      409,
      'reference_in_use',
      'reference',
    ]);

    const { body } = await ask<OperatorStatement>('GET', `${operatorRoot}/accounts/${account}/ledger`);
    expect(body).toMatchObject({
      account: { id: account, balance: '14.500000000000' },
      data: [
        {
          number: 2,
          kind: 'correction',
          amount: '-5.500000000000',
          memo: 'A mistake',
          concerns_entry: 1,
          reference: order.reference,
          actor: { kind: 'operator', name: 'operator@example.com' },
        },
        { number: 1, kind: 'credit', actor: null },
      ],
      has_more: false,
    });
    const log = await ask<AuditLog>('GET', `${operatorRoot}/audit-log`);
    expect(log.body.data[0]).toMatchObject({
      action: 'correct_account',
      door: 'dashboard',
      address: expect.any(String),
      account: { id: account },
      actor: { type: 'user', name: 'operator@example.com' },
      after: { amount: '-5.500000000000' },
    });
  });

  test('of more than there is, is refused with what is possible', async () => {
    const account = await newAccount('2.25');
    const { status, body } = await correct(account, { amount: '-3' });
    expect([status, body.error.code, body.error.param]).toEqual([409, 'amount_too_large', 'amount']);
    expect(body.error.message).toEndWith('The most that can be taken now is 2.25 USD.');
  });

  test('undoes a credit to the wrong account', async () => {
    const account = await newAccount('1');
    const credit = { amount: '50', memo: null, reference: crypto.randomUUID() };
    await ask('POST', `${operatorRoot}/accounts/${account}/credit`, credit);
    const undone = await correct(account, { amount: null, entry_number: 2 });
    expect(undone.body).toMatchObject({ amount: '-50.000000000000', balance: '1.000000000000' });
    const again = await correct(account, { amount: null, entry_number: 2 });
    expect([again.status, again.body.error.code]).toEqual([409, 'nothing_left']);
  });

  test.each<[Record<string, unknown>, number, string, string | undefined]>([
    [{ amount: null }, 400, 'missing_required_parameter', 'amount'],
    [{ amount: '0' }, 400, 'invalid_parameter', 'amount'],
    [{ amount: '1e3' }, 400, 'invalid_parameter', 'amount'],
    [{ amount: '-1000000000000.000000000001' }, 400, 'invalid_parameter', 'amount'],
    [{ amount: 1 }, 400, 'invalid_parameter', 'amount'],
    [{ reason: ' ' }, 400, 'invalid_parameter', 'reason'],
    [{ reason: undefined }, 400, 'missing_required_parameter', 'reason'],
    [{ reference: 'once' }, 400, 'invalid_parameter', 'reference'],
    [{ entry_number: 0 }, 400, 'invalid_parameter', 'entry_number'],
    [{ entry_number: 99 }, 404, 'entry_not_found', undefined],
    [{ request_id: 'x' }, 400, 'invalid_parameter', 'request_id'],
    [{ request_id: `req_${'0'.repeat(32)}` }, 404, 'generation_not_found', undefined],
    [{ entry_number: 1, request_id: `req_${'0'.repeat(32)}` }, 400, 'invalid_parameter', 'request_id'],
    [{ actor: 'me' }, 400, 'unsupported_parameter', 'actor'],
  ])('with %j is refused', async (changes, status, code, param) => {
    const refused = await correct(fixture.strangersAccount, changes);
    expect([refused.status, refused.body.error.code, refused.body.error.param]).toEqual([
      status,
      code,
      param,
    ]);
  });
});

describe('a refund', () => {
  test('of a request in parts is followed by its usage, its month and its statement', async () => {
    const owner = { accountId: fixture.account, keyId: fixture.keyId };
    const request = await settleAs(fixture.database, owner, { providerCost: dollars('0.2') });
    const before = await figures();
    const first = await refund(request, { amount: '0.1', reason: 'Cut short' });
    expect(first.body).toMatchObject({
      account_id: fixture.account,
      amount: '0.100000000000',
      is_repeated: false,
    });
    const preview = await refund(request, { is_preview: true });
    expect(preview.body).toMatchObject({ amount: '0.150000000000', entry_number: null });
    const tooMuch = await refund(request, { amount: '0.16' });
    expect([tooMuch.status, tooMuch.body.error.code]).toEqual([409, 'amount_too_large']);
    expect(tooMuch.body.error.message).toEndWith('not refunded yet: 0.15 USD.');
    await refund(request, {});
    const after = await figures();
    expect(before.monthSpent - after.monthSpent).toBeCloseTo(0.25, 9);
    expect(before.usage - after.usage).toBeCloseTo(0.25, 9);

    const { body: statement } = await ask<Statement>(
      'GET',
      `/api/console/accounts/${fixture.account}/ledger?limit=2`,
      undefined,
      fixture.people.member,
    );
    const common = { kind: 'refund', generation: { id: request, model: 'full' }, is_by_hand: true };
    expect(statement.data).toMatchObject([
      { ...common, amount: '0.150000000000', memo: 'A bad answer' },
      { ...common, amount: '0.100000000000', memo: 'Cut short' },
    ]);
    // Who made it is the operator's own affair.
    expect(JSON.stringify(statement)).not.toContain('operator');
    const { body: found } = await ask<FoundGeneration>(
      'GET',
      `/api/console/accounts/${fixture.account}/requests/${request}`,
      undefined,
      fixture.people.owner,
    );
    expect(found.request).toMatchObject({
      cost: { total: '0.250000000000' },
      ledger: {
        charged: '0.250000000000',
        refunded: '0.250000000000',
        refunds: [
          { amount: '0.100000000000', reason: 'Cut short' },
          { amount: '0.150000000000', reason: 'A bad answer' },
        ],
      },
    });
    const again = await refund(request, {});
    expect([again.status, again.body.error.code]).toEqual([409, 'nothing_left']);
  });

  test.each([
    ['x', 404, 'generation_not_found'],
    [`req_${'0'.repeat(32)}`, 404, 'generation_not_found'],
  ])('of the request %s is refused', async (request, status, code) => {
    const refused = await refund(request, {});
    expect([refused.status, refused.body.error.code]).toEqual([status, code]);
  });
});

/** As the customer's programs see them. */
async function figures(): Promise<{ monthSpent: number; usage: number }> {
  const get = async <Answer>(path: string) => {
    const headers = { authorization: `Bearer ${fixture.key}` };
    return (await (await fetch(`${fixture.gateway.origin}${path}`, { headers })).json()) as Answer;
  };
  const key = await get<{ month: { spent: string } }>('/v1/key');
  const usage = await get<{ totals: { cost: number } }>('/v1/usage');
  return { monthSpent: Number(key.month.spent), usage: usage.totals.cost };
}
