/**
 * One-time links with which owners let others join their account. Only the hash of a link is stored. An invitation is valid
 * until it is accepted, is revoked or expires, and only while its creator is an owner of the account.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { SQL, TransactionSQL } from 'bun';
import { ApiError } from '../errors.ts';
import { newId } from '../lib/ids.ts';
import type { Role } from './user-store.ts';

export const invitationDays = 7;

export type NewInvitation = Readonly<{
  accountId: string;
  role: Role;
  invitedBy: string;
  /** The only address that can accept it, where the link is mailed; null for a link that the owner hands over. */
  email: string | null;
}>;

export async function createInvitation(
  transaction: TransactionSQL,
  { accountId, role, invitedBy, email }: NewInvitation,
): Promise<Readonly<{ id: string; token: string }>> {
  const id = newId();
  const token = randomBytes(32).toString('base64url');
  await transaction`
    insert into invitations (id, account_id, role, invited_by, email, token_hash, expires_at)
    values (${id}, ${accountId}, ${role}, ${invitedBy}, ${email}, ${hashToken(token)},
            now() + make_interval(days => ${invitationDays}::int))`;
  return { id, token };
}

/** The token is in the fragment, which browsers send neither to servers nor as a referrer. */
export function invitationUrl(origin: string, token: string): string {
  return `${origin}/invitation#token=${token}`;
}

/** What makes a row of `invitations` valid. */
export function isValidInvitation(sql: SQL) {
  return sql`invitations.expires_at > now() and exists (
    select 1 from memberships as inviter
    where inviter.user_id = invitations.invited_by and inviter.account_id = invitations.account_id
      and inviter.role = 'owner')`;
}

export type Invitation = Readonly<{ accountName: string; role: Role; email: string | null; expiresAt: Date }>;

/** Null for a token that is not valid, whatever the reason. */
export async function findInvitation(sql: SQL, token: string): Promise<Invitation | null> {
  const [invitation] = await sql<Invitation[]>`
    select accounts.name as "accountName", role, email, expires_at as "expiresAt"
    from invitations join accounts on accounts.id = account_id
    where token_hash = ${hashToken(token)} and ${isValidInvitation(sql)}`;
  return invitation ?? null;
}

/** The invitation, if someone with this address can accept it. */
export async function requireInvitation(sql: SQL, token: string, email: string): Promise<Invitation> {
  const invitation = await findInvitation(sql, token);
  if (invitation === null) throw new ApiError('invalid_invitation');
  if (invitation.email !== null && invitation.email !== email)
    throw new ApiError('invalid_invitation', {
      param: 'email',
      message: `This invitation is for ${invitation.email} only.`,
    });
  return invitation;
}

/** `isMailed` means that only someone who reads the mail of that address can have used it. */
export type SpentInvitation = Readonly<{ accountId: string; role: Role; isMailed: boolean }>;

/**
 * Uses the invitation up: of several people at the same time, one succeeds. The rest of the transaction has to add the
 * member, or to fail.
 */
export async function spendInvitation(
  transaction: TransactionSQL,
  token: string,
  email: string,
): Promise<SpentInvitation> {
  const [spent] = await transaction<SpentInvitation[]>`
    delete from invitations
    where token_hash = ${hashToken(token)} and (email is null or email = ${email})
      and ${isValidInvitation(transaction)}
    returning account_id as "accountId", role, email is not null as "isMailed"`;
  if (spent === undefined) throw new ApiError('invalid_invitation');
  return spent;
}

/** Adds a user who has signed in. Someone who is already a member does not use the invitation up. */
export async function acceptInvitation(
  sql: SQL,
  token: string,
  { userId, email }: Readonly<{ userId: string; email: string }>,
): Promise<string> {
  await requireInvitation(sql, token, email);
  return await sql.begin(async (transaction) => {
    const { accountId, role } = await spendInvitation(transaction, token, email);
    const added = await transaction`
      insert into memberships (user_id, account_id, role) values (${userId}, ${accountId}, ${role})
      on conflict (user_id, account_id) do nothing returning 1`;
    if (added.length === 0) throw new ApiError('already_member');
    return accountId;
  });
}

/** Someone else may have created them with a password that has been replaced since. */
export async function endInvitationsBy(transaction: TransactionSQL, userId: string): Promise<void> {
  await transaction`delete from invitations where invited_by = ${userId}`;
}

/** Tokens are random, so a plain hash cannot be reversed by guessing. */
function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
