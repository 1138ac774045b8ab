/** How an account pays for credit: payments, and a saved card. */
import type { SQL } from 'bun';
import { z } from 'zod';
import { recordChange } from '../audit-log/audit-log.ts';
import { ApiError } from '../errors.ts';
import { presentPage } from '../http/present-page.ts';
import { parseLimit, readQuery } from '../http/query.ts';
import { bodyOf, nothing, readBody } from '../json/fields.ts';
import { finishSetupsOf, openCardSetup } from '../payments/card-setup.ts';
import { openCheckout } from '../payments/checkout.ts';
import { forgetCard, forgetCardOf, type Payer } from '../payments/customers.ts';
import { type PaymentRow, paymentColumns, presentPayment } from '../payments/present.ts';
import { asApiError, isMissing, isRefusedByStripe } from '../payments/stripe-client.ts';
import type { Limit } from '../people/attempts.ts';
import { asOwner, type Caller, findStanding, idIn, readableAccount, requireReader } from './access.ts';
import { boundedRead } from './bounded-read.ts';
import type { Page, Payment, PaymentPage, Unsent } from './contract.ts';
import type { AccountContext, AccountHandler, Routes } from './guard.ts';
import { parseCursor } from './operator/list.ts';
import { findOptions, type PaymentServices, payable, paymentsOfOwner } from './payment-options.ts';

const checkoutBody = bodyOf({ amount: payable, saves_card: z.boolean('true or false') });

/** Each order asks Stripe for something. */
const orderLimit = (accountId: string): Limit => ({
  scope: 'payment',
  subject: accountId,
  max: 30,
  periodSeconds: 60 * 60,
});

const defaultLimit = 20;

export function paymentsPage(services: PaymentServices): Routes<AccountHandler> {
  const { sql, attempts } = services;

  return {
    '/payments': {
      GET: async (request, { caller }) => {
        readQuery(request.url, []);
        return Response.json(await findOptions(services, caller));
      },
    },
    ...orderRoutes(services),
    '/payments/checkout': {
      POST: async (request, context) => {
        const { amount, saves_card: savesCard } = await readBody(request, checkoutBody);
        const { stripe, settings } = await paymentsOfOwner(services, context);
        await attempts.take([orderLimit(context.caller.accountId)]);
        const payer = await payerOf(sql, context);
        const url = await openCheckout({ sql, stripe, settings }, payer, amount, savesCard);
        return Response.json({ url } satisfies PaymentPage);
      },
    },
    '/payments/portal': {
      POST: async (request, context) => {
        await readBody(request, nothing);
        const { stripe, settings } = await paymentsOfOwner(services, context);
        const { accountId } = context.caller;
        await attempts.take([orderLimit(accountId)]);
        const [known] = await sql<{ customer: string }[]>`
          select customer from payment_customers where account_id = ${accountId} and is_live = ${settings.isLive}`;
        if (known === undefined) throw new ApiError('no_saved_card');
        const portal = await stripe.billingPortal.sessions
          .create({ customer: known.customer, return_url: `${settings.origin}/billing?account=${accountId}` })
          .catch(async (error: unknown) => {
            if (!isMissing(error, 'customer')) throw asApiError(error);
            await forgetCardOf(sql, known.customer);
            throw new ApiError('no_saved_card', { cause: error });
          });
        return Response.json({ url: portal.url } satisfies PaymentPage);
      },
    },
    ...cardRoutes(services),
  };
}

async function payerOf(sql: SQL, { caller, signedIn }: AccountContext): Promise<Payer> {
  const { userId, accountId } = caller;
  const [account] = await sql<[{ name: string }]>`select name from accounts where id = ${accountId}`;
  return { accountId, accountName: account.name, userId, email: signedIn.email };
}

