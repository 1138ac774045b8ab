import type { PaymentSettings } from '../config.ts';
import { within } from '../lib/within.ts';
import { codeOfStripe, openStripe } from '../payments/stripe-client.ts';
import { codeOf, type Finding, good, problem, warning } from './finding.ts';

/**
 * Reads one of each kind of object that the gateway reads, with its key: a restricted key that lacks one of them would keep
 * payments from being credited. The finding contains no key.
 */
export async function examinePayments(
  settings: PaymentSettings | null,
  patienceMs: number,
): Promise<Finding | null> {
  if (settings === null) return null;
  try {
    const stripe = openStripe(settings);
    const one = { limit: 1 };
    await within(
      patienceMs,
      Promise.all([
        stripe.checkout.sessions.list(one),
        stripe.paymentIntents.list(one),
        stripe.invoices.list(one),
        stripe.invoicePayments.list(one),
        stripe.refunds.list(one),
        stripe.disputes.list(one),
        stripe.events.list(one),
      ]),
    );
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
        'Stripe accepts the key, which is for tests: no real money moves, but what is paid is credit that can be spent.',
        'Set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET to those of the live mode before customers pay.',
      );
}

function nameOf(error: unknown): string {
  const code = codeOfStripe(error);
  return code === 'unknown' ? codeOf(error) : code;
}
