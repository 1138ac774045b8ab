/**
 * The requests that the gateway sends to Stripe, checked by Stripe's own mock: their paths, names and types. It keeps no state
 * and its description of the API is older than the package, so nothing is said about answers.
 *
 * Needs `stripe-mock`: go install github.com/stripe/stripe-mock@latest, and its folder in PATH.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Subprocess } from 'bun';
import { newId } from '../../src/lib/ids.ts';
import { createLog } from '../../src/lib/log.ts';
import { addLine, advanceInvoice } from '../../src/payments/automatic.ts';
import { openCardSetup } from '../../src/payments/card-setup.ts';
import { openCheckout } from '../../src/payments/checkout.ts';
import { readFacts } from '../../src/payments/objects.ts';
import type { Order } from '../../src/payments/order.ts';
import { openStripe } from '../../src/payments/stripe-client.ts';
import { openPayments } from '../../src/payments/sweep.ts';
import { addCheapUser } from '../support/cheap-user.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { runCommand } from '../support/commands.ts';
import { eventually } from '../support/eventually.ts';

const port = 12_111;
const secretKey = 'sk_test_12345678';
const apiUrl = `http://127.0.0.1:${port}`;
const stripe = openStripe({ secretKey, apiUrl });

let mock: Subprocess;
let database: TestDatabase;

/** What was refused, as `status path`. */
const refused: string[] = [];
const asked = new Set<string>();
stripe.on('response', ({ status, path }: Readonly<{ status: number; path: string }>) => {
  asked.add(path.replace(/\?.*/, '').replaceAll(/\/[a-z]+_\w*\d\w*/g, '/:id'));
  if (status >= 400) refused.push(`${status} ${path}`);
});

beforeAll(async () => {
  mock = Bun.spawn(['stripe-mock', '-http-addr', `127.0.0.1:${port}`], {
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  database = await createDatabase();
  await eventually('the mock', () =>
    fetch(apiUrl)
      .then(() => true)
      .catch(() => false),
  );
}, 60_000);

afterAll(async () => {
  mock.kill();
  await database.close();
});

const common = {
  amount: 25n * 10n ** 12n,
  currency: 'usd',
  isLive: false,
  savesCard: true,
  createdAt: new Date(),
};
const settings = {
  secretKey,
  apiUrl,
  webhookSecrets: [],
  isLive: false,
  hasTax: true,
  suspendsDisputed: true,
  origin: 'https://gateway.example.com',
};

test('every request has the parameters of Stripe’s API', async () => {
  const { sql } = database;
  const words = ['account', 'create', '--name', 'Acme', '--credit', '0'];
  const { id: accountId } = await runCommand<{ id: string }>(words, { DATABASE_URL: database.url });
  const { id: userId } = await addCheapUser(sql, 'owner@example.com', 'correct horse', { accountId });
  const payer = { accountId, accountName: 'Acme', userId, email: 'owner@example.com' };
  await openCheckout({ sql, stripe, settings }, payer, common.amount, true);
  await openCardSetup({ sql, stripe, settings }, payer);
  await stripe.checkout.sessions.retrieve('cs_1', { expand: ['setup_intent.payment_method'] });
  await stripe.customers.update('cus_1', { address: { country: 'DE', postal_code: '10115' } });

  const id = newId();
  const order: Order = {
    ...common,
    id,
    accountId,
    kind: 'automatic',
    state: 'new',
    customer: 'cus_1',
    session: null,
    invoice: null,
    paymentMethod: 'pm_1',
  };
  await sql`
    insert into payment_orders (id, account_id, kind, amount, currency, is_live, customer)
    values (${id}, ${accountId}, 'automatic', 25, 'usd', false, 'cus_1')`;
  await sql`update payment_customers set customer = 'cus_1', payment_method = 'pm_1' where account_id = ${accountId}`;
  await advanceInvoice({ sql, stripe, hasTax: true }, order);
  // Its invoices have lines and stay drafts, so the rest is called by hand.
  await addLine(stripe, order, 'in_1');
  await stripe.invoices.pay('in_1', { payment_method: 'pm_1', off_session: true });
  await stripe.invoices.voidInvoice('in_1');
  await stripe.invoices.del('in_1');
  await readFacts(stripe, { ...order, invoice: 'in_1' });
  await readFacts(stripe, { ...order, kind: 'checkout', session: 'cs_1' });
  await stripe.paymentIntents.retrieve('pi_1', { expand: ['latest_charge', 'payment_method'] });
  await stripe.refunds.list({ payment_intent: 'pi_1', limit: 100 });
  await stripe.disputes.list({ payment_intent: 'pi_1', limit: 100 });
  await stripe.radar.earlyFraudWarnings.list({ payment_intent: 'pi_1', limit: 100 });
  await stripe.refunds.create({ payment_intent: 'pi_1', amount: 100, metadata: { order: id } });
  await stripe.paymentMethods.detach('pm_1');
  await stripe.customers.retrieve('cus_1', { expand: ['invoice_settings.default_payment_method'] });
  await stripe.billingPortal.sessions.create({ customer: 'cus_1', return_url: settings.origin });
  // Reads the list of events.
  const payments = openPayments({ sql, stripe, settings, log: createLog('error') });
  await eventually('the list of events', async () => (await sql`select 1 from payment_polls`).length > 0);
  await payments.close();
  expect(refused).toEqual([]);
  expect([...asked].toSorted()).toEqual([
    '/v1/billing_portal/sessions',
    '/v1/checkout/sessions',
    '/v1/checkout/sessions/:id',
    '/v1/customers',
    '/v1/customers/:id',
    '/v1/disputes',
    '/v1/events',
    '/v1/invoice_payments',
    '/v1/invoiceitems',
    '/v1/invoices',
    '/v1/invoices/:id',
    '/v1/invoices/:id/finalize',
    '/v1/invoices/:id/pay',
    '/v1/invoices/:id/void',
    '/v1/payment_intents/:id',
    '/v1/payment_methods/:id/detach',
    '/v1/radar/early_fraud_warnings',
    '/v1/refunds',
  ]);
});
