import { isAPIError } from 'better-auth/api';
import { ApiError } from '../errors.ts';
import { type Auth, addressHeader } from '../sessions/auth.ts';
import type { UserProfile } from '../users/user-store.ts';

const longestUserAgent = 500;

/** Where a session is begun from, as its owner will see it in the list. */
export type Place = Readonly<{ address: string | null; userAgent: string | null }>;

export type BegunSession = Readonly<{ user: UserProfile; cookies: string[] }>;

/**
 * Checks the password and begins a session, always a new one. An address that nobody has costs as much work as a wrong
 * password, and is answered alike.
 */
export async function beginSession(
  auth: Auth,
  email: string,
  password: string,
  place: Place,
): Promise<BegunSession> {
  // Nothing else of the request is passed on: no cookie or header of it is to have a say.
  const headers = new Headers({ 'user-agent': (place.userAgent ?? '').slice(0, longestUserAgent) });
  if (place.address !== null) headers.set(addressHeader, place.address);
  try {
    const begun = await auth.api.signInEmail({ body: { email, password }, headers, returnHeaders: true });
    const { emailVerified: isEmailVerified, image = null, ...user } = begun.response.user;
    return { user: { ...user, image, isEmailVerified }, cookies: begun.headers.getSetCookie() };
  } catch (thrown) {
    if (isAPIError(thrown) && thrown.body?.code === 'INVALID_EMAIL_OR_PASSWORD')
      throw new ApiError('invalid_credentials');
    throw thrown;
  }
}
