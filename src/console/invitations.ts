/** Owners invite others to their account, with a link that they hand over or that is mailed. */
import type { SQL } from 'bun';
import { z } from 'zod';
import { ApiError } from '../errors.ts';
import { ownOriginOf } from '../http/origin.ts';
import { readQuery } from '../http/query.ts';
import type { Attempts, Limit } from '../people/attempts.ts';
import type { InvitationMail } from '../people/invitation-mail.ts';
import { createInvitation, invitationUrl, isValidInvitation } from '../people/invitations.ts';
import type { SignedIn } from '../people/sessions.ts';
import { isEmailAddress } from '../people/user-store.ts';
import { asOwner, type Caller, findRole, idIn, requireOwner } from './access.ts';
import type { Invitation, NewInvitation, Role, Unsent } from './contract.ts';
import { bodyOf, readBody, role } from './fields.ts';
import type { AccountHandler, Routes } from './guard.ts';

type InvitationsServices = Readonly<{
  sql: SQL;
  attempts: Attempts;
  publicUrl: string | null;
  /** Null when the gateway cannot send mail. */
  invitationMail: InvitationMail | null;
}>;

const address = 'an e-mail address, or null';
const draft = bodyOf({
  role,
  email: z.string(address).refine(isEmailAddress, address).toLowerCase().nullable().default(null),
});

export function invitationsPage(services: InvitationsServices): Routes<AccountHandler> {
  const { sql, attempts, publicUrl, invitationMail } = services;
  return {
    '/invitations': {
      GET: async (request, { caller }) => {
        readQuery(request.url, []);
        const data = await findInvitations(sql, caller);
        return Response.json({ data: data satisfies Unsent<Invitation>[] });
      },
      /** A mailed link is not shown: it proves that whoever uses it can read the mail of that address. */
      POST: async (request, { caller, signedIn }) => {
        readQuery(request.url, []);
        const { role: newRole, email } = await readBody(request, draft);
        requireOwner(await findRole(sql, caller));
        if (email !== null) {
          if (invitationMail === null) throw noMail();
          await attempts.take(mailLimits(caller, email));
        }
        const { id, token } = await asOwner(sql, caller, async (transaction) => {
          await keepSession(transaction, signedIn);
          await requireRoom(transaction, caller);
          if (email !== null) await requireNewcomer(transaction, caller, email);
          const { accountId, userId: invitedBy } = caller;
          return await createInvitation(transaction, { accountId, role: newRole, invitedBy, email });
        });
        if (email !== null) invitationMail?.send(email, signedIn.email, token);
        const invitation = (await findInvitations(sql, caller)).find((found) => found.id === id);
        if (invitation === undefined) throw new ApiError('invitation_not_found');
        const url = email === null ? invitationUrl(ownOriginOf(request, publicUrl), token) : null;
        return Response.json({ invitation, url } satisfies Unsent<NewInvitation>);
      },
    },
    '/invitations/:invitation': {
      DELETE: async (request, { caller, params }) => {
        const id = idIn(params, 'invitation', 'invitation_not_found');
        readQuery(request.url, []);
        await revokeInvitation(sql, caller, id);
        return new Response(null, { status: 204 });
      },
    },
  };
}

function noMail(): ApiError {
  return new ApiError('invalid_parameter', {
    param: 'email',
    message: 'This gateway cannot send e-mail. Leave out the address, and send the link yourself.',
  });
}

/**
 * Replacing a password first ends the user's sessions and then their invitations. Locking the session keeps one from being
 * created in between.
 */
async function keepSession(transaction: SQL, { userId, sessionId }: SignedIn): Promise<void> {
  const found = await transaction`
    select 1 from sessions where id = ${sessionId} and user_id = ${userId} for share`;
  if (found.length === 0) throw new ApiError('session_required');
}

const hour = 60 * 60;

/** Each sends a mail to an address that the owner chooses. */
function mailLimits({ accountId }: Caller, email: string): Limit[] {
  return [
    { scope: 'invitation-account', subject: accountId, max: 20, periodSeconds: hour },
    { scope: 'invitation-email', subject: email, max: 5, periodSeconds: hour },
  ];
}

const maxPending = 50;

async function requireRoom(transaction: SQL, { accountId }: Caller): Promise<void> {
  const [row] = await transaction<[{ pending: number }]>`
    select count(*)::int as pending from invitations where account_id = ${accountId} and expires_at > now()`;
  if (row.pending >= maxPending) throw new ApiError('too_many_invitations');
}

async function requireNewcomer(transaction: SQL, { accountId }: Caller, email: string): Promise<void> {
  const found = await transaction`
    select 1 from memberships join users on users.id = user_id
    where account_id = ${accountId} and email = ${email}`;
  if (found.length > 0) throw new ApiError('already_member', { param: 'email' });
}

type InvitationRow = Unsent<Invitation> | Readonly<{ id: null }>;

/** Those that can still be accepted, the newest first. */
async function findInvitations(sql: SQL, { userId, accountId }: Caller): Promise<Unsent<Invitation>[]> {
  const rows = await sql<(InvitationRow & { caller_role: Role })[]>`
    select caller.role as caller_role, invitations.id, invitations.role, invitations.email,
           inviters.email as invited_by, invitations.created_at, invitations.expires_at
    from memberships as caller
    left join (invitations join users as inviters on inviters.id = invited_by)
      on invitations.account_id = caller.account_id and ${isValidInvitation(sql)}
    where caller.user_id = ${userId} and caller.account_id = ${accountId}
    order by invitations.id desc`;
  requireOwner(rows[0]?.caller_role);
  return rows.flatMap(({ caller_role: _, ...row }) => (row.id === null ? [] : [row]));
}

async function revokeInvitation(sql: SQL, { userId, accountId }: Caller, id: string): Promise<void> {
  const [row] = await sql<[{ caller_role: Role | null; is_revoked: boolean }]>`
    with caller as (
      select role from memberships where user_id = ${userId} and account_id = ${accountId}
    ), revoked as (
      delete from invitations
      where id = ${id} and account_id = ${accountId} and exists (select 1 from caller where role = 'owner')
      returning 1
    )
    select (select role from caller) as caller_role, exists (select 1 from revoked) as is_revoked`;
  requireOwner(row.caller_role ?? undefined);
  if (!row.is_revoked) throw new ApiError('invitation_not_found');
}
