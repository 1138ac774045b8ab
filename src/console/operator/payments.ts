/** All payments, for operators: what was paid, what does not fit, and refunds. */
import type { SQL } from 'bun';
import { ApiError } from '../../errors.ts';
import { presentPage } from '../../http/present-page.ts';
import { readQuery } from '../../http/query.ts';
import { bodyOf, converted, nothing, readBody, uuid } from '../../json/fields.ts';
import { type PaymentRow, paymentColumns, presentPayment } from '../../payments/present.ts';
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
import { boundedRead } from '../bounded-read.ts';
import type { Unsent } from '../contract.ts';
import type { ConsoleContext, ConsoleHandler, Routes } from '../guard.ts';
import type { OperatorPayment, StuckPayments } from '../operator-contract.ts';
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

  async function lookAndShow(context: ConsoleContext, order: OperatorPaymentRow): Promise<Response> {
    const problem = await lookAgain(payments, order);
    const row = await find(context, order.id);
    return Response.json(presentPayment({ ...row, look_problem: row.look_problem ?? problem }));
  }

  return {
    '/payments': {
      GET: async (request, { signedIn }) => {
        const query = readListQuery(request.url);
        const rows = await boundedRead(sql, (read) =>
          findOperatorPayments(read, signedIn, query, query.limit + 1),
        );
        return Response.json(presentPage(rows, query.limit, presentPayment, ({ id }) => id));
      },
    },
    '/payments/stuck': {
      GET: async (request, { signedIn }) => {
        readQuery(request.url, []);
        const rows = await boundedRead(sql, (read) => findStuckPayments(read, signedIn));
        return Response.json({ data: rows.map(presentPayment) } satisfies Unsent<StuckPayments>);
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
        const { amount: cents, reference } = await readBody(request, refundBody);
        const orderId = idIn(context.params, 'order', 'payment_not_found');
        await refundPayment(payments, context.actor, { orderId, cents, reference }, (run) =>
          asOperator(sql, context, run),
        );
        return Response.json(presentPayment(await find(context, orderId)));
      },
    },
  };
}

/** Why nobody has looked, unless the look has failed, which is stored. Null when someone has. */
async function lookAgain(
  payments: Payments | null,
  { id, is_live: isLive }: OperatorPaymentRow,
): Promise<string | null> {
  if (payments === null) throw new ApiError('payments_not_configured');
  if (isLive !== payments.settings.isLive) return 'other_key';
  return (await payments.lookNow(id)) === 'busy' ? 'in_progress' : null;
}

export type OperatorPaymentRow = PaymentRow &
  Readonly<
    Pick<OperatorPayment, 'account' | 'problem' | 'payment_intent' | 'is_live' | 'look_problem' | 'warnings'>
  >;

function operatorColumns(sql: SQL) {
  return sql`${paymentColumns(sql)}, problem, payment_intent, is_live, look_problem, (
      select coalesce(json_agg(json_build_object('id', id, 'fraud_type', fraud_type, 'is_actionable', is_actionable,
        'created_at', event_time(payment_warnings.created_at)) order by id), '[]')
      from payment_warnings where order_id = payment_orders.id) as warnings,
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
      select ${operatorColumns(sql)}
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
