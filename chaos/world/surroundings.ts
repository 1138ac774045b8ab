/** What the gateways of a run talk to besides providers: a receiver of webhooks, and Stripe. Both are in this process. */
import { join } from 'node:path';
import { type FakeStripe, startFakeStripe } from '../../tests/support/fake-stripe.ts';
import type { Random } from '../random.ts';
import { receiverSettings, startWebhookReceiver, type WebhookReceiver } from './webhook-receiver.ts';
import type { WorldOptions } from './world.ts';

/** What browsers know the gateways as. */
export const publicUrl = 'http://127.0.0.1';

export type Surroundings = Readonly<{
  receiver: WebhookReceiver;
  stripe: FakeStripe;
  /** What gateways need in order to reach them. */
  options: Pick<WorldOptions, 'preloads' | 'settings'>;
  stop: () => Promise<void>;
}>;

/** Otherwise it would take minutes until another gateway does what a killed one was doing. */
const quickPreloads = ['quick-webhooks.ts', 'quick-payments.ts'].map((name) =>
  join(import.meta.dir, '../../tests/support', name),
);

export async function startSurroundings(random: Random): Promise<Surroundings> {
  const stripe = startFakeStripe();
  const receiver = await startWebhookReceiver(random);
  return {
    receiver,
    stripe,
    options: {
      preloads: quickPreloads,
      settings: {
        ...receiverSettings,
        PUBLIC_URL: publicUrl,
        PAYMENTS: 'stripe',
        PAYMENTS_DISPUTES: 'keep',
        STRIPE_SECRET_KEY: stripe.secretKey,
        STRIPE_WEBHOOK_SECRET: stripe.webhookSecret,
        STRIPE_API_URL: stripe.url,
      },
    },
    stop: async () => {
      receiver.stop();
      await stripe.stop();
    },
  };
}
