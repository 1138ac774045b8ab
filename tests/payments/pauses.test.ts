/** What must not have a saved card charged again: a payment that was refused, does not fit, or was given back. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { newId } from '../../src/lib/ids.ts';
import { eventually } from '../support/eventually.ts';
import type { FakeEvent, Json } from '../support/fake-stripe.ts';
import { type Customer, openPaymentsFixture, type PaymentsFixture } from '../support/payments-fixture.ts';

let fixture: PaymentsFixture;

beforeAll(async () => {
  fixture = await openPaymentsFixture();
}, 60_000);

afterAll(() => fixture.close());

type CardHolder = Customer & Readonly<{ session: string; customer: string }>;

/** Has paid 10 USD, saved the card, and wants it to be charged. */
async function cardHolder(): Promise<CardHolder> {
  const { stripe } = fixture;
  const payer = await fixture.customer();
  const { session, order } = await payer.checkout('10', true);
  stripe.pay(session);
  await payer.send('POST', payer.path(`payments/orders/${order}/check`), {});
  await payer.hasBalance('10');
  expect((await payer.choose()).status).toBe(200);
  return { ...payer, session, customer: String(stripe.objects.get(session)?.customer) };
}

const isPaused = (payer: Customer) => eventually('a pause', () => payer.pausedReason());
const newest = () => fixture.stripe.events.at(-1) as FakeEvent;
const deliverNewest = () => fixture.stripe.deliver(fixture.gateways[0]?.origin ?? '', newest());

const automaticOf = async (payer: Customer) =>
  (await payer.payments()).filter(({ kind }) => kind === 'automatic');

/** Has the automatic top-up looked at, instead of waiting for the next sweep. */
async function lookAgain(payer: Customer): Promise<void> {
  const [payment] = await automaticOf(payer);
  await payer.send('POST', payer.path(`payments/orders/${payment?.id}/check`), {});
}

/** Waits until the automatic top-up has ended like this. */
async function endsAs(payer: Customer, state: string): Promise<void> {
  await eventually(`a payment that is ${state}`, async () => (await automaticOf(payer))[0]?.state === state);
}

/** The invoice of a card holder's automatic top-up. */
const invoiceOf = (payer: CardHolder) =>
  eventually('an invoice', () =>
    [...fixture.stripe.objects.values()].find(
      ({ object, customer }) => object === 'invoice' && customer === payer.customer,
    ),
  );

const hasFailedToLook = (payer: Customer) =>
  eventually('a failed look', async () => {
    const rows = await fixture.database.sql`
      select 1 from payment_orders where account_id = ${payer.account} and look_failures > 0 and claim is null`;
    return rows.length > 0;
  });

test('accounts that may have no more this month do not keep others from being topped up', async () => {
  const { sql } = fixture.database;
  for (let count = 0; count < 20; count++) {
    const account = newId();
    await sql`insert into accounts (id, name) values (${account}, 'Capped')`;
    await sql`
      insert into payment_customers (account_id, is_live, customer, payment_method, is_automatic, threshold, top_up_amount,
        monthly_cap)
      values (${account}, false, ${`cus_${account}`}, ${`pm_${account}`}, true, 5, 20, 0.5)`;
  }
  const payer = await cardHolder();
  await payer.spend('6');
  await payer.hasBalance('24');
});

describe('a payment that does not fit', () => {
  test('is charged once, and pauses', async () => {
    const { stripe } = fixture;
    const payer = await cardHolder();
    const { reached, release } = stripe.hold('/pay');
    await payer.spend('6');
    await reached;
    Object.assign(await invoiceOf(payer), { currency: 'eur' });
    release();
    await endsAs(payer, 'contradicted');
    expect(await payer.pausedReason()).toBe('contradicted');
    expect(await payer.balance()).toBe('4');
    const told = await fixture.database.sql`
      select data ->> 'reason' as reason, data ->> 'paid' as paid from events
      where account_id = ${payer.account} and type = 'payment.failed'`;
    expect([...told]).toEqual([{ reason: 'contradicted', paid: '20.000000000000' }]);
  });

  test('does not arise from a discount of the customer', async () => {
    const payer = await cardHolder();
    fixture.stripe.setDiscount(payer.customer, 50);
    await payer.spend('6');
    await payer.hasBalance('24');
  });

  test('pauses if someone has made its invoice void', async () => {
    const payer = await cardHolder();
    fixture.failAt('/pay');
    await payer.spend('6');
    const invoice = await invoiceOf(payer);
    await hasFailedToLook(payer);
    invoice.status = 'void';
    await lookAgain(payer);
    await endsAs(payer, 'failed');
    expect(await payer.pausedReason()).toBe('void');
  });
});

