/**
 * What must be true of payments: the ledger has each that Stripe has, once, and none that Stripe does not have; what was
 * given back was taken once; and a card is charged only for an order. What is due is computed here a second time.
 */
import { formatMoney } from '../../src/lib/money.ts';
import type { Evidence } from './evidence.ts';
import type { PaymentLog, RecordedOrder, StripePayment } from './payment-log.ts';
import { checkEach, summary, type Truth } from './truth.ts';

const unitsPerCent = 10n ** 10n;

export function judgePayments({ payments: log, watched }: Pick<Evidence, 'payments' | 'watched'>): Truth[] {
  return [
    ...judgeCredits(log),
    judgeTakings(log),
    judgeStates(log),
    judgeCards(log),
    summary(
      'at every look: one automatic top-up of an account at a time',
      watched.samples,
      watched.concurrentTopUps,
    ),
    summary(
      'at every look: automatic top-ups within what their owner allows in a month',
      watched.samples,
      watched.exceededCaps,
    ),
  ];
}

function judgeCredits({ payments, orders, credits }: PaymentLog): Truth[] {
  const paid = payments.filter(({ state }) => state === 'paid');
  const paidOrders = new Set(paid.map(({ order }) => order));
  const byId = new Map(orders.map((order) => [order.id, order]));
  const bySubject = Map.groupBy(credits, ({ subject }) => subject);
  return [
    checkEach('every payment that was made is credited once, with its amount', paid, (payment) => {
      const order = byId.get(payment.order);
      const entries = bySubject.get(payment.order) ?? [];
      const isRight =
        entries.length === 1 &&
        entries[0]?.amount === payment.beforeTax * unitsPerCent &&
        entries[0].accountId === order?.accountId;
      return isRight
        ? null
        : `${payment.id}, order ${payment.order} ${order?.state ?? 'is missing'}: credited ${entries.map(({ amount }) => formatMoney(amount)).join(' and ') || 'nothing'}`;
    }),
    checkEach('nothing is credited that was not paid', credits, ({ accountId, subject, amount }) =>
      paidOrders.has(subject) ? null : `order ${subject}: ${formatMoney(amount)} of ${accountId}`,
    ),
  ];
}

/** Less may be taken than is due only if the account has nothing left. */
function judgeTakings({ payments, stripeReversals, orders, reversals, takings }: PaymentLog): Truth {
  const byId = new Map(orders.map((order) => [order.id, order]));
  const byIntent = Map.groupBy(stripeReversals, ({ intent }) => intent);
  const taken = Map.groupBy(takings, ({ subject }) => subject);
  const takenFor = (id: string) => (taken.get(id) ?? []).reduce((sum, { amount }) => sum - amount, 0n);
  const known = new Set(stripeReversals.map(({ id }) => id));
  const strays = [...taken.keys()].filter((id) => !known.has(id));
  const miscounted = reversals.filter((reversal) => reversal.taken !== takenFor(reversal.id));
  const reversed = payments.filter(({ intent }) => intent !== null && byIntent.has(intent));
  const truth = checkEach(
    'what was refunded or disputed is taken once, as far as the balance allows',
    reversed,
    (payment) => {
      const own = byIntent.get(payment.intent ?? '') ?? [];
      const sum = own.reduce((total, { id }) => total + takenFor(id), 0n);
      const due = dueFor(payment, own);
      const isOwed = sum >= 0n && sum < due && byId.get(payment.order)?.available === 0n;
      return sum === due || isOwed
        ? null
        : `order ${payment.order}: ${formatMoney(sum)} taken, ${formatMoney(due)} due`;
    },
  );
  const wrong = [
    ...truth.wrong,
    ...strays.map((id) => `${id} took something, and is not Stripe’s`),
    ...miscounted.map(({ id }) => `${id} says that it took something else than the ledger`),
  ];
  return { ...truth, wrong, mayBeUntested: reversed.length === 0 };
}

/** Each takes its part of the credit; all of them together at most all of it. */
function dueFor({ beforeTax, withTax }: StripePayment, reversals: PaymentLog['stripeReversals']): bigint {
  const credit = beforeTax * unitsPerCent;
  const amounts = reversals.filter(({ hasTaken }) => hasTaken).map(({ amount }) => amount);
  if (amounts.reduce((sum, amount) => sum + amount, 0n) >= withTax) return credit;
  return amounts.reduce((sum, amount) => sum + (credit * amount) / withTax, 0n);
}

function judgeStates({ payments, orders }: PaymentLog): Truth {
  const byOrder = Map.groupBy(payments, ({ order }) => order);
  return checkEach('every order is in the state that Stripe’s objects say', orders, (order) => {
    const own = byOrder.get(order.id) ?? [];
    return own.length <= 1 && isInState(order, own[0]) ? null : describe(order, own);
  });
}

/** A gateway that was killed before it had stored Stripe's ID left a page that nobody was sent to. */
function isInState({ state, object, kind }: RecordedOrder, payment: StripePayment | undefined): boolean {
  if (payment === undefined) return state === 'new';
  if (object === null) return state === 'new' && kind === 'checkout' && payment.state === 'open';
  return object === payment.id && state === payment.state;
}

function judgeCards({ payments, charged, orders }: PaymentLog): Truth {
  const known = new Set(orders.map(({ id }) => id));
  const byIntent = Map.groupBy(payments, ({ intent }) => intent);
  return checkEach('a card is charged only for an order, and once for each', charged, (intent) => {
    const [payment, ...more] = byIntent.get(intent) ?? [];
    const isRight = payment !== undefined && more.length === 0 && known.has(payment.order);
    return isRight ? null : `${intent}: ${payment === undefined ? 'for nothing' : `order ${payment.order}`}`;
  });
}

function describe({ id, kind, state }: RecordedOrder, own: readonly StripePayment[]): string {
  return `order ${id}, ${kind}, is ${state}; Stripe says ${own.map((one) => `${one.id} ${one.state}`).join(' and ') || 'nothing'}`;
}
