/** One-time links for choosing a new password: by mail, by the command line, by the operator's page. */
import { randomBytes } from 'node:crypto';
import type { SQL, TransactionSQL } from 'bun';
import { putPassword } from '../users/user-store.ts';
import type { Auth } from './auth.ts';
import { hashToken } from './token-hash.ts';

export const resetLinkMinutes = 60;

/** Whoever has the token may choose the user's password, once. Only its hash is stored. */
export async function createResetToken(
  auth: Auth,
  userId: string,
): Promise<{ token: string; expiresAt: Date }> {
  const token = randomBytes(32).toString('base64url');
  const expiresAt = new Date(Date.now() + resetLinkMinutes * 60_000);
  const { internalAdapter } = await auth.$context;
  await internalAdapter.createVerificationValue({ identifier: token, value: userId, expiresAt });
  return { token, expiresAt };
}

/** The token stands behind the #, which browsers send to no server and name to no other page. */
export function resetUrl(origin: string, token: string): string {
  return `${origin}/reset-password#token=${token}`;
}

/** Whether it is worth hashing a password for this token. */
export async function isResetTokenValid(sql: SQL, token: string): Promise<boolean> {
  const found = await sql`
    select 1 from verifications where identifier = ${hashToken(token)} and expires_at > now()`;
  return found.length > 0;
}

/**
 * Gives the user this password and returns whose it is; null when the token has been used or has expired meanwhile. Of
 * two at the same time one succeeds.
 */
export async function spendResetToken(sql: SQL, token: string, passwordHash: string): Promise<string | null> {
  return await sql.begin(async (transaction) => {
    const [user] = await transaction<{ id: string; email: string }[]>`
      delete from verifications using users
      where identifier = ${hashToken(token)} and expires_at > now() and users.id::text = value
      returning users.id, users.email`;
    if (!user) return null;
    await replacePassword(transaction, user.id, passwordHash);
    return user.email;
  });
}

/**
 * A password is changed because someone else may know the old one: whatever that person got by it, sessions and links,
 * ends in the same transaction.
 */
export async function replacePassword(
  transaction: TransactionSQL,
  userId: string,
  passwordHash: string,
): Promise<void> {
  await putPassword(transaction, userId, passwordHash);
  await transaction`delete from sessions where user_id = ${userId}`;
  await transaction`delete from verifications where value = ${userId}`;
}
