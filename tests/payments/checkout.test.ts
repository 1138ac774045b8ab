/** Top-ups through Checkout: an order, Stripe's page, an event, and the credit, once. Through two gateways. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createTokenAs } from '../../src/tokens/token-store.ts';
import { AdminError, adminClient } from '../support/admin-client.ts';
import { eventually } from '../support/eventually.ts';
import type { FakeEvent } from '../support/fake-stripe.ts';
import { startGateway, temporaryFolder } from '../support/gateway.ts';
import { type Customer, openPaymentsFixture, type PaymentsFixture } from '../support/payments-fixture.ts';

let fixture: PaymentsFixture;

beforeAll(async () => {
  fixture = await openPaymentsFixture();
}, 60_000);

afterAll(() => fixture.close());

/** Every event since a moment, to both gateways. */
async function deliverSince(start: number): Promise<void> {
  const { stripe, gateways } = fixture;
  for (const event of stripe.events.slice(start))
    await Promise.all(gateways.map(({ origin }) => stripe.deliver(origin, event)));
}

const newest = () => fixture.stripe.events.at(-1) as FakeEvent;
const deliverNewest = (changes = {}) =>
  fixture.stripe.deliver(fixture.gateways[0]?.origin ?? '', newest(), changes);

/** Has paid 25 USD, and 19 % tax. */
async function paidCustomer(): Promise<Customer & { order: string; session: string; intent: string }> {
  const { stripe } = fixture;
  const payer = await fixture.customer();
  stripe.setTax(19);
  const opened = await payer.checkout('25');
  stripe.setTax(0);
  stripe.pay(opened.session);
  await deliverNewest();
  await payer.hasBalance('25');
  return { ...payer, ...opened, intent: stripe.intentOf(opened.session) };
}

const isSuspended = async (account: string) => {
  const [row] = await fixture.database.sql`select suspended_at from accounts where id = ${account}`;
  return row.suspended_at !== null;
};

/** By whichever gateway has looked. */
const isLogged = (text: string) =>
  eventually(text, () => fixture.gateways.some((gateway) => gateway.output().includes(text)));

/** What an account was told about payments, apart from its credit. Written with the change itself. */
async function told(payer: Customer): Promise<{ type: string; data: Record<string, unknown> }[]> {
  const rows = await fixture.database.sql<{ type: string; data: Record<string, unknown> }[]>`
    select type, data from events where account_id = ${payer.account} and type like 'payment.%' order by written`;
  return [...rows];
}

