/** All payments, for operators: what was paid, what does not fit, and refunds. */
import type { SQL } from 'bun';
import { ApiError } from '../../errors.ts';
import { presentPage } from '../../http/present-page.ts';
import { bodyOf, converted, nothing, readBody, uuid } from '../../json/fields.ts';
import { askForLook } from '../../payments/order-store.ts';
import { refundAmountWords, refundCents, refundPayment } from '../../payments/refunds.ts';
import type { Payments } from '../../payments/sweep.ts';
import {
  asOperator,
  type Found,
  idIn,
  type OperatorReader,
  operatorOnly,
  rowsForOperator,
} from '../access.ts';
import type { ConsoleContext, ConsoleHandler, Routes } from '../guard.ts';
import type { OperatorPayment } from '../operator-contract.ts';
import { type PaymentRow, paymentColumns, presentPayment } from '../payments.ts';
import { type ListQuery, readListQuery } from './list.ts';

const refundBody = bodyOf({
  amount: converted(refundAmountWords, refundCents).nullable(),
  reference: uuid('a UUID that is new for each refund'),
});

type Services = Readonly<{ sql: SQL; payments: Payments | null }>;

export function operatorPaymentsPage({ sql, payments }: Services): Routes<ConsoleHandler> {
  async function find({ signedIn }: ConsoleContext, id: string): Promise<OperatorPaymentRow> {
    const [row] = await findOperatorPayments(sql, signedIn, { id }, 1);
    if (row === undefined) throw new ApiError('payment_not_found');
    return row;
  }

  async function lookAndShow(context: ConsoleContext, id: string): Promise<Response> {
    if (payments === null) throw new ApiError('payments_not_configured');
    await askForLook(sql, { ...payments.settings, orders: [id], objects: [] });
    await payments.look(id);
    return Response.json(present(await find(context, id)));
  }

  return {
    '/payments': {
      GET: async (request, { signedIn }) => {
        const query = readListQuery(request.url);
        const rows = await findOperatorPayments(sql, signedIn, query, query.limit + 1);
        return Response.json(presentPage(rows, query.limit, present, ({ id }) => id));
      },
    },
    '/payments/:order/check': {
      POST: async (request, context) => {
        await readBody(request, nothing);
        const { id } = await find(context, idIn(context.params, 'order', 'payment_not_found'));
        return await lookAndShow(context, id);
      },
    },
    '/payments/:order/refunds': {
      POST: async (request, context) => {
        const { amount: cents, reference } = await readBody(request, refundBody);
        const orderId = idIn(context.params, 'order', 'payment_not_found');
        await refundPayment({ sql, payments }, context.actor, { orderId, cents, reference }, (run) =>
          asOperator(sql, context, run),
        );
        return Response.json(present(await find(context, orderId)));
      },
    },
  };
}

export type OperatorPaymentRow = PaymentRow &
  Readonly<Pick<OperatorPayment, 'account' | 'problem' | 'payment_intent' | 'is_live' | 'warnings'>>;

function present(row: OperatorPaymentRow) {
  return presentPayment(row);
}

type Wanted = Readonly<{
  id?: string;
  accountId?: string;
  /** The list goes on after this ID. */
  before?: string | null;
  search?: ListQuery['search'];
}>;

/** The newest first. */
export async function findOperatorPayments(
  sql: SQL,
  reader: OperatorReader,
  { id, accountId, before, search }: Wanted,
  rowCount: number,
): Promise<OperatorPaymentRow[]> {
  const ofAccount = accountId === undefined ? sql`true` : sql`payment_orders.account_id = ${accountId}::uuid`;
  const pattern = search?.pattern ?? null;
  const searched = search?.id ?? null;
  const rows = await sql<Found<OperatorPaymentRow, 'id'>[]>`
    select found.* from ${operatorOnly(sql, reader)} as operator left join lateral (
      select ${paymentColumns(sql)}, problem, payment_intent, is_live, (
               select coalesce(json_agg(json_build_object('id', id, 'fraud_type', fraud_type, 'is_actionable', is_actionable,
                 'created_at', event_time(payment_warnings.created_at)) order by id), '[]')
               from payment_warnings where order_id = payment_orders.id) as warnings,
             json_build_object('id', accounts.id, 'name', name, 'is_suspended', suspended_at is not null) as account
      from payment_orders join accounts on accounts.id = account_id
      where ${ofAccount} and (${id ?? null}::uuid is null or payment_orders.id = ${id ?? null}::uuid)
        and (${before ?? null}::uuid is null or payment_orders.id < ${before ?? null}::uuid)
        and (${pattern}::text is null or name ~ ${pattern} or accounts.id = ${searched}::uuid
          or payment_orders.id = ${searched}::uuid)
      order by payment_orders.id desc limit ${rowCount}
    ) as found on true
    order by found.id desc`;
  return rowsForOperator(rows, 'id');
}
