/** Automatic top-ups: a saved card is charged through an invoice when the balance is low, one at a time on two gateways. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { eventually } from '../support/eventually.ts';
import { type MailServer, startMailServer, textOf } from '../support/mail-server.ts';
import { type Customer, openPaymentsFixture, type PaymentsFixture } from '../support/payments-fixture.ts';

let fixture: PaymentsFixture;
let mail: MailServer;

beforeAll(async () => {
  mail = startMailServer();
  fixture = await openPaymentsFixture({ SMTP_URL: mail.url, MAIL_FROM: 'gateway@example.com' });
}, 60_000);

afterAll(async () => {
  await fixture.close();
  mail.stop();
});

/** Of the mails about an account, whose ID is in their links. Receipts have no such link. */
const subjectsOf = (text: string) =>
  mail.mails
    .filter((one) => textOf(one).includes(text))
    .map(({ data }) => /^Subject: (.*)$/m.exec(data)?.[1]);

/** Has paid 10 USD and saved the card. */
async function withCard(): Promise<Customer> {
  const { stripe } = fixture;
  stripe.setCard('ok');
  const payer = await fixture.customer();
  const { session, order } = await payer.checkout('10', true);
  stripe.pay(session);
  await payer.send('POST', payer.path(`payments/orders/${order}/check`), {});
  await payer.hasBalance('10');
  return payer;
}

const chargeCount = () => fixture.stripe.requests.filter((request) => request.endsWith('/pay')).length;

