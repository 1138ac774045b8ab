/** Where Stripe sends events. It is answered once the database knows which orders to look at; the look comes after. */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { readBodyBytes } from '../http/body-bytes.ts';
import type { Handler } from '../http/context.ts';
import { parseJsonBody } from '../json/body.ts';
import type { Log } from '../lib/log.ts';
import { defaultPace } from '../lib/read-body.ts';
import { pointersOf } from './event.ts';
import { readListSoon } from './missed-events.ts';
import { askForLook } from './order-store.ts';
import { checkCard } from './saved-card.ts';
import { isSignedByStripe } from './signature.ts';
import { describeFailure } from './stripe-client.ts';
import type { Payments } from './sweep.ts';

/** Stripe's are far below. */
const maxBytes = 256 * 1024;

export const stripeEventsPath = '/api/payments/stripe/events';

type EventServices = Readonly<{ sql: SQL; payments: Payments; log: Log }>;

export function receiveEvents({ sql, payments, log }: EventServices): Handler {
  const { settings, stripe } = payments;
  return async (request) => {
    const body = new Uint8Array(await readBodyBytes(request, { maxBytes, payer: null, pace: defaultPace }));
    const header = request.headers.get('stripe-signature');
    // Before anything of the body is read.
    if (!isSignedByStripe({ header, body, secrets: settings.webhookSecrets, nowMs: Date.now() }))
      throw new ApiError('invalid_signature');
    const pointers = pointersOf(parseJsonBody(body));
    if (pointers !== null && pointers.isLive === settings.isLive) {
      payments.lookSoon(await askForLook(sql, pointers));
      if (pointers.isVague) await readListSoon(sql, settings.isLive);
      if (pointers.paymentMethod !== null || pointers.customer !== null)
        checkCard({ sql, stripe }, pointers).catch((error: unknown) =>
          log.warn('a saved card was not checked', describeFailure(error)),
        );
    }
    return Response.json({ received: true });
  };
}