describe('a payment', () => {
  test('is credited once, without its tax, however often its events come', async () => {
    const start = fixture.stripe.events.length;
    const payer = await paidCustomer();
    await deliverSince(start);
    await deliverSince(start);
    expect(await payer.entries()).toEqual(['credit 25']);
    const [payment] = await payer.payments();
    expect(payment).toMatchObject({
      id: payer.order,
      kind: 'checkout',
      amount: '25.000000000000',
      state: 'paid',
      paid: '29.750000000000',
      receipt_url: `https://stripe.example/invoices/${payer.session}`,
      reversals: [],
    });
    await fixture.database.sql`update memberships set role = 'member' where account_id = ${payer.account}`;
    // Only owners see receipts.
    expect((await payer.payments())[0]).toMatchObject({ id: payer.order, receipt_url: null });
    await fixture.database.sql`update memberships set role = 'owner' where account_id = ${payer.account}`;
    const data = {
      payment_id: payer.order,
      kind: 'checkout',
      amount: '25.000000000000',
      paid: '29.750000000000',
    };
    expect(await told(payer)).toEqual([{ type: 'payment.succeeded', data }]);
  });

  test('by bank debit is credited when the money has come, and not before', async () => {
    const { stripe } = fixture;
    const payer = await fixture.customer();
    const [good, bad] = [await payer.checkout('10'), await payer.checkout('20')];
    for (const { session, order } of [good, bad]) {
      stripe.pay(session, 'bank');
      await deliverNewest();
      await eventually('processing', async () => (await payer.orderState(order)) === 'processing');
    }
    expect(await payer.entries()).toEqual([]);
    stripe.settle(good.session, true);
    await deliverNewest();
    stripe.settle(bad.session, false);
    await deliverNewest();
    await eventually('a failure', async () => (await payer.orderState(bad.order)) === 'failed');
    await payer.hasBalance('10');
    await deliverNewest();
    const events = (await told(payer)).map(({ type, data }) => [type, data.payment_id, data.paid]);
    expect(events.toSorted()).toEqual([
      ['payment.failed', bad.order, null],
      ['payment.succeeded', good.order, '10.000000000000'],
    ]);
  });

  test('that was not made before its page expired is closed', async () => {
    const payer = await fixture.customer();
    const { session, order } = await payer.checkout('10');
    fixture.stripe.expire(session);
    await deliverNewest();
    await eventually('an expiry', async () => (await payer.orderState(order)) === 'expired');
    expect(await payer.balance()).toBe('0');
  });

  test('is found without any event, when its owner returns', async () => {
    const payer = await fixture.customer();
    const { session, order } = await payer.checkout('5');
    fixture.stripe.pay(session);
    const { status, body } = await payer.send('POST', payer.path(`payments/orders/${order}/check`), {});
    expect([status, body.state]).toEqual([200, 'paid']);
    expect(await payer.entries()).toEqual(['credit 5']);
  });

  test('is found without any event, by the sweep, although Stripe fails at first', async () => {
    const payer = await fixture.customer();
    const { session, order } = await payer.checkout('5');
    fixture.stripe.pay(session);
    // Twice for each look, because the client repeats a call.
    fixture.stripe.fail(...Array(2).fill({ path: `/sessions/${session}`, when: 'before' }));
    await fixture.database.sql`update payment_orders set next_look_at = now() where id = ${order}`;
    await payer.hasBalance('5');
  });

  test('is found in the list of events, when none was delivered', async () => {
    const payer = await fixture.customer();
    const { session } = await payer.checkout('5');
    fixture.stripe.pay(session);
    await fixture.database.sql`update payment_polls set claimed_until = now()`;
    await payer.hasBalance('5');
  });

  test('whose gateway is killed between the answer of Stripe and the credit is credited by another', async () => {
    const { stripe, database, environment } = fixture;
    const payer = await fixture.customer();
    const { session, order } = await payer.checkout('5');
    stripe.pay(session);
    const killed = await startGateway({ ...environment, TOLLGATE_DATA: temporaryFolder() });
    const { reached, release } = stripe.hold(`/sessions/${session}`);
    await stripe.deliver(killed.origin, newest());
    await reached;
    await killed.stop('SIGKILL');
    release();
    expect(await payer.balance()).toBe('0');
    // Instead of waiting until the claim of the dead gateway has ended.
    await database.sql`update payment_orders set claimed_until = now() where id = ${order}`;
    await payer.hasBalance('5');
    expect(await payer.entries()).toEqual(['credit 5']);
  });

  test('that does not fit its order is not credited, and the operator is told', async () => {
    const { stripe, operator, gateways } = fixture;
    const payer = await fixture.customer();
    const changes = {
      amount: { amount_subtotal: 100 },
      currency: { currency: 'eur' },
      account: { customer: 'cus_other' },
      mode: { livemode: true },
      order: { client_reference_id: crypto.randomUUID() },
      method: { payment_status: 'no_payment_required' },
      discount: { total_details: { amount_discount: 1000 } },
    };
    for (const [what, change] of Object.entries(changes)) {
      const { session, order } = await payer.checkout('25');
      stripe.pay(session);
      const event = structuredClone(newest());
      Object.assign(stripe.objects.get(session) ?? {}, change);
      await stripe.deliver(gateways[0]?.origin ?? '', event);
      await eventually(what, async () => (await payer.orderState(order)) === 'contradicted');
      const { body } = await operator('GET', `/api/console/operator/payments?search=${order}`);
      expect(body.data[0]?.problem).toBe(`differs from the order: ${what}`);
    }
    expect(await payer.entries()).toEqual([]);
    await isLogged('does not fit its order');
  });
});

