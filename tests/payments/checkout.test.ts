/** Top-ups through Checkout: an order, Stripe's page, an event, and the credit, once. Through two gateways. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { eventually } from '../support/eventually.ts';
import type { FakeEvent } from '../support/fake-stripe.ts';
import { openPaymentsFixture, type PaymentsFixture } from '../support/payments-fixture.ts';

let fixture: PaymentsFixture;

beforeAll(async () => {
  fixture = await openPaymentsFixture();
}, 60_000);

afterAll(() => fixture.close());

const origins = () => fixture.gateways.map(({ origin }) => origin);

/** Every event since a moment, to both gateways. */
async function deliverSince(start: number): Promise<void> {
  const { stripe } = fixture;
  for (const event of stripe.events.slice(start))
    await Promise.all(origins().map((origin) => stripe.deliver(origin, event)));
}

describe('a payment', () => {
  test('is credited once, without its tax, however often its events come', async () => {
    const { stripe } = fixture;
    stripe.setTax(19);
    const payer = await fixture.customer();
    const start = stripe.events.length;
    const { order, session } = await payer.checkout('25');
    expect(await payer.orderState(order)).toBe('open');
    stripe.pay(session);
    await deliverSince(start);
    await deliverSince(start);
    await payer.hasBalance('25');
    stripe.setTax(0);
    await deliverSince(start);
    expect(await payer.entries()).toEqual(['credit 25']);
    const [payment] = await payer.payments();
    expect(payment).toMatchObject({
      id: order,
      kind: 'checkout',
      amount: '25.000000000000',
      state: 'paid',
      paid: '29.750000000000',
      receipt_url: `https://stripe.example/invoices/${session}`,
      reversals: [],
    });
  });
});
