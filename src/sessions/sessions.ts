/** Who is signed in, and the sessions of a user. */
import type { SQL } from 'bun';
import type { Auth } from './auth.ts';

/** Who is signed in, according to the database at this moment. */
export type SignedIn = Readonly<{
  userId: string;
  sessionId: string;
  email: string;
  name: string;
  isOperator: boolean;
}>;

export type Sessions = Readonly<{
  auth: Auth;
  /** Null when nobody is signed in. Throws when the database cannot be asked. */
  find: (headers: Headers) => Promise<SignedIn | null>;
}>;

type SignedInRow = { id: string; user_id: string; email: string; name: string; is_operator: boolean };

export function openSessions(sql: SQL, auth: Auth): Sessions {
  async function find(headers: Headers): Promise<SignedIn | null> {
    const cookie = headers.get('cookie');
    if (cookie === null) return null;
    // Only the cookie is passed on: nothing else of a request may decide who someone is.
    const { token } = await auth.api.readSessionToken({ headers: new Headers({ cookie }) });
    if (token === null) return null;
    const [row] = await sql<SignedInRow[]>`
      select sessions.id, user_id, email, name, is_operator
      from sessions join users on users.id = user_id
      where token = ${token} and expires_at > now()`;
    if (!row) return null;
    return {
      userId: row.user_id,
      sessionId: row.id,
      email: row.email,
      name: row.name,
      isOperator: row.is_operator,
    };
  }

  return { auth, find };
}

/** One of a user's sessions. The token is left out on purpose: nothing but the cookie has use for it. */
export type SessionSummary = Readonly<{
  id: string;
  userId: string;
  ipAddress: string | null;
  userAgent: string | null;
  expiresAt: Date;
  createdAt: Date;
  updatedAt: Date;
}>;

type SessionRow = {
  id: string;
  user_id: string;
  ip_address: string | null;
  user_agent: string | null;
  expires_at: Date;
  created_at: Date;
  updated_at: Date;
};

const maxListed = 100;

/** Those in force, the newest first. */
export async function findSessions(sql: SQL, userId: string): Promise<SessionSummary[]> {
  const rows = await sql<SessionRow[]>`
    select id, user_id, ip_address, user_agent, expires_at, created_at, updated_at
    from sessions where user_id = ${userId} and expires_at > now() order by id desc limit ${maxListed}`;
  return rows.map(fromRow);
}

export async function findSession(
  sql: SQL,
  userId: string,
  sessionId: string,
): Promise<SessionSummary | null> {
  const [row] = await sql<SessionRow[]>`
    select id, user_id, ip_address, user_agent, expires_at, created_at, updated_at
    from sessions where id = ${sessionId} and user_id = ${userId} and expires_at > now()`;
  return row ? fromRow(row) : null;
}

function fromRow(row: SessionRow): SessionSummary {
  return {
    id: row.id,
    userId: row.user_id,
    ipAddress: row.ip_address,
    userAgent: row.user_agent,
    expiresAt: row.expires_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** Ends one session of this user. */
export async function endSession(sql: SQL, userId: string, sessionId: string): Promise<void> {
  await sql`delete from sessions where id = ${sessionId} and user_id = ${userId}`;
}

export async function endOtherSessions(sql: SQL, userId: string, currentId: string): Promise<void> {
  await sql`delete from sessions where user_id = ${userId} and id <> ${currentId}`;
}