describe('an event', () => {
  test.each([
    ['with another secret', { secret: `whsec_${'x'.repeat(32)}` }],
    ['that is old', { timestamp: Math.floor(Date.now() / 1000) - 301 }],
    ['of the future', { timestamp: Math.floor(Date.now() / 1000) + 400 }],
    ['with another body', { body: '{"type":"checkout.session.completed"}' }],
  ])('%s is refused', async (_, changes) => {
    const payer = await fixture.customer();
    const { session, order } = await payer.checkout('25');
    fixture.stripe.pay(session);
    const response = await deliverNewest(changes);
    expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
      400,
      'invalid_signature',
    ]);
    expect(await payer.orderState(order)).toBe('open');
  });

  test('that is too large is refused unread, and one about nothing of ours is taken', async () => {
    const { stripe, gateways } = fixture;
    const origin = gateways[0]?.origin ?? '';
    const large = await stripe.deliver(origin, { id: 'evt_1', type: 'x', filler: 'x'.repeat(300_000) });
    expect(large.status).toBe(400);
    const other = { id: 'evt_1', type: 'charge.refunded', livemode: false, data: { object: { id: 'ch_1' } } };
    expect((await stripe.deliver(origin, other)).status).toBe(200);
    const thin = { id: 'evt_2', type: 'v1.charge.refunded', livemode: false, related_object: { id: 'pi_1' } };
    expect((await stripe.deliver(origin, thin)).status).toBe(200);
  });

  test('that names nothing but a refund has the list of events read', async () => {
    const { stripe, gateways } = fixture;
    const payer = await paidCustomer();
    stripe.refund(payer.intent);
    // More than a page of others has happened since.
    for (let count = 0; count < 100; count++)
      stripe.events.push({ ...newest(), id: `evt_${count}`, data: { object: { id: 'ch_other' } } });
    const event = stripe.events.find(({ type, data }) => {
      const { payment_intent: of } = (data as { object: Record<string, unknown> }).object;
      return type === 'refund.created' && of === payer.intent;
    });
    await stripe.deliver(gateways[0]?.origin ?? '', stripe.thin(event as FakeEvent));
    await payer.hasBalance('0');
  });

  test('claims nothing that is believed: a forged object credits nothing', async () => {
    const payer = await fixture.customer();
    const { order, session } = await payer.checkout('25');
    const object = { id: session, client_reference_id: order, status: 'complete', payment_status: 'paid' };
    const event = { id: 'evt_1', type: 'checkout.session.completed', livemode: false, data: { object } };
    const asked = async () => {
      const [row] = await fixture.database.sql`
        select asked from payment_orders where id = ${order} and claim is null and next_look_at > now()`;
      return row?.asked === 1;
    };
    await fixture.stripe.deliver(fixture.gateways[0]?.origin ?? '', event);
    await eventually('a look', asked);
    expect([await payer.orderState(order), await payer.balance()]).toEqual(['open', '0']);
  });
});

describe('a checkout', () => {
  test('that Stripe has made, but not confirmed, is made once', async () => {
    const { stripe } = fixture;
    const payer = await fixture.customer();
    stripe.fail({ path: 'POST /v1/checkout/sessions', when: 'after' });
    const before = stripe.objects.size;
    const { session } = await payer.checkout('25');
    expect([...stripe.objects.keys()].slice(before).filter((id) => id.startsWith('cs_'))).toEqual([session]);
  });

  test('is opened for a new customer, if someone has deleted the one at Stripe', async () => {
    const { stripe } = fixture;
    const payer = await fixture.customer();
    const { session } = await payer.checkout('5');
    const { customer: deleted } = stripe.objects.get(session) as { customer: string };
    stripe.deleteCustomer(deleted);
    const portal = await payer.send('POST', payer.path('payments/portal'), {});
    expect([portal.status, portal.body.error.code]).toEqual([409, 'no_saved_card']);
    const again = await payer.checkout('5');
    expect(stripe.objects.get(again.session)?.customer).not.toBe(deleted);
    stripe.pay(again.session);
    await deliverNewest();
    await payer.hasBalance('5');
    expect((await payer.checkout('5')).order).toBeString();
  });

  test('that fails says so, and is no open order', async () => {
    const payer = await fixture.customer();
    fixture.failAt('POST /v1/checkout/sessions');
    const draft = { amount: '25', saves_card: false };
    const { status, body } = await payer.send('POST', payer.path('payments/checkout'), draft);
    expect([status, body.error.code]).toEqual([502, 'payment_provider_error']);
  });

  test.each(['0.5', '10.001', '10000.01', '-5'])('of %s USD is refused', async (amount) => {
    const payer = await fixture.customer();
    const draft = { amount, saves_card: false };
    const { status, body } = await payer.send('POST', payer.path('payments/checkout'), draft);
    expect([status, body.error.param]).toEqual([400, 'amount']);
  });
});

