/** How an account gets credit: payments, a saved card, automatic top-ups, and codes. */
import type { SQL } from 'bun';
import { z } from 'zod';
import { recordChange } from '../audit-log/audit-log.ts';
import { ApiError } from '../errors.ts';
import { presentPage } from '../http/present-page.ts';
import { parseLimit, readQuery } from '../http/query.ts';
import { amountFrom, bodyOf, converted, nothing, readBody } from '../json/fields.ts';
import { networkOfClient } from '../lib/ip-address.ts';
import { formatMoney, formatMoneyShort, parseMoney } from '../lib/money.ts';
import { finishSetupsOf, openCardSetup } from '../payments/card-setup.ts';
import { asApiError, openCheckout, type Payer } from '../payments/checkout.ts';
import { isLikeCode, redeemCode } from '../payments/codes.ts';
import { forgetCard, forgetCardOf } from '../payments/customers.ts';
import { greatestAmount, isPayable, leastAmount, moneyOfCents } from '../payments/order.ts';
import { askForLook } from '../payments/order-store.ts';
import { isMissing, isRefusedByStripe } from '../payments/stripe-client.ts';
import type { Payments } from '../payments/sweep.ts';
import type { Attempts, Limit } from '../people/attempts.ts';
import type { Role } from '../people/user-store.ts';
import { asOwner, type Caller, findRole, idIn, requireMember, requireOwner } from './access.ts';
import type {
  AutomaticTopUp,
  Payment,
  PaymentOptions,
  PaymentPage,
  RedeemedCode,
  Unsent,
} from './contract.ts';
import type { AccountContext, AccountHandler, Routes } from './guard.ts';
import { parseCursor } from './operator/list.ts';

type PaymentServices = Readonly<{
  sql: SQL;
  attempts: Attempts;
  payments: Payments | null;
  operatorContact: string | null;
}>;

const payable = converted(
  `USD in whole cents, from ${formatMoneyShort(leastAmount)} to ${formatMoneyShort(greatestAmount)}`,
  (text) => {
    const money = parseMoney(text);
    return money !== null && isPayable(money) ? money : null;
  },
);
const checkoutBody = bodyOf({ amount: payable, saves_card: z.boolean('true or false') });
const automaticBody = bodyOf({
  is_on: z.boolean('true or false'),
  threshold: amountFrom(0n),
  amount: payable.nullable(),
  target: payable.nullable(),
  monthly_cap: amountFrom(1n),
});
const codeBody = bodyOf({ code: z.string('a code').max(200, 'a code') });

const hour = 60 * 60;
/** Each order asks Stripe for something. */
const orderLimit = (accountId: string): Limit => ({
  scope: 'payment',
  subject: accountId,
  max: 30,
  periodSeconds: hour,
});
/** Saving the settings has a card tried again that may have been declined. */
const automaticLimit = (accountId: string): Limit => ({
  scope: 'top-up-settings',
  subject: accountId,
  max: 5,
  periodSeconds: hour,
});
/** Codes cannot be guessed at any rate; this keeps guesses from costing much. */
const codeLimit = (scope: string, subject: string): Limit => ({
  scope,
  subject,
  max: 20,
  periodSeconds: hour,
});

const defaultLimit = 20;

type ForOwner = (context: AccountContext) => Promise<Payments>;