describe('a saved card', () => {
  test('is charged once when less than the threshold is left, and the rest is told', async () => {
    const { stripe, database } = fixture;
    const payer = await withCard();
    expect((await payer.options()).card).toEqual({ brand: 'visa', last4: '4242', expires: '2031-07' });
    stripe.setTax(19);
    expect((await payer.choose()).status).toBe(200);
    const before = chargeCount();
    await payer.spend('6');
    await payer.hasBalance('24');
    stripe.setTax(0);
    expect(chargeCount()).toBe(before + 1);
    // A month is in UTC, and may end between the two.
    expect((await payer.options()).automatic).toMatchObject({ is_on: true, paused_reason: null });
    const [payment] = await payer.payments();
    expect(payment).toMatchObject({ kind: 'automatic', state: 'paid', paid: '23.800000000000' });
    const receipt = payment?.receipt_url ?? '';
    expect(receipt).toStartWith('https://stripe.example/invoices/in_');
    await eventually('a mail with the receipt', () => subjectsOf(receipt).length > 0);
    expect(subjectsOf(receipt)).toEqual(['Credit was added automatically']);
    const [log] = await database.sql`
      select after from audit_log where account_id = ${payer.account} and action = 'update_top_up'`;
    expect(log.after).toMatchObject({ is_on: true, threshold: '5.000000000000' });
  });

  test('fills up to a target, within what is left of the month', async () => {
    const payer = await withCard();
    await payer.choose({ amount: null, target: '50', monthly_cap: '60' });
    await payer.spend('6.5');
    await payer.hasBalance('50');
    await payer.spend('48');
    // 46.50 of 60 USD are used.
    await payer.hasBalance('15.5');
    await payer.spend('15');
    await payer.choose({ amount: null, target: '50', monthly_cap: '60' });
    expect(await payer.entries()).toEqual([
      'credit 10',
      'correction -6.5',
      'credit 46.5',
      'correction -48',
      'credit 13.5',
      'correction -15',
    ]);
  });

  test('that is declined is not tried again before an owner has acted', async () => {
    const { stripe } = fixture;
    const payer = await withCard();
    stripe.setCard('declined');
    await payer.choose();
    const before = chargeCount();
    await payer.spend('6');
    await eventually('a pause', () => payer.pausedReason());
    await eventually('a failure', async () => (await payer.payments())[0]?.state === 'failed');
    expect([await payer.pausedReason(), chargeCount()]).toEqual(['insufficient_funds', before + 1]);
    await eventually('a mail', () => subjectsOf(payer.account).length > 0);
    stripe.setCard('ok');
    await payer.choose();
    await payer.hasBalance('24');
    expect(subjectsOf(payer.account)).toEqual(['An automatic top-up has failed']);
    expect(mail.mails.map(textOf).some((text) => text.includes(': insufficient funds.'))).toBe(true);
  });

  test('is charged once, although Stripe does not confirm it', async () => {
    const { stripe } = fixture;
    const payer = await withCard();
    await payer.choose();
    stripe.fail(
      ...['/v1/invoices', '/v1/invoiceitems', '/finalize', '/pay', '/pay'].map((path) => ({
        path,
        when: 'after' as const,
      })),
    );
    await payer.spend('6');
    await payer.hasBalance('24');
    expect(await payer.entries()).toEqual(['credit 10', 'correction -6', 'credit 20']);
    const invoices = [...stripe.objects.values()].filter(
      ({ metadata, object }) => object === 'invoice' && (metadata as { order?: string })?.order !== undefined,
    );
    expect(invoices.every(({ status }) => status === 'paid' || status === 'void')).toBe(true);
  });

  test('can be saved without a payment, and is charged later; whoever comes back late changes nothing', async () => {
    const { stripe, database } = fixture;
    stripe.setCard('ok');
    const payer = await fixture.customer();
    const openPage = async () => {
      const { status, body } = await payer.send('POST', payer.path('payments/card'), {});
      expect(status).toBe(200);
      return String([...stripe.objects.values()].find(({ url }) => url === body.url)?.id);
    };
    const check = () => payer.send('POST', payer.path('payments/card/check'), {});
    const [first, second, foreign] = [await openPage(), await openPage(), await openPage()];
    await check();
    expect((await payer.options()).card).toBeNull();
    stripe.saveCard(first);
    await check();
    expect((await payer.options()).card).toEqual({ brand: 'visa', last4: '4242', expires: '2031-07' });
    const storedCard = async () => {
      const [row] = await database.sql`
        select payment_method, customer from payment_customers where account_id = ${payer.account}`;
      return row as { payment_method: string; customer: string };
    };
    const { payment_method: method, customer } = await storedCard();
    // For the tax of later payments.
    expect(stripe.objects.get(customer)?.address).toEqual({ country: 'DE', postal_code: '10115' });
    // Nobody comes back from this page, and the other one is not of this customer.
    stripe.saveCard(second);
    stripe.saveCard(foreign);
    Object.assign(stripe.objects.get(foreign) ?? {}, { customer: 'cus_other' });
    await database.sql`update card_setups set next_look_at = now() where account_id = ${payer.account}
      and next_look_at is not null`;
    await eventually('the second card', async () => (await storedCard()).payment_method !== method);
    const open = () => database.sql`
      select 1 from card_setups where account_id = ${payer.account} and next_look_at is not null`;
    await eventually('no open page', async () => (await open()).length === 0);
    const newer = (await storedCard()).payment_method;
    await check();
    expect((await storedCard()).payment_method).toBe(newer);
    const saved = await database.sql`
      select session from card_setups where account_id = ${payer.account} and saved_at is not null order by session`;
    expect(saved.map(({ session }: { session: string }) => session)).toEqual([first, second].toSorted());
    expect((await payer.choose()).status).toBe(200);
    await payer.hasBalance('20');
  });

  test('is saved although other pages cannot be looked at, which are given up in the end', async () => {
    const { stripe, database } = fixture;
    const payer = await fixture.customer();
    const openPage = async () => {
      const { body } = await payer.send('POST', payer.path('payments/card'), {});
      return String([...stripe.objects.values()].find(({ url }) => url === body.url)?.id);
    };
    const [missing, old, good] = [await openPage(), await openPage(), await openPage()];
    stripe.objects.delete(missing);
    stripe.saveCard(good);
    stripe.refuse(new RegExp(`GET /v1/checkout/sessions/${old}`), 'lock_timeout');
    await database.sql`
      update card_setups
      set next_look_at = now() - interval '1 hour' + array_position(${database.sql.array([missing, old, good], 'text')}, session) * interval '1 minute',
          created_at = case when session = ${old} then now() - interval '26 hours' else created_at end
      where account_id = ${payer.account}`;
    const stateOf = async () =>
      await database.sql<{ is_open: boolean; is_saved: boolean }[]>`
        select next_look_at is not null as is_open, saved_at is not null as is_saved from card_setups
        where account_id = ${payer.account} order by session = ${good}, session`;
    await eventually('the end of all', async () => (await stateOf()).every(({ is_open: isOpen }) => !isOpen));
    stripe.refuse(/never/, null);
    expect((await stateOf()).map(({ is_saved: isSaved }) => isSaved)).toEqual([false, false, true]);
    expect((await payer.options()).card).not.toBeNull();
    // Whoever is not an owner does not see it.
    await database.sql`update memberships set role = 'member' where account_id = ${payer.account}`;
    expect((await payer.options()).card).toBeNull();
  });

  test('can be removed, which ends automatic top-ups', async () => {
    const { stripe } = fixture;
    const payer = await withCard();
    await payer.choose();
    expect((await payer.send('DELETE', payer.path('payments/card'))).status).toBe(204);
    expect(stripe.events.at(-1)?.type).toBe('payment_method.detached');
    const options = await payer.options();
    expect([options.card, options.automatic?.is_on]).toEqual([null, false]);
    const { status, body } = await payer.choose();
    expect([status, body.error.code]).toEqual([409, 'no_saved_card']);
  });

  test('is replaced by the one that its owner makes the default in the portal', async () => {
    const { stripe, gateways } = fixture;
    const payer = await withCard();
    const saved = [...stripe.objects.values()].findLast(({ object }) => object === 'payment_method');
    const customer = stripe.objects.get(String(saved?.customer));
    const change = async (last4: string, isDefault: boolean) => {
      const id = `pm_${last4}${String(saved?.id)}`;
      const card = { brand: 'mastercard', last4, exp_month: 1, exp_year: 2032 };
      stripe.objects.set(id, { ...saved, id, card });
      if (isDefault) Object.assign(customer ?? {}, { invoice_settings: { default_payment_method: id } });
      const event = { id: 'evt_1', type: 'customer.updated', livemode: false, data: { object: customer } };
      expect((await stripe.deliver(gateways[0]?.origin ?? '', event)).status).toBe(200);
    };
    await change('1111', false);
    await change('5555', true);
    const cardHas = (last4: string) =>
      eventually(last4, async () => (await payer.options()).card?.last4 === last4);
    await cardHas('5555');
    // One that is saved with a later payment stays, whatever else changes about the customer.
    const { session, order } = await payer.checkout('10', true);
    stripe.pay(session);
    await payer.send('POST', payer.path(`payments/orders/${order}/check`), {});
    await cardHas('4242');
    const before = stripe.requests.length;
    await change('2222', false);
    await eventually('a check', () =>
      stripe.requests.slice(before).some((one) => one.includes('payment_methods')),
    );
    expect((await payer.options()).card?.last4).toBe('4242');
  });

  test('that was removed at Stripe is forgotten', async () => {
    const { stripe, gateways } = fixture;
    const payer = await withCard();
    const card = [...stripe.objects.values()].findLast(({ object }) => object === 'payment_method');
    Object.assign(card ?? {}, { customer: null });
    const event = { id: 'evt_1', type: 'payment_method.detached', livemode: false, data: { object: card } };
    await stripe.deliver(gateways[1]?.origin ?? '', event);
    await eventually('no card', async () => (await payer.options()).card === null);
  });
});

test.each([
  ['both an amount and a target', { target: '50' }, 'amount'],
  ['neither', { amount: null }, 'amount'],
  ['a target below the threshold', { amount: null, target: '4' }, 'target'],
  ['a month that allows no payment', { monthly_cap: '19' }, 'monthly_cap'],
])('%s is refused', async (_, changes, param) => {
  const payer = await fixture.customer();
  const { status, body } = await payer.choose(changes);
  expect([status, body.error.param]).toEqual([400, param]);
});
