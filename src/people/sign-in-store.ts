/** What signing up, signing in and changing a password do in the database. */
import type { SQL } from 'bun';
import { insertAccount } from '../accounts/account-store.ts';
import { type DashboardActor, recordChange } from '../audit-log/audit-log.ts';
import { ApiError } from '../errors.ts';
import type { Ticket } from '../lib/bounded-queue.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import { type Auth, addressHeader } from './auth.ts';
import { recordAcceptance, spendInvitation } from './invitations.ts';
import { hashPassword } from './password.ts';
import { replacePassword } from './reset-link.ts';
import { endSession, findSession, type SignedIn } from './sessions.ts';
import type { ClientNetworks } from './sign-in-limits.ts';
import {
  type Credential,
  findProfile,
  insertMembership,
  insertUser,
  isPasswordHash,
  lockUsers,
  nameFrom,
  type UserProfile,
} from './user-store.ts';
import type { WelcomeGrants } from './welcome-grant.ts';

/** `address` is where the request came from. */
type NewCustomer = Readonly<{ name: string; email: string; password: string; address: string | null }>;

/** `mustVerify` means that the address will be verified, and what a new customer gets waits for that. */
type SignUpRules = Readonly<{ welcome: WelcomeGrants; client: ClientNetworks; mustVerify: boolean }>;

/**
 * Creates a user and an account that they own, in one transaction. Null when the address is taken.
 */
export async function signUpCustomer(
  sql: SQL,
  { name, email, password, address }: NewCustomer,
  { welcome, client, mustVerify }: SignUpRules,
  ticket: Ticket,
): Promise<Credential | null> {
  const passwordHash = await hashPassword(password, ticket);
  const shownName = name === '' ? (email.split('@')[0] ?? email) : name;
  return await shortTransaction(sql, async (transaction) => {
    const user = await insertUser(transaction, {
      email,
      name: shownName,
      passwordHash,
      isOperator: false,
      isEmailVerified: false,
      mustVerifyEmail: mustVerify,
    });
    if (user === null) return null;
    const account = await insertAccount(transaction, shownName, 0n);
    await insertMembership(transaction, user.id, account.id, 'owner');
    const actor: DashboardActor = { door: 'dashboard', userId: user.id, address };
    const object = { type: 'user', id: user.id } as const;
    const after = { email: user.email, name: shownName, role: 'owner' };
    await recordChange(transaction, actor, { action: 'sign_up', accountId: account.id, object, after });
    await welcome.offer(transaction, user.id, account.id);
    if (!mustVerify) await welcome.decide(transaction, actor, client);
    return { userId: user.id, passwordHash };
  });
}

/**
 * Creates a user who joins the account of an invitation, in one transaction. Where there is mail, whoever comes with a link
 * that was not mailed verifies the address.
 */
export async function signUpMember(
  sql: SQL,
  { name, email, password, address }: NewCustomer,
  { token, hasMail }: Readonly<{ token: string; hasMail: boolean }>,
  ticket: Ticket,
): Promise<Credential & Readonly<{ accountId: string; mustVerify: boolean }>> {
  const passwordHash = await hashPassword(password, ticket);
  return await shortTransaction(sql, async (transaction) => {
    const { accountId, role, isMailed } = await spendInvitation(transaction, token, email);
    const mustVerify = hasMail && !isMailed;
    const user = await insertUser(transaction, {
      email,
      name: name === '' ? nameFrom(email) : name,
      passwordHash,
      isOperator: false,
      // A mailed link has reached the address.
      isEmailVerified: isMailed,
      mustVerifyEmail: mustVerify,
    });
    if (user === null) throw new ApiError('email_taken', { param: 'email' });
    await insertMembership(transaction, user.id, accountId, role);
    await recordAcceptance(transaction, { door: 'dashboard', userId: user.id, address }, accountId, role);
    return { userId: user.id, passwordHash, accountId, mustVerify };
  });
}

const maxUserAgent = 500;

/** Where a session was started, as its owner sees it in the list. */
export type Place = Readonly<{ address: string | null; userAgent: string | null }>;

/**
 * Starts a session for a user whose password has this hash. Changing a password ends all sessions of the user, but this one
 * may start just after that. So the hash is read again once the session exists: if it is still the same, any later change
 * ends this session too.
 */
export async function beginSession(
  sql: SQL,
  auth: Auth,
  { userId, passwordHash }: Credential,
  place: Place,
): Promise<Readonly<{ user: UserProfile; cookies: string[] }>> {
  // Nothing else of the request is passed on, so its cookies and headers have no influence.
  const headers = new Headers({ 'user-agent': (place.userAgent ?? '').slice(0, maxUserAgent) });
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

export function wrongPassword(): ApiError {
  return new ApiError('invalid_credentials', {
    param: 'currentPassword',
    message: 'The current password is wrong.',
  });
}

/**
 * Of two changes at the same time the first wins and ends the session of the other, so the session and the hash are read
 * again under the lock.
 */
export async function changeKnownPassword(
  sql: SQL,
  { userId, sessionId }: Pick<SignedIn, 'userId' | 'sessionId'>,
  currentHash: string,
  newHash: string,
  address: string | null,
): Promise<void> {
  await shortTransaction(sql, async (transaction) => {
    await lockUsers(transaction, userId);
    if ((await findSession(transaction, userId, sessionId)) === null) throw new ApiError('session_required');
    if (!(await isPasswordHash(transaction, userId, currentHash))) throw wrongPassword();
    await replacePassword(transaction, { door: 'dashboard', userId, address }, newHash);
  });
}
