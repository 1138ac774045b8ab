/** Who is signed in, and the sessions of a user. */
import type { SQL } from 'bun';
import { within } from '../lib/within.ts';
import type { Auth } from './auth.ts';

/** Every request of the dashboard waits for its session first. */
const patienceMs = 4_000;

/** Who is signed in, according to the database at this moment. */
export type SignedIn = Readonly<{
  userId: string;
  sessionId: string;
  email: string;
  name: string;
  isOperator: boolean;
  /** A new customer who has not verified the address: they may look, and change nothing. */
  mustVerify: boolean;
}>;

export type Sessions = Readonly<{
  auth: Auth;
  /** Null when nobody is signed in. Throws when the database does not answer in time. */
  find: (headers: Headers) => Promise<SignedIn | null>;
}>;

/** Without mail nobody could verify an address, so nobody has to. */
export function openSessions(sql: SQL, auth: Auth, hasMail: boolean): Sessions {
  async function find(headers: Headers): Promise<SignedIn | null> {
    const cookie = headers.get('cookie');
    if (cookie === null) return null;
    // Only the cookie is passed on: nothing else in a request may decide who the user is.
    const { token } = await auth.api.readSessionToken({ headers: new Headers({ cookie }) });
    if (token === null) return null;
    const [signedIn] = await within(
      patienceMs,
      sql<SignedIn[]>`
        select user_id as "userId", sessions.id as "sessionId", email, name, is_operator as "isOperator",
               ${hasMail}::boolean and must_verify_email and not email_verified as "mustVerify"
        from sessions join users on users.id = user_id
        where token = ${token} and expires_at > now()`,
    );
    return signedIn ?? null;
  }

  return { auth, find };
}

/** One of a user's sessions, under the names that better-auth uses. The token belongs in the cookie alone. */
export type SessionSummary = Readonly<{
  id: string;
  userId: string;
  ipAddress: string | null;
  userAgent: string | null;
  expiresAt: Date;
  createdAt: Date;
  updatedAt: Date;
}>;

const maxListed = 100;

/** The sessions in force, the newest first. */
export async function findSessions(sql: SQL, userId: string): Promise<SessionSummary[]> {
  return await sql<SessionSummary[]>`
    select ${columns(sql)} from sessions where user_id = ${userId} and expires_at > now()
    order by id desc limit ${maxListed}`;
}

export async function findSession(
  sql: SQL,
  userId: string,
  sessionId: string,
): Promise<SessionSummary | null> {
  const [session] = await sql<SessionSummary[]>`
    select ${columns(sql)} from sessions where id = ${sessionId} and user_id = ${userId} and expires_at > now()`;
  return session ?? null;
}

function columns(sql: SQL) {
  return sql`id, user_id as "userId", ip_address as "ipAddress", user_agent as "userAgent", expires_at as "expiresAt",
    created_at as "createdAt", updated_at as "updatedAt"`;
}

export async function endSession(sql: SQL, userId: string, sessionId: string): Promise<void> {
  await sql`delete from sessions where id = ${sessionId} and user_id = ${userId}`;
}

export async function endOtherSessions(sql: SQL, userId: string, currentId: string): Promise<void> {
  await sql`delete from sessions where user_id = ${userId} and id <> ${currentId}`;
}