describe('a refusal of Stripe', () => {
  test.each([
    ['to finalise an invoice', /^POST .*\/finalize$/, 'customer_tax_location_invalid'],
    ['to create one', /^POST \/v1\/invoices$/, 'invoice_not_allowed'],
  ])('%s pauses, and leaves no draft', async (_, request, code) => {
    const { stripe } = fixture;
    const payer = await cardHolder();
    stripe.refuse(request, code);
    await payer.spend('6');
    expect(await isPaused(payer)).toBe(code);
    stripe.refuse(request, null);
    await endsAs(payer, 'failed');
    const left = [...stripe.objects.values()].filter(
      ({ object, customer }) => object === 'invoice' && customer === payer.customer,
    );
    expect(left).toEqual([]);
    // An owner has acted, and the address is known.
    await payer.choose();
    await payer.hasBalance('24');
  });

  test('because the draft was deleted ends the payment', async () => {
    const payer = await cardHolder();
    fixture.failAt('/finalize');
    await payer.spend('6');
    const invoice: Json = await invoiceOf(payer);
    await hasFailedToLook(payer);
    fixture.stripe.objects.delete(String(invoice.id));
    await lookAgain(payer);
    await endsAs(payer, 'failed');
    expect(await payer.pausedReason()).toBe('resource_missing');
  });
});

describe('what was given back is not charged again', () => {
  test('after a refund, nor while the account owes', async () => {
    const { stripe, database } = fixture;
    const payer = await cardHolder();
    await payer.spend('4');
    stripe.refund(stripe.intentOf(payer.session));
    await deliverNewest();
    await payer.hasBalance('0');
    expect(await payer.pausedReason()).toBe('refunded');
    await payer.choose();
    expect(await payer.pausedReason()).toBeNull();
    const wanted = await database.sql`
      select 1 from wanted_top_ups(false, 1) where account_id = ${payer.account}`;
    expect(wanted).toHaveLength(0);
    expect(await automaticOf(payer)).toEqual([]);
  });

  test('after a dispute, even if the account is not suspended any more', async () => {
    const { stripe, operator } = fixture;
    const payer = await cardHolder();
    stripe.dispute(stripe.intentOf(payer.session));
    await deliverNewest();
    await payer.hasBalance('0');
    await operator('POST', `/api/console/operator/accounts/${payer.account}/resume`, {});
    expect(await payer.pausedReason()).toBe('disputed');
  });
});

describe('a card is not charged after its owner has said no', () => {
  test.each([
    ['by turning it off', (payer: Customer) => payer.choose({ is_on: false })],
    ['by removing it', (payer: Customer) => payer.send('DELETE', payer.path('payments/card'))],
    ['by paying meanwhile', (payer: Customer) => payer.giveCredit()],
  ])('%s while Stripe could not be reached', async (_, act) => {
    const { stripe } = fixture;
    const payer = await cardHolder();
    fixture.failAt('/finalize');
    await payer.spend('6');
    const invoice = await invoiceOf(payer);
    await hasFailedToLook(payer);
    expect((await act(payer)).status).toBeLessThan(300);
    await lookAgain(payer);
    await endsAs(payer, 'expired');
    expect(stripe.requests).not.toContain(`POST /v1/invoices/${String(invoice.id)}/pay`);
    expect([invoice.status, await payer.pausedReason()]).toEqual(['void', null]);
  });
});

/** An automatic top-up as it was left by another day, or another key. */
async function addOrder(payer: Customer, { isLive = false, state = 'failed', amount = 100 }): Promise<void> {
  await fixture.database.sql`
    insert into payment_orders (id, account_id, kind, amount, currency, is_live, customer, state)
    values (${newId()}, ${payer.account}, 'automatic', ${amount}, 'usd', ${isLive}, 'cus_x', ${state})`;
}

test('after three failures in a day there is no other, however often the settings are saved', async () => {
  const payer = await cardHolder();
  for (let count = 0; count < 3; count++) await addOrder(payer, {});
  await payer.spend('6');
  const answers = [];
  for (let count = 0; count < 5; count++) answers.push((await payer.choose()).status);
  expect(answers).toEqual([200, 200, 200, 200, 429]);
  expect(await payer.pausedReason()).toBe('too_many_failures');
  expect(await automaticOf(payer)).toHaveLength(3);
  expect((await payer.choose({ is_on: false })).status).toBe(200);
});

test('what was left by another key neither blocks a top-up nor counts', async () => {
  const payer = await cardHolder();
  await addOrder(payer, { isLive: true, state: 'open' });
  expect((await payer.options()).automatic?.month_added).toBe('0.000000000000');
  await payer.spend('6');
  await payer.hasBalance('24');
});
