/** The invariants of what was paid by card, and given back. References are never archived, so nothing is missing. */
import type { AuditScope, Invariant } from './invariant.ts';

/** Rows that have changed since what the last audit has checked. */
const sinceLast = (column: string, { isFull, sinceId }: AuditScope) =>
  isFull
    ? 'true'
    : `${column} >= to_timestamp(('x' || left(replace('${sinceId}', '-', ''), 12))::bit(48)::bigint / 1000.0)`;

export const paymentInvariants: readonly Invariant[] = [
  {
    invariant: 'each payment that was credited has one credit of its amount, and no other has any',
    query: (scope) => `
      select count(*) as checked, count(*) filter (where (known.kind, known.amount) is distinct from
               (case when credited_at is not null then 'credit' end,
                case when credited_at is not null then paid.amount end)) as violations
      from payment_orders as paid
      left join credit_references as known on known.account_id = paid.account_id and known.reference = paid.id
      where ${sinceLast('paid.updated_at', scope)}`,
  },
  {
    invariant: 'the corrections of each refund or dispute of a payment sum to what it has taken',
    query: (scope) => `
      select count(*) as checked, count(*) filter (where -booked.total <> taken or booked.entries <> entry_count
               or booked.others > 0) as violations
      from payment_reversals as reversal join payment_orders on payment_orders.id = order_id
      cross join lateral (
        select count(*) as entries, coalesce(sum(known.amount), 0) as total,
               count(*) filter (where known.kind <> 'correction') as others
        from generate_series(1, entry_count) as place
        join credit_references as known on known.account_id = payment_orders.account_id
          and known.reference = reference_id(reversal.id || '/' || place)
      ) as booked
      where ${sinceLast('reversal.updated_at', scope)}`,
  },
];
