/** One-time links for choosing a new password, sent by mail or handed out by an operator. */
import { createHash, randomBytes } from 'node:crypto';
import type { SQL, TransactionSQL } from 'bun';
import { type DashboardActor, recordChange } from '../audit-log/audit-log.ts';
import { newId } from '../lib/ids.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import { revokeTokensOf } from '../tokens/token-store.ts';
import type { MarkVerified } from './email-verification.ts';
import { endInvitationsBy } from './invitations.ts';
import { lockUsers, putPassword } from './user-store.ts';

export const resetLinkMinutes = 60;

export type ResetToken = Readonly<{ token: string; expiresAt: Date }>;

/**
 * Whoever has the token can set the user's password, once. Only its hash is stored. `madeBy` is the operator who gets to
 * see it, if any.
 */
export async function createResetToken(
  sql: SQL,
  userId: string,
  madeBy: string | null = null,
): Promise<ResetToken> {
  const token = randomBytes(32).toString('base64url');
  const expiresAt = new Date(Date.now() + resetLinkMinutes * 60_000);
  await sql`
    insert into verifications (id, identifier, value, made_by, expires_at)
    values (${newId()}, ${hashToken(token)}, ${userId}, ${madeBy}::uuid, ${expiresAt})`;
  return { token, expiresAt };
}

/** The token is in the fragment, which browsers send neither to servers nor as a referrer. */
export function resetUrl(origin: string, token: string): string {
  return `${origin}/reset-password#token=${token}`;
}

/** The user whose password this token can set; null for an invalid token. */
export async function findResetUser(sql: SQL, token: string): Promise<string | null> {
  const [row] = await sql<{ id: string }[]>`
    select users.id from verifications join users on users.id::text = value
    where identifier = ${hashToken(token)} and expires_at > now()`;
  return row?.id ?? null;
}

/**
 * Sets the password and returns the user's address; null when the token has been used or has expired meanwhile. Of two
 * uses at the same time one succeeds. A link reaches its user by mail or from an operator who vouches for the address, so
 * using it verifies the address.
 */
export async function spendResetToken(
  sql: SQL,
  token: string,
  userId: string,
  passwordHash: string,
  address: string | null,
  markVerified: MarkVerified,
): Promise<string | null> {
  return await shortTransaction(sql, async (transaction) => {
    await lockUsers(transaction, userId);
    const links = await transaction<{ is_this: boolean }[]>`
      select identifier = ${hashToken(token)} and value = ${userId} and expires_at > now() as is_this
      from verifications where value = ${userId} or made_by = ${userId} order by id for update`;
    if (!links.some((link) => link.is_this)) return null;
    const actor = { door: 'dashboard', userId, address } as const;
    await replacePassword(transaction, actor, passwordHash);
    await markVerified(transaction, actor);
    const [user] = await transaction<{ email: string }[]>`select email from users where id = ${userId}`;
    return user?.email ?? null;
  });
}

/**
 * Someone else may have known the old password, so everything they may have got with it ends in the same transaction:
 * admin tokens, sessions, invitations, and links, including those that an operator created for others. The user is already
 * locked. Tokens come first, because a change of the admin API locks its token before anything else.
 */
export async function replacePassword(
  transaction: TransactionSQL,
  actor: DashboardActor,
  passwordHash: string,
): Promise<void> {
  const { userId } = actor;
  await recordChange(transaction, actor, { action: 'change_password', object: { type: 'user', id: userId } });
  await putPassword(transaction, userId, passwordHash);
  await revokeTokensOf(transaction, actor, userId);
  await transaction`delete from sessions where user_id = ${userId}`;
  await endInvitationsBy(transaction, userId);
  await transaction`
    with locked as materialized (
      select id from verifications where value = ${userId} or made_by = ${userId} order by id for update
    )
    delete from verifications using locked where verifications.id = locked.id`;
}

/** An operator may have kept links. */
export async function endLinksMadeBy(transaction: TransactionSQL, operatorId: string): Promise<void> {
  await transaction`
    with locked as materialized (
      select id from verifications where made_by = ${operatorId} order by id for update
    )
    delete from verifications using locked where verifications.id = locked.id`;
}

/** Tokens are random, so a plain hash cannot be reversed by guessing. */
function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}
