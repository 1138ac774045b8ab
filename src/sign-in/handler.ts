/** /api/auth, with the paths and answers of better-auth, except that no answer holds the token of a session. */
import { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import type { Handler, RequestContext } from '../http/context.ts';
import { isReadFromHere, isSameOrigin } from '../http/origin.ts';
import { OverloadError } from '../lib/bounded-queue.ts';
import { clientNetworkOf, parseAddress } from '../lib/ip-address.ts';
import type { Limit } from '../sessions/attempts.ts';
import { isResetTokenValid, replacePassword, spendResetToken } from '../sessions/reset-link.ts';
import { endOtherSessions, endSession, findSession, findSessions } from '../sessions/session-store.ts';
import type { SignedIn } from '../sessions/sessions.ts';
import { hashPassword, verifyPassword } from '../users/password.ts';
import { findPasswordHash, findProfile } from '../users/user-store.ts';
import { beginSession, type Place } from './begin-session.ts';
import { guessLimits, networkLimit, resetRequestLimits, signUpLimits } from './limits.ts';
import * as parse from './parse.ts';
import { presentListedSession, presentSession, presentUser } from './present.ts';
import { signUpCustomer } from './sign-up.ts';

type Visit = RequestContext & Readonly<{ place: Place; network: string }>;
type VisitHandler = (request: Request, visit: Visit) => Promise<Response>;
type UserHandler = (request: Request, visit: Visit & Readonly<{ signedIn: SignedIn }>) => Promise<Response>;

const overloadSeconds = 5;

/** For everyone on the gateway's own pages. Cookies are refused to other sites, and so is signing in for someone else. */
function forVisitors(handler: VisitHandler): Handler {
  return async (request, context) => {
    const address = context.clientAddress();
    const isOurs = request.method === 'GET' ? isReadFromHere : isSameOrigin;
    if (!isOurs(request, context.services.publicUrl)) throw new ApiError('invalid_origin');
    const client = address === null ? null : parseAddress(address);
    const network = client === null ? 'unknown' : clientNetworkOf(client);
    const place = { address, userAgent: request.headers.get('user-agent') };
    try {
      return await handler(request, { ...context, place, network });
    } catch (thrown) {
      throw explain(thrown);
    }
  };
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
  const { services, place, network } = visit;
  const { email, password } = await parse.readSignIn(request);
  const limits = await limitsOfGuess(visit, email);
  await services.attempts.take([networkLimit(network), ...limits]);
  const { user, cookies } = await countingGuesses(visit, limits, () =>
    beginSession(services.sessions.auth, email, password, place),
  );
  await services.attempts.rememberNetwork(email, network);
  await endPresentSession(request, visit);
  return answer({ redirect: false, user: presentUser(user) }, cookies);
});

export const signUp = forVisitors(async (request, visit) => {
  const { services, place, network } = visit;
  if (!services.isSignUpOpen) throw new ApiError('sign_up_closed');
  const customer = await parse.readSignUp(request);
  await services.attempts.take(signUpLimits(customer.email, network));
  if (!(await signUpCustomer(services.sql, customer))) throw new ApiError('email_taken', { param: 'email' });
  const { email, password } = customer;
  const { user, cookies } = await beginSession(services.sessions.auth, email, password, place);
  await services.attempts.rememberNetwork(email, network);
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
  const { services, place, network, signedIn } = visit;
  const { currentPassword, newPassword } = await parse.readPasswordChange(request);
  const limits = await limitsOfGuess(visit, signedIn.email);
  await services.attempts.take([networkLimit(network), ...limits]);
  await countingGuesses(visit, limits, async () => {
    const hash = await findPasswordHash(services.sql, signedIn.userId);
    if (hash === null || !(await verifyPassword(currentPassword, hash)))
      throw new ApiError('invalid_credentials', {
        param: 'currentPassword',
        message: 'The present password is wrong.',
      });
  });
  const newHash = await hashPassword(newPassword);
  await services.sql.begin((transaction) => replacePassword(transaction, signedIn.userId, newHash));
  const { user, cookies } = await beginSession(services.sessions.auth, signedIn.email, newPassword, place);
  return answer({ user: presentUser(user) }, cookies);
});

/** Says the same for every address, and says it before anything is looked up: not even the time it takes tells more. */
export const requestPasswordReset = forVisitors(async (request, { services, network }) => {
  const { email } = await parse.readResetRequest(request);
  await services.attempts.take(resetRequestLimits(email, network));
  services.resetMail?.send(email);
  return answer({
    status: true,
    message: 'If there is a sign-in with this address, a mail with a link is on its way.',
  });
});

export const resetPassword = forVisitors(async (request, { services, network }) => {
  const { token, newPassword } = await parse.readReset(request);
  await services.attempts.take([networkLimit(network)]);
  if (!(await isResetTokenValid(services.sql, token))) throw new ApiError('invalid_reset_token');
  const email = await spendResetToken(services.sql, token, await hashPassword(newPassword));
  if (email === null) throw new ApiError('invalid_reset_token');
  // Whoever is kept out by what strangers try comes in by a link.
  await services.attempts.rememberNetwork(email, network);
  return answer({ status: true });
});

async function limitsOfGuess({ services, network }: Visit, email: string): Promise<Limit[]> {
  return guessLimits(email, network, await services.attempts.isFamiliar(email, network));
}

/** Only a wrong password is a guess. Whatever else happens does not count against the address. */
async function countingGuesses<Result>(
  { services }: Visit,
  limits: readonly Limit[],
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    const result = await run();
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
