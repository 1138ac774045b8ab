/** Users as operators see and change them. What changes something asks again whether it is an operator who does. */
import type { SQL, TransactionSQL } from 'bun';
import { accountExists } from '../../../accounts/account-store.ts';
import { ApiError } from '../../../errors.ts';
import { newId } from '../../../lib/ids.ts';
import { insertMembership, insertUser, nameFrom } from '../../../users/user-store.ts';
import type { Role } from '../../contract.ts';
import type { OperatorAction } from '../../operator-contract.ts';
import type { ListQuery } from '../list.ts';
import { requireOperator } from '../operator-queries.ts';

export type UserOverview = {
  id: string;
  email: string;
  name: string;
  is_operator: boolean;
  accounts: { id: string; name: string; role: Role }[];
  sessions: number;
  last_signed_in_at: Date | null;
  created_at: Date;
};

export type InvitedUser = Readonly<{
  email: string;
  isOperator: boolean;
  accountId: string | null;
  role: Role;
}>;

/** One more than the limit, where there are that many. */
export async function findUsers(sql: SQL, { search, limit, before }: ListQuery): Promise<UserOverview[]> {
  return await sql<UserOverview[]>`
    select * from user_overviews
    where id < ${before}
      and (${search.pattern}::text is null or email ~ ${search.pattern} or name ~ ${search.pattern}
           or id = ${search.id}::uuid)
    order by id desc limit ${limit + 1}`;
}

export async function findUser(sql: SQL, id: string): Promise<UserOverview | null> {
  const [user] = await sql<UserOverview[]>`select * from user_overviews where id = ${id}`;
  return user ?? null;
}

/** Someone who will choose a password by a link. Returns the ID. */
export async function createUserAs(sql: SQL, operatorId: string, user: InvitedUser): Promise<string> {
  return await sql.begin(async (transaction) => {
    await requireOperator(transaction, operatorId);
    if (user.accountId !== null && !(await accountExists(transaction, user.accountId)))
      throw new ApiError('account_not_found', { param: 'account_id' });
    const created = await insertUser(transaction, {
      email: user.email,
      name: nameFrom(user.email),
      passwordHash: null,
      isOperator: user.isOperator,
      isEmailVerified: true,
    });
    if (created === null) throw new ApiError('email_taken', { param: 'email' });
    if (user.accountId !== null) await insertMembership(transaction, created.id, user.accountId, user.role);
    await note(transaction, operatorId, 'create_user', created.id, user.accountId);
    return created.id;
  });
}

/** Both rows are locked in the order of their IDs: of two operators who dismiss each other, one stays. */
export async function makeOperatorAs(
  sql: SQL,
  operatorId: string,
  userId: string,
  isOperator: boolean,
): Promise<void> {
  await sql.begin(async (transaction) => {
    await transaction`
      select 1 from users where id in (${operatorId}, ${userId}) order by id for no key update`;
    await requireOperator(transaction, operatorId);
    const changed = await transaction`
      update users set is_operator = ${isOperator}, updated_at = now()
      where id = ${userId} and is_operator <> ${isOperator}::boolean returning id`;
    if (changed.length > 0)
      await note(transaction, operatorId, isOperator ? 'make_operator' : 'unmake_operator', userId, null);
  });
}

/** Who belongs to the account already has this role from now on. */
export async function addMemberAs(
  sql: SQL,
  operatorId: string,
  userId: string,
  accountId: string,
  role: Role,
): Promise<void> {
  await sql.begin(async (transaction) => {
    await requireOperator(transaction, operatorId);
    if (!(await accountExists(transaction, accountId)))
      throw new ApiError('account_not_found', { param: 'account_id' });
    await keepAnOwner(transaction, userId, accountId, role);
    const added = await transaction`
      insert into memberships (user_id, account_id, role) select id, ${accountId}, ${role} from users where id = ${userId}
      on conflict (user_id, account_id) do update set role = excluded.role returning user_id`;
    if (added.length === 0) throw new ApiError('user_not_found');
    await note(transaction, operatorId, 'add_member', userId, accountId);
  });
}

/** Everyone of the account is locked, in the order that others lock them in: nobody else leaves meanwhile. */
async function keepAnOwner(
  transaction: TransactionSQL,
  userId: string,
  accountId: string,
  role: Role,
): Promise<void> {
  const people = await transaction<{ user_id: string; role: Role }[]>`
    select user_id, role from memberships where account_id = ${accountId} order by user_id for no key update`;
  const owners = people.filter((person) => person.role === 'owner');
  if (role !== 'owner' && owners.length === 1 && owners[0]?.user_id === userId)
    throw new ApiError('last_owner');
}

/** How many sessions were in force until now; null when there is no such user. */
export async function signOutAs(sql: SQL, operatorId: string, userId: string): Promise<number | null> {
  return await sql.begin(async (transaction) => {
    await requireOperator(transaction, operatorId);
    if (!(await userExists(transaction, userId))) return null;
    const ended = await transaction<{ was_in_force: boolean }[]>`
      delete from sessions where user_id = ${userId} returning expires_at > now() as was_in_force`;
    await note(transaction, operatorId, 'sign_user_out', userId, null);
    return ended.filter((session) => session.was_in_force).length;
  });
}

/** That a link is made is noted before there is one. False when there is no such user. */
export async function noteResetLink(sql: SQL, operatorId: string, userId: string): Promise<boolean> {
  return await sql.begin(async (transaction) => {
    await requireOperator(transaction, operatorId);
    if (!(await userExists(transaction, userId))) return false;
    await note(transaction, operatorId, 'make_reset_link', userId, null);
    return true;
  });
}

async function userExists(transaction: TransactionSQL, userId: string): Promise<boolean> {
  return (await transaction`select 1 from users where id = ${userId}`).length > 0;
}

async function note(
  transaction: TransactionSQL,
  operatorId: string,
  action: OperatorAction['action'],
  userId: string,
  accountId: string | null,
): Promise<void> {
  await transaction`
    insert into operator_actions (id, operator_id, action, user_id, account_id)
    values (${newId()}, ${operatorId}, ${action}, ${userId}, ${accountId}::uuid)`;
}
