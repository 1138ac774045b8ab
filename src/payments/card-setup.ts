/**
 * Saves a card without a payment, on a page of Stripe's. What became of the page is asked of Stripe: when its visitor comes
 * back, and now and then until it has expired, so no event is needed.
 */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import { type Payer, saveCard, withCustomer } from './customers.ts';
import { cardOf, idOf } from './objects.ts';
import { isMissing, type Stripe, type StripeSettings } from './stripe-client.ts';

const openSeconds = 60 * 60;
/** Long enough for an outage of a day. */
const lastLookHours = 25;

type SetupServices = Readonly<{
  sql: SQL;
  stripe: Stripe;
  settings: Pick<StripeSettings, 'isLive' | 'hasTax' | 'origin'>;
}>;

/** Returns the address of the page. */
export async function openCardSetup(services: SetupServices, payer: Payer): Promise<string> {
  const { sql, stripe, settings } = services;
  const { accountId, userId } = payer;
  const { isLive, hasTax, origin } = settings;
  const back = `${origin}/billing?account=${accountId}`;
  return await withCustomer(services, payer, async (customer) => {
    const session = await stripe.checkout.sessions.create({
      mode: 'setup',
      customer,
      currency: 'usd',
      // Tax depends on it, and later payments do not ask.
      billing_address_collection: hasTax ? 'required' : 'auto',
      expires_at: Math.floor(Date.now() / 1000) + openSeconds,
      success_url: `${back}&saved=card`,
      cancel_url: back,
    });
    await sql`
      insert into card_setups (session, account_id, customer, is_live, created_by)
      values (${session.id}, ${accountId}, ${customer}, ${isLive}, ${userId})`;
    if (!session.url) throw new ApiError('payment_provider_error');
    return session.url;
  });
}

type Setup = Readonly<{ session: string; account_id: string; customer: string }>;

/** Of one account, when someone comes back. */
export async function finishSetupsOf(services: SetupServices, accountId: string): Promise<void> {
  const open = await services.sql<Setup[]>`
    select session, account_id, customer from card_setups
    where account_id = ${accountId} and is_live = ${services.settings.isLive} and next_look_at is not null
    order by created_at desc limit 5`;
  await finishEach(services, open);
}

/** By itself, the older the less often. */
export async function finishDueSetups(services: SetupServices, limit: number): Promise<void> {
  const due = await services.sql<Setup[]>`
    update card_setups set next_look_at = now() + greatest(interval '1 minute', (now() - created_at) / 2)
    where session in (
      select session from card_setups where next_look_at <= now() and is_live = ${services.settings.isLive}
      order by next_look_at limit ${limit}::int for update skip locked)
    returning session, account_id, customer`;
  const sessions = services.sql.array(
    due.map(({ session }) => session),
    'text',
  );
  try {
    await finishEach(services, due);
  } finally {
    // Its page has long expired, so whatever keeps it from being looked at, nothing will come of it.
    await services.sql`
      update card_setups set next_look_at = null
      where session = any (${sessions})
        and created_at < now() - make_interval(hours => ${lastLookHours}::int)`;
  }
}

/** All of them, although one cannot be looked at; then throws the first failure. */
async function finishEach(services: SetupServices, setups: readonly Setup[]): Promise<void> {
  const failures: unknown[] = [];
  for (const setup of setups)
    await finish(services, setup).catch(async (error: unknown) => {
      // Stripe knows the page or its customer no longer.
      if (isMissing(error))
        await services.sql`update card_setups set next_look_at = null where session = ${setup.session}`;
      else failures.push(error);
    });
  if (failures.length > 0) throw failures[0];
}

async function finish({ sql, stripe, settings }: SetupServices, setup: Setup): Promise<void> {
  const session = await stripe.checkout.sessions.retrieve(setup.session, {
    expand: ['setup_intent.payment_method'],
  });
  if (session.status === 'open') return;
  const intent = typeof session.setup_intent === 'object' ? session.setup_intent : null;
  const method = typeof intent?.payment_method === 'object' ? intent.payment_method : null;
  const isOurs =
    session.mode === 'setup' &&
    session.livemode === settings.isLive &&
    idOf(session.customer) === setup.customer;
  const card = isOurs && session.status === 'complete' ? cardOf(method) : null;
  const address = method?.billing_details.address;
  if (card !== null && settings.hasTax && address)
    await stripe.customers.update(setup.customer, { address: addressOf(address) });
  await shortTransaction(sql, async (transaction) => {
    // Once, so that a card that was saved later is not replaced by this one.
    const mine = await transaction`
      update card_setups set next_look_at = null, saved_at = case when ${card !== null} then now() end
      where session = ${setup.session} and next_look_at is not null returning 1`;
    if (mine.length > 0 && card !== null) await saveCard(transaction, setup.account_id, setup.customer, card);
  });
}

/** Stripe takes no null for what is not there. */
function addressOf(address: Stripe.Address): Stripe.AddressParam {
  return Object.fromEntries(Object.entries(address).filter(([, value]) => value !== null));
}
