/** Accounts as Stripe knows them, and the card that each has saved there. */
import type { SQL } from 'bun';
import type { Card } from './facts.ts';
import { asApiError, isMissing, type Stripe, type StripeSettings } from './stripe-client.ts';

export type Payer = Readonly<{ accountId: string; accountName: string; userId: string; email: string }>;

type CustomerServices = Readonly<{ sql: SQL; stripe: Stripe; settings: Pick<StripeSettings, 'isLive'> }>;

/** Opens a page of Stripe's for the account's customer, or for another one if that was deleted at Stripe. */
export async function withCustomer<Opened>(
  { sql, stripe, settings }: CustomerServices,
  payer: Payer,
  open: (customer: string) => Promise<Opened>,
): Promise<Opened> {
  try {
    const customer = await customerOf(sql, stripe, settings.isLive, payer);
    return await open(customer).catch(async (error: unknown) => {
      if (!isMissing(error, 'customer')) throw error;
      return await open(await replaceCustomer(sql, stripe, payer, customer));
    });
  } catch (cause) {
    throw asApiError(cause);
  }
}

/** One for each account, whoever asks first. */
async function customerOf(
  sql: SQL,
  stripe: Stripe,
  isLive: boolean,
  { accountId, accountName: name, userId, email }: Payer,
): Promise<string> {
  const [known] = await sql<{ customer: string }[]>`
    select customer from payment_customers where account_id = ${accountId} and is_live = ${isLive}`;
  if (known !== undefined) return known.customer;
  // Whoever asks twice gets the same one. Of two owners who ask at the same time, one gets one that is never used.
  const created = await stripe.customers.create(
    { name, email, metadata: { account: accountId } },
    { idempotencyKey: `tollgate-customer-${accountId}-${userId}` },
  );
  // What was made with a test key is replaced by the first live payment.
  const [stored] = await sql<[{ customer: string }]>`
    insert into payment_customers as known (account_id, is_live, customer) values (${accountId}, ${isLive}, ${created.id})
    on conflict (account_id) do update
    set customer = case when known.is_live = excluded.is_live then known.customer else excluded.customer end,
        payment_method = case when known.is_live = excluded.is_live then known.payment_method end,
        is_automatic = known.is_automatic and known.is_live = excluded.is_live,
        is_live = excluded.is_live, updated_at = now()
    returning customer`;
  return stored.customer;
}

/** The customer was deleted at Stripe, and its card with it. Returns another one. */
async function replaceCustomer(
  sql: SQL,
  stripe: Stripe,
  { accountId, accountName: name, userId, email }: Payer,
  deleted: string,
): Promise<string> {
  const created = await stripe.customers.create(
    { name, email, metadata: { account: accountId } },
    // With another key than the first one, which Stripe may still know.
    { idempotencyKey: `tollgate-customer-${accountId}-${userId}-${deleted}` },
  );
  await forgetCardOf(sql, deleted);
  await sql`
    update payment_customers set customer = ${created.id}, updated_at = now()
    where account_id = ${accountId} and customer = ${deleted}`;
  const [known] = await sql<[{ customer: string }]>`
    select customer from payment_customers where account_id = ${accountId}`;
  return known.customer;
}

/** A card that was saved, with a payment or without one, replaces the one before. */
export async function saveCard(sql: SQL, accountId: string, customer: string, card: Card): Promise<void> {
  await sql`
    update payment_customers
    set payment_method = ${card.paymentMethod}, card_brand = ${card.brand}, card_last4 = ${card.last4},
        card_expires = ${card.expires}, paused_reason = null, paused_at = null, updated_at = now()
    where account_id = ${accountId} and customer = ${customer} and payment_method is distinct from ${card.paymentMethod}`;
}

export async function forgetCard(sql: SQL, paymentMethod: string): Promise<void> {
  await sql`${withoutCard(sql)} where payment_method = ${paymentMethod}`;
}

/** Of a customer that was deleted at Stripe. */
export async function forgetCardOf(sql: SQL, customer: string): Promise<void> {
  await sql`${withoutCard(sql)} where customer = ${customer}`;
}

function withoutCard(sql: SQL) {
  return sql`
    update payment_customers
    set payment_method = null, card_brand = null, card_last4 = null, card_expires = null, updated_at = now()`;
}
