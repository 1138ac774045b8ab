/** Opens a page of Stripe's on which someone pays for credit. The order comes first. */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { newId } from '../lib/ids.ts';
import type { Money } from '../lib/money.ts';
import { customerOf, replaceCustomer } from './customers.ts';
import { centsOf } from './order.ts';
import { closeUnopened, insertCheckoutOrder, storeSession } from './order-store.ts';
import {
  codeOfStripe,
  isMissing,
  isRefusedByStripe,
  type Stripe,
  type StripeSettings,
} from './stripe-client.ts';

/** Stripe allows 30 minutes to 24 hours. */
const openSeconds = 60 * 60;

export type Payer = Readonly<{
  accountId: string;
  accountName: string;
  userId: string;
  email: string;
}>;

type CheckoutServices = Readonly<{
  sql: SQL;
  stripe: Stripe;
  settings: Pick<StripeSettings, 'isLive' | 'hasTax' | 'origin'>;
}>;

/** Returns the address of the page. */
export async function openCheckout(
  { sql, stripe, settings }: CheckoutServices,
  payer: Payer,
  amount: Money,
  savesCard: boolean,
): Promise<Readonly<{ orderId: string; url: string }>> {
  const { accountId, accountName: name, email, userId } = payer;
  const person = { accountId, userId, name, email };
  const open = (customer: string) =>
    openPage({ sql, stripe, settings }, { accountId, userId, customer, amount, savesCard });
  try {
    const customer = await customerOf(sql, stripe, settings.isLive, person);
    return await open(customer).catch(async (error: unknown) => {
      if (!isMissing(error, 'customer')) throw error;
      return await open(await replaceCustomer(sql, stripe, person, customer));
    });
  } catch (cause) {
    throw asApiError(cause);
  }
}

type Purchase = Readonly<{ customer: string; amount: Money; savesCard: boolean; accountId: string }>;

async function openPage(
  { sql, stripe, settings }: CheckoutServices,
  purchase: Purchase & Readonly<{ userId: string }>,
): Promise<Readonly<{ orderId: string; url: string }>> {
  const id = newId();
  await insertCheckoutOrder(sql, { id, isLive: settings.isLive, ...purchase });
  try {
    const session = await stripe.checkout.sessions.create(sessionParameters(id, purchase, settings), {
      idempotencyKey: `tollgate-checkout-${id}`,
    });
    await storeSession(sql, id, session.id);
    if (!session.url) throw new ApiError('payment_provider_error');
    return { orderId: id, url: session.url };
  } catch (cause) {
    if (isRefusedByStripe(cause)) await closeUnopened(sql, id, codeOfStripe(cause));
    throw cause;
  }
}

/** What Stripe has refused is the operator's to repair. Its sentence goes to the log, not to the customer. */
export function asApiError(cause: unknown): unknown {
  if (cause instanceof ApiError || codeOfStripe(cause) === 'unknown') return cause;
  return new ApiError('payment_provider_error', { cause });
}

function sessionParameters(
  order: string,
  { customer, amount, savesCard, accountId }: Purchase,
  { hasTax, origin }: CheckoutServices['settings'],
): Stripe.Checkout.SessionCreateParams {
  const back = `${origin}/billing?account=${accountId}`;
  return {
    mode: 'payment',
    client_reference_id: order,
    customer,
    line_items: [
      {
        quantity: 1,
        price_data: {
          currency: 'usd',
          unit_amount: Number(centsOf(amount)),
          tax_behavior: 'exclusive',
          product_data: { name: 'Credit' },
        },
      },
    ],
    metadata: { order },
    // Nothing else carries the order to the payment, which its refunds and disputes name.
    payment_intent_data: { metadata: { order }, ...(savesCard ? { setup_future_usage: 'off_session' } : {}) },
    invoice_creation: { enabled: true, invoice_data: { metadata: { order } } },
    automatic_tax: { enabled: hasTax },
    ...(hasTax ? { customer_update: { address: 'auto' } } : {}),
    // What is credited has one currency and no discount.
    adaptive_pricing: { enabled: false },
    allow_promotion_codes: false,
    expires_at: Math.floor(Date.now() / 1000) + openSeconds,
    success_url: `${back}&paid=${order}`,
    cancel_url: back,
  };
}
