/** What happened to saved cards at Stripe is found in its list of events, when no event was delivered. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createAccount } from '../../src/accounts/account-store.ts';
import { newId } from '../../src/lib/ids.ts';
import { readListSoon, readMissedEvents } from '../../src/payments/missed-events.ts';
import { openStripe } from '../../src/payments/stripe-client.ts';
import { createDatabase, type TestDatabase } from '../support/cluster.ts';
import { startFakeStripe } from '../support/fake-stripe.ts';

let database: TestDatabase;
const fake = startFakeStripe();
const stripe = openStripe({ secretKey: fake.secretKey, apiUrl: fake.url });
const card = { brand: 'visa', last4: '4242', exp_month: 1, exp_year: 2032 };

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(async () => {
  await database.close();
  await fake.stop();
});

async function savedCard() {
  const { sql } = database;
  const { id: customer } = await stripe.customers.create({});
  const method = `pm_${crypto.randomUUID().replaceAll('-', '')}`;
  fake.objects.set(method, { id: method, object: 'payment_method', type: 'card', card, customer });
  const { id: account } = await createAccount(sql, 'Test', 0n);
  await sql`
    insert into payment_customers (account_id, is_live, customer, payment_method)
    values (${account}, false, ${customer}, ${method})`;
  return { customer, method, account };
}

function happened(type: string, id: string): void {
  const created = Math.floor(Date.now() / 1000);
  fake.events.push({
    id: `evt_${newId()}`,
    type,
    created,
    livemode: false,
    data: { object: fake.objects.get(id) },
  });
}

test('one that was removed is forgotten, and one that became the default is used, whatever became of others', async () => {
  const { sql } = database;
  const [removed, changed, gone] = [await savedCard(), await savedCard(), await savedCard()];
  Object.assign(fake.objects.get(removed.method) ?? {}, { customer: null });
  happened('payment_method.detached', removed.method);
  const newer = `${changed.method}2`;
  fake.objects.set(newer, { ...fake.objects.get(changed.method), id: newer });
  Object.assign(fake.objects.get(changed.customer) ?? {}, {
    invoice_settings: { default_payment_method: newer },
  });
  happened('customer.updated', changed.customer);
  // Stripe does not know this one any more.
  happened('customer.updated', gone.customer);
  fake.objects.delete(gone.customer);
  await readMissedEvents({ sql, stripe, settings: { isLive: false } });
  const methodOf = async ({ account }: typeof removed) =>
    (await sql`select payment_method from payment_customers where account_id = ${account}`)[0].payment_method;
  expect([await methodOf(removed), await methodOf(changed)]).toEqual([null, newer]);
  const readUntil = async () => (await sql`select polled_until from payment_polls`)[0].polled_until as Date;
  const before = await readUntil();
  await readListSoon(sql, false);
  await readMissedEvents({ sql, stripe, settings: { isLive: false } });
  expect((await readUntil()).getTime()).toBeGreaterThan(before.getTime());
});
