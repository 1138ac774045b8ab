/**
 * One-time links with which owners let others join their account. Only the hash of a link is stored. An invitation is valid
 * until it is accepted, is revoked or expires, and only while its creator is an owner of the account, or a token of the
 * admin API that was not revoked.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { SQL, TransactionSQL } from 'bun';
import { type Actor, type DashboardActor, recordChange, type TokenActor } from '../audit-log/audit-log.ts';
import { ApiError } from '../errors.ts';
import { newId } from '../lib/ids.ts';
import { shortTransaction } from '../lib/short-transaction.ts';
import type { Limit } from './attempts.ts';
import type { MarkVerified } from './email-verification.ts';
import { mailboxOf } from './sign-in-limits.ts';
import type { Role } from './user-store.ts';

export const invitationDays = 7;

export type NewInvitation = Readonly<{
  accountId: string;
  role: Role;
  /** The only address that can accept it, where the link is mailed; null for a link that the owner hands over. */
  email: string | null;
}>;

/** Owners invite in the dashboard, and operators through the admin API. */
type InvitingActor = DashboardActor | TokenActor;

export async function createInvitation(
  transaction: TransactionSQL,
  actor: InvitingActor,
  { accountId, role, email }: NewInvitation,
): Promise<Readonly<{ id: string; token: string }>> {
  await requireRoom(transaction, accountId);
  if (email !== null) await requireNewcomer(transaction, accountId, email);
  const id = newId();
  const token = randomBytes(32).toString('base64url');
  await transaction`
    insert into invitations (id, account_id, role, invited_by, invited_by_token, email, token_hash, expires_at)
    values (${id}, ${accountId}, ${role}, ${actor.door === 'api' ? null : actor.userId}::uuid,
            ${actor.door === 'api' ? actor.tokenId : null}::uuid, ${email}, ${hashToken(token)},
            now() + make_interval(days => ${invitationDays}::int))`;
  const object = { type: 'invitation', id } as const;
  await recordChange(transaction, actor, {
    action: 'create_invitation',
    accountId,
    object,
    after: { role, email },
  });
  return { id, token };
}

const maxPending = 50;

/** One after the other, so that each counts what the others have added. Operators do not lock the members, as owners do. */
async function requireRoom(transaction: TransactionSQL, accountId: string): Promise<void> {
  await transaction`select pg_advisory_xact_lock(hashtextextended(${`invitations of ${accountId}`}, 0))`;
  const [row] = await transaction<[{ pending: number }]>`
    select count(*)::int as pending from invitations where account_id = ${accountId} and expires_at > now()`;
  if (row.pending >= maxPending) throw new ApiError('too_many_invitations');
}

async function requireNewcomer(transaction: SQL, accountId: string, email: string): Promise<void> {
  const found = await transaction`
    select 1 from memberships join users on users.id = user_id
    where account_id = ${accountId} and email = ${email}`;
  if (found.length > 0) throw new ApiError('already_member', { param: 'email' });
}

const hour = 60 * 60;

/** Each sends a mail to an address that the inviter chooses. */
export function invitationMailLimits(accountId: string, email: string): Limit[] {
  return [
    { scope: 'invitation-account', subject: accountId, max: 20, periodSeconds: hour },
    { scope: 'invitation-email', subject: mailboxOf(email), max: 5, periodSeconds: hour },
  ];
}

/** An invitation as lists show it. `invited_by` is null for one that a token of the admin API made. */
export type PendingInvitation = Readonly<{
  id: string;
  role: Role;
  email: string | null;
  invited_by: string | null;
  created_at: Date;
  expires_at: Date;
}>;

/** Those that can still be accepted, the newest first. With an ID, only that one. */
export async function findInvitations(
  sql: SQL,
  accountId: string,
  id: string | null = null,
): Promise<PendingInvitation[]> {
  return await sql<PendingInvitation[]>`
    select invitations.id, invitations.role, invitations.email, users.email as invited_by, invitations.created_at,
           invitations.expires_at
    from invitations left join users on users.id = invited_by
    where account_id = ${accountId} and (${id}::uuid is null or invitations.id = ${id}::uuid)
      and ${isValidInvitation(sql)}
    order by invitations.id desc`;
}

export async function revokeInvitationAs(
  transaction: TransactionSQL,
  actor: Actor,
  accountId: string,
  id: string,
): Promise<void> {
  const [revoked] = await transaction<{ role: Role; email: string | null }[]>`
    delete from invitations where id = ${id} and account_id = ${accountId} returning role, email`;
  if (revoked === undefined) throw new ApiError('invitation_not_found');
  await recordChange(transaction, actor, {
    action: 'revoke_invitation',
    accountId,
    object: { type: 'invitation', id },
    before: revoked,
  });
}

/** The token is in the fragment, which browsers send neither to servers nor as a referrer. */
export function invitationUrl(origin: string, token: string): string {
  return `${origin}/invitation#token=${token}`;
}

/** What makes a row of `invitations` valid. */
export function isValidInvitation(sql: SQL) {
  return sql`invitations.expires_at > now() and (exists (
    select 1 from memberships as inviter
    where inviter.user_id = invitations.invited_by and inviter.account_id = invitations.account_id
      and inviter.role = 'owner')
    or exists (select 1 from admin_tokens where admin_tokens.id = invitations.invited_by_token and revoked_at is null))`;
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

/**
 * Adds a user who has signed in, and whose address a mailed link has reached. Neither someone who is
 * already a member nor someone who has to verify the address first uses the invitation up.
 */
export async function acceptInvitation(
  sql: SQL,
  token: string,
  { userId, email, mustVerify }: Readonly<{ userId: string; email: string; mustVerify: boolean }>,
  address: string | null,
  markVerified: MarkVerified,
): Promise<string> {
  await requireInvitation(sql, token, email);
  return await shortTransaction(sql, async (transaction) => {
    const { accountId, role, isMailed } = await spendInvitation(transaction, token, email);
    if (mustVerify && !isMailed) throw new ApiError('email_verification_required');
    const actor = { door: 'dashboard', userId, address } as const;
    const added = await transaction`
      insert into memberships (user_id, account_id, role) values (${userId}, ${accountId}, ${role})
      on conflict (user_id, account_id) do nothing returning 1`;
    if (added.length === 0) throw new ApiError('already_member');
    await recordAcceptance(transaction, actor, accountId, role);
    if (isMailed) await markVerified(transaction, actor);
    return accountId;
  });
}

export async function recordAcceptance(
  transaction: TransactionSQL,
  actor: DashboardActor,
  accountId: string,
  role: Role,
): Promise<void> {
  const object = { type: 'user', id: actor.userId } as const;
  await recordChange(transaction, actor, { action: 'accept_invitation', accountId, object, after: { role } });
}

/** Someone else may have created them with a password that has been replaced since. */
export async function endInvitationsBy(transaction: TransactionSQL, userId: string): Promise<void> {
  await transaction`delete from invitations where invited_by = ${userId}`;
}

/** Tokens are random, so a plain hash cannot be reversed by guessing. */
function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
