/**
 * One-time links that verify the address of a user. Only the user can use one, signed in: if someone else signed up with
 * the address, its owner must not make it theirs by opening a mail.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { SQL, TransactionSQL } from 'bun';
import { type DashboardActor, recordChange } from '../audit-log/audit-log.ts';
import { newId } from '../lib/ids.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import type { ClientNetworks } from './sign-in-limits.ts';
import { lockUsers } from './user-store.ts';
import type { WelcomeGrants } from './welcome-grant.ts';

export const verificationHours = 24;

export async function createVerificationToken(sql: SQL, userId: string): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  await sql`
    insert into email_verifications (id, user_id, token_hash, expires_at)
    values (${newId()}, ${userId}, ${hashToken(token)}, now() + make_interval(hours => ${verificationHours}::int))`;
  return token;
}

/** The token is in the fragment, which browsers send neither to servers nor as a referrer. */
export function verificationUrl(origin: string, token: string): string {
  return `${origin}/verify-email#token=${token}`;
}

/** Part of a transaction in which a user has shown to read the mail of their address. */
export type MarkVerified = (transaction: TransactionSQL, actor: DashboardActor) => Promise<void>;

/** Everything that follows from a verified address follows here, once, whichever link has shown it. */
export function markVerifiedWith(welcome: WelcomeGrants, client: ClientNetworks): MarkVerified {
  return async (transaction, actor) => {
    const { userId } = actor;
    const [verified] = await transaction<{ email: string }[]>`
      update users set email_verified = true, updated_at = now()
      where id = ${userId} and not email_verified returning email`;
    if (verified === undefined) return;
    await transaction`delete from email_verifications where user_id = ${userId}`;
    const object = { type: 'user', id: userId } as const;
    await recordChange(transaction, actor, { action: 'verify_email', object, after: verified });
    await welcome.decide(transaction, actor, client);
  };
}

/** False for a link that is not valid for this user. Of two uses at the same time one succeeds. */
export async function spendVerificationToken(
  sql: SQL,
  actor: DashboardActor,
  token: string,
  markVerified: MarkVerified,
): Promise<boolean> {
  return await shortTransaction(sql, async (transaction) => {
    await lockUsers(transaction, actor.userId);
    const spent = await transaction`
      delete from email_verifications
      where token_hash = ${hashToken(token)} and user_id = ${actor.userId} and expires_at > now() returning 1`;
    if (spent.length === 0) return false;
    await markVerified(transaction, actor);
    return true;
  });
}

/** Tokens are random, so a plain hash cannot be reversed by guessing. */
function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
