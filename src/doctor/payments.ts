import type { PaymentSettings } from '../config.ts';
import { within } from '../lib/within.ts';
import { codeOfStripe, openStripe } from '../payments/stripe-client.ts';
import { codeOf, type Finding, good, problem, warning } from './finding.ts';

/** Asks Stripe for one checkout, with the key that the gateway has. The finding contains no key. */
export async function examinePayments(
  settings: PaymentSettings | null,
  patienceMs: number,
): Promise<Finding | null> {
  if (settings === null) return null;
  try {
    await within(patienceMs, openStripe(settings).checkout.sessions.list({ limit: 1 }));
  } catch (error) {
    return problem(
      'payments',
      `Stripe cannot be used (${nameOf(error)}).`,
      'Check STRIPE_SECRET_KEY, what a restricted key may do, and whether this machine can reach Stripe.',
    );
  }
  return settings.isLive
    ? good('payments', 'Stripe accepts the key')
    : warning(
        'payments',
        'Stripe accepts the key, which is for tests: nothing that is paid is real.',
        'Set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET to those of the live mode before customers pay.',
      );
}

function nameOf(error: unknown): string {
  const code = codeOfStripe(error);
  return code === 'unknown' ? codeOf(error) : code;
}
