/**
 * People pay, are refunded and dispute payments all the time, while gateways and the database are killed. Stripe's events
 * reach any gateway: late, out of order, several times, or never. One account is topped up automatically.
 */
import { parseMoney } from '../../src/lib/money.ts';
import type { FakeEvent, FakeStripe } from '../../tests/support/fake-stripe.ts';
import type { Random } from '../random.ts';
import type { World } from '../world/world.ts';
import { AdminClient } from './admin-call.ts';
import { startTopUps } from './automatic-top-ups.ts';
import type { MovementLog } from './movement-log.ts';
import { byProgram } from './movements.ts';
import { type Owner, openCheckout } from './owner.ts';

/** At once. */
const payers = 2;
/** An account may begin 30 payments in an hour. */
const ordersPerAccount = 25;
/** The last one is topped up automatically. */
export const payingAccounts = 40;
const minPauseMs = 200;
const maxPauseMs = 900;

/** Of the events, and of the payments of which none arrives. */
const lostShare = 0.12;
const repeatedShare = 0.25;
const maxDelayMs = 2_000;
const deliveryTries = 5;
const retryMs = 300;
const lookMs = 50;
/** Stripe itself fails now and then. */
const faultEveryMs = 3_000;
const faultyPaths = ['checkout/sessions', 'invoices', 'payment_intents', 'refunds'] as const;

export type PaymentTrial = Readonly<{
  /** Everyone has paid what they will, and no event is on its way. */
  stop: () => Promise<Readonly<{ eventsSent: number; eventsLost: number }>>;
}>;

export function startPayments(
  world: World,
  stripe: FakeStripe,
  { owner, token, log }: Readonly<{ owner: Owner; token: string; log: MovementLog }>,
  random: Random,
): PaymentTrial {
  const admin = new AdminClient(world.nodes, token, random.fork(100));
  const origin = (chance: Random) => world.nodes[chance.between(0, world.nodes.length - 1)]?.origin ?? '';
  const stories: Promise<void>[] = [];
  let isOver = false;
  stripe.setTax(19);
  stripe.setDelay(60);

  async function payAgainAndAgain(payer: number): Promise<void> {
    const chance = random.fork(payer);
    for (let number = 0; !isOver; number += 1) {
      await Bun.sleep(chance.between(minPauseMs, maxPauseMs));
      const accountId = owner.accounts[payer + payers * Math.floor(number / ordersPerAccount)];
      if (accountId === undefined || accountId === owner.accounts.at(-1)) return;
      const cents = chance.between(100, 5_000);
      const session = await openCheckout(owner, stripe, { accountId, cents, origin: origin(chance) });
      if (session === null) continue;
      const spend = () => takeMost(admin, log, { accountId, cents, name: `p${payer}-${number}` }, chance);
      stories.push(liveThrough(stripe, session, spend, chance.fork(number)));
    }
  }

  async function failNowAndThen(): Promise<void> {
    const chance = random.fork(101);
    for (let waitedMs = 0; !isOver; waitedMs += lookMs) {
      await Bun.sleep(lookMs);
      if (waitedMs % faultEveryMs === 0 && !stripe.isFailing())
        stripe.fail({ path: chance.pick(faultyPaths), when: chance.pick(['before', 'after']) });
    }
  }

  const mail = startDeliveries(stripe, origin, random.fork(102));
  const topUps = startTopUps(stripe, owner, origin, random.fork(103));
  const working = Promise.all([
    ...Array.from({ length: payers }, (_, payer) => payAgainAndAgain(payer)),
    failNowAndThen(),
  ]);
  return {
    stop: async () => {
      isOver = true;
      await working;
      await Promise.all(stories);
      await topUps.stop();
      return await mail.stop();
    },
  };
}

