/** A limit as clients see it. Amounts are decimals without needless zeros, because they may be requests or tokens. */
import { formatMoneyShort, type Money } from '../lib/money.ts';
import type { Increase, Limit } from './limit-store.ts';

export function presentLimit(limit: Limit, now: Date) {
  return {
    id: limit.id,
    account_id: limit.accountId,
    scope: limit.scope,
    key_id: limit.keyId,
    end_user: limit.endUser,
    kind: limit.kind,
    set_by: limit.setBy,
    ...presentState(limit, now),
    created_at: limit.createdAt.toISOString(),
    updated_at: limit.updatedAt.toISOString(),
  };
}

/** What a limit of a key, or of its account, leaves for its requests. */
export function presentAppliedLimit(limit: Limit, now: Date) {
  const { scope, kind, used, held } = limit;
  const left = used === null || held === null ? null : amountNow(limit, now) - used - held;
  const { resets_at, ...amounts } = presentState(limit, now);
  return {
    scope,
    kind,
    ...amounts,
    // A limit that was lowered may be below what was used.
    remaining: left === null ? null : formatMoneyShort(left > 0n ? left : 0n),
    resets_at,
  };
}

function presentState(limit: Limit, now: Date) {
  const { amount, used, held, resetsAt } = limit;
  const increase = increaseNow(limit, now);
  return {
    amount: formatMoneyShort(amount),
    increase: increase && {
      amount: formatMoneyShort(increase.amount),
      until: increase.until.toISOString(),
    },
    used: used === null ? null : formatMoneyShort(used),
    held: held === null ? null : formatMoneyShort(held),
    resets_at: resetsAt?.toISOString() ?? null,
  };
}

/** Null once it has ended. */
function increaseNow({ increase }: Limit, now: Date): Increase | null {
  return increase !== null && increase.until > now ? increase : null;
}

function amountNow(limit: Limit, now: Date): Money {
  return limit.amount + (increaseNow(limit, now)?.amount ?? 0n);
}
