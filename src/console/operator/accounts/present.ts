import type { OperatorAccount } from '../../operator-contract.ts';
import type { AccountOverview } from './account-queries.ts';

/** Amounts are what the database printed: decimals with 12 digits. */
export function presentAccount({ created_at: createdAt, ...account }: AccountOverview): OperatorAccount {
  return { ...account, created_at: createdAt.toISOString() };
}
