/** Whether the judge of `npm run chaos` notices what is wrong with events, webhooks, payments and grants. */
import { describe, expect, test } from 'bun:test';
import type { EventLog, RecordedEvent } from '../../chaos/judge/event-log.ts';
import { judgeEvents } from '../../chaos/judge/event-truths.ts';
import { judgeGrants } from '../../chaos/judge/grant-truths.ts';
import type { PaymentLog, RecordedOrder, StripePayment } from '../../chaos/judge/payment-log.ts';
import { judgePayments } from '../../chaos/judge/payment-truths.ts';
import { isTrue } from '../../chaos/judge/report.ts';
import type { Truth } from '../../chaos/judge/truth.ts';
import type { ReceivedDelivery } from '../../chaos/world/webhook-receiver.ts';
import { quietMoments } from './evidence.ts';

const broken = (truths: readonly Truth[]) => truths.filter((truth) => !isTrue(truth)).map(({ says }) => says);

describe('an event', () => {
  const once = 'what happened to money and access is told by one event';
  const nothingElse = 'no event tells of what did not happen';
  const numbered = 'the events of each account are numbered without a gap';
  const received = 'every event was received by each webhook that it is for';
  const published = 'no webhook received what was not published, or was not for it';
  const same = 'an event always came with the same ID and the same body';
  const signed = 'every delivery was signed with the secret of its webhook';

  const first: RecordedEvent = {
    id: 'evt_1',
    accountId: 'a',
    type: 'credit.added',
    sequence: 1,
    about: 'credit.added a 1 5.0',
    atMs: 20,
  };
  const second: RecordedEvent = { ...first, id: 'evt_2', sequence: 2, about: 'credit.added a 2 5.0' };
  const delivery: ReceivedDelivery = {
    endpoint: 'operator',
    webhookId: 'evt_1',
    eventId: 'evt_1',
    type: 'credit.added',
    accountId: 'a',
    sequence: 1,
    digest: 'one',
    isSigned: true,
    reply: 'done',
    atMs: 30,
  };
  const next = { ...delivery, webhookId: 'evt_2', eventId: 'evt_2', sequence: 2, digest: 'two' };
  const endpoint = {
    name: 'operator',
    id: 'w',
    accountId: null,
    createdAtMs: 10,
    isDisabled: false,
  } as const;
  const good: EventLog = {
    events: [first, second],
    happened: [{ about: 'credit.added a 1 5.0' }, { about: 'credit.added a 2 5.0' }],
    endpoints: [endpoint],
    deliveries: [delivery, next],
  };
  const judged = (change: Partial<EventLog>) => broken(judgeEvents({ events: { ...good, ...change } }));

  test('tells of what happened, once', () => {
    expect(judged({})).toEqual([]);
    expect(judged({ events: [first], deliveries: [delivery] })).toEqual([once]);
    const again = { ...second, id: 'evt_3', sequence: 3 };
    const deliveries = [delivery, next, { ...next, webhookId: 'evt_3', eventId: 'evt_3', sequence: 3 }];
    expect(judged({ events: [first, second, again], deliveries })).toEqual([once]);
    const brief = [...good.happened, { about: 'payment.refunded re_1', mayBeTold: true }];
    expect(judged({ happened: brief })).toEqual([]);
  });

  test('tells of nothing else', () => {
    expect(judged({ happened: good.happened.slice(1) })).toEqual([nothingElse]);
    // Another amount is something else.
    expect(judged({ events: [first, { ...second, about: 'credit.added a 2 6.0' }] })).toEqual([
      once,
      nothingElse,
    ]);
    expect(
      judged({ events: [first, { ...second, about: null }], happened: good.happened.slice(0, 1) }),
    ).toEqual([]);
  });

  test('has the next number of its account', () => {
    const withNumber = (sequence: number | null) =>
      judged({
        events: [first, { ...second, sequence }],
        deliveries: [delivery, { ...next, sequence: sequence ?? 2 }],
      });
    expect(withNumber(3)).toEqual([numbered]);
    expect(withNumber(1)).toEqual([numbered, same]);
    expect(withNumber(null)).toEqual([numbered, published]);
  });

  test('reaches every webhook that it is for', () => {
    expect(judged({ deliveries: [delivery] })).toEqual([received]);
    expect(judged({ deliveries: [delivery, { ...next, reply: 'close' }] })).toEqual([received]);
    expect(judged({ deliveries: [delivery, { ...next, reply: 'error' }, next] })).toEqual([]);
    // It is older than the webhook.
    expect(judged({ events: [{ ...first, atMs: 5 }, second], deliveries: [next] })).toEqual([]);
    const customers = { ...endpoint, name: 'customer', accountId: 'b' } as const;
    expect(judged({ endpoints: [endpoint, customers] })).toEqual([]);
    expect(judged({ endpoints: [endpoint, { ...customers, accountId: 'a' }] })).toEqual([received]);
  });

  test('reaches no other, and nothing is sent that is no event', () => {
    const customers = { ...endpoint, name: 'customer', accountId: 'b' } as const;
    expect(
      judged({
        endpoints: [endpoint, customers],
        deliveries: [...good.deliveries, { ...next, endpoint: 'customer' }],
      }),
    ).toEqual([published]);
    const stray = { ...next, webhookId: 'evt_9', eventId: 'evt_9', sequence: 9 };
    expect(judged({ deliveries: [...good.deliveries, stray] })).toEqual([published]);
    expect(judged({ deliveries: [delivery, { ...next, type: 'key.created' }] })).toEqual([published]);
  });

  test('always comes with the same ID and body', () => {
    expect(judged({ deliveries: [...good.deliveries, next] })).toEqual([]);
    expect(judged({ deliveries: [...good.deliveries, { ...next, digest: 'other' }] })).toEqual([same]);
    const renamed = { ...next, webhookId: 'evt_8', eventId: 'evt_8' };
    expect(judged({ deliveries: [...good.deliveries, renamed] })).toEqual([published, same]);
    expect(judged({ deliveries: [...good.deliveries, { ...next, eventId: 'evt_8' }] })).toEqual([same]);
  });

  test('is signed', () => {
    expect(judged({ deliveries: [delivery, { ...next, isSigned: false }] })).toEqual([signed]);
  });
});

