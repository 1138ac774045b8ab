/** Owners invite others to their account, with a link that they hand over or that is mailed. */
import type { SQL } from 'bun';
import { z } from 'zod';
import { ApiError } from '../errors.ts';
import { ownOriginOf } from '../http/origin.ts';
import { readQuery } from '../http/query.ts';
import { bodyOf, readBody, role } from '../json/fields.ts';
import type { Attempts } from '../people/attempts.ts';
import type { InvitationMail } from '../people/invitation-mail.ts';
import {
  createInvitation,
  findInvitations,
  invitationMailLimits,
  invitationUrl,
  type PendingInvitation,
  revokeInvitationAs,
} from '../people/invitations.ts';
import { findProfile, isEmailAddress } from '../people/user-store.ts';
import {
  asOwner,
  type Caller,
  findStanding,
  idIn,
  keepSession,
  requireOwner,
  requireOwningReader,
} from './access.ts';
import { boundedRead } from './bounded-read.ts';
import type { Invitation, NewInvitation, Unsent } from './contract.ts';
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
        const data = await boundedRead(sql, (read) => findInvitationsFor(read, caller));
        return Response.json({ data: data satisfies Unsent<Invitation>[] });
      },
      /** A mailed link is not shown: it proves that whoever uses it can read the mail of that address. */
      POST: async (request, { caller, signedIn, actor }) => {
        readQuery(request.url, []);
        const { role: newRole, email } = await readBody(request, draft);
        requireOwner(await findStanding(sql, caller));
        if (email !== null) {
          if (invitationMail === null) throw noMail();
          await attempts.take(invitationMailLimits(caller.accountId, email));
        }
        const { id, token } = await asOwner(sql, caller, async (transaction) => {
          await keepSession(transaction, signedIn);
          const { accountId } = caller;
          return await createInvitation(transaction, actor, { accountId, role: newRole, email });
        });
        if (email !== null) {
          const inviter = await findProfile(sql, signedIn.userId);
          invitationMail?.send(email, inviter?.emailVerified === true ? inviter.email : null, token);
        }
        const [invitation] = await findInvitations(sql, caller.accountId, id);
        if (invitation === undefined) throw new ApiError('invitation_not_found');
        const url = email === null ? invitationUrl(ownOriginOf(request, publicUrl), token) : null;
        return Response.json({ invitation, url } satisfies Unsent<NewInvitation>);
      },
    },
    '/invitations/:invitation': {
      DELETE: async (request, { caller, actor, params }) => {
        const id = idIn(params, 'invitation', 'invitation_not_found');
        readQuery(request.url, []);
        await asOwner(sql, caller, (transaction) =>
          revokeInvitationAs(transaction, actor, caller.accountId, id),
        );
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

/** Other members do not see them. */
async function findInvitationsFor(sql: SQL, caller: Caller): Promise<PendingInvitation[]> {
  requireOwningReader(await findStanding(sql, caller));
  return await findInvitations(sql, caller.accountId);
}
