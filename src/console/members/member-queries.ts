/**
 * Who belongs to an account. Each statement asks for the caller's own membership; what is not theirs to see or do is
 * refused, and then nothing was changed.
 */
import type { SQL } from 'bun';
import { ApiError } from '../../errors.ts';
import { type Caller, requireMember, requireOwner } from '../access.ts';
import type { Role } from '../contract.ts';

export type MemberRecord = Readonly<{
  id: string;
  email: string;
  name: string;
  role: Role;
  joinedAt: Date;
}>;

type MemberRow = { id: string; email: string; name: string; role: Role; created_at: Date };

/** In the order in which they joined. Who asks is among them, or gets none. */
export async function findMembers(sql: SQL, { userId, accountId }: Caller): Promise<MemberRecord[]> {
  const rows = await sql<MemberRow[]>`
    select users.id, email, name, member.role, member.created_at
    from memberships as caller
    join memberships as member using (account_id)
    join users on users.id = member.user_id
    where caller.user_id = ${userId} and account_id = ${accountId}
    order by member.created_at, users.id`;
  requireMember(rows[0]?.role);
  return rows.map(toRecord);
}

/** What a statement says of itself. `is_written` is false only where the last owner would be lost. */
type WriteRow = { caller_role: Role | null; is_found: boolean; is_written: boolean };

export async function updateRole(
  sql: SQL,
  caller: Caller,
  memberId: string,
  role: Role,
): Promise<MemberRecord> {
  return await sql.begin(async (transaction) => {
    // Everyone of the account is locked: two owners who demote each other take their turns, and one stays.
    const [row] = await transaction<[WriteRow]>`
      with people as (
        select user_id, role from memberships where account_id = ${caller.accountId} order by user_id for no key update
      ), written as (
        update memberships set role = ${role}
        where account_id = ${caller.accountId} and user_id = ${memberId}
          and exists (select 1 from people where user_id = ${caller.userId} and role = 'owner')
          and exists (select 1 from people where user_id = ${memberId})
          and (${role}::text = 'owner' or exists (select 1 from people where role = 'owner' and user_id <> ${memberId}))
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

export async function deleteMember(sql: SQL, caller: Caller, memberId: string): Promise<void> {
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

function requireWritten({ caller_role: role, is_found: isFound, is_written: isWritten }: WriteRow): void {
  requireOwner(role ?? undefined);
  if (!isFound) throw new ApiError('user_not_found');
  if (!isWritten) throw new ApiError('last_owner');
}

function toRecord(row: MemberRow): MemberRecord {
  return { id: row.id, email: row.email, name: row.name, role: row.role, joinedAt: row.created_at };
}
