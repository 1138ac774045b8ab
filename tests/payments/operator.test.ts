/** What operators learn of payments that went wrong, and what they can do about them. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { OperatorPayment } from '../../src/console/operator-contract.ts';
import { eventually } from '../support/eventually.ts';
import { type Customer, openPaymentsFixture, type PaymentsFixture } from '../support/payments-fixture.ts';

let fixture: PaymentsFixture;

beforeAll(async () => {
  fixture = await openPaymentsFixture();
}, 60_000);

afterAll(() => fixture.close());

const payments = '/api/console/operator/payments';

async function operate(method: string, path: string, body?: unknown): Promise<OperatorPayment> {
  const { status, body: answer } = await fixture.operator(method, `${payments}${path}`, body);
  expect(status).toBe(200);
  return answer as unknown as OperatorPayment;
}

const check = (order: string) => operate('POST', `/${order}/check`, {});
const refund = (order: string) =>
  operate('POST', `/${order}/refunds`, { amount: null, reference: crypto.randomUUID() });
const stuck = async () =>
  (await fixture.operator('GET', `${payments}/stuck`)).body.data as unknown as OperatorPayment[];
const isStuck = async (order: string) => (await stuck()).some(({ id }) => id === order);

/** Has paid 25 USD at Stripe, which the gateway does not know yet. */
async function payer(): Promise<Customer & Readonly<{ order: string; session: string }>> {
  const customer = await fixture.customer();
  const opened = await customer.checkout('25');
  fixture.stripe.pay(opened.session);
  return { ...customer, ...opened };
}

test('a look that fails is not reported as one that worked', async () => {
  const { order, session, hasBalance } = await payer();
  fixture.failAt(`/sessions/${session}`);
  expect(await check(order)).toMatchObject({ state: 'open', look_problem: 'StripeAPIError' });
  expect(await isStuck(order)).toBe(true);
  const line = await eventually('a line of the log', () =>
    fixture.gateways
      .flatMap((gateway) => gateway.output().split('\n'))
      .find((text) => text.includes('could not be looked at') && text.includes(order)),
  );
  expect(JSON.parse(line)).toMatchObject({ paymentId: order, code: 'StripeAPIError' });
  expect(await check(order)).toMatchObject({ state: 'paid', look_problem: null });
  await hasBalance('25');
  expect(await isStuck(order)).toBe(false);
});

test('a look that is not possible, or that another gateway does, is not reported as done', async () => {
  const { sql } = fixture.database;
  const { order } = await payer();
  await sql`update payment_orders set claimed_until = now() + interval '1 minute' where id = ${order}`;
  expect(await check(order)).toMatchObject({ state: 'open', look_problem: 'in_progress' });
  await sql`update payment_orders set claimed_until = null, is_live = true where id = ${order}`;
  expect(await check(order)).toMatchObject({ state: 'open', look_problem: 'other_key' });
});

test('a refund that is not read back yet says so', async () => {
  const { order, balance, hasBalance } = await payer();
  await check(order);
  fixture.failAt('/v1/disputes');
  expect(await refund(order)).toMatchObject({ look_problem: 'StripeAPIError', reversals: [] });
  expect(await balance()).toBe('25');
  expect(await check(order)).toMatchObject({ look_problem: null, reversals: [{ status: 'succeeded' }] });
  await hasBalance('0');
});

test('what was paid but does not fit can be refunded, and is not forgotten before', async () => {
  const { order, session, entries } = await payer();
  Object.assign(fixture.stripe.objects.get(session) ?? {}, { currency: 'eur' });
  expect(await check(order)).toMatchObject({ state: 'contradicted', paid: '25.000000000000' });
  expect(await isStuck(order)).toBe(true);
  expect(await refund(order)).toMatchObject({
    state: 'contradicted',
    reversals: [{ kind: 'refund', amount: '25.000000000000', taken: '0.000000000000' }],
  });
  expect([await isStuck(order), await entries()]).toEqual([false, []]);
  const told = await fixture.database.sql`
    select type, data ->> 'reason' as reason from events where data ->> 'payment_id' = ${order}`;
  expect([...told]).toEqual([{ type: 'payment.failed', reason: 'contradicted' }]);
});

/** Owes 25 USD: what was paid is spent, and then refunded. */
async function debtor(): Promise<Awaited<ReturnType<typeof payer>> & Readonly<{ refund: string }>> {
  const { stripe, operator } = fixture;
  const one = await payer();
  await check(one.order);
  await operator('POST', `/api/console/operator/accounts/${one.account}/corrections`, {
    amount: '-25',
    reason: 'Spent',
    reference: crypto.randomUUID(),
    entry_number: null,
    request_id: null,
  });
  const made = stripe.refund(stripe.intentOf(one.session));
  await check(one.order);
  return { ...one, refund: made };
}

test('a debt that cannot be collected is told, and does not keep others from being collected', async () => {
  const { sql } = fixture.database;
  // Whether the oldest or the newest comes first, it is one that is blocked.
  const [blocked, other, alsoBlocked] = [await debtor(), await debtor(), await debtor()];
  for (const { account, refund: made } of [blocked, alsoBlocked])
    await sql`
      insert into credit_references (account_id, reference, amount, number)
      values (${account}, reference_id(${`${made}/1`}), 1, 99)`;
  for (const one of [blocked, alsoBlocked, other]) await one.giveCredit();
  await other.hasBalance('25');
  await eventually('a line of the log', () =>
    fixture.gateways.some((gateway) =>
      gateway
        .output()
        .split('\n')
        .some((line) => line.includes('could not be collected') && line.includes(blocked.order)),
    ),
  );
  expect(await blocked.balance()).toBe('50');
  for (const { refund: made } of [blocked, alsoBlocked])
    await sql`delete from credit_references where reference = reference_id(${`${made}/1`})`;
  for (const one of [blocked, alsoBlocked]) await one.hasBalance('25');
});

test('whoever owes and pays has the rest at once', async () => {
  const one = await debtor();
  const { order, session } = await one.checkout('40');
  fixture.stripe.pay(session);
  await check(order);
  expect(await one.balance()).toBe('15');
});
