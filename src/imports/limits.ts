/** How an import makes limits. */
import type { TransactionSQL } from 'bun';
import type { Actor } from '../audit-log/audit-log.ts';
import { createLimitAs } from '../limits/limit-store.ts';
import type { PlannedLimit } from './plan.ts';

/** `keyId` is null for a limit of the account or of one of its end users. */
export type NewLimit = PlannedLimit &
  Readonly<{
    accountId: string;
    scope: 'account' | 'key' | 'end_user';
    keyId: string | null;
    setBy: 'operator';
  }>;

export type CreateLimit = (transaction: TransactionSQL, actor: Actor, limit: NewLimit) => Promise<unknown>;

/** Null where this gateway cannot store limits: then what has some is not imported. */
export function limitsOfGateway(): CreateLimit | null {
  return createLimitAs;
}

export async function createLimits(
  transaction: TransactionSQL,
  actor: Actor,
  create: CreateLimit,
  limits: readonly PlannedLimit[],
  owner: Readonly<{ accountId: string; keyId: string | null }>,
): Promise<void> {
  for (const limit of limits) {
    const scope = owner.keyId === null ? (limit.endUser === null ? 'account' : 'end_user') : 'key';
    await create(transaction, actor, { ...limit, ...owner, scope, setBy: 'operator' });
  }
}