describe('a refund', () => {
  test('made at Stripe, in parts and with tax, appears once each, and all of it is all of the credit', async () => {
    const { stripe } = fixture;
    const payer = await paidCustomer();
    const start = stripe.events.length;
    stripe.refund(payer.intent, 1190);
    await deliverSince(start);
    await deliverSince(start);
    await payer.hasBalance('15');
    stripe.refund(payer.intent);
    await deliverSince(start);
    await payer.hasBalance('0');
    await deliverSince(start);
    expect(await payer.entries()).toEqual(['credit 25', 'correction -10', 'correction -15']);
    const [, first, ...more] = await told(payer);
    expect(first).toMatchObject({
      type: 'payment.refunded',
      data: { payment_id: payer.order, amount: '11.900000000000', credit: '10.000000000000' },
    });
    expect(more).toMatchObject([{ type: 'payment.refunded', data: { credit: '15.000000000000' } }]);
  });

  test('that fails weeks later gives the credit back', async () => {
    const { stripe } = fixture;
    const payer = await paidCustomer();
    const refund = stripe.refund(payer.intent);
    await deliverNewest();
    await payer.hasBalance('0');
    stripe.failRefund(refund);
    await deliverNewest();
    await payer.hasBalance('25');
    expect(await payer.entries()).toEqual(['credit 25', 'correction -25', 'correction 25']);
  });

  test('made by an operator is Stripe’s, and appears once', async () => {
    const { operator, stripe } = fixture;
    const payer = await paidCustomer();
    const start = stripe.events.length;
    const path = `/api/console/operator/payments/${payer.order}/refunds`;
    const draft = { amount: '11.90', reference: crypto.randomUUID() };
    const first = await operator('POST', path, draft);
    const again = await operator('POST', path, draft);
    expect([first.status, again.status]).toEqual([200, 200]);
    await deliverSince(start);
    expect(await payer.entries()).toEqual(['credit 25', 'correction -10']);
    const more = { amount: '100', reference: crypto.randomUUID() };
    const { status, body } = await operator('POST', path, more);
    expect([status, body.error.code]).toEqual([409, 'amount_too_large']);
    const rest = { amount: null, reference: crypto.randomUUID() };
    expect((await operator('POST', path, rest)).status).toBe(200);
    // Another gateway may be looking at it because of the events.
    await payer.hasBalance('0');
  });

  test('of what was spent takes what is left, and the rest from the next credit', async () => {
    const { stripe, database, operator } = fixture;
    const payer = await paidCustomer();
    const correction = {
      amount: '-20',
      reason: 'Spent',
      reference: crypto.randomUUID(),
      entry_number: null,
      request_id: null,
    };
    await operator('POST', `/api/console/operator/accounts/${payer.account}/corrections`, correction);
    stripe.refund(payer.intent);
    await deliverNewest();
    await payer.hasBalance('0');
    const [payment] = await payer.payments();
    expect(payment?.reversals).toMatchObject([{ taken: '5.000000000000', owed: '20.000000000000' }]);
    const credit = { amount: '50', memo: null, reference: crypto.randomUUID() };
    await operator('POST', `/api/console/operator/accounts/${payer.account}/credit`, credit);
    await payer.hasBalance('30');
    expect(await database.sql`select 1 from payment_reversals where due <> taken`).toHaveLength(0);
  });
});