/** What was ordered, and what has become of it. */
function orderRoutes(services: PaymentServices): Routes<AccountHandler> {
  const { sql, attempts } = services;
  return {
    '/payments/orders': {
      GET: async (request, { caller }) => {
        const query = readQuery(request.url, ['limit', 'cursor']);
        const limit = parseLimit(query.get('limit'), defaultLimit);
        requireReader(await findStanding(sql, caller));
        const rows = await boundedRead(sql, (read) =>
          findPayments(read, caller, parseCursor(query.get('cursor')), limit + 1),
        );
        const page = presentPage(rows, limit, presentPayment, ({ id }) => id);
        return Response.json(page satisfies Unsent<Page<Payment>>);
      },
    },
    '/payments/orders/:order/check': {
      POST: async (request, context) => {
        await readBody(request, nothing);
        const id = idIn(context.params, 'order', 'payment_not_found');
        const payments = await paymentsOfOwner(services, context);
        const [known] = await findPayments(sql, context.caller, null, 1, id);
        if (known === undefined) throw new ApiError('payment_not_found');
        if (known.state === 'open' || known.state === 'new') {
          await attempts.take([{ ...orderLimit(context.caller.accountId), scope: 'payment-check' }]);
          await payments.lookNow(id);
        }
        const [payment = known] = await findPayments(sql, context.caller, null, 1, id);
        return Response.json(presentPayment(payment) satisfies Unsent<Payment>);
      },
    },
  };
}

/** The saved card. */
function cardRoutes(services: PaymentServices): Routes<AccountHandler> {
  const { sql } = services;
  return {
    '/payments/card/check': {
      POST: async (request, context) => {
        await readBody(request, nothing);
        const { stripe, settings } = await paymentsOfOwner(services, context);
        const { accountId } = context.caller;
        await services.attempts.take([{ ...orderLimit(accountId), scope: 'payment-check' }]);
        await finishSetupsOf({ sql, stripe, settings }, accountId).catch((error: unknown) => {
          throw asApiError(error);
        });
        return Response.json(await findOptions(services, context.caller));
      },
    },
    '/payments/card': {
      /** Where to save one without a payment. */
      POST: async (request, context) => {
        await readBody(request, nothing);
        const { stripe, settings } = await paymentsOfOwner(services, context);
        await services.attempts.take([orderLimit(context.caller.accountId)]);
        const url = await openCardSetup({ sql, stripe, settings }, await payerOf(sql, context));
        return Response.json({ url } satisfies PaymentPage);
      },
      DELETE: async (request, context) => {
        readQuery(request.url, []);
        const { stripe } = await paymentsOfOwner(services, context);
        const { caller, actor } = context;
        const paymentMethod = await asOwner(sql, caller, async (transaction) => {
          const [card] = await transaction<{ payment_method: string | null }[]>`
            update payment_customers set is_automatic = false, updated_at = now()
            where account_id = ${caller.accountId} returning payment_method`;
          if (!card?.payment_method) throw new ApiError('no_saved_card');
          await recordChange(transaction, actor, { action: 'remove_card', accountId: caller.accountId });
          return card.payment_method;
        });
        await stripe.paymentMethods.detach(paymentMethod).catch((error: unknown) => {
          // It may have been removed there before.
          if (!isRefusedByStripe(error)) throw asApiError(error);
        });
        await forgetCard(sql, paymentMethod);
        return new Response(null, { status: 204 });
      },
    },
  };
}

async function findPayments(
  sql: SQL,
  caller: Caller,
  before: string | null,
  rowCount: number,
  id: string | null = null,
): Promise<PaymentRow[]> {
  return await sql<PaymentRow[]>`
    select ${paymentColumns(sql, sql`case when standing = 'owner' then receipt_url end as receipt_url`)}
    from ${readableAccount(sql, caller)} as readable join payment_orders on payment_orders.account_id = readable.account_id
    where (${before}::uuid is null or payment_orders.id < ${before}::uuid)
      and (${id}::uuid is null or payment_orders.id = ${id}::uuid)
    order by payment_orders.id desc limit ${rowCount}`;
}
