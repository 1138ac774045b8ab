/**
 * Charges a saved card when the balance is low, through an invoice, which has tax and a receipt. One at a time in an account:
 * the order is what keeps a second one from starting. A card that fails is not tried again before an owner has acted.
 */
import type { SQL } from 'bun';
import { newId } from '../lib/ids.ts';
import { formatMoney } from '../lib/money.ts';
import { pauseAutomatic } from './customers.ts';
import { centsOf, leastAmount, type Order } from './order.ts';
import { storeInvoice } from './order-store.ts';
import { codeOfStripe, isRefusedByStripe, type Stripe } from './stripe-client.ts';

/** After a day, Stripe forgets idempotency keys, so whatever exists has to be found. */
const keyLifeMs = 23 * 60 * 60 * 1000;

/** Makes the orders of all accounts that need one. Returns their IDs. */
export async function beginTopUps(sql: SQL, isLive: boolean, limit: number): Promise<string[]> {
  const low = await sql<{ id: string }[]>`
    select accounts.id from payment_customers join accounts on accounts.id = account_id
    where is_automatic and is_live = ${isLive} and paused_at is null and payment_method is not null
      and suspended_at is null and balance - held < threshold
      and not exists (
        select 1 from payment_orders as running where running.account_id = accounts.id and kind = 'automatic'
          and state in ('new', 'open', 'processing'))
    limit ${limit}`;
  const begun: string[] = [];
  for (const { id } of low) {
    const [row] = await sql<[{ order: string | null }]>`
      select begin_automatic_top_up(${id}, ${newId()}, ${isLive}, ${formatMoney(leastAmount)}::numeric) as order`;
    if (row.order !== null) begun.push(row.order);
  }
  return begun;
}

type ChargeServices = Readonly<{ sql: SQL; stripe: Stripe; hasTax: boolean }>;

/** Does the next steps of the order's invoice, up to its payment. Each can be repeated. */
export async function advanceInvoice(services: ChargeServices, order: Order): Promise<Order> {
  if (order.state !== 'new' && order.state !== 'open') return order;
  const { sql, stripe } = services;
  const id = order.invoice ?? (await findOrCreate(services, order));
  if (id === null) return order;
  await storeInvoice(sql, order.id, id);
  let invoice = await stripe.invoices.retrieve(id);
  if (invoice.status === 'draft') {
    if (invoice.lines.data.length === 0) await addLine(stripe, order, id);
    invoice = await stripe.invoices.finalizeInvoice(
      id,
      { auto_advance: false },
      { idempotencyKey: `tollgate-finalize-${order.id}` },
    );
  }
  if (invoice.status === 'open') await pay(services, order, id);
  return { ...order, invoice: id };
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
async function pay({ sql, stripe }: ChargeServices, order: Order, invoice: string): Promise<void> {
  const [card] = await sql<{ payment_method: string | null }[]>`
    select payment_method from payment_customers where account_id = ${order.accountId} and customer = ${order.customer}`;
  try {
    if (!card?.payment_method) throw new NoCardError();
    const paid = await stripe.invoices.pay(
      invoice,
      { payment_method: card.payment_method, off_session: true },
      { idempotencyKey: `tollgate-pay-${order.id}` },
    );
    // Otherwise a bank debit is on its way.
    if (paid.status !== 'open' || (await isProcessing(stripe, invoice))) return;
    await giveUp(sql, stripe, order, invoice, 'declined');
  } catch (error) {
    if (error instanceof NoCardError) await giveUp(sql, stripe, order, invoice, 'no_card');
    else if (isRefusedByStripe(error)) await giveUp(sql, stripe, order, invoice, codeOfStripe(error));
    else throw error;
  }
}

class NoCardError extends Error {}

async function isProcessing(stripe: Stripe, invoice: string): Promise<boolean> {
  const { data } = await stripe.invoicePayments.list({
    invoice,
    limit: 1,
    expand: ['data.payment.payment_intent'],
  });
  const intent = data[0]?.payment.payment_intent;
  return typeof intent === 'object' && (intent.status === 'processing' || intent.status === 'succeeded');
}

async function giveUp(
  sql: SQL,
  stripe: Stripe,
  order: Order,
  invoice: string,
  reason: string,
): Promise<void> {
  await pauseAutomatic(sql, order.accountId, reason);
  // It may have been paid after all, which the look that follows finds out.
  await stripe.invoices.voidInvoice(invoice).catch((error: unknown) => {
    if (!isRefusedByStripe(error)) throw error;
  });
}
