/** Finds the API key of a request. */
import { ApiError, type ErrorCode } from '../errors.ts';
import type { RequestContext } from '../http/context.ts';
import { lookUp } from '../http/lookup.ts';
import type { KeyCache } from './key-cache.ts';
import { hashKey, isForThisGateway, isImportable, isWellFormedKey } from './key-format.ts';
import type { ApiKey } from './key-store.ts';
import { Refusals } from './refusals.ts';

/**
 * The API key of a request, synchronously when it is cached. Throws 401 invalid_api_key or expired_api_key, 429
 * rate_limit_exceeded when too many requests were refused, 503 server_overloaded, or `failure` when the key cannot be
 * looked up. It also sets the context's caller, and counts the request if it is refused later.
 */
export type Authenticate = (
  request: Request,
  context: RequestContext,
  failure: ErrorCode,
) => ApiKey | Promise<ApiKey>;

export function authenticateWith(cache: KeyCache, refusals = new Refusals()): Authenticate {
  return (request, context, failure) => {
    const authorization = request.headers.get('authorization');
    const apiKey = request.headers.get('x-api-key');
    const token = authorization === null ? apiKey : bearerToken(authorization);
    if (token === null || !canBeKey(token) || (apiKey !== null && apiKey !== token))
      throw refusals.ofNetwork(context.clientAddress(), malformed(request.headers, token));
    const hash = hashKey(token);
    const known = cache.known(hash);
    if (known !== null) return accept(known, context);
    return lookUp(failure, () => cache.find(hash, () => context.clientAddress())).then((key) =>
      accept(key, context),
    );
  };

  /** The checksum comes first. Without imports, nothing else is ever looked up. */
  function canBeKey(token: string): boolean {
    return isWellFormedKey(token) || (isImportable(token) && cache.hasImportedKeys());
  }

  function accept(key: ApiKey | null, context: RequestContext): ApiKey {
    const caller = validKey(key, context);
    context.caller = caller;
    refusals.checkKey(caller);
    context.onRefusal = (code) => refusals.countKey(caller, code, context.bodyBytes);
    return caller;
  }

  function validKey(key: ApiKey | null, context: RequestContext): ApiKey {
    try {
      return checkKey(key, new Date());
    } catch (thrown) {
      throw thrown instanceof ApiError ? refusals.ofNetwork(context.clientAddress(), thrown) : thrown;
    }
  }
}

/** Two Authorization headers arrive joined by a comma, which no key contains, and so are rejected. */
function bearerToken(authorization: string | null): string | null {
  return /^Bearer +([^\s,]+)$/i.exec(authorization ?? '')?.[1] ?? null;
}

/** What was sent cannot be a key of this gateway: saying why gives away no more than whether keys were imported. */
function malformed(headers: Headers, token: string | null): ApiError {
  const sent = headers.get('authorization') ?? headers.get('x-api-key');
  const { header, howToSend } = headers.has('anthropic-version') ? ofMessages : ofOthers;
  const flaw =
    sent === null
      ? `There is no ${header} header.`
      : (flawOf(token) ?? 'Authorization and x-api-key have different keys.');
  return new ApiError('invalid_api_key', { message: `${flaw} ${howToSend}` });
}

const ofOthers = {
  header: 'Authorization',
  howToSend: 'Send your API key as: Authorization: Bearer svc_sk_…',
};

/** Clients of Anthropic's API have a setting for a header of their own. */
const ofMessages = {
  header: 'x-api-key',
  howToSend: 'Send your API key as: x-api-key: svc_sk_…, or Authorization: Bearer svc_sk_…',
};

/** Null for a key that could be right. */
function flawOf(token: string | null): string | null {
  if (token === null) return 'The Authorization header does not consist of Bearer and an API key.';
  if (!isForThisGateway(token)) return 'This is not a key of this gateway: its keys begin with svc_sk_.';
  return isWellFormedKey(token) ? null : 'This API key is incomplete or mistyped.';
}

/**
 * Revoked comes before expired: a key that was revoked must not look as if it had merely expired. It comes before
 * suspended too: the holder of a revoked key learns nothing about the account.
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
