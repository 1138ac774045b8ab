/** /api/auth, with the paths and answers of better-auth, except that no answer holds the token of a session. */
import { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import type { Handler, RequestContext } from '../http/context.ts';
import { isFromHere } from '../http/origin.ts';
import { type Claim, OverloadError } from '../lib/bounded-queue.ts';
import { clientNetworkOf, parseAddress, siteNetworksOf } from '../lib/ip-address.ts';
import { findResetUser, spendResetToken } from '../sessions/reset-link.ts';
import { endOtherSessions, endSession, findSession, findSessions } from '../sessions/session-store.ts';
import type { SignedIn } from '../sessions/sessions.ts';
import { hashPassword, verifyPassword } from '../users/password.ts';
import { findCredential, findPasswordHash, findProfile } from '../users/user-store.ts';
import { beginSession, type Place } from './begin-session.ts';
import { changeKnownPassword, wrongPassword } from './change-password.ts';
import {
  type ClientNetworks,
  guessLimits,
  networkLimits,
  resetRequestLimits,
  signUpLimits,
} from './limits.ts';
import * as parse from './parse.ts';
import { presentListedSession, presentSession, presentUser } from './present.ts';
import { signUpCustomer } from './sign-up.ts';

type Visit = RequestContext & Readonly<{ place: Place; client: ClientNetworks }>;
type VisitHandler = (request: Request, visit: Visit) => Promise<Response>;
type UserHandler = (request: Request, visit: Visit & Readonly<{ signedIn: SignedIn }>) => Promise<Response>;

const overloadSeconds = 5;

/** For everyone on the gateway's own pages. Cookies are refused to other sites, and so is signing in for someone else. */
function forVisitors(handler: VisitHandler): Handler {
  return async (request, context) => {
    const address = context.clientAddress();
    if (!isFromHere(request, context.services.publicUrl)) throw new ApiError('invalid_origin');
    const place = { address, userAgent: request.headers.get('user-agent') };
    try {
      return await handler(request, { ...context, place, client: networksOf(address) });
    } catch (thrown) {
      throw explain(thrown);
    }
  };
}

function networksOf(text: string | null): ClientNetworks {
  const address = text === null ? null : parseAddress(text);
  return address === null
    ? { network: 'unknown', sites: [] }
    : { network: clientNetworkOf(address), sites: siteNetworksOf(address) };
}

function forUsers(handler: UserHandler): Handler {
  return forVisitors(async (request, visit) => {
    const signedIn = await visit.services.sessions.find(request.headers);
    if (signedIn === null) throw new ApiError('session_required');
    return await handler(request, { ...visit, signedIn });
  });
}

/** What is neither the database nor too much at once stays what it is: a defect, with its cause in the log. */
function explain(thrown: unknown): unknown {
  if (thrown instanceof OverloadError)
    return new ApiError('too_many_attempts', { retryAfterSeconds: overloadSeconds });
  if (thrown instanceof SQL.SQLError) return new ApiError('authentication_unavailable', { cause: thrown });
  return thrown;
}

export const signIn = forVisitors(async (request, visit) => {
  const { services, place, client } = visit;
  const { email, password } = await parse.readSignIn(request);
  const { user, cookies } = await guessing(visit, email, async (claim) => {
    const { sql, sessions } = services;
    const credential = await findCredential(sql, email);
    // An address that nobody has costs as much work as a wrong password, and is answered alike.
    const isRight = await verifyPassword(password, credential?.passwordHash ?? null, claim);
    if (credential === null || !isRight) throw new ApiError('invalid_credentials');
    return await beginSession(sql, sessions.auth, credential, place);
  });
  await services.attempts.rememberNetwork(email, client.network);
  await endPresentSession(request, visit);
  return answer({ redirect: false, user: presentUser(user) }, cookies);
});

export const signUp = forVisitors(async (request, visit) => {
  const { services, place, client } = visit;
  if (!services.isSignUpOpen) throw new ApiError('sign_up_closed');
  const customer = await parse.readSignUp(request);
  await services.attempts.take(signUpLimits(customer.email, client));
  const { sql, sessions } = services;
  const signedUp = await signUpCustomer(sql, customer, claimOf(client, false));
  if (signedUp === null) throw new ApiError('email_taken', { param: 'email' });
  const { user, cookies } = await beginSession(sql, sessions.auth, signedUp, place);
  await services.attempts.rememberNetwork(customer.email, client.network);
  await endPresentSession(request, visit);
  return answer({ user: presentUser(user) }, cookies);
});

/** Also for those who are not signed in any more: what they ask for is so already. */
export const signOut = forVisitors(async (request, visit) => {
  await parse.readNothing(request);
  await endPresentSession(request, visit);
  const { headers } = await visit.services.sessions.auth.api.clearSessionCookie({ returnHeaders: true });
  return answer({ success: true }, headers.getSetCookie());
});

export const getSession = forVisitors(async (request, { services }) => {
  const signedIn = await services.sessions.find(request.headers);
  if (signedIn === null) return answer(null);
  const [session, user] = await Promise.all([
    findSession(services.sql, signedIn.userId, signedIn.sessionId),
    findProfile(services.sql, signedIn.userId),
  ]);
  if (session === null || user === null) return answer(null);
  return answer({ session: presentSession(session), user: presentUser(user) });
});

export const listSessions = forUsers(async (_request, { services, signedIn }) => {
  const sessions = await findSessions(services.sql, signedIn.userId);
  return answer(sessions.map((session) => presentListedSession(session, signedIn.sessionId)));
});

export const revokeSession = forUsers(async (request, { services, signedIn }) => {
  const { id } = await parse.readSessionId(request);
  await endSession(services.sql, signedIn.userId, id);
  return answer({ status: true });
});

export const revokeOtherSessions = forUsers(async (request, { services, signedIn }) => {
  await parse.readNothing(request);
  await endOtherSessions(services.sql, signedIn.userId, signedIn.sessionId);
  return answer({ status: true });
});

/** Ends every session, also the one at hand, in whose place a new one begins: a copy of its cookie is worth nothing then. */
export const changePassword = forUsers(async (request, visit) => {
  const { place, client, signedIn } = visit;
  const { sql, sessions } = visit.services;
  const { currentPassword, newPassword } = await parse.readPasswordChange(request);
  const currentHash = await guessing(visit, signedIn.email, async (claim) => {
    const hash = await findPasswordHash(sql, signedIn.userId);
    if (hash === null || !(await verifyPassword(currentPassword, hash, claim))) throw wrongPassword();
    return hash;
  });
  const newHash = await hashPassword(newPassword, claimOf(client, true));
  await changeKnownPassword(sql, signedIn, currentHash, newHash);
  const credential = { userId: signedIn.userId, passwordHash: newHash };
  const { user, cookies } = await beginSession(sql, sessions.auth, credential, place);
  return answer({ user: presentUser(user) }, cookies);
});

/** Says the same for every address, and says it before anything is looked up: not even the time it takes tells more. */
export const requestPasswordReset = forVisitors(async (request, { services, client }) => {
  const { email } = await parse.readResetRequest(request);
  await services.attempts.take(resetRequestLimits(email, client));
  services.resetMail?.send(email);
  return answer({
    status: true,
    message: 'If there is a sign-in with this address, a mail with a link is on its way.',
  });
});

export const resetPassword = forVisitors(async (request, { services, client }) => {
  const { token, newPassword } = await parse.readReset(request);
  await services.attempts.take(networkLimits(client, false));
  // Not worth a hash unless someone has been given this link.
  const userId = await findResetUser(services.sql, token);
  if (userId === null) throw new ApiError('invalid_reset_token');
  const passwordHash = await hashPassword(newPassword, claimOf(client, true));
  const email = await spendResetToken(services.sql, token, userId, passwordHash);
  if (email === null) throw new ApiError('invalid_reset_token');
  // Whoever is kept out by what strangers try comes in by a link.
  await services.attempts.rememberNetwork(email, client.network);
  return answer({ status: true });
});

/** The whole of a wide network waits for its turn as one. Those who are known here have places of their own to wait in. */
function claimOf({ network, sites }: ClientNetworks, isPreferred: boolean): Claim {
  return { origin: sites.at(-1) ?? network, isPreferred };
}

/** Only a wrong password is a guess. Whatever else happens does not count against the address. */
async function guessing<Result>(
  { services, client }: Visit,
  email: string,
  run: (claim: Claim) => Promise<Result>,
): Promise<Result> {
  const isFamiliar = await services.attempts.isFamiliar(email, client.network);
  const limits = guessLimits(email, client.network, isFamiliar);
  await services.attempts.take([...networkLimits(client, isFamiliar), ...limits]);
  try {
    const result = await run(claimOf(client, isFamiliar));
    await services.attempts.giveBack(limits);
    return result;
  } catch (thrown) {
    const isGuess = thrown instanceof ApiError && thrown.code === 'invalid_credentials';
    if (!isGuess) await services.attempts.giveBack(limits);
    throw thrown;
  }
}

/** The session that this browser had until now. */
async function endPresentSession(request: Request, { services }: Visit): Promise<void> {
  const present = await services.sessions.find(request.headers);
  if (present !== null) await endSession(services.sql, present.userId, present.sessionId);
}

function answer(body: unknown, cookies: readonly string[] = []): Response {
  const response = Response.json(body);
  for (const cookie of cookies) response.headers.append('set-cookie', cookie);
  return response;
}
