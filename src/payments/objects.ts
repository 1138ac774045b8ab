/** Asks Stripe about an order, and translates its objects. The only place that knows the fields of those. */
import type { Card, Facts, Reversal, Warning } from './facts.ts';
import type { Order } from './order.ts';
import { isForbiddenByStripe, type Stripe } from './stripe-client.ts';

/** Nobody refunds a payment more often. */
const maxReversals = 1_000;
const pageSize = 100;

/** Null when Stripe has no object for the order yet. */
export async function readFacts(stripe: Stripe, order: Order): Promise<Facts | null> {
  if (order.kind === 'checkout')
    return order.session === null ? null : await readSession(stripe, order.session);
  return order.invoice === null ? null : await readInvoice(stripe, order.invoice);
}

async function readSession(stripe: Stripe, id: string): Promise<Facts> {
  const session = await stripe.checkout.sessions.retrieve(id, {
    expand: ['payment_intent.latest_charge', 'payment_intent.payment_method', 'invoice'],
  });
  const intent = objectOf(session.payment_intent);
  const progress = progressOfSession(session, intent);
  const invoice = objectOf(session.invoice);
  return {
    order: session.client_reference_id,
    isRightMethod: session.mode === 'payment' && session.payment_status !== 'no_payment_required',
    isLive: session.livemode,
    customer: idOf(session.customer),
    currency: session.currency,
    subtotal: centsOrNull(session.amount_subtotal),
    discount: BigInt(session.total_details?.amount_discount ?? 0),
    progress,
    invoice: idOf(session.invoice),
    ...(await readPayment(stripe, intent, progress)),
    ...(typeof invoice?.hosted_invoice_url === 'string' ? { receiptUrl: invoice.hosted_invoice_url } : {}),
  };
}

function progressOfSession(
  session: Stripe.Checkout.Session,
  intent: Stripe.PaymentIntent | null,
): Facts['progress'] {
  if (session.status === 'expired') return 'expired';
  if (session.status !== 'complete') return 'open';
  if (session.payment_status !== 'unpaid') return 'paid';
  // A bank debit or a voucher: it is known only later whether the money comes.
  return intent !== null && endedIntents.has(intent.status) ? 'failed' : 'processing';
}

const endedIntents = new Set<string>(['requires_payment_method', 'canceled']);

async function readInvoice(stripe: Stripe, id: string): Promise<Facts> {
  const [invoice, payments] = await Promise.all([
    stripe.invoices.retrieve(id),
    stripe.invoicePayments.list({ invoice: id, limit: pageSize }),
  ]);
  const attempt = payments.data.find(({ status }) => status === 'paid') ?? payments.data[0];
  const intentId = idOf(attempt?.payment.payment_intent ?? null);
  const intent =
    intentId === null
      ? null
      : await stripe.paymentIntents.retrieve(intentId, { expand: ['latest_charge', 'payment_method'] });
  const progress = progressOfInvoice(invoice, intent);
  const payment = await readPayment(stripe, intent, progress);
  return {
    order: invoice.metadata?.order ?? null,
    isRightMethod: invoice.collection_method === 'charge_automatically',
    isLive: invoice.livemode,
    customer: idOf(invoice.customer),
    currency: invoice.currency,
    subtotal: centsOrNull(invoice.subtotal),
    discount: (invoice.total_discount_amounts ?? []).reduce((sum, { amount }) => sum + BigInt(amount), 0n),
    progress,
    invoice: id,
    ...payment,
    failure: payment.failure ?? (progress === 'failed' ? invoice.status : null),
    ...(typeof invoice.hosted_invoice_url === 'string' ? { receiptUrl: invoice.hosted_invoice_url } : {}),
    card: null,
  };
}

function progressOfInvoice(invoice: Stripe.Invoice, intent: Stripe.PaymentIntent | null): Facts['progress'] {
  switch (invoice.status) {
    case 'paid':
      return 'paid';
    case 'void':
    case 'uncollectible':
      return 'failed';
    default:
      return intent?.status === 'processing' ? 'processing' : 'open';
  }
}

type PaymentFacts = Pick<
  Facts,
  'paymentIntent' | 'received' | 'failure' | 'receiptUrl' | 'card' | 'reversals' | 'warnings'
>;

async function readPayment(
  stripe: Stripe,
  intent: Stripe.PaymentIntent | null,
  progress: Facts['progress'],
): Promise<PaymentFacts> {
  if (intent === null) return noPayment;
  const [reversals, warnings] =
    progress === 'paid'
      ? await Promise.all([readReversals(stripe, intent.id), readWarnings(stripe, intent.id)])
      : [[], []];
  const error = intent.last_payment_error;
  return {
    paymentIntent: intent.id,
    received: BigInt(intent.amount_received),
    failure: error?.decline_code ?? error?.code ?? null,
    receiptUrl: objectOf(intent.latest_charge)?.receipt_url ?? null,
    card: intent.setup_future_usage === 'off_session' ? cardOf(objectOf(intent.payment_method)) : null,
    reversals,
    warnings,
  };
}

const noPayment: PaymentFacts = {
  paymentIntent: null,
  received: 0n,
  failure: null,
  receiptUrl: null,
  card: null,
  reversals: [],
  warnings: [],
};

async function readReversals(stripe: Stripe, paymentIntent: string): Promise<Reversal[]> {
  const of = { payment_intent: paymentIntent, limit: pageSize };
  const [refunds, disputes] = await Promise.all([
    stripe.refunds.list(of).autoPagingToArray({ limit: maxReversals }),
    stripe.disputes.list(of).autoPagingToArray({ limit: maxReversals }),
  ]);
  const reversalOf =
    (kind: Reversal['kind']) =>
    ({ id, amount, status, created }: Stripe.Refund | Stripe.Dispute): Reversal => ({
      id,
      kind,
      amount: BigInt(amount),
      status: status ?? 'unknown',
      createdAtSeconds: created,
    });
  return [...refunds.map(reversalOf('refund')), ...disputes.map(reversalOf('dispute'))];
}

/** A restricted key may lack the permission, which must not keep a payment from being credited. */
async function readWarnings(stripe: Stripe, paymentIntent: string): Promise<Warning[]> {
  const { data } = await stripe.radar.earlyFraudWarnings
    .list({ payment_intent: paymentIntent, limit: pageSize })
    .catch((error: unknown) => {
      if (isForbiddenByStripe(error)) return { data: [] };
      throw error;
    });
  return data.map(({ id, fraud_type, actionable }) => ({
    id,
    fraudType: fraud_type,
    isActionable: actionable,
  }));
}

/** Only cards can be charged later without their owner. */
export function cardOf(method: Stripe.PaymentMethod | null): Card | null {
  const card = method?.card;
  if (method === null || card === undefined) return null;
  const month = `${card.exp_month}`.padStart(2, '0');
  return {
    paymentMethod: method.id,
    brand: card.brand,
    last4: card.last4,
    expires: `${card.exp_year}-${month}`,
  };
}

const centsOrNull = (amount: number | null) => (amount === null ? null : BigInt(amount));

type Expandable = Readonly<{ id: string }>;

/** Stripe sends another object as its ID, or all of it if it was asked to. */
export function idOf(value: string | Expandable | null | undefined): string | null {
  return typeof value === 'string' ? value : (value?.id ?? null);
}

function objectOf<Value extends object>(
  value: string | Value | null | undefined,
): Exclude<Value, { deleted: true }> | null {
  return typeof value === 'object' && value !== null ? (value as Exclude<Value, { deleted: true }>) : null;
}
