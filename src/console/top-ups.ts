/** Automatic top-ups: when the saved card is charged, and how much. */
import { z } from 'zod';
import { recordChange } from '../audit-log/audit-log.ts';
import { ApiError } from '../errors.ts';
import { amountFrom, bodyOf, readBody } from '../json/fields.ts';
import { formatMoney } from '../lib/money.ts';
import { leastAmount } from '../payments/order.ts';
import type { Limit } from '../people/attempts.ts';
import { asOwner } from './access.ts';
import type { AccountHandler, Routes } from './guard.ts';
import { findOptions, type PaymentServices, payable, paymentsOfOwner } from './payment-options.ts';

const automaticBody = bodyOf({
  is_on: z.boolean('true or false'),
  threshold: amountFrom(0n),
  amount: payable.nullable(),
  target: payable.nullable(),
  monthly_cap: amountFrom(1n),
});

/** Saving the settings has a card tried again that may have been declined. */
const automaticLimit = (accountId: string): Limit => ({
  scope: 'top-up-settings',
  subject: accountId,
  max: 5,
  periodSeconds: 60 * 60,
});

export function topUpsPage(services: PaymentServices): Routes<AccountHandler> {
  const { sql, attempts } = services;
  return {
    '/payments/automatic': {
      PATCH: async (request, context) => {
        const draft = await readBody(request, automaticBody);
        await paymentsOfOwner(services, context);
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

function invalid(param: string, message: string): ApiError {
  return new ApiError('invalid_parameter', { param, message });
}
