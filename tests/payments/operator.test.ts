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

/** Twice for each look, because the client repeats a call. */
const failAt = (path: string) => fixture.stripe.fail(...Array(2).fill({ path, when: 'before' as const }));

/** Has paid 25 USD at Stripe, which the gateway does not know yet. */
async function payer(): Promise<Customer & Readonly<{ order: string; session: string }>> {
  const customer = await fixture.customer();
  const opened = await customer.checkout('25');
  fixture.stripe.pay(opened.session);
  return { ...customer, ...opened };
}

test('a look that fails is not reported as one that worked', async () => {
  const { order, session, hasBalance } = await payer();
  failAt(`/sessions/${session}`);
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

test('a refund that is not read back yet says so', async () => {
  const { order, balance, hasBalance } = await payer();
  await check(order);
  failAt('/v1/disputes');
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
