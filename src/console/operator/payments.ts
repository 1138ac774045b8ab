/** All payments, for operators: what was paid, what does not fit, and refunds. */
import type { SQL } from 'bun';
import { recordChange } from '../../audit-log/audit-log.ts';
import { ApiError } from '../../errors.ts';
import { presentPage } from '../../http/present-page.ts';
import { readQuery } from '../../http/query.ts';
import { bodyOf, converted, nothing, readBody, uuid } from '../../json/fields.ts';
import { formatMoney, parseMoney } from '../../lib/money.ts';
import { asApiError } from '../../payments/checkout.ts';
import { centsOf } from '../../payments/order.ts';
import { askForLook } from '../../payments/order-store.ts';
import { isOtherRequest } from '../../payments/stripe-client.ts';
import type { Payments } from '../../payments/sweep.ts';
import {
  asOperator,
  type Found,
  idIn,
  type OperatorReader,
  operatorOnly,
  rowsForOperator,
} from '../access.ts';
import type { Unsent } from '../contract.ts';
import type { ConsoleContext, ConsoleHandler, Routes } from '../guard.ts';
import type { OperatorPayment, StuckPayments } from '../operator-contract.ts';
import { type PaymentRow, paymentColumns, presentPayment } from '../payments.ts';
import { type ListQuery, readListQuery } from './list.ts';

const refundBody = bodyOf({
  amount: converted('USD in whole cents, more than 0, or null for all that is left', (text) => {
    const money = parseMoney(text);
    const cents = money === null || money <= 0n ? null : centsOf(money);
    return cents === null || cents > 99_999_999n ? null : Number(cents);
  }).nullable(),
  reference: uuid('a UUID that is new for each refund'),
});

type Services = Readonly<{ sql: SQL; payments: Payments | null }>;

export function operatorPaymentsPage({ sql, payments }: Services): Routes<ConsoleHandler> {
  async function find({ signedIn }: ConsoleContext, id: string): Promise<OperatorPaymentRow> {
    const [row] = await findOperatorPayments(sql, signedIn, { id, query: null }, 1);
    if (row === undefined) throw new ApiError('payment_not_found');
    return row;
  }

  async function lookAndShow(context: ConsoleContext, order: OperatorPaymentRow): Promise<Response> {
    const problem = await lookAgain(sql, payments, order);
    const row = await find(context, order.id);
    return Response.json(present({ ...row, look_problem: row.look_problem ?? problem }));
  }

  return {
    '/payments': {
      GET: async (request, { signedIn }) => {
        const query = readListQuery(request.url);
        const rows = await findOperatorPayments(sql, signedIn, { id: null, query }, query.limit + 1);
        return Response.json(presentPage(rows, query.limit, present, ({ id }) => id));
      },
    },
    '/payments/stuck': {
      GET: async (request, { signedIn }) => {
        readQuery(request.url, []);
        const rows = await findStuckPayments(sql, signedIn);
        return Response.json({ data: rows.map(present) } satisfies Unsent<StuckPayments>);
      },
    },
    '/payments/:order/check': {
      POST: async (request, context) => {
        await readBody(request, nothing);
        const order = await find(context, idIn(context.params, 'order', 'payment_not_found'));
        return await lookAndShow(context, order);
      },
    },
    '/payments/:order/refunds': {
      POST: async (request, context) => {
        const { amount, reference } = await readBody(request, refundBody);
        const order = await find(context, idIn(context.params, 'order', 'payment_not_found'));
        if (payments === null) throw new ApiError('payments_not_configured');
        if (order.payment_intent === null || order.is_live !== payments.settings.isLive)
          throw new ApiError('nothing_left');
        // The wish is recorded first: whether Stripe has fulfilled it may never be known.
        await asOperator(sql, context, (transaction) =>
          recordChange(transaction, context.actor, {
            action: 'refund_payment',
            accountId: order.account.id,
            object: { type: 'payment', id: order.id },
            after: { amount: amount === null ? null : formatMoney(BigInt(amount) * 10n ** 10n), reference },
          }),
        );
        await payments.stripe.refunds
          .create(
            {
              payment_intent: order.payment_intent,
              ...(amount === null ? {} : { amount }),
              metadata: { order: order.id },
            },
            { idempotencyKey: `tollgate-refund-${reference}` },
          )
          .catch(refusal);
        return await lookAndShow(context, order);
      },
    },
  };
}

/** Why nobody has looked, unless the look has failed, which is stored. Null when someone has. */
async function lookAgain(
  sql: SQL,
  payments: Payments | null,
  { id, is_live: isLive }: OperatorPaymentRow,
): Promise<string | null> {
  if (payments === null) throw new ApiError('payments_not_configured');
  if (isLive !== payments.settings.isLive) return 'other_key';
  await askForLook(sql, { isLive, orders: [id], objects: [] });
  return (await payments.look(id)) === 'busy' ? 'in_progress' : null;
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

type OperatorPaymentRow = PaymentRow &
  Readonly<Pick<OperatorPayment, 'account' | 'problem' | 'payment_intent' | 'is_live' | 'look_problem'>>;

function present(row: OperatorPaymentRow) {
  return presentPayment(row);
}

function operatorColumns(sql: SQL) {
  return sql`${paymentColumns(sql)}, problem, payment_intent, is_live, look_problem,
    json_build_object('id', accounts.id, 'name', name, 'is_suspended', suspended_at is not null) as account`;
}

const maxStuck = 50;

/** What was paid and does not fit stays here for a while, until it was refunded. */
async function findStuckPayments(sql: SQL, reader: OperatorReader): Promise<OperatorPaymentRow[]> {
  const rows = await sql<Found<OperatorPaymentRow, 'id'>[]>`
    select found.* from ${operatorOnly(sql, reader)} as operator left join lateral (
      select ${operatorColumns(sql)}
      from payment_orders join accounts on accounts.id = account_id
      where look_problem is not null or (state = 'contradicted' and payment_orders.created_at > now() - interval '90 days'
        and coalesce(paid_minor, 0) > (select coalesce(sum(amount_minor), 0) from payment_reversals
          where order_id = payment_orders.id and kind = 'refund' and status not in ('failed', 'canceled')))
      order by payment_orders.id desc limit ${maxStuck}
    ) as found on true
    order by found.id desc`;
  return rowsForOperator(rows, 'id');
}

type Wanted = Readonly<{ id: string | null; query: ListQuery | null }>;

async function findOperatorPayments(
  sql: SQL,
  reader: OperatorReader,
  { id, query }: Wanted,
  rowCount: number,
): Promise<OperatorPaymentRow[]> {
  const pattern = query?.search.pattern ?? null;
  const searched = query?.search.id ?? null;
  const rows = await sql<Found<OperatorPaymentRow, 'id'>[]>`
    select found.* from ${operatorOnly(sql, reader)} as operator left join lateral (
      select ${operatorColumns(sql)}
      from payment_orders join accounts on accounts.id = account_id
      where (${id}::uuid is null or payment_orders.id = ${id}::uuid)
        and (${query?.before ?? null}::uuid is null or payment_orders.id < ${query?.before ?? null}::uuid)
        and (${pattern}::text is null or name ~ ${pattern} or accounts.id = ${searched}::uuid
          or payment_orders.id = ${searched}::uuid)
      order by payment_orders.id desc limit ${rowCount}
    ) as found on true
    order by found.id desc`;
  return rowsForOperator(rows, 'id');
}
