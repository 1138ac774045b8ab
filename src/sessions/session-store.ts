import type { SQL } from 'bun';

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

const mostListed = 100;

/** Those in force, the newest first. */
export async function findSessions(sql: SQL, userId: string): Promise<SessionSummary[]> {
  const rows = await sql<SessionRow[]>`
    select id, user_id, ip_address, user_agent, expires_at, created_at, updated_at
    from sessions where user_id = ${userId} and expires_at > now() order by id desc limit ${mostListed}`;
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
