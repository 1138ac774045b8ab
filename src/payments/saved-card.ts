/** The card of a customer, after it may have changed at Stripe. An event only says that it should be looked at. */
import type { SQL } from 'bun';
import { forgetCard, forgetCardOf, saveCard } from './customers.ts';
import type { Pointers } from './event.ts';
import { cardOf, idOf } from './objects.ts';
import type { Stripe } from './stripe-client.ts';

type Known = Readonly<{
  account_id: string;
  customer: string;
  payment_method: string | null;
  default_method: string | null;
}>;

type CardServices = Readonly<{ sql: SQL; stripe: Stripe }>;

export async function checkCard(
  { sql, stripe }: CardServices,
  { isLive, paymentMethod, customer: named }: Pick<Pointers, 'isLive' | 'paymentMethod' | 'customer'>,
): Promise<void> {
  const [known] = await sql<Known[]>`
    select account_id, customer, payment_method, default_method from payment_customers
    where is_live = ${isLive} and (payment_method = ${paymentMethod} or customer = ${named})`;
  if (known === undefined) return;
  const customer = await stripe.customers.retrieve(known.customer, {
    expand: ['invoice_settings.default_payment_method'],
  });
  if (customer.deleted === true) return await forgetCardOf(sql, known.customer);
  const chosen = customer.invoice_settings.default_payment_method;
  if (await isNewlyChosen(sql, known, idOf(chosen))) {
    const card = cardOf(typeof chosen === 'object' ? chosen : null);
    if (card !== null) return await saveCard(sql, known.account_id, known.customer, card);
  }
  if (known.payment_method === null) return;
  const { customer: owner } = await stripe.paymentMethods.retrieve(known.payment_method);
  if (idOf(owner) !== known.customer) await forgetCard(sql, known.payment_method);
}

/** A card that was saved with a payment does not become Stripe's default, so that one counts only when it changes. */
async function isNewlyChosen(sql: SQL, known: Known, chosen: string | null): Promise<boolean> {
  if (chosen === known.default_method) return false;
  const changed = await sql`
    update payment_customers set default_method = ${chosen}, updated_at = now()
    where account_id = ${known.account_id} and customer = ${known.customer}
      and default_method is distinct from ${chosen} returning 1`;
  return chosen !== null && changed.length > 0;
}
