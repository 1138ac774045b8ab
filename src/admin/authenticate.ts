/** Finds the token of a request. It is read from the database each time, so one that is revoked ends at once on all nodes. */
import type { SQL } from 'bun';
import type { TokenActor } from '../audit-log/audit-log.ts';
import { ApiError } from '../errors.ts';
import type { RequestContext } from '../http/context.ts';
import { lookUp } from '../http/lookup.ts';
import { LookupSlots } from '../keys/lookup-slots.ts';
import { Refusals } from '../keys/refusals.ts';
import { isInside, parseAddress, parseNetwork } from '../lib/ip-address.ts';
import { rateAt } from '../lib/rate-limit.ts';
import { hashSecret } from '../lib/secret-format.ts';
import { minuteMs } from '../lib/time-units.ts';
import {
  countUse,
  findTokenByHash,
  type Scope,
  type StoredToken,
  tokenFormat,
} from '../tokens/token-store.ts';

export type AuthenticateToken = (
  request: Request,
  context: RequestContext,
  /** Null when any token will do. */
  scope: Scope | null,
) => Promise<TokenActor>;

export function authenticateTokens(sql: SQL): AuthenticateToken {
  const refusals = new Refusals();
  const slots = new LookupSlots();
  return async (request, context, scope) => {
    const address = context.clientAddress();
    const token = await findToken(request.headers.get('authorization'), address);
    if (!isFromAllowedNetwork(token, address))
      throw refusals.ofNetwork(address, new ApiError('address_not_allowed'));
    await count(token, context);
    requireScope(token, scope);
    return { door: 'api', tokenId: token.id, address };
  };

  async function findToken(authorization: string | null, address: string | null): Promise<StoredToken> {
    const secret = /^Bearer +([^\s,]+)$/i.exec(authorization ?? '')?.[1] ?? '';
    if (!tokenFormat.isWellFormed(secret))
      throw refusals.ofNetwork(address, new ApiError('invalid_admin_token'));
    const token = await lookUp('internal_error', () =>
      slots.within(address, () => findTokenByHash(sql, hashSecret(secret))),
    );
    if (token === null) throw refusals.ofNetwork(address, new ApiError('invalid_admin_token'));
    if (token.isExpired) throw refusals.ofNetwork(address, new ApiError('expired_admin_token'));
    return token;
  }

  async function count(token: StoredToken, context: RequestContext): Promise<void> {
    const { isWithin, aheadMs } = await lookUp('internal_error', () => countUse(sql, token));
    const { requestsPerMinute } = token;
    context.rate = rateAt(requestsPerMinute, aheadMs, 0);
    if (isWithin) return;
    throw new ApiError('rate_limit_exceeded', {
      message: `This admin token has exceeded its limit of ${requestsPerMinute} requests per minute.`,
      retryAfterSeconds: Math.max(1, Math.ceil((aheadMs - minuteMs + minuteMs / requestsPerMinute) / 1_000)),
    });
  }
}

function isFromAllowedNetwork({ networks }: StoredToken, text: string | null): boolean {
  if (networks === null) return true;
  const address = text === null ? null : parseAddress(text);
  return (
    address !== null &&
    networks.some((written) => {
      const network = parseNetwork(written);
      return network !== null && isInside(address, network);
    })
  );
}

function requireScope({ scopes }: StoredToken, scope: Scope | null): void {
  if (scope === null || scopes.includes(scope)) return;
  throw new ApiError('insufficient_scope', {
    message: `This endpoint needs the scope ${scope}, and the admin token has only ${scopes.join(', ')}.`,
  });
}
