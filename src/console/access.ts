/** Who calls, about which account, and what their role there means. The queries themselves keep to it. */
import { ApiError } from '../errors.ts';
import type { Role } from './contract.ts';
import type { ConsoleContext } from './guard.ts';
import { accountIn } from './params.ts';

/** Part of every query about an account: it is the membership of this user that finds or allows anything. */
export type Caller = Readonly<{ userId: string; accountId: string }>;

export function callerOf({ signedIn, params }: Pick<ConsoleContext, 'signedIn' | 'params'>): Caller {
  return { userId: signedIn.userId, accountId: accountIn(params) };
}

/** Who does not belong to an account is not told whether it exists. */
export function requireMember(role: Role | undefined): void {
  if (role === undefined) throw new ApiError('account_not_found');
}

export function requireOwner(role: Role | undefined): void {
  requireMember(role);
  if (role !== 'owner') throw new ApiError('permission_denied');
}
