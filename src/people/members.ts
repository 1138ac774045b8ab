/** The members of an account. Each change is recorded in its own transaction. */
import type { SQL, TransactionSQL } from 'bun';
import { type Actor, recordChange } from '../audit-log/audit-log.ts';
import { ApiError } from '../errors.ts';
import type { Role } from './user-store.ts';

export type Member = Readonly<{ id: string; email: string; name: string; role: Role; created_at: Date }>;

/** In the order in which they joined. With an ID, only that one. */
export async function findMembers(
  sql: SQL,
  accountId: string,
  userId: string | null = null,
): Promise<Member[]> {
  return await sql<Member[]>`
    select users.id, email, name, role, memberships.created_at
    from memberships join users on users.id = user_id
    where account_id = ${accountId} and (${userId}::uuid is null or user_id = ${userId}::uuid)
    order by memberships.created_at, users.id`;
}

/** A user who already belongs to the account gets this role. The account must exist. */
export async function addMemberAs(
  transaction: TransactionSQL,
  actor: Actor,
  accountId: string,
  userId: string,
  role: Role,
): Promise<void> {
  const before = await lockMembers(transaction, accountId);
  const earlier = before.get(userId);
  if (earlier !== undefined) return await changeRole(transaction, actor, accountId, userId, role, before);
  const added = await transaction`
    insert into memberships (user_id, account_id, role) select id, ${accountId}, ${role} from users where id = ${userId}
    on conflict (user_id, account_id) do update set role = excluded.role returning user_id`;
  if (added.length === 0) throw new ApiError('user_not_found');
  const object = { type: 'user', id: userId } as const;
  await recordChange(transaction, actor, { action: 'add_member', accountId, object, after: { role } });
}

/** `check` sees what is about to be changed, and may throw. */
export async function updateMemberAs(
  transaction: TransactionSQL,
  actor: Actor,
  accountId: string,
  userId: string,
  role: Role,
  check: (current: Role) => void = () => undefined,
): Promise<void> {
  const members = await lockMembers(transaction, accountId);
  const current = members.get(userId);
  if (current !== undefined) check(current);
  await changeRole(transaction, actor, accountId, userId, role, members);
}

async function changeRole(
  transaction: TransactionSQL,
  actor: Actor,
  accountId: string,
  userId: string,
  role: Role,
  members: ReadonlyMap<string, Role>,
): Promise<void> {
  const earlier = members.get(userId);
  if (earlier === undefined) throw new ApiError('user_not_found');
  if (earlier === role) return;
  if (role !== 'owner') keepAnOwner(members, userId);
  await transaction`
    update memberships set role = ${role} where account_id = ${accountId} and user_id = ${userId}`;
  await recordChange(transaction, actor, {
    action: 'update_member',
    accountId,
    object: { type: 'user', id: userId },
    before: { role: earlier },
    after: { role },
  });
}

/** What they created remains: keys and requests belong to the account. */
export async function removeMemberAs(
  transaction: TransactionSQL,
  actor: Actor,
  accountId: string,
  userId: string,
): Promise<void> {
  const members = await lockMembers(transaction, accountId);
  const role = members.get(userId);
  if (role === undefined) throw new ApiError('user_not_found');
  keepAnOwner(members, userId);
  await transaction`delete from memberships where account_id = ${accountId} and user_id = ${userId}`;
  const object = { type: 'user', id: userId } as const;
  await recordChange(transaction, actor, { action: 'remove_member', accountId, object, before: { role } });
}

/** All of them, in the same order everywhere: of two owners who demote each other at the same time, one remains. */
async function lockMembers(
  transaction: TransactionSQL,
  accountId: string,
): Promise<ReadonlyMap<string, Role>> {
  const rows = await transaction<{ user_id: string; role: Role }[]>`
    select user_id, role from memberships where account_id = ${accountId} order by user_id for update`;
  return new Map(rows.map(({ user_id: id, role }) => [id, role]));
}

function keepAnOwner(members: ReadonlyMap<string, Role>, leavingId: string): void {
  const others = [...members].filter(([id, role]) => id !== leavingId && role === 'owner');
  if (others.length === 0) throw new ApiError('last_owner');
}
