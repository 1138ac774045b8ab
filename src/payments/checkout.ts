/** Opens a page of Stripe's on which someone pays for credit. The order comes first. */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { newId } from '../lib/ids.ts';
import type { Money } from '../lib/money.ts';
import { type Payer, withCustomer } from './customers.ts';
import { centsOf } from './order.ts';
import { closeUnopened, insertCheckoutOrder, storeSession } from './order-store.ts';
import { codeOfStripe, isRefusedByStripe, type Stripe, type StripeSettings } from './stripe-client.ts';

/** Stripe allows 30 minutes to 24 hours. */
const openSeconds = 60 * 60;

type CheckoutServices = Readonly<{
  sql: SQL;
  stripe: Stripe;
  settings: Pick<StripeSettings, 'isLive' | 'hasTax' | 'origin'>;
}>;

/** Returns the address of the page. */
export async function openCheckout(
  services: CheckoutServices,
  payer: Payer,
  amount: Money,
  savesCard: boolean,
): Promise<string> {
  const { accountId, userId } = payer;
  return await withCustomer(services, payer, (customer) =>
    openPage(services, { accountId, userId, customer, amount, savesCard }),
  );
}

type Purchase = Readonly<{ customer: string; amount: Money; savesCard: boolean; accountId: string }>;

async function openPage(
  { sql, stripe, settings }: CheckoutServices,
  purchase: Purchase & Readonly<{ userId: string }>,
): Promise<string> {
  const id = newId();
  await insertCheckoutOrder(sql, { id, isLive: settings.isLive, ...purchase });
  try {
    const session = await stripe.checkout.sessions.create(sessionParameters(id, purchase, settings), {
      idempotencyKey: `tollgate-checkout-${id}`,
    });
    await storeSession(sql, id, session.id);
    if (!session.url) throw new ApiError('payment_provider_error');
    return session.url;
  } catch (cause) {
    if (isRefusedByStripe(cause)) await closeUnopened(sql, id, codeOfStripe(cause));
    throw cause;
  }
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