/** What becomes of a checkout, and of its payment. */
async function liveThrough(
  stripe: FakeStripe,
  session: string,
  spend: () => Promise<void>,
  random: Random,
): Promise<void> {
  await Bun.sleep(random.between(0, 300));
  const chance = random.next();
  if (chance < 0.65) stripe.pay(session);
  else if (chance < 0.8) {
    stripe.pay(session, 'bank');
    await Bun.sleep(random.between(0, maxDelayMs));
    stripe.settle(session, random.happens(0.8));
  } else if (chance < 0.9) stripe.expire(session);
  if (stripe.objects.get(session)?.payment_status !== 'paid') return;
  const intent = stripe.intentOf(session);
  await Bun.sleep(random.between(0, 3_000));
  if (random.happens(0.2)) await spend();
  const half = Math.floor(Number(stripe.objects.get(intent)?.amount) / 2);
  const end = random.next();
  if (end < 0.12) stripe.refund(intent, random.between(1, half));
  else if (end < 0.22) stripe.refund(intent);
  else if (end < 0.28) {
    stripe.refund(intent, random.between(1, half));
    await Bun.sleep(random.between(0, maxDelayMs));
    stripe.refund(intent, random.between(1, half));
  } else if (end < 0.35) {
    const refund = stripe.refund(intent, random.between(1, half));
    await Bun.sleep(random.between(0, maxDelayMs));
    stripe.failRefund(refund);
  } else if (end < 0.45) {
    const dispute = stripe.dispute(intent);
    await Bun.sleep(random.between(0, maxDelayMs));
    const status = random.pick(['won', 'lost', null]);
    if (status !== null) stripe.setDispute(dispute, status);
  }
}

/** So that little is left for a refund. It is refused if the payment is not credited yet. */
async function takeMost(
  client: AdminClient,
  log: MovementLog,
  { accountId, cents, name }: Readonly<{ accountId: string; cents: number; name: string }>,
  random: Random,
): Promise<void> {
  const amount = -(parseMoney((cents / 100).toFixed(2)) ?? 0n);
  const movement = { kind: 'correction', accountId, requestId: null, entryNumber: null, amount } as const;
  log.note(await byProgram(client, { ...movement, words: `Chaos ${name}`, reference: name }, random));
}

/** Sends what happens at Stripe to the gateways, more or less. */
function startDeliveries(stripe: FakeStripe, origin: (chance: Random) => string, random: Random) {
  const onTheirWay = new Set<Promise<void>>();
  const isSilent = new Map<string, boolean>();
  let eventsSent = 0;
  let eventsLost = 0;
  let isOver = false;

  async function deliver(event: FakeEvent, chance: Random): Promise<void> {
    await Bun.sleep(chance.between(0, maxDelayMs));
    for (let sent = 1; sent <= deliveryTries; sent += 1) {
      const answer = await stripe.deliver(origin(chance), event).catch(() => null);
      if (answer?.status === 200) return;
      await Bun.sleep(retryMs);
    }
  }

  function send(event: FakeEvent): void {
    const payment = paymentOf(event);
    if (!isSilent.has(payment)) isSilent.set(payment, random.happens(lostShare));
    if (isSilent.get(payment) === true || random.happens(lostShare)) {
      eventsLost += 1;
      return;
    }
    const copies = random.happens(repeatedShare) ? random.between(2, 3) : 1;
    for (let copy = 0; copy < copies; copy += 1) {
      eventsSent += 1;
      const sending: Promise<void> = deliver(event, random.fork(eventsSent)).finally(() =>
        onTheirWay.delete(sending),
      );
      onTheirWay.add(sending);
    }
  }

  async function work(): Promise<void> {
    for (let next = 0; ; ) {
      for (; next < stripe.events.length; next += 1) {
        const event = stripe.events[next];
        if (event !== undefined) send(event);
      }
      if (isOver) return;
      await Bun.sleep(lookMs);
    }
  }

  const working = work();
  return {
    stop: async () => {
      isOver = true;
      await working;
      await Promise.all(onTheirWay);
      return { eventsSent, eventsLost };
    },
  };
}

/** Stripe's ID of the payment that an event is about, or else of the object. */
function paymentOf({ data }: FakeEvent): string {
  const { object } = data as { object: Readonly<Record<string, unknown>> };
  return `${object.payment_intent ?? object.id}`;
}