describe('a program of the operator', () => {
  test('lists payments page by page, and refunds one once for a reference, whenever it asks again', async () => {
    const { stripe, database, gateways } = fixture;
    const payer = await paidCustomer();
    const { order: unpaid } = await payer.checkout('5');
    const shell = { door: 'cli', shellUser: 'tests@here' } as const;
    const { id: tokenId, secret } = await database.sql.begin((transaction) =>
      createTokenAs(transaction, shell, {
        name: 'Billing',
        scopes: ['read', 'money'],
        networks: null,
        requestsPerMinute: 600,
        expiresAt: new Date(Date.now() + 60 * 60 * 1000),
      }),
    );
    const client = adminClient(gateways[0]?.origin ?? '', secret);
    const first = await client.listPayments({ account: payer.account, limit: 1 });
    const cursor = first.body.next_cursor ?? '';
    const second = await client.listPayments({ account: payer.account, limit: 1, cursor });
    expect([...first.body.data, ...second.body.data].map(({ id }) => id)).toEqual([unpaid, payer.order]);
    expect(second.body.has_more).toBe(false);

    const refund = (amount: string | null, reference: string) =>
      client.refundPayment({ payment: payer.order, body: { amount, reference } });
    const made = await refund('11.90', 'TICKET-7');
    // Stripe has forgotten the key, but not the refund.
    stripe.forgetKeys();
    expect((await refund('11.90', 'TICKET-7')).body).toEqual(made.body);
    expect(await payer.entries()).toEqual(['credit 25', 'correction -10']);
    expect(await refund('5.95', 'TICKET-7').catch(codeOf)).toBe('reference_in_use');
    expect(await refund('100', 'TICKET-8').catch(codeOf)).toBe('amount_too_large');
    expect((await refund(null, 'TICKET-9')).body.amount).toBe('17.850000000000');
    expect(await refund(null, 'TICKET-10').catch(codeOf)).toBe('nothing_left');

    const { body: payment } = await client.getPayment({ payment: payer.order });
    expect(payment).toMatchObject({
      object: 'payment',
      account_id: payer.account,
      amount: '25.000000000000',
    });
    expect(payment.reversals.map(({ amount, taken }) => [amount, taken])).toEqual([
      ['11.900000000000', '10.000000000000'],
      ['17.850000000000', '15.000000000000'],
    ]);
    const [wish] = await database.sql`
      select actor_token_id from audit_log where action = 'refund_payment' and account_id = ${payer.account} limit 1`;
    expect(wish.actor_token_id).toBe(tokenId);
  });

  const codeOf = (error: unknown) => (error instanceof AdminError ? error.code : error);
});

describe('an answer of Stripe that is old when it arrives', () => {
  test('does not outlast a newer event, which came meanwhile to another gateway', async () => {
    const { stripe, gateways } = fixture;
    const payer = await paidCustomer();
    const { reached, release } = stripe.hold('/v1/refunds');
    await deliverNewest();
    await reached;
    stripe.refund(payer.intent);
    expect((await stripe.deliver(gateways[1]?.origin ?? '', newest())).status).toBe(200);
    release();
    await payer.hasBalance('0');
  });

  test('is not written if its claim is lost', async () => {
    const { stripe, database } = fixture;
    const payer = await paidCustomer();
    const refund = stripe.refund(payer.intent);
    const { reached, release } = stripe.hold('/v1/refunds');
    await deliverNewest();
    await reached;
    // As if the gateway had been frozen for minutes.
    await database.sql`update payment_orders set claimed_until = now() where id = ${payer.order}`;
    stripe.failRefund(refund);
    await stripe.deliver(fixture.gateways[1]?.origin ?? '', newest());
    await eventually('a look', async () =>
      (await payer.payments())[0]?.reversals.some(({ status }) => status === 'failed'),
    );
    release();
    await deliverNewest();
    await eventually('no look', async () => {
      const rows = await database.sql`
        select 1 from payment_orders where id = ${payer.order} and claim is null and next_look_at is null`;
      return rows.length === 1;
    });
    expect(await payer.entries()).toEqual(['credit 25']);
  });
});

