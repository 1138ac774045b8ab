/** Gives money back through Stripe, for whichever door. What that takes of the credit follows from a look, as for refunds made there. */
import type { TransactionSQL } from 'bun';
import { type Actor, recordChange } from '../audit-log/audit-log.ts';
import { ApiError } from '../errors.ts';
import { formatMoney, parseMoney } from '../lib/money.ts';
import { centsOf, moneyOfCents } from './order.ts';
import { asApiError, isOtherRequest, type Stripe } from './stripe-client.ts';
import type { Payments } from './sweep.ts';

type RefundWish = Readonly<{
  orderId: string;
  /** With tax; null for all that is left. */
  cents: number | null;
  /** A UUID. The same one again refunds nothing more. */
  reference: string;
}>;

type MadeRefund = Readonly<{ id: string; cents: bigint; status: string }>;

export const refundAmountWords = 'USD in whole cents, more than 0, or null for all that is left';

/** Null when it is no amount that can be refunded. */
export function refundCents(text: string): number | null {
  const money = parseMoney(text);
  const cents = money === null || money <= 0n ? null : centsOf(money);
  return cents === null || cents > 99_999_999n ? null : Number(cents);
}

/** `transact` runs what it is given in a transaction in which whoever asks for the refund may do so. */
export async function refundPayment(
  payments: Payments | null,
  actor: Actor,
  wish: RefundWish,
  transact: <Result>(run: (transaction: TransactionSQL) => Promise<Result>) => Promise<Result>,
): Promise<MadeRefund> {
  // The wish is recorded first: whether Stripe has fulfilled it may never be known.
  const { service, intent } = await transact((transaction) => recordWish(transaction, payments, actor, wish));
  const refund =
    (await findRefund(service.stripe, intent, wish)) ?? (await createRefund(service.stripe, intent, wish));
  await service.lookNow(wish.orderId);
  return { id: refund.id, cents: BigInt(refund.amount), status: refund.status ?? 'unknown' };
}

async function recordWish(
  transaction: TransactionSQL,
  service: Payments | null,
  actor: Actor,
  { orderId, cents, reference }: RefundWish,
) {
  const [order] = await transaction<
    { account_id: string; payment_intent: string | null; is_live: boolean }[]
  >`select account_id, payment_intent, is_live from payment_orders where id = ${orderId}`;
  if (order === undefined) throw new ApiError('payment_not_found');
  if (service === null) throw new ApiError('payments_not_configured');
  const intent = order.is_live === service.settings.isLive ? order.payment_intent : null;
  if (intent === null) throw new ApiError('nothing_left');
  await recordChange(transaction, actor, {
    action: 'refund_payment',
    accountId: order.account_id,
    object: { type: 'payment', id: orderId },
    after: { amount: cents === null ? null : formatMoney(moneyOfCents(BigInt(cents))), reference },
  });
  return { service, intent };
}

/** Nobody refunds a payment more often. */
const maxRefunds = 1_000;

/** Stripe forgets idempotency keys after a day, but not its refunds. */
async function findRefund(
  stripe: Stripe,
  intent: string,
  { cents, reference }: RefundWish,
): Promise<Stripe.Refund | null> {
  const refunds = await stripe.refunds
    .list({ payment_intent: intent, limit: 100 })
    .autoPagingToArray({ limit: maxRefunds })
    .catch(refusal);
  const known = refunds.find(({ metadata }) => metadata?.reference === reference);
  if (known !== undefined && cents !== null && known.amount !== cents)
    throw new ApiError('reference_in_use', { param: 'reference' });
  return known ?? null;
}

async function createRefund(stripe: Stripe, intent: string, { orderId, cents, reference }: RefundWish) {
  return await stripe.refunds
    .create(
      {
        payment_intent: intent,
        ...(cents === null ? {} : { amount: cents }),
        metadata: { order: orderId, reference },
      },
      { idempotencyKey: `tollgate-refund-${reference}` },
    )
    .catch(refusal);
}

function refusal(error: unknown): never {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  // The key of the call is made of it.
  if (isOtherRequest(error)) throw new ApiError('reference_in_use', { param: 'reference', cause: error });
  if (code === 'charge_already_refunded') throw new ApiError('nothing_left', { cause: error });
  // Stripe says so only in a sentence.
  if (error instanceof Error && /greater than (?:unrefunded|charge) amount/i.test(error.message))
    throw new ApiError('amount_too_large', { param: 'amount', cause: error });
  throw asApiError(error);
}
