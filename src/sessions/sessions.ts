import type { SQL } from 'bun';
import type { Auth } from './auth.ts';

/** Who is signed in, as the database says at this moment. */
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
    // Only the cookie is passed on: nothing else of a request is to decide who someone is.
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
