/** What Stripe has of payments, and what the ledger has of them, once all is quiet. */
import type { SQL } from 'bun';
import { moneyFromDatabase } from '../../src/lib/money.ts';
import type { FakeStripe, Json } from '../../tests/support/fake-stripe.ts';

/** A checkout or an invoice, which names an order. Amounts are in cents. */
export type StripePayment = Readonly<{
  id: string;
  kind: 'checkout' | 'automatic';
  order: string;
  /** What follows from Stripe's objects alone. */
  state: 'open' | 'processing' | 'paid' | 'failed' | 'expired';
  beforeTax: bigint;
  withTax: bigint;
  /** When it had been paid, at the latest. */
  paidAtMs: number | null;
  intent: string | null;
}>;

export type StripeReversal = Readonly<{
  id: string;
  kind: 'refund' | 'dispute';
  intent: string;
  amount: bigint;
  /** Whether it took money that did not come back. */
  hasTaken: boolean;
}>;

export type RecordedOrder = Readonly<{
  id: string;
  accountId: string;
  kind: string;
  amount: bigint;
  state: string;
  /** Stripe's ID of its checkout or invoice. */
  object: string | null;
  creditedAtMs: number | null;
  /** What its account could still pay with. */
  available: bigint;
}>;

export type RecordedReversal = Readonly<{ id: string; order: string; taken: bigint }>;

/** An entry for a payment, or for a refund or dispute of one. */
export type PaymentEntry = Readonly<{ accountId: string; subject: string; amount: bigint }>;

export type PaymentLog = Readonly<{
  payments: readonly StripePayment[];
  /** The IDs of payments for which money left a card or a bank. */
  charged: readonly string[];
  stripeReversals: readonly StripeReversal[];
  orders: readonly RecordedOrder[];
  reversals: readonly RecordedReversal[];
  /** By the ID of the order. */
  credits: readonly PaymentEntry[];
  /** By the ID of the refund or dispute. */
  takings: readonly PaymentEntry[];
}>;

export async function readPayments(sql: SQL, stripe: FakeStripe): Promise<PaymentLog> {
  return { ...readStripe(stripe), ...(await readOrders(sql)), ...(await readEntries(sql)) };
}

function readStripe({ objects }: FakeStripe): Pick<PaymentLog, 'payments' | 'charged' | 'stripeReversals'> {
  const all = [...objects.values()];
  const ofType = (type: string) => all.filter(({ object }) => object === type);
  const intents = new Map(ofType('payment_intent').map((intent) => [`${intent.id}`, intent]));
  const invoiceIntents = new Map(
    ofType('invoice_payment').map((one) => [`${one.invoice}`, textOf((one.payment as Json).payment_intent)]),
  );
  // Stripe's times are whole seconds.
  const paidAt = new Map(
    ofType('charge').map((charge) => [`${charge.payment_intent}`, 1_000 * (Number(charge.created) + 1)]),
  );
  const invoices = ofType('invoice').filter((invoice) => orderIn(invoice) !== '');
  return {
    payments: [
      ...ofType('checkout.session').map((session) => sessionOf(session, intents)),
      ...invoices.map((invoice) => invoiceOf(invoice, invoiceIntents.get(`${invoice.id}`) ?? null)),
    ].map((payment) => ({ ...payment, paidAtMs: paidAt.get(payment.intent ?? '') ?? null })),
    charged: [...intents.values()].filter(({ status }) => status === 'succeeded').map(({ id }) => `${id}`),
    stripeReversals: [
      ...ofType('refund').map((one) => reversalOf('refund', one, one.status !== 'failed')),
      ...ofType('dispute').map((one) => reversalOf('dispute', one, one.status !== 'won')),
    ],
  };
}

type Untimed = Omit<StripePayment, 'paidAtMs'>;

function sessionOf(session: Json, intents: ReadonlyMap<string, Json>): Untimed {
  const intent = textOf(session.payment_intent);
  const unpaid = intents.get(intent ?? '')?.status === 'processing' ? 'processing' : 'failed';
  const complete = session.payment_status === 'paid' ? 'paid' : unpaid;
  return {
    id: `${session.id}`,
    kind: 'checkout',
    order: `${session.client_reference_id}`,
    state: session.status === 'complete' ? complete : session.status === 'expired' ? 'expired' : 'open',
    beforeTax: BigInt(Number(session.amount_subtotal)),
    withTax: BigInt(Number(session.amount_total)),
    intent,
  };
}

function invoiceOf(invoice: Json, intent: string | null): Untimed {
  return {
    id: `${invoice.id}`,
    kind: 'automatic',
    order: orderIn(invoice),
    state: invoice.status === 'paid' ? 'paid' : invoice.status === 'void' ? 'failed' : 'open',
    beforeTax: BigInt(Number(invoice.subtotal)),
    withTax: BigInt(Number(invoice.total)),
    intent,
  };
}

const orderIn = ({ metadata }: Json) => textOf((metadata as Json | undefined)?.order) ?? '';
const textOf = (value: unknown) => (typeof value === 'string' ? value : null);

function reversalOf(kind: StripeReversal['kind'], one: Json, hasTaken: boolean): StripeReversal {
  return {
    id: `${one.id}`,
    kind,
    intent: `${one.payment_intent}`,
    amount: BigInt(Number(one.amount)),
    hasTaken,
  };
}

type OrderRow = Omit<RecordedOrder, 'amount' | 'available'> & { amount: string; available: string };

async function readOrders(sql: SQL): Promise<Pick<PaymentLog, 'orders' | 'reversals'>> {
  const orders = await sql<OrderRow[]>`
    select payment_orders.id, account_id as "accountId", kind, amount, state,
           case kind when 'checkout' then session else invoice end as object,
           extract(epoch from credited_at)::float8 * 1000 as "creditedAtMs", (balance - held)::numeric(38,12) as available
    from payment_orders join accounts on accounts.id = account_id`;
  const reversals = await sql<{ id: string; order: string; taken: string }[]>`
    select id, order_id as order, taken from payment_reversals`;
  return {
    orders: orders.map((row) => ({
      ...row,
      amount: moneyFromDatabase(row.amount),
      available: moneyFromDatabase(row.available),
    })),
    reversals: reversals.map((row) => ({ ...row, taken: moneyFromDatabase(row.taken) })),
  };
}

type EntryRow = { accountId: string; subject: string; amount: string };

/** Found by their words, too: a credit without an order would be a fault. */
async function readEntries(sql: SQL): Promise<Pick<PaymentLog, 'credits' | 'takings'>> {
  const credits = await sql<EntryRow[]>`
    select account_id as "accountId", coalesce(reference::text, '') as subject, amount from ledger_entries
    where kind = 'credit' and actor is null
      and (memo in ('Payment', 'Automatic top-up') or reference in (select id from payment_orders))`;
  const takings = await sql<EntryRow[]>`
    select account_id as "accountId", split_part(reference_text, '/', 1) as subject, amount from ledger_entries
    where kind = 'correction' and actor is null and reference_text is not null`;
  const entryOf = (row: EntryRow) => ({ ...row, amount: moneyFromDatabase(row.amount) });
  return { credits: credits.map(entryOf), takings: takings.map(entryOf) };
}
