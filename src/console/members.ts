/** The members of an account: they see one another, and its owners decide on their roles. */
import type { SQL } from 'bun';
import { readQuery } from '../http/query.ts';
import { bodyOf, readBody, role } from '../json/fields.ts';
import { findMembers, removeMemberAs, updateMemberAs } from '../people/members.ts';
import { asOwner, type Caller, findStanding, idIn, requireReader } from './access.ts';
import { boundedRead } from './bounded-read.ts';
import type { Member, Unsent } from './contract.ts';
import type { AccountContext, AccountHandler, Routes } from './guard.ts';

const memberChange = bodyOf({ role });

export function membersPage({ sql }: Readonly<{ sql: SQL }>): Routes<AccountHandler> {
  return {
    '/members': {
      GET: async (request, { caller }) => {
        readQuery(request.url, []);
        return Response.json({
          data: (await boundedRead(sql, (read) => findMembersFor(read, caller))) satisfies Unsent<Member>[],
        });
      },
    },
    '/members/:user': {
      PATCH: async (request, context) => {
        const memberId = memberIn(context);
        readQuery(request.url, []);
        const change = await readBody(request, memberChange);
        const { caller, actor } = context;
        return await asOwner(sql, caller, async (transaction) => {
          await updateMemberAs(transaction, actor, caller.accountId, memberId, change.role);
          const [member] = await findMembers(transaction, caller.accountId, memberId);
          return Response.json(member satisfies Unsent<Member> | undefined);
        });
      },
      DELETE: async (request, context) => {
        const memberId = memberIn(context);
        readQuery(request.url, []);
        const { caller, actor } = context;
        await asOwner(sql, caller, (transaction) =>
          removeMemberAs(transaction, actor, caller.accountId, memberId),
        );
        return new Response(null, { status: 204 });
      },
    },
  };
}

function memberIn({ params }: AccountContext): string {
  return idIn(params, 'user', 'user_not_found');
}

async function findMembersFor(sql: SQL, caller: Caller): Promise<Unsent<Member>[]> {
  requireReader(await findStanding(sql, caller));
  return await findMembers(sql, caller.accountId);
}