describe('a payment', () => {
  const once = 'every payment that was made is credited once, with its amount';
  const paidOnly = 'nothing is credited that was not paid';
  const taken = 'what was refunded or disputed is taken once, as far as the balance allows';
  const state = 'every order is in the state that Stripe’s objects say';
  const cards = 'a card is charged only for an order, and once for each';

  const dollar = 10n ** 12n;
  const payment: StripePayment = {
    id: 'cs_1',
    kind: 'checkout',
    order: 'o1',
    state: 'paid',
    beforeTax: 1000n,
    withTax: 1190n,
    paidAtMs: 1,
    intent: 'pi_1',
  };
  const order: RecordedOrder = {
    id: 'o1',
    accountId: 'a',
    kind: 'checkout',
    amount: 10n * dollar,
    state: 'paid',
    object: 'cs_1',
    creditedAtMs: 2,
    available: 10n * dollar,
  };
  const credit = { accountId: 'a', subject: 'o1', amount: 10n * dollar };
  const good: PaymentLog = {
    payments: [payment],
    charged: ['pi_1'],
    stripeReversals: [],
    orders: [order],
    reversals: [],
    credits: [credit],
    takings: [],
  };
  const judged = (change: Partial<PaymentLog>, watched = quietMoments) =>
    broken(judgePayments({ payments: { ...good, ...change }, watched }));

  test('is credited once, with its amount, to its account', () => {
    expect(judged({})).toEqual([]);
    expect(judged({ credits: [] })).toEqual([once]);
    expect(judged({ credits: [credit, credit] })).toEqual([once]);
    expect(judged({ credits: [{ ...credit, amount: 11n * dollar }] })).toEqual([once]);
    expect(judged({ credits: [{ ...credit, accountId: 'b' }] })).toEqual([once]);
  });

  test('is not credited if it was not made', () => {
    const open = { ...payment, state: 'open' } as const;
    const waiting = { ...order, state: 'open' };
    expect(judged({ payments: [open], orders: [waiting], credits: [], charged: [] })).toEqual([]);
    expect(judged({ payments: [open], orders: [waiting], charged: [] })).toEqual([paidOnly]);
    expect(judged({ credits: [credit, { ...credit, subject: '' }] })).toEqual([paidOnly]);
  });

  test('that was refunded or is disputed is taken back once', () => {
    const half = { id: 're_1', kind: 'refund', intent: 'pi_1', amount: 595n, hasTaken: true } as const;
    const reversal = { id: 're_1', order: 'o1', taken: 5n * dollar };
    const taking = { accountId: 'a', subject: 're_1', amount: -5n * dollar };
    const reversed = { stripeReversals: [half], reversals: [reversal], takings: [taking] };
    expect(judged(reversed)).toEqual([]);
    expect(judged({ ...reversed, takings: [taking, taking] })).toEqual([taken]);
    expect(judged({ ...reversed, takings: [] })).toEqual([taken]);
    expect(judged({ ...reversed, takings: [], reversals: [{ ...reversal, taken: 0n }] })).toEqual([taken]);
    expect(judged({ takings: [taking] })).toEqual([taken]);
    // There was nothing to take it from.
    const poor = [{ ...order, available: 0n }];
    expect(
      judged({ ...reversed, orders: poor, takings: [], reversals: [{ ...reversal, taken: 0n }] }),
    ).toEqual([]);
    const failed = [{ ...half, hasTaken: false }];
    expect(judged({ ...reversed, stripeReversals: failed })).toEqual([taken]);
    const givenBack = [taking, { ...taking, amount: 5n * dollar }];
    expect(
      judged({ stripeReversals: failed, reversals: [{ ...reversal, taken: 0n }], takings: givenBack }),
    ).toEqual([]);
    // No more than all of it.
    const lost = { id: 'du_1', kind: 'dispute', intent: 'pi_1', amount: 1190n, hasTaken: true } as const;
    const rest = { ...taking, subject: 'du_1' };
    expect(judged({ ...reversed, stripeReversals: [half, lost], takings: [taking, rest] })).toEqual([]);
    const all = { ...rest, amount: -10n * dollar };
    expect(judged({ ...reversed, stripeReversals: [half, lost], takings: [taking, all] })).toEqual([taken]);
  });

  test('leaves its order in the state that Stripe’s objects say', () => {
    expect(judged({ orders: [{ ...order, state: 'open' }] })).toEqual([state]);
    expect(judged({ orders: [{ ...order, object: 'cs_2' }] })).toEqual([state]);
    const unpaid = { ...payment, state: 'open', intent: null } as const;
    const lost = { ...order, state: 'new', object: null };
    const nothing = { credits: [], charged: [] };
    expect(judged({ ...nothing, payments: [unpaid], orders: [lost] })).toEqual([]);
    expect(judged({ ...nothing, payments: [], orders: [lost] })).toEqual([]);
    expect(judged({ ...nothing, payments: [], orders: [{ ...lost, state: 'open' }] })).toEqual([state]);
    expect(judged({ ...nothing, payments: [unpaid, { ...unpaid, id: 'cs_2' }], orders: [lost] })).toEqual([
      state,
    ]);
  });

  test('is asked of a card only for an order, once', () => {
    expect(judged({ charged: ['pi_1', 'pi_2'] })).toEqual([cards]);
    expect(judged({ orders: [] })).toEqual([once, cards]);
    expect(judged({ payments: [payment, { ...payment, id: 'cs_2' }] })).toEqual([state, cards]);
  });

  test('is asked for automatically one at a time, and within the cap', () => {
    expect(judged({}, { ...quietMoments, concurrentTopUps: 1 })).toEqual([
      'at every look: one automatic top-up of an account at a time',
    ]);
    expect(judged({}, { ...quietMoments, exceededCaps: 1 })).toEqual([
      'at every look: automatic top-ups within what their owner allows in a month',
    ]);
  });
});

test('a grant that has ended has nothing left', () => {
  const says = 'nothing is left of a grant that has expired or was voided';
  const grant = { accountId: 'a', number: 3, remaining: 0n };
  expect(broken(judgeGrants({ endedGrants: [grant] }))).toEqual([]);
  expect(broken(judgeGrants({ endedGrants: [grant, { ...grant, remaining: 1n }] }))).toEqual([says]);
});