export function paymentsPage(services: PaymentServices): Routes<AccountHandler> {
  const { sql, attempts } = services;

  /** Whoever may not pay is told that first. */
  async function forOwner({ caller }: AccountContext): Promise<Payments> {
    requireOwner(await findRole(sql, caller));
    if (services.payments === null) throw new ApiError('payments_not_configured');
    return services.payments;
  }

  return {
    '/payments': {
      GET: async (request, { caller }) => {
        readQuery(request.url, []);
        return Response.json(await findOptions(services, caller));
      },
    },
    ...orderRoutes(services, forOwner),
    '/payments/checkout': {
      POST: async (request, context) => {
        const { amount, saves_card: savesCard } = await readBody(request, checkoutBody);
        const { stripe, settings } = await forOwner(context);
        await attempts.take([orderLimit(context.caller.accountId)]);
        const payer = await payerOf(sql, context);
        const { url } = await openCheckout({ sql, stripe, settings }, payer, amount, savesCard);
        return Response.json({ url } satisfies PaymentPage);
      },
    },
    '/payments/portal': {
      POST: async (request, context) => {
        await readBody(request, nothing);
        const { stripe, settings } = await forOwner(context);
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
    ...cardRoutes(services, forOwner),
    ...automaticRoutes(services, forOwner),
    ...codeRoutes(services),
  };
}

async function payerOf(sql: SQL, { caller, signedIn }: AccountContext): Promise<Payer> {
  const { userId, accountId } = caller;
  const [account] = await sql<[{ name: string }]>`select name from accounts where id = ${accountId}`;
  return { accountId, accountName: account.name, userId, email: signedIn.email };
}

/** What was ordered, and what has become of it. */
function orderRoutes({ sql, attempts }: PaymentServices, forOwner: ForOwner): Routes<AccountHandler> {
  return {
    '/payments/orders': {
      GET: async (request, { caller }) => {
        const query = readQuery(request.url, ['limit', 'cursor']);
        const limit = parseLimit(query.get('limit'), defaultLimit);
        requireMember(await findRole(sql, caller));
        const rows = await findPayments(sql, caller, parseCursor(query.get('cursor')), limit + 1);
        return Response.json(presentPage(rows, limit, presentPayment, ({ id }) => id));
      },
    },
    '/payments/orders/:order/check': {
      POST: async (request, context) => {
        await readBody(request, nothing);
        const id = idIn(context.params, 'order', 'payment_not_found');
        const payments = await forOwner(context);
        const [known] = await findPayments(sql, context.caller, null, 1, id);
        if (known === undefined) throw new ApiError('payment_not_found');
        if (known.state === 'open' || known.state === 'new') {
          await attempts.take([{ ...orderLimit(context.caller.accountId), scope: 'payment-check' }]);
          await askForLook(sql, { ...payments.settings, orders: [id], objects: [] });
          await payments.look(id);
        }
        const [payment = known] = await findPayments(sql, context.caller, null, 1, id);
        return Response.json(presentPayment(payment));
      },
    },
  };
}

function codeRoutes({ sql, attempts }: PaymentServices): Routes<AccountHandler> {
  return {
    '/payments/redeem': {
      POST: async (request, { caller, actor, base }) => {
        const { code } = await readBody(request, codeBody);
        requireOwner(await findRole(sql, caller));
        await attempts.take([
          codeLimit('code-user', caller.userId),
          codeLimit('code-network', networkOfClient(base.clientAddress())),
        ]);
        const text = code.trim();
        const amount = isLikeCode(text)
          ? await asOwner(sql, caller, (transaction) =>
              redeemCode(transaction, actor, caller.accountId, text),
            )
          : null;
        if (amount === null) throw new ApiError('invalid_code', { param: 'code' });
        return Response.json({ amount: formatMoney(amount) } satisfies RedeemedCode);
      },
    },
  };
}

/** When the saved card is charged. */
function automaticRoutes(services: PaymentServices, forOwner: ForOwner): Routes<AccountHandler> {
  const { sql, attempts } = services;
  return {
    '/payments/automatic': {
      PATCH: async (request, context) => {
        const draft = await readBody(request, automaticBody);
        await forOwner(context);
        const { caller, actor } = context;
        const { threshold, amount, target, monthly_cap: cap, is_on: isOn } = draft;
        if ((amount === null) === (target === null))
          throw invalid('amount', 'Either an amount or a target has to be given, and not both.');
        if (target !== null && target <= threshold)
          throw invalid('target', 'The target has to be more than the threshold.');
        if (cap < (amount ?? leastAmount))
          throw invalid('monthly_cap', 'The most in a month has to be at least one payment.');
        if (isOn) await attempts.take([automaticLimit(caller.accountId)]);
        await asOwner(sql, caller, async (transaction) => {
          const changed = await transaction`
            update payment_customers
            set is_automatic = ${isOn}, threshold = ${formatMoney(threshold)}::numeric,
                top_up_amount = ${amount === null ? null : formatMoney(amount)}::numeric,
                top_up_target = ${target === null ? null : formatMoney(target)}::numeric,
                monthly_cap = ${formatMoney(cap)}::numeric, paused_reason = null, paused_at = null, updated_at = now()
            where account_id = ${caller.accountId} and (payment_method is not null or not ${isOn}) returning 1`;
          if (changed.length === 0) throw new ApiError('no_saved_card');
          const after = Object.fromEntries(
            Object.entries(draft).map(([name, value]) => [
              name,
              typeof value === 'bigint' ? formatMoney(value) : value,
            ]),
          );
          await recordChange(transaction, actor, {
            action: 'update_top_up',
            accountId: caller.accountId,
            after,
          });
        });
        return Response.json(await findOptions(services, caller));
      },
    },
  };
}

/** The saved card. */
function cardRoutes(services: PaymentServices, forOwner: ForOwner): Routes<AccountHandler> {
  const { sql } = services;
  return {
    '/payments/card/check': {
      POST: async (request, context) => {
        await readBody(request, nothing);
        const { stripe, settings } = await forOwner(context);
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
        const { stripe, settings } = await forOwner(context);
        await services.attempts.take([orderLimit(context.caller.accountId)]);
        const url = await openCardSetup({ sql, stripe, settings }, await payerOf(sql, context));
        return Response.json({ url } satisfies PaymentPage);
      },
      DELETE: async (request, context) => {
        readQuery(request.url, []);
        const { stripe } = await forOwner(context);
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

function invalid(param: string, message: string): ApiError {
  return new ApiError('invalid_parameter', { param, message });
}

type OptionsRow = {
  role: Role;
  payment_method: string | null;
  card_brand: string | null;
  card_last4: string | null;
  card_expires: string | null;
  is_automatic: boolean | null;
  threshold: string | null;
  top_up_amount: string | null;
  top_up_target: string | null;
  monthly_cap: string | null;
  paused_reason: string | null;
  month_added: string;
};

async function findOptions(
  { sql, payments, operatorContact }: PaymentServices,
  { userId, accountId }: Caller,
): Promise<PaymentOptions> {
  const isLive = payments?.settings.isLive ?? null;
  const [row] = await sql<OptionsRow[]>`
    select role, payment_method, card_brand, card_last4, card_expires, is_automatic, threshold, top_up_amount, top_up_target,
           monthly_cap, coalesce(paused_reason,
             case when has_failed_too_often(known.account_id, is_live) then 'too_many_failures' end) as paused_reason,
           top_ups_this_month(known.account_id, is_live) as month_added
    from memberships left join payment_customers as known
      on known.account_id = memberships.account_id and is_live is not distinct from ${isLive}::boolean
    where user_id = ${userId} and memberships.account_id = ${accountId}`;
  if (row === undefined) throw new ApiError('account_not_found');
  return {
    is_online: payments !== null,
    is_test: isLive === false,
    least: formatMoney(leastAmount),
    most: formatMoney(greatestAmount),
    contact: operatorContact,
    card:
      row.payment_method === null || row.role !== 'owner'
        ? null
        : { brand: row.card_brand, last4: row.card_last4, expires: row.card_expires },
    automatic: automaticOf(row),
  };
}

function automaticOf(row: OptionsRow): AutomaticTopUp | null {
  const { threshold, monthly_cap: cap } = row;
  if (threshold === null || cap === null) return null;
  return {
    is_on: row.is_automatic === true,
    threshold,
    amount: row.top_up_amount,
    target: row.top_up_target,
    monthly_cap: cap,
    month_added: row.month_added,
    paused_reason: row.paused_reason,
  };
}

export type PaymentRow = Omit<Unsent<Payment>, 'paid' | 'reversals'> & {
  paid_minor: bigint | null;
  reversals: (Omit<Payment['reversals'][number], 'amount'> & { amount_minor: string })[];
};

/** What is listed of an order. Receipts, which say who has paid, are for owners and operators. */
export function paymentColumns(sql: SQL, receiptUrl = sql`receipt_url`) {
  return sql`payment_orders.id, payment_orders.kind, payment_orders.amount, state, paid_minor, ${receiptUrl},
    payment_orders.created_at, (
      select coalesce(json_agg(json_build_object('id', reversal.id, 'kind', reversal.kind,
        'amount_minor', amount_minor::text, 'status', status, 'taken', taken::text,
        'owed', greatest(due - taken, 0)::text) order by reversal.created_at, reversal.id), '[]')
      from payment_reversals as reversal where order_id = payment_orders.id) as reversals`;
}

async function findPayments(
  sql: SQL,
  { userId, accountId }: Caller,
  before: string | null,
  rowCount: number,
  id: string | null = null,
): Promise<PaymentRow[]> {
  return await sql<PaymentRow[]>`
    select ${paymentColumns(sql, sql`case when role = 'owner' then receipt_url end as receipt_url`)}
    from memberships join payment_orders on payment_orders.account_id = memberships.account_id
    where user_id = ${userId} and memberships.account_id = ${accountId}
      and (${before}::uuid is null or payment_orders.id < ${before}::uuid)
      and (${id}::uuid is null or payment_orders.id = ${id}::uuid)
    order by payment_orders.id desc limit ${rowCount}`;
}

export function presentPayment<Row extends PaymentRow>({ paid_minor: paid, reversals, ...payment }: Row) {
  return {
    ...payment,
    paid: paid === null ? null : formatMoney(moneyOfCents(BigInt(paid))),
    reversals: reversals.map(({ amount_minor: amount, ...reversal }) => ({
      ...reversal,
      amount: formatMoney(moneyOfCents(BigInt(amount))),
    })),
  };
}
