/** The members of an account: they see one another, and its owners decide on their roles. */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { readQuery } from '../http/query.ts';
import { type Caller, idIn, requireMember, requireOwner } from './access.ts';
import type { Member, Role, Unsent } from './contract.ts';
import { bodyOf, readBody, role } from './fields.ts';
import type { AccountContext, AccountHandler, Routes } from './guard.ts';

const memberChange = bodyOf({ role });

export function membersPage({ sql }: Readonly<{ sql: SQL }>): Routes<AccountHandler> {
  return {
    '/members': {
      GET: async (request, { caller }) => {
        readQuery(request.url, []);
        return Response.json({ data: (await findMembers(sql, caller)) satisfies Unsent<Member>[] });
      },
    },
    '/members/:user': {
      PATCH: async (request, context) => {
        const memberId = memberIn(context);
        readQuery(request.url, []);
        const change = await readBody(request, memberChange);
        const member = await updateRole(sql, context.caller, memberId, change.role);
        return Response.json(member satisfies Unsent<Member>);
      },
      /** What they created remains: keys and requests belong to the account. */
      DELETE: async (request, context) => {
        const memberId = memberIn(context);
        readQuery(request.url, []);
        await deleteMember(sql, context.caller, memberId);
        return new Response(null, { status: 204 });
      },
    },
  };
}

function memberIn({ params }: AccountContext): string {
  return idIn(params, 'user', 'user_not_found');
}

/** In the order in which they joined. The caller is one of them, or finds none. */
async function findMembers(sql: SQL, { userId, accountId }: Caller): Promise<Unsent<Member>[]> {
  const members = await sql<Unsent<Member>[]>`
    select users.id, email, name, member.role, member.created_at
    from memberships as caller
    join memberships as member using (account_id)
    join users on users.id = member.user_id
    where caller.user_id = ${userId} and account_id = ${accountId}
    order by member.created_at, users.id`;
  requireMember(members[0]?.role);
  return members;
}

/** `is_written` is false only where the account would lose its last owner. */
type WriteRow = { caller_role: Role | null; is_found: boolean; is_written: boolean };

async function updateRole(
  sql: SQL,
  caller: Caller,
  memberId: string,
  newRole: Role,
): Promise<Unsent<Member>> {
  return await sql.begin(async (transaction) => {
    // All members are locked: of two owners who demote each other at the same time, one remains.
    const [row] = await transaction<[WriteRow]>`
      with people as (
        select user_id, role from memberships where account_id = ${caller.accountId} order by user_id for no key update
      ), written as (
        update memberships set role = ${newRole}
        where account_id = ${caller.accountId} and user_id = ${memberId}
          and exists (select 1 from people where user_id = ${caller.userId} and role = 'owner')
          and exists (select 1 from people where user_id = ${memberId})
          and (${newRole}::text = 'owner' or exists (select 1 from people where role = 'owner' and user_id <> ${memberId}))
        returning 1
      )
      select (select role from people where user_id = ${caller.userId}) as caller_role,
             exists (select 1 from people where user_id = ${memberId}) as is_found,
             exists (select 1 from written) as is_written`;
    requireWritten(row);
    const member = (await findMembers(transaction, caller)).find(({ id }) => id === memberId);
    if (member === undefined) throw new ApiError('user_not_found');
    return member;
  });
}

async function deleteMember(sql: SQL, caller: Caller, memberId: string): Promise<void> {
  const [row] = await sql<[WriteRow]>`
    with people as (
      select user_id, role from memberships where account_id = ${caller.accountId} order by user_id for update
    ), written as (
      delete from memberships
      where account_id = ${caller.accountId} and user_id = ${memberId}
        and exists (select 1 from people where user_id = ${caller.userId} and role = 'owner')
        and exists (select 1 from people where role = 'owner' and user_id <> ${memberId})
      returning 1
    )
    select (select role from people where user_id = ${caller.userId}) as caller_role,
           exists (select 1 from people where user_id = ${memberId}) as is_found,
           exists (select 1 from written) as is_written`;
  requireWritten(row);
}

function requireWritten({
  caller_role: callerRole,
  is_found: isFound,
  is_written: isWritten,
}: WriteRow): void {
  requireOwner(callerRole ?? undefined);
  if (!isFound) throw new ApiError('user_not_found');
  if (!isWritten) throw new ApiError('last_owner');
}
