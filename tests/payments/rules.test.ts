/** The pure rules of payments: who sent an event, what it points to, and what follows from Stripe's objects. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import Stripe from 'stripe';
import { readConfig } from '../../src/config.ts';
import { pointersOf } from '../../src/payments/event.ts';
import type { Facts, Reversal } from '../../src/payments/facts.ts';
import { judge } from '../../src/payments/judge.ts';
import type { Order } from '../../src/payments/order.ts';
import { isSignedByStripe } from '../../src/payments/signature.ts';

const secret = `whsec_${'s'.repeat(32)}`;

describe('a signature', () => {
  const body = (text: string) => new TextEncoder().encode(text);
  const nowMs = 1_800_000_000_000;
  const sign = (payload: string, secretOf = secret) =>
    new Stripe('sk_test_x').webhooks.generateTestHeaderStringAsync({
      payload,
      secret: secretOf,
      timestamp: nowMs / 1000,
    });

  test('of Stripe’s own package is accepted, for these bytes and this secret alone', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), fc.string(), async (text, other) => {
        const header = await sign(text);
        const given = { header, body: body(text), secrets: [`whsec_${'o'.repeat(32)}`, secret], nowMs };
        expect(isSignedByStripe(given)).toBe(true);
        expect(isSignedByStripe({ ...given, body: body(other) })).toBe(
          Buffer.from(other).equals(Buffer.from(text)),
        );
        expect(isSignedByStripe({ ...given, secrets: [`${secret}x`] })).toBe(false);
      }),
      { numRuns: 50 },
    );
  });

  test('is accepted for five minutes, before and after', async () => {
    const header = await sign('{}');
    const at = (seconds: number) =>
      isSignedByStripe({ header, body: body('{}'), secrets: [secret], nowMs: nowMs + seconds * 1000 });
    expect([at(-301), at(-299), at(0), at(299), at(301)]).toEqual([false, true, true, true, false]);
  });

  test('may be one of several, but has one time', async () => {
    const header = await sign('{}');
    const check = (text: string | null) =>
      isSignedByStripe({ header: text, body: body('{}'), secrets: [secret], nowMs });
    expect(check(header.replace(',', `,v1=${'0'.repeat(64)},`))).toBe(true);
    expect(check(`t=1,${header}`)).toBe(false);
    expect(check(header.replace('v1=', 'v0='))).toBe(false);
    expect(
      [null, '', 't=', 'v1=', 't=1800000000,v1=', `t=1800000000,v1=${'0'.repeat(63)}`].map(check),
    ).toEqual(Array(6).fill(false));
  });
});

test('an event of any shape points to nothing but IDs', () => {
  fc.assert(
    fc.property(fc.anything({ withNullPrototype: true }), (event) => {
      const pointers = pointersOf(event);
      for (const id of pointers?.orders ?? []) expect(id).toMatch(/^[0-9a-f-]{36}$/i);
    }),
  );
  const order = crypto.randomUUID();
  const object = { id: 're_1', payment_intent: { id: 'pi_1' }, invoice: 'in_1', metadata: { order } };
  expect(pointersOf({ type: 'refund.created', livemode: true, data: { object } })).toEqual({
    isLive: true,
    orders: [order],
    objects: ['pi_1', 'in_1'],
    paymentMethod: null,
    customer: null,
    isVague: false,
  });
  const customer = { id: 'cus_1' };
  expect(pointersOf({ type: 'customer.updated', data: { object: customer } })?.customer).toBe('cus_1');
  expect(pointersOf({ type: 'customer.updated.x', data: { object: customer } })).toBeNull();
  const thin = (type: string, id: string) => pointersOf({ type, related_object: { id } })?.isVague;
  expect([thin('v1.refund.created', 're_1'), thin('v1.charge.dispute.closed', 'du_1')]).toEqual([true, true]);
  expect([thin('v1.charge.succeeded', 'ch_1'), thin('v1.invoice.paid', 'in_1')]).toEqual([false, false]);
  expect(pointersOf({ type: 'product.created', data: { object } })).toBeNull();
});

const order: Order = {
  id: crypto.randomUUID(),
  accountId: crypto.randomUUID(),
  kind: 'checkout',
  amount: 25n * 10n ** 12n,
  currency: 'usd',
  isLive: true,
  state: 'open',
  customer: 'cus_1',
  session: 'cs_1',
  invoice: null,
  paymentMethod: null,
  savesCard: false,
  createdAt: new Date(),
};

const paid: Facts = {
  order: order.id,
  isRightMethod: true,
  isLive: true,
  customer: 'cus_1',
  currency: 'usd',
  subtotal: 2500n,
  discount: 0n,
  progress: 'paid',
  received: 2975n,
  failure: null,
  invoice: null,
  paymentIntent: 'pi_1',
  receiptUrl: null,
  card: null,
  reversals: [],
  warnings: [],
};

describe('what follows from Stripe’s objects', () => {
  test.each([
    ['order', { order: null }],
    ['method', { isRightMethod: false }],
    ['mode', { isLive: false }],
    ['account', { customer: 'cus_2' }],
    ['currency', { currency: 'eur' }],
    ['amount', { subtotal: 2499n }],
    ['amount', { subtotal: 2501n }],
    ['discount', { discount: 1n }],
    ['payment', { received: 2499n }],
    ['payment', { paymentIntent: null }],
  ])('nothing is credited if the %s differs', (what, change) => {
    expect(judge(order, paid).state).toBe('paid');
    expect(judge(order, { ...paid, ...change })).toMatchObject({
      state: 'contradicted',
      problem: `differs from the order: ${what}`,
    });
  });

  test('what was credited is not doubted again, so that its refunds count', () => {
    const refund = {
      id: 're_1',
      kind: 'refund',
      amount: 2975n,
      status: 'succeeded',
      createdAtSeconds: 1,
    } as const;
    const facts = { ...paid, customer: null, reversals: [refund] };
    expect(judge({ ...order, state: 'paid' }, facts)).toMatchObject({
      state: 'paid',
      reversals: [{ due: order.amount }],
    });
  });

  const reversal = fc.record({
    id: fc.uuid(),
    kind: fc.constantFrom<Reversal['kind']>('refund', 'dispute'),
    amount: fc.bigInt(1n, 4000n),
    status: fc.constantFrom(
      'succeeded',
      'pending',
      'failed',
      'canceled',
      'lost',
      'won',
      'warning_closed',
      'new_state',
    ),
    createdAtSeconds: fc.nat(3),
  });

  test('refunds and disputes take their share, never more than was credited, in whatever order they are listed', () => {
    fc.assert(
      fc.property(fc.uniqueArray(reversal, { selector: ({ id }) => id, maxLength: 8 }), (reversals) => {
        const judged = judge(order, { ...paid, reversals }).reversals;
        const again = judge(order, { ...paid, reversals: reversals.toReversed() }).reversals;
        expect(again).toEqual(judged);
        const taken = judged.reduce((sum, { due }) => sum + due, 0n);
        const gone = judged
          .filter(({ kind, status }) =>
            kind === 'refund'
              ? !['failed', 'canceled'].includes(status)
              : !['won', 'warning_closed'].includes(status),
          )
          .reduce((sum, { amount }) => sum + amount, 0n);
        expect(judged.every(({ due }) => due >= 0n)).toBe(true);
        expect(taken <= order.amount).toBe(true);
        expect(taken === order.amount).toBe(gone >= paid.received);
        // Rounding takes less than a unit for each.
        const exact = (order.amount * gone) / paid.received;
        if (gone < paid.received) expect(exact - taken <= BigInt(judged.length)).toBe(true);
      }),
    );
  });
});

describe('settings', () => {
  const good = {
    PAYMENTS: 'stripe',
    STRIPE_SECRET_KEY: 'sk_test_12345678',
    STRIPE_WEBHOOK_SECRET: secret,
    PUBLIC_URL: 'https://gateway.example.com',
  };

  test('are read', () => {
    expect(readConfig({}).payments).toBeNull();
    expect(readConfig(good).payments).toMatchObject({ isLive: false, hasTax: true, suspendsDisputed: true });
    const rolled = { ...good, STRIPE_WEBHOOK_SECRET: `${secret},${secret}x` };
    expect(readConfig(rolled).payments?.webhookSecrets).toEqual([secret, `${secret}x`]);
    expect(readConfig({ OPERATOR_CONTACT: 'mailto:billing@example.com' }).operatorContact).toBe(
      'mailto:billing@example.com',
    );
  });

  test.each([
    ['STRIPE_WEBHOOK_SECRET', ''],
    ['STRIPE_WEBHOOK_SECRET', 'x'],
    ['STRIPE_WEBHOOK_SECRET', 'whsec_short'],
    ['STRIPE_WEBHOOK_SECRET', `${secret},`],
    ['STRIPE_SECRET_KEY', ''],
    ['STRIPE_SECRET_KEY', 'pk_live_12345678'],
    ['PUBLIC_URL', ''],
    ['PAYMENTS', 'paypal'],
    ['STRIPE_TAX', 'maybe'],
    ['OPERATOR_CONTACT', 'javascript:alert(1)'],
  ])('%s=%j is refused at the start', (name, value) => {
    expect(() => readConfig({ ...good, [name]: value })).toThrow(name);
  });
});
