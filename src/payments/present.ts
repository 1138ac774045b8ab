/** Orders as members, operators and programs see them. */
import type { SQL } from 'bun';
import { formatMoney } from '../lib/money.ts';
import type { Reversal } from './facts.ts';
import { moneyOfCents, type OrderKind, type OrderState } from './order.ts';

export type PaymentRow = Readonly<{
  id: string;
  kind: OrderKind;
  amount: string;
  state: OrderState;
  paid_minor: bigint | null;
  receipt_url: string | null;
  created_at: Date;
  reversals: readonly ReversalRow[];
}>;

type ReversalRow = Readonly<{
  id: string;
  kind: Reversal['kind'];
  amount_minor: string;
  status: string;
  taken: string;
  owed: string;
}>;

/** What is listed of an order. Receipts, which say who has paid, are for owners and operators. */
export function paymentColumns(sql: SQL, receiptUrl = sql`receipt_url`) {
  return sql`payment_orders.id, payment_orders.kind, payment_orders.amount, state, paid_minor, ${receiptUrl},
    payment_orders.created_at, (
      select coalesce(json_agg(json_build_object('id', reversal.id, 'kind', reversal.kind,
        'amount_minor', amount_minor::text, 'status', status, 'taken', taken::text,
        'owed', greatest(due - taken, 0)::text) order by reversal.created_at, reversal.id), '[]')
      from payment_reversals as reversal where order_id = payment_orders.id) as reversals`;
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
