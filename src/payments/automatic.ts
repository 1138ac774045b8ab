/**
 * Charges a saved card when the balance is low, through an invoice, which has tax and a receipt. One at a time in an account:
 * the order is what keeps a second one from starting. A card that fails is not tried again before an owner has acted.
 */
import type { SQL } from 'bun';
import { newId } from '../lib/ids.ts';
import { formatMoney } from '../lib/money.ts';
import { forgetCardOf } from './customers.ts';
import { centsOf, leastAmount, type Order } from './order.ts';
import { storeInvoice } from './order-store.ts';
import { codeOfStripe, isMissing, isRefusedByStripe, type Stripe } from './stripe-client.ts';

/** After a day, Stripe forgets idempotency keys, so whatever exists has to be found, and nothing is paid any more. */
const keyLifeMs = 23 * 60 * 60 * 1000;

/** Makes the orders of accounts that need one. Returns their IDs. */
export async function beginTopUps(sql: SQL, isLive: boolean, limit: number): Promise<string[]> {
  const least = formatMoney(leastAmount);
  const low = await sql<{ id: string }[]>`
    select account_id as id from wanted_top_ups(${isLive}, ${least}::numeric) limit ${limit}`;
  const begun: string[] = [];
  for (const { id } of low) {
    const [row] = await sql<[{ order: string | null }]>`
      select begin_automatic_top_up(${id}, ${newId()}, ${isLive}, ${least}::numeric) as order`;
    if (row.order !== null) begun.push(row.order);
  }
  return begun;
}

type ChargeServices = Readonly<{ sql: SQL; stripe: Stripe; hasTax: boolean }>;

/** Why the order was given up. Its invoice is void or gone, unless it was paid after all. */
export type Ending = Readonly<{
  /** `expired` if it was never tried, because it is not wanted any more. */
  state: 'failed' | 'expired';
  problem: string;
  /** Whether Stripe has no invoice for it. */
  hasNoInvoice: boolean;
}>;

export type Advanced = Readonly<{ order: Order; ending: Ending | null }>;

/** Does the next steps of the order's invoice, up to its payment. Each can be repeated. */
export async function advanceInvoice(services: ChargeServices, order: Order): Promise<Advanced> {
  if (order.state !== 'new' && order.state !== 'open') return { order, ending: null };
  const { sql } = services;
  let known = order;
  try {
    const invoice = order.invoice ?? (await findOrCreate(services, order));
    if (invoice === null) return { order, ending: { ...unwanted('too_old'), hasNoInvoice: true } };
    await storeInvoice(sql, order.id, invoice);
    known = { ...order, invoice };
    const refusal = await finalizeAndPay(services, known, invoice);
    if (refusal === null) return { order: known, ending: null };
    return { order: known, ending: await giveUp(services, known, refusal) };
  } catch (error) {
    if (!isRefusedByStripe(error)) throw error;
    if (isMissing(error, 'customer')) await forgetCardOf(sql, order.customer);
    const refusal = { state: 'failed', problem: codeOfStripe(error) } as const;
    return { order: known, ending: await giveUp(services, known, refusal) };
  }
}

type Refusal = Pick<Ending, 'state' | 'problem'>;

const unwanted = (problem: string): Refusal => ({ state: 'expired', problem });

/** Null when it was paid, or will be. What Stripe refuses is thrown. */
async function finalizeAndPay(services: ChargeServices, order: Order, id: string): Promise<Refusal | null> {
  const { stripe } = services;
  let invoice = await stripe.invoices.retrieve(id);
  if (invoice.status === 'draft') {
    if (invoice.lines.data.length === 0) await addLine(stripe, order, id);
    invoice = await stripe.invoices.finalizeInvoice(
      id,
      { auto_advance: false },
      { idempotencyKey: `tollgate-finalize-${order.id}` },
    );
  }
  return invoice.status === 'open' ? await pay(services, order, id) : null;
}

