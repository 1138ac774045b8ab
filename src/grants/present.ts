/** Grants and allowances as clients see them. */
import { formatMoney } from '../lib/money.ts';
import type { Allowance } from './allowances.ts';
import type { Expiry } from './categories.ts';
import type { Balances, Draw, Grant } from './grant-store.ts';

export function presentBalances({ paid, promotional, allowance }: Balances) {
  return {
    paid: formatMoney(paid),
    promotional: formatMoney(promotional),
    allowance: formatMoney(allowance),
  };
}

export function presentExpiry({ amount, at }: Expiry) {
  return { amount: formatMoney(amount), at: at.toISOString() };
}

export function presentGrant(grant: Grant) {
  return {
    id: grant.id,
    /** The balance from before the first grant came with no entry of its own. */
    entry_number: grant.number === 0n ? null : Number(grant.number),
    state: grant.state,
    category: grant.category,
    amount: formatMoney(grant.amount),
    remaining: formatMoney(grant.remaining),
    priority: grant.priority,
    expires_at: grant.expiresAt?.toISOString() ?? null,
    memo: grant.memo,
    allowance_id: grant.allowanceId,
    voided_at: grant.voidedAt?.toISOString() ?? null,
    void_reason: grant.voidReason,
    created_at: grant.createdAt.toISOString(),
  };
}

/** Null for an entry that took nothing: a credit, or one from before the first grant. */
export function presentDraws(draws: readonly Draw[] | undefined) {
  if (draws === undefined || draws.length === 0) return null;
  return draws.map(({ grantId, category, amount }) => ({
    grant_id: grantId,
    category,
    amount: formatMoney(amount),
  }));
}

export function presentAllowance(allowance: Allowance) {
  return {
    id: allowance.id,
    account_id: allowance.accountId,
    amount: formatMoney(allowance.amount),
    every: allowance.every,
    priority: allowance.priority,
    note: allowance.note,
    next_at: allowance.endedAt === null ? allowance.nextAt.toISOString() : null,
    created_at: allowance.createdAt.toISOString(),
    ended_at: allowance.endedAt?.toISOString() ?? null,
  };
}
