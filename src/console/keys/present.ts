/** A key in the words of the console's contract. */
import type { Key } from '../contract.ts';
import type { KeyRecord } from './key-queries.ts';

export function presentKey(key: KeyRecord): Key {
  return {
    id: key.id,
    name: key.name,
    hint: key.hint,
    state: stateOf(key),
    requests_per_minute: key.requestsPerMinute,
    max_concurrent: key.maxConcurrent,
    monthly_limit: key.monthlyLimit,
    allowed_models: key.allowedModels === null ? null : [...key.allowedModels],
    expires_at: key.expiresAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
    created_at: key.createdAt.toISOString(),
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    month_spent: key.monthSpent,
    held: key.held,
  };
}

/** In the order in which the gateway refuses a key: what was withdrawn must not look as if waiting had ended it. */
function stateOf({ isRevoked, isExpired, revokedAt }: KeyRecord): Key['state'] {
  if (isRevoked) return 'revoked';
  if (isExpired) return 'expired';
  return revokedAt === null ? 'active' : 'replaced';
}
