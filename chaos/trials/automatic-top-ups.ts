/**
 * An account whose card is charged whenever it may be: its balance is always too low, and only the cap, which its owner raises
 * little by little, keeps it from being charged. Now and then the card is declined, until the owner acts.
 */
import type { FakeStripe } from '../../tests/support/fake-stripe.ts';
import type { Random } from '../random.ts';
import { type Owner, openCheckout } from './owner.ts';

const firstCents = 500;
/** In USD. */
const threshold = '1000';
const amount = '1';
const firstCap = 2;
const raiseEveryMs = 3_000;
const declinedShare = 0.15;
const retryMs = 300;
/** Longer than all of the outages that can follow each other closely. */
const patienceMs = 150_000;

export function startTopUps(
  stripe: FakeStripe,
  owner: Owner,
  origin: (chance: Random) => string,
  random: Random,
): { stop: () => Promise<void> } {
  const accountId = owner.accounts.at(-1) ?? '';
  let cap = firstCap;
  let isOver = false;

  /** Until it is answered. There is no card to charge before the payment with which it is saved has been noticed. */
  async function setRules(isOn: boolean): Promise<void> {
    const body = { is_on: isOn, threshold, amount, target: null, monthly_cap: `${cap}` };
    const deadlineMs = performance.now() + patienceMs;
    while (performance.now() < deadlineMs) {
      const path = `/accounts/${accountId}/payments/automatic`;
      const answer = await owner.send('PATCH', origin(random), path, body);
      if (answer?.status === 200 || (isOver && isOn) || (answer !== null && !isOn)) return;
      await Bun.sleep(retryMs);
    }
  }

  async function saveCard(): Promise<void> {
    while (!isOver) {
      const checkout = { accountId, cents: firstCents, origin: origin(random), savesCard: true };
      const session = await openCheckout(owner, stripe, checkout);
      if (session !== null) return stripe.pay(session);
      await Bun.sleep(retryMs);
    }
  }

  async function work(): Promise<void> {
    await saveCard();
    for (; !isOver; cap += 1) {
      stripe.setCard(random.happens(declinedShare) ? 'declined' : 'ok');
      await setRules(true);
      const nextAtMs = performance.now() + raiseEveryMs;
      while (!isOver && performance.now() < nextAtMs) await Bun.sleep(retryMs);
    }
    stripe.setCard('ok');
    await setRules(false);
  }

  const working = work();
  return {
    stop: async () => {
      isOver = true;
      await working;
    },
  };
}
