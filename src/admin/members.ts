/** The members of an account, and the invitations to it. */
import type { SQL } from 'bun';
import { z } from 'zod';
import { idIn } from '../console/access.ts';
import { ApiError } from '../errors.ts';
import { ownOriginOf } from '../http/origin.ts';
import { bodyOf, role } from '../json/fields.ts';
import { parseBody } from '../json/problem.ts';
import {
  createInvitation,
  findInvitations,
  invitationMailLimits,
  invitationUrl,
  type PendingInvitation,
  revokeInvitationAs,
} from '../people/invitations.ts';
import { findMembers, type Member, removeMemberAs, updateMemberAs } from '../people/members.ts';
import { isEmailAddress } from '../people/user-store.ts';
import { accountOf } from './account.ts';
import { type Answer, changing, type Endpoints, nothing, reading } from './endpoint.ts';
import { etagOf, readPrecondition, requireMatch } from './etag.ts';
import type { AdminServices } from './services.ts';

const address = 'an e-mail address, or null';

export const memberChangeSchema = bodyOf({ role });
export const invitationDraftSchema = bodyOf({
  role,
  email: z.string(address).refine(isEmailAddress, address).toLowerCase().nullable().default(null),
});

export function memberEndpoints({ sql }: AdminServices): Endpoints {
  return {
    '/accounts/:account/members': {
      GET: reading({
        scope: 'read',
        read: async (call) => {
          const accountId = await accountOf(sql, call);
          const members = await findMembers(sql, accountId);
          return { body: wholeList(members.map((member) => presentMember(member, accountId))) };
        },
      }),
    },
    '/accounts/:account/members/:user': {
      GET: reading({
        scope: 'read',
        read: async (call) => {
          const accountId = await accountOf(sql, call);
          return await showMember(sql, accountId, idIn(call.params, 'user', 'user_not_found'));
        },
      }),
      PATCH: changing({
        scope: 'accounts',
        parse: (body) => parseBody(memberChangeSchema, body),
        change: async (transaction, call) => {
          const precondition = readPrecondition(call.headers);
          const accountId = await accountOf(transaction, call);
          const userId = idIn(call.params, 'user', 'user_not_found');
          await updateMemberAs(transaction, call.actor, accountId, userId, call.body.role, (current) =>
            requireMatch(precondition, etagOf({ role: current })),
          );
          return await showMember(transaction, accountId, userId);
        },
      }),
      /** What they created remains: keys and requests belong to the account. */
      DELETE: changing({
        scope: 'accounts',
        parse: nothing,
        change: async (transaction, call) => {
          const accountId = await accountOf(transaction, call);
          const userId = idIn(call.params, 'user', 'user_not_found');
          await removeMemberAs(transaction, call.actor, accountId, userId);
          return { body: { object: 'member', id: userId, deleted: true } };
        },
      }),
    },
  };
}

export function invitationEndpoints(services: AdminServices): Endpoints {
  const { sql, publicUrl, attempts, invitationMail } = services;
  return {
    '/accounts/:account/invitations': {
      GET: reading({
        scope: 'read',
        read: async (call) => {
          const accountId = await accountOf(sql, call);
          const invitations = await findInvitations(sql, accountId);
          return {
            body: wholeList(invitations.map((invitation) => presentInvitation(invitation, accountId))),
          };
        },
      }),
      /** A mailed link is not shown: it proves that whoever uses it can read the mail of that address. */
      POST: changing({
        scope: 'accounts',
        parse: (body) => parseBody(invitationDraftSchema, body),
        change: async (transaction, call) => {
          const accountId = await accountOf(transaction, call);
          const { email } = call.body;
          if (email !== null) {
            if (invitationMail === null) throw noMail();
            // A second connection would wait for one that waits for it, when all of them are in use.
            await attempts.take(invitationMailLimits(accountId, email), transaction);
          }
          const { id, token } = await createInvitation(transaction, call.actor, { accountId, ...call.body });
          const { body } = await showInvitation(transaction, accountId, id);
          const url = email === null ? invitationUrl(ownOriginOf(call.request, publicUrl), token) : null;
          return {
            status: 201,
            body: { ...body, url },
            afterwards: () => {
              if (email !== null) invitationMail?.send(email, null, token);
            },
          };
        },
      }),
    },
    '/accounts/:account/invitations/:invitation': {
      GET: reading({
        scope: 'read',
        read: async (call) => {
          const accountId = await accountOf(sql, call);
          return await showInvitation(
            sql,
            accountId,
            idIn(call.params, 'invitation', 'invitation_not_found'),
          );
        },
      }),
      DELETE: changing({
        scope: 'accounts',
        parse: nothing,
        change: async (transaction, call) => {
          const accountId = await accountOf(transaction, call);
          const id = idIn(call.params, 'invitation', 'invitation_not_found');
          await revokeInvitationAs(transaction, call.actor, accountId, id);
          return { body: { object: 'invitation', id, deleted: true } };
        },
      }),
    },
  };
}

/** Few enough for one page. */
function wholeList<Item>(data: readonly Item[]) {
  return { object: 'list', data, has_more: false, next_cursor: null };
}

async function showMember(sql: SQL, accountId: string, userId: string): Promise<Answer> {
  const [member] = await findMembers(sql, accountId, userId);
  if (member === undefined)
    throw new ApiError('user_not_found', { message: 'This account has no such member.' });
  return { body: presentMember(member, accountId), etag: etagOf({ role: member.role }) };
}

function presentMember({ id, email, name, role: held, created_at }: Member, accountId: string) {
  return {
    object: 'member',
    id,
    account_id: accountId,
    email,
    name,
    role: held,
    created_at: created_at.toISOString(),
  };
}

async function showInvitation(sql: SQL, accountId: string, id: string) {
  const [invitation] = await findInvitations(sql, accountId, id);
  if (invitation === undefined) throw new ApiError('invitation_not_found');
  return { body: presentInvitation(invitation, accountId) };
}

function presentInvitation(invitation: PendingInvitation, accountId: string) {
  const { id, role: offered, email, invited_by, created_at, expires_at } = invitation;
  return {
    object: 'invitation',
    id,
    account_id: accountId,
    role: offered,
    email,
    invited_by,
    created_at: created_at.toISOString(),
    expires_at: expires_at.toISOString(),
  };
}

function noMail(): ApiError {
  return new ApiError('invalid_parameter', {
    param: 'email',
    message: 'This gateway cannot send e-mail. Leave out the address, and send the link yourself.',
  });
}
