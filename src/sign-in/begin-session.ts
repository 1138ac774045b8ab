import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { type Auth, addressHeader } from '../sessions/auth.ts';
import { endSession } from '../sessions/session-store.ts';
import { type Credential, findProfile, isPasswordHash, type UserProfile } from '../users/user-store.ts';

const longestUserAgent = 500;

/** Where a session is begun from, as its owner will see it in the list. */
export type Place = Readonly<{ address: string | null; userAgent: string | null }>;

export type BegunSession = Readonly<{ user: UserProfile; cookies: string[] }>;

/**
 * Begins a session, always a new one, for someone whose password was found to have this hash. Whoever replaces the
 * password ends the sessions that there are, and this one may come just after. So the hash is asked for again when the
 * session is there: it is the same still, and whoever replaces it from now on ends this session too, or this is too late.
 */
export async function beginSession(
  sql: SQL,
  auth: Auth,
  { userId, passwordHash }: Credential,
  place: Place,
): Promise<BegunSession> {
  // Nothing else of the request is passed on: no cookie or header of it is to have a say.
  const headers = new Headers({ 'user-agent': (place.userAgent ?? '').slice(0, longestUserAgent) });
  if (place.address !== null) headers.set(addressHeader, place.address);
  const begun = await auth.api.beginSession({ body: { userId }, headers, returnHeaders: true });
  const isStillRight = await isPasswordHash(sql, userId, passwordHash);
  const user = isStillRight ? await findProfile(sql, userId) : null;
  if (user === null) {
    await endSession(sql, userId, begun.response.sessionId);
    throw new ApiError('invalid_credentials');
  }
  return { user, cookies: begun.headers.getSetCookie() };
}
