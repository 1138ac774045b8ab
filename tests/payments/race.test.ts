/**
 * Any number of events, in any order, on two gateways at once: every payment is credited once, and in the end the ledger says
 * what Stripe's objects say.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import { eventually } from '../support/eventually.ts';
import type { Json } from '../support/fake-stripe.ts';
import { openPaymentsFixture, type PaymentsFixture } from '../support/payments-fixture.ts';

let fixture: PaymentsFixture;

beforeAll(async () => {
  fixture = await openPaymentsFixture({ PAYMENTS_DISPUTES: 'keep' });
}, 60_000);

afterAll(() => fixture.close());

const step = fc.record({
  /** Which of the things that can happen to the order now. */
  choice: fc.nat(1000),
  order: fc.nat(2),
  pauseMs: fc.nat(60),
  /** Which of the last events are delivered after the step: some again, and some before older ones. */
  deliveries: fc.array(fc.record({ age: fc.nat(3), gateway: fc.nat(1) }), { maxLength: 6 }),
});

const objectsOf = (kind: string, intent: unknown) =>
  [...fixture.stripe.objects.values()].filter(
    ({ id, payment_intent: of }) => String(id).startsWith(kind) && of === intent,
  );

/** What can happen to an order in its state. */
function possibleActs(session: string): (() => unknown)[] {
  const { stripe } = fixture;
  const object = stripe.objects.get(session) as Json;
  const intent = String(object.payment_intent);
  if (object.status === 'open')
    return [
      ...Array(4).fill(() => stripe.pay(session)),
      ...Array(4).fill(() => stripe.pay(session, 'bank')),
      () => stripe.expire(session),
    ];
  if (object.payment_status !== 'paid')
    return stripe.objects.get(intent)?.status === 'processing'
      ? [...Array(4).fill(() => stripe.settle(session, true)), () => stripe.settle(session, false)]
      : [];
  const [dispute] = objectsOf('du_', intent);
  const refunds = objectsOf('re_', intent).filter(({ status }) => status === 'succeeded');
  const [charge] = objectsOf('ch_', intent);
  const left = Number(charge?.amount) - Number(charge?.amount_refunded);
  return [
    ...(left > 150 ? [() => stripe.refund(intent, 100), () => stripe.refund(intent, 50)] : []),
    ...(left > 0 ? [() => stripe.refund(intent)] : []),
    ...refunds.map(
      ({ id }) =>
        () =>
          stripe.failRefund(String(id)),
    ),
    ...(dispute === undefined
      ? [() => stripe.dispute(intent)]
      : ['won', 'lost', 'under_review'].map((status) => () => stripe.setDispute(String(dispute.id), status))),
  ];
}

/** What an order of this many cents has added to the balance, in units of 1e-12 USD, by Stripe's objects alone. */
function worthOf(session: string, cents: bigint): bigint {
  const {
    payment_status: status,
    payment_intent: intent,
    amount_total: total,
  } = fixture.stripe.objects.get(session) ?? {};
  if (status !== 'paid') return 0n;
  const credit = cents * 10n ** 10n;
  const gone = [
    ...objectsOf('re_', intent).filter((refund) => refund.status === 'succeeded'),
    ...objectsOf('du_', intent).filter((dispute) => dispute.status !== 'won'),
  ].map(({ amount }) => BigInt(Number(amount)));
  const sum = gone.reduce((one, other) => one + other, 0n);
  if (sum >= BigInt(Number(total))) return 0n;
  return credit - gone.reduce((taken, amount) => taken + (credit * amount) / BigInt(Number(total)), 0n);
}

const cents = [2500n, 1001n, 9999n];

test('the ledger ends as Stripe’s objects say', async () => {
  const { stripe, gateways, database } = fixture;
  stripe.setTax(19);
  stripe.setDelay(60);
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      const payer = await fixture.customer();
      const start = stripe.events.length;
      const orders: { session: string; order: string }[] = [];
      for (const amount of cents) orders.push(await payer.checkout(`${Number(amount) / 100}`));
      const deliver = async (index: number, gateway: number) => {
        const event = stripe.events[start + index];
        const origin = gateways[gateway]?.origin;
        if (event !== undefined && origin !== undefined)
          expect((await stripe.deliver(origin, event)).status).toBe(200);
      };
      const inFlight: Promise<void>[] = [];
      const delivered = new Set<number>();
      const send = (index: number, gateway: number) => {
        delivered.add(index);
        inFlight.push(deliver(index, gateway));
      };
      for (const one of steps) {
        const acts = possibleActs(orders[one.order]?.session ?? '');
        acts[one.choice % acts.length]?.();
        const count = stripe.events.length - start;
        for (const { age, gateway } of one.deliveries) if (age < count) send(count - 1 - age, gateway);
        // The next step comes while the gateways look, or after.
        await Bun.sleep(one.pauseMs);
      }
      // In the end each has come at least once, the newest first.
      for (let index = stripe.events.length - start - 1; index >= 0; index--)
        if (!delivered.has(index)) send(index, index % 2);
      await Promise.all(inFlight);
      await eventually('the end of all looks', async () => {
        const due = await database.sql`
          select 1 from payment_orders
          where account_id = ${payer.account} and (claim is not null or next_look_at <= now() or look_failures > 0)`;
        return due.length === 0;
      });
      const expected = orders.reduce(
        (sum, { session }, index) => sum + worthOf(session, cents[index] ?? 0n),
        0n,
      );
      const [account] = await database.sql`
        select (balance * 1e12)::numeric(38)::text as units from accounts where id = ${payer.account}`;
      expect(BigInt(account.units)).toBe(expected);
      const credits = (await payer.entries()).filter((entry) => entry.startsWith('credit'));
      const paid = orders.filter(({ session }) => stripe.objects.get(session)?.payment_status === 'paid');
      expect(credits).toHaveLength(paid.length);
    }),
    { numRuns: Number(process.env.RACE_RUNS ?? 8) },
  );
}, 120_000);
