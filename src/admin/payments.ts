/** Payments of accounts, and refunds of them. */

import { idIn } from '../console/access.ts';
import { findOperatorPayments, type OperatorPaymentRow } from '../console/operator/payments.ts';
import { ApiError } from '../errors.ts';
import { bodyOf, converted, line } from '../json/fields.ts';
import { parseBody } from '../json/problem.ts';
import { referenceOf } from '../ledger/reference.ts';
import { formatMoney } from '../lib/money.ts';
import { moneyOfCents } from '../payments/order.ts';
import { presentPayment } from '../payments/present.ts';
import { refundAmountWords, refundCents, refundPayment } from '../payments/refunds.ts';
import { accountOf } from './account.ts';
import { acting, type Endpoints, reading } from './endpoint.ts';
import { pageOf, pageParameters, readPage } from './page.ts';
import type { AdminServices } from './services.ts';

export const paymentRefundSchema = bodyOf({
  amount: converted(refundAmountWords, refundCents).nullable().default(null),
  reference: line(200),
});

export function paymentEndpoints({ sql, payments, deriveKey }: AdminServices): Endpoints {
  const cursorKey = deriveKey('admin cursor');
  return {
    '/accounts/:account/payments': {
      GET: reading({
        scope: 'read',
        query: pageParameters,
        read: async (call) => {
          const accountId = await accountOf(sql, call);
          const page = readPage(call.query, ['payments', accountId], cursorKey);
          const wanted = { accountId, before: page.before };
          const rows = await findOperatorPayments(sql, call.actor, wanted, page.limit + 1);
          return { body: pageOf(rows, page, present, ({ id }) => id) };
        },
      }),
    },
    '/payments/:payment': {
      GET: reading({
        scope: 'read',
        read: async ({ actor, params }) => {
          const id = idIn(params, 'payment', 'payment_not_found');
          const [row] = await findOperatorPayments(sql, actor, { id }, 1);
          if (row === undefined) throw new ApiError('payment_not_found');
          return { body: present(row) };
        },
      }),
    },
    '/payments/:payment/refunds': {
      POST: acting({
        scope: 'money',
        parse: (body) => parseBody(paymentRefundSchema, body),
        act: async ({ actor, params, body }, transact) => {
          const orderId = idIn(params, 'payment', 'payment_not_found');
          const { id: reference } = referenceOf(body.reference);
          const wish = { orderId, cents: body.amount, reference };
          const { id, cents, status } = await refundPayment(payments, actor, wish, transact);
          const refund = { id, payment_id: orderId, amount: formatMoney(moneyOfCents(cents)), status };
          return {
            status: 201,
            body: { object: 'payment_refund', ...refund, reference: body.reference },
          };
        },
      }),
    },
  };
}

function present(row: OperatorPaymentRow) {
  const { account, ...payment } = presentPayment(row);
  return { object: 'payment', account_id: account.id, ...payment };
}