/** Null when it is too late to create one. */
async function findOrCreate({ stripe, hasTax }: ChargeServices, order: Order): Promise<string | null> {
  if (Date.now() - order.createdAt.getTime() > keyLifeMs) {
    const invoices = await stripe.invoices.list({ customer: order.customer, limit: 100 });
    return invoices.data.find(({ metadata }) => metadata?.order === order.id)?.id ?? null;
  }
  const { id } = await stripe.invoices.create(
    {
      customer: order.customer,
      collection_method: 'charge_automatically',
      // Stripe must not try the card again by itself.
      auto_advance: false,
      currency: order.currency,
      pending_invoice_items_behavior: 'exclude',
      automatic_tax: { enabled: hasTax },
      // Otherwise it has those of the customer, and what is paid would not be what is credited.
      discounts: '',
      metadata: { order: order.id },
    },
    { idempotencyKey: `tollgate-invoice-${order.id}` },
  );
  return id ?? null;
}

export async function addLine(stripe: Stripe, order: Order, invoice: string): Promise<void> {
  await stripe.invoiceItems.create(
    {
      customer: order.customer,
      invoice,
      amount: Number(centsOf(order.amount)),
      currency: order.currency,
      description: 'Credit',
      tax_behavior: 'exclusive',
    },
    { idempotencyKey: `tollgate-line-${order.id}` },
  );
}

/** Tries the card once: with the same key, Stripe answers as it did the first time. */
async function pay({ sql, stripe }: ChargeServices, order: Order, invoice: string): Promise<Refusal | null> {
  const reason = await whyUnwanted(sql, order);
  if (reason !== null) return unwanted(reason);
  const { paymentMethod } = order;
  if (paymentMethod === null) return { state: 'failed', problem: 'no_card' };
  const paid = await stripe.invoices.pay(
    invoice,
    { payment_method: paymentMethod, off_session: true },
    { idempotencyKey: `tollgate-pay-${order.id}` },
  );
  // Otherwise a bank debit is on its way.
  if (paid.status !== 'open' || (await isProcessing(stripe, invoice))) return null;
  return { state: 'failed', problem: 'declined' };
}

/** Much may have changed since the order was made, if Stripe could not be reached. Null when it is still wanted. */
async function whyUnwanted(
  sql: SQL,
  { accountId, customer, paymentMethod, createdAt }: Order,
): Promise<string | null> {
  if (Date.now() - createdAt.getTime() > keyLifeMs) return 'too_old';
  const [row] = await sql<{ reason: string | null }[]>`
    select case when not is_automatic then 'turned_off' when paused_at is not null then 'paused'
                when payment_method is distinct from ${paymentMethod} then 'other_card'
                when suspended_at is not null then 'suspended' when balance - held >= threshold then 'enough_credit' end as reason
    from payment_customers join accounts on accounts.id = account_id
    where account_id = ${accountId} and customer = ${customer}`;
  return row === undefined ? 'other_customer' : row.reason;
}

async function isProcessing(stripe: Stripe, invoice: string): Promise<boolean> {
  const { data } = await stripe.invoicePayments.list({
    invoice,
    limit: 1,
    expand: ['data.payment.payment_intent'],
  });
  const intent = data[0]?.payment.payment_intent;
  return typeof intent === 'object' && (intent.status === 'processing' || intent.status === 'succeeded');
}

/** Nobody may pay the invoice later. It may have been paid after all, which the look that follows finds out. */
async function giveUp({ stripe }: ChargeServices, { invoice }: Order, refusal: Refusal): Promise<Ending> {
  if (invoice === null) return { ...refusal, hasNoInvoice: true };
  try {
    const { status } = await stripe.invoices.retrieve(invoice);
    if (status === 'draft') await stripe.invoices.del(invoice);
    if (status === 'open') await stripe.invoices.voidInvoice(invoice);
    return { ...refusal, hasNoInvoice: status === 'draft' };
  } catch (error) {
    if (!isRefusedByStripe(error)) throw error;
    return { ...refusal, hasNoInvoice: isMissing(error) };
  }
}
