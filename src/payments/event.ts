/** Which orders an event of Stripe points to. Nothing else in it is believed. */
import { isUuid } from '../lib/ids.ts';

export type Pointers = Readonly<{
  isLive: boolean;
  /** IDs of our orders. */
  orders: readonly string[];
  /** IDs of Stripe's checkouts, payments and invoices. */
  objects: readonly string[];
  /** A saved card that has changed, or a customer that may have another one; null when there is none. */
  paymentMethod: string | null;
  customer: string | null;
  /** It concerns a payment, but does not say which: a thin event names nothing but the refund or the dispute. */
  isVague: boolean;
}>;

/** What is read from Stripe's list of events. */
export const listedTypes = [
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
  'payment_intent.succeeded',
  'charge.refunded',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'charge.dispute.created',
  'charge.dispute.updated',
  'charge.dispute.closed',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
  'invoice.paid',
  'radar.early_fraud_warning.created',
  'customer.updated',
  'payment_method.detached',
];

const followed =
  /^(?:v1\.)?(?:checkout\.session|payment_intent|charge|refund|invoice|payment_method|radar\.early_fraud_warning|customer(?=\.updated$))\./;
const objectId = /^(?:cs|pi|in)_\w{1,250}$/;

/** Null for an event that concerns no payment. Both of Stripe's forms are read: with a copy of the object, and without. */
export function pointersOf(event: unknown): Pointers | null {
  const { type, livemode, data, related_object: related } = recordOf(event);
  if (typeof type !== 'string' || !followed.test(type)) return null;
  const object = recordOf(recordOf(data).object ?? related);
  const own = textOf(object.id);
  const orders = [recordOf(object.metadata).order, object.client_reference_id].map(textOf).filter(isUuid);
  const objects = [own, idOf(object.payment_intent), idOf(object.invoice)].filter((id) => objectId.test(id));
  const customer = /^cus_\w{1,250}$/.test(own) ? own : null;
  const paymentMethod = /^pm_\w{1,250}$/.test(own) ? own : null;
  const namesNothing = orders.length + objects.length === 0 && customer === null && paymentMethod === null;
  return {
    isLive: livemode === true,
    orders,
    objects,
    isVague: namesNothing && listedTypes.includes(type.replace(/^v1\./, '')),
    customer,
    paymentMethod,
  };
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : '');
/** Another object is its ID, or all of it. */
const idOf = (value: unknown) => textOf(typeof value === 'string' ? value : recordOf(value).id);
