/** /api/auth, with the paths and responses of better-auth, except that no response holds the token of a session. */
import { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import type { Handler } from '../http/context.ts';
import { isFromHere } from '../http/origin.ts';
import { OverloadError, type Ticket } from '../lib/bounded-queue.ts';
import { clientNetworkOf, parseAddress, siteNetworksOf } from '../lib/ip-address.ts';
import { LateError } from '../lib/within.ts';
import { type Attempts, isWithin } from './attempts.ts';
import { type MarkVerified, markVerifiedWith, spendVerificationToken } from './email-verification.ts';
import { acceptInvitation, findInvitation, requireInvitation } from './invitations.ts';
import { hashPassword, verifyPassword } from './password.ts';
import { findResetUser, spendResetToken } from './reset-link.ts';
import type { ResetMail } from './reset-mail.ts';
import type { Sessions, SignedIn } from './sessions.ts';
import { endOtherSessions, endSession, findSession, findSessions } from './sessions.ts';
import * as bodies from './sign-in-bodies.ts';
import type { InvitationDetails, JoinedAccount, ListedSession } from './sign-in-contract.ts';
import {
  type ClientNetworks,
  guessLimits,
  networkLimits,
  resetRequestLimits,
  signUpLimits,
  verificationMailLimits,
} from './sign-in-limits.ts';
import {
  beginSession,
  changeKnownPassword,
  type Place,
  signUpCustomer,
  signUpMember,
  wrongPassword,
} from './sign-in-store.ts';
import { findCredential, findPasswordHash, findProfile } from './user-store.ts';
import type { VerificationMail } from './verification-mail.ts';
import type { WelcomeGrants } from './welcome-grant.ts';

type Services = Readonly<{
  sql: SQL;
  sessions: Sessions;
  /** How often a client may try something. */
  attempts: Attempts;
  isSignUpOpen: boolean;
  /** Null when the gateway cannot send mail. */
  resetMail: ResetMail | null;
  verificationMail: VerificationMail | null;
  welcome: WelcomeGrants;
  publicUrl: string | null;
}>;

type Visit = Readonly<{ services: Services; place: Place; client: ClientNetworks }>;
type UserVisit = Visit & Readonly<{ signedIn: SignedIn }>;
type VisitHandler = (request: Request, visit: Visit) => Promise<Response>;
type UserHandler = (request: Request, visit: UserVisit) => Promise<Response>;

const overloadSeconds = 5;

/** The routes below /api/auth. Nothing else of better-auth is reachable. */
export function signInRoutes(services: Services) {
  const forVisitors = (handler: VisitHandler): Handler => visitHandler(services, handler);
  const forUsers = (handler: UserHandler): Handler => visitHandler(services, requireSession(handler));
  return {
    '/api/auth/sign-in/email': { POST: forVisitors(signIn) },
    '/api/auth/sign-up/email': { POST: forVisitors(signUp) },
    '/api/auth/sign-out': { POST: forVisitors(signOut) },
    '/api/auth/get-session': { GET: forVisitors(getSession) },
    '/api/auth/list-sessions': { GET: forUsers(listSessions) },
    '/api/auth/revoke-session': { POST: forUsers(revokeSession) },
    '/api/auth/revoke-other-sessions': { POST: forUsers(revokeOtherSessions) },
    '/api/auth/change-password': { POST: forUsers(changePassword) },
    '/api/auth/verify-email': { POST: forUsers(verifyEmail) },
    '/api/auth/send-verification-email': { POST: forUsers(sendVerificationMail) },
    '/api/auth/invitation/details': { POST: forVisitors(showInvitation) },
    '/api/auth/invitation/accept': { POST: forUsers(joinAccount) },
    '/api/auth/invitation/sign-up': { POST: forVisitors(signUpInvited) },
    '/api/auth/request-password-reset': { POST: forVisitors(requestPasswordReset) },
    '/api/auth/reset-password': { POST: forVisitors(resetPassword) },
  };
}

/** For everyone on the gateway's own pages. Requests from other sites get no cookies and cannot sign anyone in. */
function visitHandler(services: Services, handler: VisitHandler): Handler {
  return async (request, context) => {
    const address = context.clientAddress();
    if (!isFromHere(request, services.publicUrl)) throw new ApiError('invalid_origin');
    const place = { address, userAgent: request.headers.get('user-agent') };
    try {
      return await handler(request, { services, place, client: networksOf(address) });
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

function requireSession(handler: UserHandler): VisitHandler {
  return async (request, visit) => {
    const signedIn = await visit.services.sessions.find(request.headers);
    if (signedIn === null) throw new ApiError('session_required');
    return await handler(request, { ...visit, signedIn });
  };
}

/** Anything but a database error or an overload is a defect and stays as it is. */
function explain(thrown: unknown): unknown {
  if (thrown instanceof OverloadError)
    return new ApiError('too_many_attempts', { retryAfterSeconds: overloadSeconds });
  if (thrown instanceof SQL.SQLError || thrown instanceof LateError)
    return new ApiError('authentication_unavailable', { cause: thrown });
  return thrown;
}

async function signIn(request: Request, visit: Visit): Promise<Response> {
  const { place, client } = visit;
  const { sql, sessions, attempts } = visit.services;
  const { email, password } = await bodies.readSignIn(request);
  const { user, cookies } = await guessing(visit, email, async (ticket) => {
    const credential = await findCredential(sql, email);
    // An unknown address costs as much work as a wrong password and gets the same response.
    const isRight = await verifyPassword(password, credential?.passwordHash ?? null, ticket);
    if (credential === null || !isRight) throw new ApiError('invalid_credentials');
    return await beginSession(sql, sessions.auth, credential, place);
  });
  await attempts.rememberNetwork(email, client.network);
  await endCurrentSession(request, visit);
  return respond({ redirect: false, user }, cookies);
}

async function signUp(request: Request, visit: Visit): Promise<Response> {
  const { services, place, client } = visit;
  if (!services.isSignUpOpen) throw new ApiError('sign_up_closed');
  const customer = await bodies.readSignUp(request);
  await services.attempts.take(signUpLimits(customer.email, client));
  const { sql, sessions, verificationMail, welcome } = services;
  const signedUp = await signUpCustomer(
    sql,
    { ...customer, address: place.address },
    { welcome, client, mustVerify: verificationMail !== null },
    ticketOf(client, false),
  );
  if (signedUp === null) throw new ApiError('email_taken', { param: 'email' });
  await mailLinkIfPossible(services, client, { id: signedUp.userId, email: customer.email });
  const { user, cookies } = await beginSession(sql, sessions.auth, signedUp, place);
  await services.attempts.rememberNetwork(customer.email, client.network);
  await endCurrentSession(request, visit);
  return respond({ user }, cookies);
}

/** Succeeds without a session too. */
async function signOut(request: Request, visit: Visit): Promise<Response> {
  await bodies.readNothing(request);
  await endCurrentSession(request, visit);
  const { headers } = await visit.services.sessions.auth.api.clearSessionCookie({ returnHeaders: true });
  return respond({ success: true }, headers.getSetCookie());
}

async function getSession(request: Request, { services }: Visit): Promise<Response> {
  const signedIn = await services.sessions.find(request.headers);
  if (signedIn === null) return respond(null);
  const [session, user] = await Promise.all([
    findSession(services.sql, signedIn.userId, signedIn.sessionId),
    findProfile(services.sql, signedIn.userId),
  ]);
  if (session === null || user === null) return respond(null);
  return respond({ session, user });
}

async function listSessions(_request: Request, { services, signedIn }: UserVisit): Promise<Response> {
  const sessions = await findSessions(services.sql, signedIn.userId);
  const listed = sessions.map(({ userId: _, ...session }) => ({
    ...session,
    isCurrent: session.id === signedIn.sessionId,
  }));
  return respond(listed satisfies Record<keyof ListedSession, unknown>[]);
}

async function revokeSession(request: Request, { services, signedIn }: UserVisit): Promise<Response> {
  const { id } = await bodies.readSessionId(request);
  await endSession(services.sql, signedIn.userId, id);
  return respond({ status: true });
}

async function revokeOtherSessions(request: Request, { services, signedIn }: UserVisit): Promise<Response> {
  await bodies.readNothing(request);
  await endOtherSessions(services.sql, signedIn.userId, signedIn.sessionId);
  return respond({ status: true });
}

/** Ends every session and starts a new one, so that a copy of the old cookie is worthless. */
async function changePassword(request: Request, visit: UserVisit): Promise<Response> {
  const { place, client, signedIn } = visit;
  const { sql, sessions } = visit.services;
  const { currentPassword, newPassword } = await bodies.readPasswordChange(request);
  const currentHash = await guessing(visit, signedIn.email, async (ticket) => {
    const hash = await findPasswordHash(sql, signedIn.userId);
    if (hash === null || !(await verifyPassword(currentPassword, hash, ticket))) throw wrongPassword();
    return hash;
  });
  const newHash = await hashPassword(newPassword, ticketOf(client, true));
  await changeKnownPassword(sql, signedIn, currentHash, newHash, place.address);
  const credential = { userId: signedIn.userId, passwordHash: newHash };
  const { user, cookies } = await beginSession(sql, sessions.auth, credential, place);
  return respond({ user }, cookies);
}

/** The response is the same for every address and sent before anything is looked up, so not even its timing tells more. */
async function requestPasswordReset(request: Request, { services, client }: Visit): Promise<Response> {
  const { email } = await bodies.readResetRequest(request);
  await services.attempts.take(resetRequestLimits(email, client));
  services.resetMail?.send(email);
  return respond({
    status: true,
    message: 'If there is a user with this address, an e-mail with a link is on its way.',
  });
}

async function resetPassword(request: Request, { services, place, client }: Visit): Promise<Response> {
  const { token, newPassword } = await bodies.readReset(request);
  await services.attempts.take(networkLimits(client, false));
  // A hash is expensive, so the link is checked first.
  const userId = await findResetUser(services.sql, token);
  if (userId === null) throw new ApiError('invalid_reset_token');
  const passwordHash = await hashPassword(newPassword, ticketOf(client, true));
  const email = await spendResetToken(
    services.sql,
    token,
    userId,
    passwordHash,
    place.address,
    verifierOf(services, client),
  );
  if (email === null) throw new ApiError('invalid_reset_token');
  // A user who is locked out by a stranger's attempts can sign in after using a link.
  await services.attempts.rememberNetwork(email, client.network);
  return respond({ status: true });
}

/** Everything that the verified address of someone at this place entitles to. */
function verifierOf({ welcome }: Services, client: ClientNetworks): MarkVerified {
  return markVerifiedWith(welcome, client);
}

async function verifyEmail(request: Request, visit: UserVisit): Promise<Response> {
  const { services, place, client, signedIn } = visit;
  const { token } = await bodies.readVerification(request);
  await services.attempts.take(networkLimits(client, true));
  const actor = { door: 'dashboard', userId: signedIn.userId, address: place.address } as const;
  const isSpent = await spendVerificationToken(services.sql, actor, token, verifierOf(services, client));
  if (!isSpent) throw new ApiError('invalid_verification_token');
  return respond({ status: true });
}

/** Too many mails do not keep anyone from signing up: it can be sent later. */
async function mailLinkIfPossible(
  { attempts, verificationMail }: Services,
  client: ClientNetworks,
  user: Readonly<{ id: string; email: string }>,
): Promise<void> {
  if (verificationMail === null) return;
  if (await isWithin(attempts, verificationMailLimits(user.email, client, 'first')))
    verificationMail.send(user);
}

/** Sends nothing to those who need not verify their address. */
async function sendVerificationMail(request: Request, visit: UserVisit): Promise<Response> {
  const { services, client, signedIn } = visit;
  await bodies.readNothing(request);
  if (!signedIn.mustVerify) return respond({ status: true });
  await services.attempts.take([
    ...networkLimits(client, true),
    ...verificationMailLimits(signedIn.email, client, 'again'),
  ]);
  services.verificationMail?.send({ id: signedIn.userId, email: signedIn.email });
  return respond({ status: true });
}

/** For anyone with the link: what it leads to. The token is in the body, because addresses end up in logs. */
async function showInvitation(request: Request, { services, client }: Visit): Promise<Response> {
  const { token } = await bodies.readInvitation(request);
  await services.attempts.take(networkLimits(client, false));
  const invitation = await findInvitation(services.sql, token);
  if (invitation === null) throw new ApiError('invalid_invitation');
  return respond(invitation satisfies Record<keyof InvitationDetails, unknown>);
}

async function joinAccount(request: Request, visit: UserVisit): Promise<Response> {
  const { services, place, client, signedIn } = visit;
  const { token } = await bodies.readInvitation(request);
  await services.attempts.take(networkLimits(client, true));
  const accountId = await acceptInvitation(
    services.sql,
    token,
    signedIn,
    place.address,
    verifierOf(services, client),
  );
  return respond({ accountId } satisfies JoinedAccount);
}

/** An invitation also admits new users, whether or not anyone can sign up here. They get no account of their own. */
async function signUpInvited(request: Request, visit: Visit): Promise<Response> {
  const { services, place, client } = visit;
  const { sql, sessions, attempts } = services;
  const { token, ...newcomer } = await bodies.readInvitedSignUp(request);
  await attempts.take(signUpLimits(newcomer.email, client));
  // A hash is expensive, so the link is checked first.
  await requireInvitation(sql, token, newcomer.email);
  const { accountId, mustVerify, ...credential } = await signUpMember(
    sql,
    { ...newcomer, address: place.address },
    { token, hasMail: services.verificationMail !== null },
    ticketOf(client, true),
  );
  if (mustVerify)
    await mailLinkIfPossible(services, client, { id: credential.userId, email: newcomer.email });
  const { cookies } = await beginSession(sql, sessions.auth, credential, place);
  await attempts.rememberNetwork(newcomer.email, client.network);
  await endCurrentSession(request, visit);
  return respond({ accountId } satisfies JoinedAccount, cookies);
}

/** A wide network counts as one origin. Known users have reserved places in the queue. */
function ticketOf({ network, sites }: ClientNetworks, isPreferred: boolean): Ticket {
  return { origin: sites.at(-1) ?? network, isPreferred };
}

/** Runs something that checks a password. Only a wrong password counts against the address. */
async function guessing<Result>(
  { services, client }: Visit,
  email: string,
  run: (ticket: Ticket) => Promise<Result>,
): Promise<Result> {
  const isFamiliar = await services.attempts.isFamiliar(email, client.network);
  const limits = guessLimits(email, client.network, isFamiliar);
  await services.attempts.take([...networkLimits(client, isFamiliar), ...limits]);
  try {
    const result = await run(ticketOf(client, isFamiliar));
    await services.attempts.giveBack(limits);
    return result;
  } catch (thrown) {
    const isGuess = thrown instanceof ApiError && thrown.code === 'invalid_credentials';
    if (!isGuess) await services.attempts.giveBack(limits);
    throw thrown;
  }
}

/** The session that this browser has had until now, if any. */
async function endCurrentSession(request: Request, { services }: Visit): Promise<void> {
  const current = await services.sessions.find(request.headers);
  if (current !== null) await endSession(services.sql, current.userId, current.sessionId);
}

function respond(body: unknown, cookies: readonly string[] = []): Response {
  const response = Response.json(body);
  for (const cookie of cookies) response.headers.append('set-cookie', cookie);
  return response;
}
