/** A payment that was made and credited, without anyone who paid. */
import type { SQL } from 'bun';
import { newId } from '../../src/lib/ids.ts';
import type { FakeStripe } from './fake-stripe.ts';

/** In whole USD. Returns the ID. */
export async function addPaidOrder(
  sql: SQL,
  stripe: FakeStripe,
  accountId: string,
  amount: number,
): Promise<string> {
  const order = newId();
  const { session, intent } = stripe.paidCheckout(order, `cus_${accountId}`, amount * 100);
  await sql`
    insert into payment_orders (id, account_id, kind, amount, currency, is_live, customer, session, payment_intent, paid_minor,
      state, credited_at)
    values (${order}, ${accountId}, 'checkout', ${amount}, 'usd', false, ${`cus_${accountId}`}, ${session}, ${intent},
      ${amount * 100}, 'paid', now())`;
  await sql`select book_own_movement('credit', ${accountId}, ${amount}::numeric, 'Payment', ${order}, null)`;
  return order;
}

/** What makes a gateway take payments. Its address is nowhere, because nobody pays. */
export function paymentSettings(stripe: FakeStripe): Record<string, string> {
  return {
    PAYMENTS: 'stripe',
    STRIPE_SECRET_KEY: stripe.secretKey,
    STRIPE_WEBHOOK_SECRET: stripe.webhookSecret,
    STRIPE_API_URL: stripe.url,
    PUBLIC_URL: 'http://127.0.0.1:9',
  };
}
