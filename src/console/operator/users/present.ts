import { type ResetToken, resetUrl } from '../../../sessions/reset-link.ts';
import type { OperatorUser, ResetLink } from '../../operator-contract.ts';
import type { UserOverview } from './user-queries.ts';

export function presentUser(user: UserOverview): OperatorUser {
  return {
    id: user.id,
    email: user.email,
    name: user.name,
    email_verified: user.email_verified,
    is_operator: user.is_operator,
    accounts: user.accounts,
    sessions: user.sessions,
    last_signed_in_at: user.last_signed_in_at?.toISOString() ?? null,
    created_at: user.created_at.toISOString(),
  };
}

export function presentResetLink(origin: string, { token, expiresAt }: ResetToken): ResetLink {
  return { reset_url: resetUrl(origin, token), expires_at: expiresAt.toISOString() };
}
