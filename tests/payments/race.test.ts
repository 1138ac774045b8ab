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
  action: fc.constantFrom(
    'pay',
    'pay by bank',
    'settle',
    'fail',
    'expire',
    'refund part',
    'refund all',
    'fail refund',
    'dispute',
    'win',
    'lose',
  ),
  order: fc.nat(2),
  /** Which of the events so far are delivered after the step: some again, and some before older ones. */
  pauseMs: fc.nat(60),
  deliveries: fc.array(fc.record({ event: fc.nat(1000), gateway: fc.nat(1) }), { maxLength: 6 }),
});

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

const objectsOf = (kind: string, intent: unknown) =>
  [...fixture.stripe.objects.values()].filter(
    ({ id, payment_intent: of }) => String(id).startsWith(kind) && of === intent,
  );

/** What is not possible in the state of the order is left out. */
function act(session: string, { action }: Step): void {
  const { stripe } = fixture;
  const object = stripe.objects.get(session) as Json;
  const intent = object.payment_intent as string | null;
  const isPaid = object.payment_status === 'paid';
  const isWaiting =
    object.status === 'complete' && !isPaid && stripe.objects.get(intent ?? '')?.status === 'processing';
  const [dispute] = objectsOf('du_', intent);
  const refund = objectsOf('re_', intent).find(({ status }) => status === 'succeeded');
  const charge = objectsOf('ch_', intent)[0];
  const left = Number(charge?.amount ?? 0) - Number(charge?.amount_refunded ?? 0);
  if (object.status === 'open') {
    if (action === 'pay') stripe.pay(session);
    if (action === 'pay by bank') stripe.pay(session, 'bank');
    if (action === 'expire') stripe.expire(session);
  } else if (isWaiting) {
    if (action === 'settle') stripe.settle(session, true);
    if (action === 'fail') stripe.settle(session, false);
  } else if (isPaid && intent !== null) {
    if (action === 'refund part' && left > 700) stripe.refund(intent, 700);
    if (action === 'refund all' && left > 0) stripe.refund(intent);
    if (action === 'fail refund' && refund !== undefined) stripe.failRefund(String(refund.id));
    if (action === 'dispute' && dispute === undefined) stripe.dispute(intent);
    if (action === 'win' && dispute !== undefined) stripe.setDispute(String(dispute.id), 'won');
    if (action === 'lose' && dispute !== undefined) stripe.setDispute(String(dispute.id), 'lost');
  }
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
        act(orders[one.order]?.session ?? '', one);
        const count = stripe.events.length - start;
        for (const { event, gateway } of one.deliveries) if (count > 0) send(event % count, gateway);
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
          where account_id = ${payer.account} and (claim is not null or next_look_at <= now())`;
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
    { numRuns: Number(process.env.RACE_RUNS ?? 15) },
  );
}, 120_000);
