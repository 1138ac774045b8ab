import { ApiError } from '../errors.ts';
import type { KeyCache } from './key-cache.ts';
import { hashKey, isWellFormedKey } from './key-format.ts';
import type { ApiKey } from './key-store.ts';

/** The key a request came with, or a refusal: 401 invalid_api_key or expired_api_key, 503 server_overloaded. */
export async function authenticate(
  authorization: string | null,
  cache: KeyCache,
  clientAddress: () => string | null,
): Promise<ApiKey> {
  const text = bearerToken(authorization);
  if (text === null || !isWellFormedKey(text)) throw new ApiError('invalid_api_key');
  const key = await cache.find(hashKey(text), clientAddress);
  return checkKey(key, new Date());
}

/** Two Authorization headers arrive joined by a comma, which no key contains, and so are refused. */
function bearerToken(authorization: string | null): string | null {
  return /^Bearer +([^\s,]+)$/i.exec(authorization ?? '')?.[1] ?? null;
}

/**
 * Revoked comes before expired: a key that was withdrawn must not look as if waiting had ended it. It comes before
 * suspended too: whoever is left with such a key is told nothing of the account.
 */
export function checkKey(key: ApiKey | null, now: Date): ApiKey {
  if (key === null) throw new ApiError('invalid_api_key');
  if (key.revokedAt !== null && key.revokedAt <= now) throw new ApiError('invalid_api_key');
  if (key.isAccountSuspended)
    throw new ApiError('invalid_api_key', {
      message: 'This account is suspended. Ask the operator of this gateway why.',
    });
  if (key.expiresAt !== null && key.expiresAt <= now) throw new ApiError('expired_api_key');
  return key;
}
