/** How an account can get credit, and who may change that. */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { converted } from '../json/fields.ts';
import { formatMoney, formatMoneyShort, parseMoney } from '../lib/money.ts';
import { greatestAmount, isPayable, leastAmount } from '../payments/order.ts';
import type { Payments } from '../payments/sweep.ts';
import type { Attempts } from '../people/attempts.ts';
import { type Caller, findStanding, readableAccount, requireOwner, type Standing } from './access.ts';
import type { AutomaticTopUp, PaymentOptions } from './contract.ts';

export type PaymentServices = Readonly<{
  sql: SQL;
  attempts: Attempts;
  payments: Payments | null;
  operatorContact: string | null;
}>;

export const payable = converted(
  `USD in whole cents, from ${formatMoneyShort(leastAmount)} to ${formatMoneyShort(greatestAmount)}`,
  (text) => {
    const money = parseMoney(text);
    return money !== null && isPayable(money) ? money : null;
  },
);

/** Whoever may not pay is told that first. */
export async function paymentsOfOwner(
  { sql, payments }: Pick<PaymentServices, 'sql' | 'payments'>,
  { caller }: Readonly<{ caller: Caller }>,
): Promise<Payments> {
  requireOwner(await findStanding(sql, caller));
  if (payments === null) throw new ApiError('payments_not_configured');
  return payments;
}

type OptionsRow = {
  standing: Standing;
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

export async function findOptions(
  { sql, payments, operatorContact }: PaymentServices,
  caller: Caller,
): Promise<PaymentOptions> {
  const isLive = payments?.settings.isLive ?? null;
  const [row] = await sql<OptionsRow[]>`
    select standing, payment_method, card_brand, card_last4, card_expires, is_automatic, threshold, top_up_amount, top_up_target,
           monthly_cap, coalesce(paused_reason,
             case when has_failed_too_often(known.account_id, is_live) then 'too_many_failures' end) as paused_reason,
           top_ups_this_month(known.account_id, is_live) as month_added
    from ${readableAccount(sql, caller)} as readable left join payment_customers as known
      on known.account_id = readable.account_id and is_live is not distinct from ${isLive}::boolean`;
  if (row === undefined) throw new ApiError('account_not_found');
  return {
    is_online: payments !== null,
    is_test: isLive === false,
    least: formatMoney(leastAmount),
    most: formatMoney(greatestAmount),
    contact: operatorContact,
    card:
      row.payment_method === null || row.standing !== 'owner'
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