describe('an early warning of fraud', () => {
  const warned = async (payer: Customer) => {
    const rows = await fixture.database.sql<{ data: Record<string, unknown> }[]>`
      select data from events where type = 'payment.warned' and data ->> 'account_id' = ${payer.account} order by written`;
    return rows.map(({ data }) => data);
  };

  test('is told to the operator once, and suspends the account until an operator resumes it', async () => {
    const { stripe, operator } = fixture;
    const payer = await paidCustomer();
    const start = stripe.events.length;
    const warning = stripe.warn(payer.intent);
    await deliverSince(start);
    await eventually('a suspension', () => isSuspended(payer.account));
    await isLogged('a payment was reported as fraud');
    await operator('POST', `/api/console/operator/accounts/${payer.account}/resume`, {});
    await deliverSince(start);
    stripe.refund(payer.intent);
    await deliverSince(start);
    await payer.hasBalance('0');
    expect(await isSuspended(payer.account)).toBe(false);
    expect(await warned(payer)).toEqual([
      {
        account_id: payer.account,
        payment_id: payer.order,
        warning_id: warning,
        fraud_type: 'made_with_stolen_card',
        is_actionable: true,
      },
    ]);
    // The customer, who may be the fraud, is not told.
    expect((await told(payer)).map(({ type }) => type)).toEqual(['payment.succeeded', 'payment.refunded']);
    expect(JSON.stringify(await payer.payments())).not.toContain('stolen');
    const { body } = await operator('GET', `/api/console/operator/payments?search=${payer.order}`);
    expect(body.data[0]?.warnings).toMatchObject([{ id: warning, fraud_type: 'made_with_stolen_card' }]);
  });

  test('of a payment that was refunded before suspends nobody', async () => {
    const { stripe } = fixture;
    const payer = await paidCustomer();
    stripe.refund(payer.intent);
    stripe.warn(payer.intent, false);
    await deliverNewest();
    await eventually('a warning', async () => (await warned(payer)).length === 1);
    expect(await isSuspended(payer.account)).toBe(false);
  });

  test('that the key may not read keeps no payment from being credited', async () => {
    fixture.stripe.allowWarnings(false);
    const payer = await paidCustomer();
    fixture.stripe.allowWarnings(true);
    expect(await payer.entries()).toEqual(['credit 25']);
  });
});

describe('a dispute', () => {
  test('takes the credit and suspends the account once; when it is won, the credit comes back', async () => {
    const { stripe, operator } = fixture;
    const payer = await paidCustomer();
    const dispute = stripe.dispute(payer.intent);
    await deliverNewest();
    await payer.hasBalance('0');
    expect(await isSuspended(payer.account)).toBe(true);
    await isLogged('a payment is disputed');
    await operator('POST', `/api/console/operator/accounts/${payer.account}/resume`, {});
    await deliverNewest();
    stripe.setDispute(dispute, 'won');
    await deliverNewest();
    await payer.hasBalance('25');
    expect(await isSuspended(payer.account)).toBe(false);
    expect(await payer.entries()).toEqual(['credit 25', 'correction -25', 'correction 25']);
    expect(await told(payer)).toMatchObject([
      { type: 'payment.succeeded' },
      {
        type: 'payment.disputed',
        data: { reversal_id: dispute, status: 'needs_response', credit: '25.000000000000' },
      },
    ]);
  });

  test('that is only an inquiry takes nothing; a lost one of a refunded payment takes nothing more', async () => {
    const { stripe } = fixture;
    const payer = await paidCustomer();
    const dispute = stripe.dispute(payer.intent, 'warning_needs_response');
    await deliverNewest();
    stripe.refund(payer.intent);
    await deliverNewest();
    await payer.hasBalance('0');
    stripe.setDispute(dispute, 'lost');
    await deliverNewest();
    await eventually('a lost dispute', async () =>
      (await payer.payments())[0]?.reversals.some(({ status }) => status === 'lost'),
    );
    expect(await payer.entries()).toEqual(['credit 25', 'correction -25']);
    // The bank has taken the money once more, so it is told, too.
    expect((await told(payer)).map(({ type, data }) => [type, data.credit])).toEqual([
      ['payment.succeeded', undefined],
      ['payment.refunded', '25.000000000000'],
      ['payment.disputed', '0.000000000000'],
    ]);
  });

  test.each([
    ['that begins as an inquiry', ['warning_needs_response', 'needs_response']],
    ['that is lost when it is first seen', ['lost']],
  ])('%s suspends the account when it takes money', async (_, [first = '', then]) => {
    const { stripe } = fixture;
    const payer = await paidCustomer();
    const dispute = stripe.dispute(payer.intent, first);
    await deliverNewest();
    if (then !== undefined) {
      await eventually('an inquiry', async () => (await payer.payments())[0]?.reversals.length === 1);
      expect([await isSuspended(payer.account), await payer.balance()]).toEqual([false, '25']);
      stripe.setDispute(dispute, then);
      await deliverNewest();
    }
    await payer.hasBalance('0');
    expect(await isSuspended(payer.account)).toBe(true);
    expect((await told(payer)).map(({ type }) => type)).toEqual(['payment.succeeded', 'payment.disputed']);
    const lines = () => fixture.gateways.flatMap((gateway) => gateway.output().split('\n'));
    await eventually('a line of the log', () =>
      lines().some((line) => line.includes('a payment is disputed') && line.includes(payer.order)),
    );
  });
});
