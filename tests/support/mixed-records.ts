/**
 * What people do besides sending requests: they set limits, give credit, pay, get money back, and read what providers bill. In the
 * ways that they have for it, so that the rows are those of the gateway.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PaymentPage } from '../../src/console/contract.ts';
import { newId } from '../../src/lib/ids.ts';
import { addDays, dayOf } from '../../src/usage/days.ts';
import { outcomeOf, runCommand } from './commands.ts';
import type { ConsoleFixture, Visitor } from './console-fixture.ts';
import type { FakeStripe } from './fake-stripe.ts';
import { temporaryFolder } from './gateway.ts';

async function post<Body>(visitor: Visitor, path: string, body: object = {}): Promise<Body> {
  const response = await visitor.send('POST', `/api/console/${path}`, body);
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
  return JSON.parse(text) as Body;
}

/** Is told of credit, and of payments that failed. */
export async function addWebhook({ people }: ConsoleFixture, url: string): Promise<void> {
  await post(people.operator, 'operator/webhooks', { url, types: ['credit.added', 'payment.failed'] });
}

/** Of every kind and scope, and so high that they refuse nothing. */
export async function setLimits({ people, account, keyId }: ConsoleFixture): Promise<void> {
  const increase = { amount: '2.5', until: new Date(Date.now() + 24 * 3_600_000).toISOString() };
  for (const limit of [
    { scope: 'account', kind: 'spend_per_day', amount: '50' },
    { scope: 'end_user', end_user: 'jo', kind: 'spend_per_month', amount: '0.5' },
    { scope: 'each_end_user', kind: 'tokens_per_minute', amount: '1000000' },
  ])
    await post(people.owner, `accounts/${account}/limits`, limit);
  for (const limit of [
    { scope: 'key', key_id: keyId, kind: 'spend_per_week', amount: '7.5', increase },
    { scope: 'account', kind: 'concurrent_requests', amount: '400' },
    { scope: 'account', kind: 'requests_per_minute', amount: '5000' },
  ])
    await post(people.operator, `operator/accounts/${account}/limits`, limit);
}

/** One grant that the requests use up, one of which something is left, and one that was voided. */
export async function giveGrants({ environment, account, people }: ConsoleFixture): Promise<void> {
  const give = (amount: string, ...options: string[]) =>
    runCommand(['account', 'credit', account, amount, ...options], environment);
  // Before the first grant, so that it is of no grant.
  await runCommand(
    ['account', 'correct', account, '--take', '0.75', '--reason', 'Test', '--reference', 'mixed'],
    environment,
  );
  await give('0.0004', '--category', 'promotional', '--expires', '20d', '--memo', 'A first taste');
  await give('3', '--category', 'promotional', '--expires', '40d');
  await give('4', '--category', 'promotional', '--priority', '90', '--memo', 'A mistake');
  const { data } = (await (
    await people.operator.send('GET', `/api/console/operator/accounts/${account}/grants`)
  ).json()) as { data: { id: string; memo: string | null }[] };
  const mistake = data.find(({ memo }) => memo === 'A mistake')?.id;
  await post(people.operator, `operator/accounts/${account}/grants/${mistake}/void`, { reason: 'Test' });
}

/** Paid, partly refunded, failed, contradicted and not paid yet, with a tax of 19 %. */
export async function pay({ people, account }: ConsoleFixture, stripe: FakeStripe): Promise<void> {
  stripe.setTax(19);
  const checkout = async (amount: string) => {
    const draft = { amount, saves_card: false };
    const { url } = await post<PaymentPage>(people.owner, `accounts/${account}/payments/checkout`, draft);
    const session = [...stripe.objects.values()].find((object) => object.url === url);
    return { order: String(session?.client_reference_id), session: String(session?.id) };
  };
  const check = async (order: string, state: string) => {
    const payment = await post<{ state: string }>(people.operator, `operator/payments/${order}/check`);
    if (payment.state !== state) throw new Error(`A payment is ${payment.state} and not ${state}.`);
  };
  const [paid, refunded, failed, odd] = [
    await checkout('20'),
    await checkout('12.5'),
    await checkout('30'),
    await checkout('40'),
  ];
  await checkout('50');
  for (const { session } of [paid, refunded, odd]) stripe.pay(session);
  stripe.pay(failed.session, 'bank');
  stripe.settle(failed.session, false);
  Object.assign(stripe.objects.get(odd.session) ?? {}, { currency: 'eur' });
  await check(paid.order, 'paid');
  await check(refunded.order, 'paid');
  await check(failed.order, 'failed');
  await check(odd.order, 'contradicted');
  const refund = { amount: '5.95', reference: newId() };
  await post(people.operator, `operator/payments/${refunded.order}/refunds`, refund);
}

/** Two versions of a bill: some of its days are as metered, some are not, and some are missing. */
export async function readBills({ environment }: ConsoleFixture): Promise<void> {
  const today = dayOf(new Date());
  const [long, last] = [addDays(today, -8), addDays(today, -1)];
  const read = async (...lines: string[]) => {
    const file = join(temporaryFolder(), 'bill.csv');
    writeFileSync(file, ['day,model,amount', ...lines].join('\n'));
    const words = ['reconcile', '--provider', 'main', '--from', long, '--to', today, '--file', file];
    await outcomeOf(words, environment);
  };
  await read(`${long},known,9`);
  await read(
    `${long},known,1.5`,
    `${long},another,0.25`,
    `${last},known,0.0035`,
    `${today},known,0.75`,
    `${today},full,0.125`,
  );
}
