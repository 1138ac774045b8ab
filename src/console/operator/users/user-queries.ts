/** Users as operators see and change them. Each statement asks whether it is an operator who does. */
import type { SQL, TransactionSQL } from 'bun';
import { accountExists } from '../../../accounts/account-store.ts';
import { ApiError } from '../../../errors.ts';
import { newId } from '../../../lib/ids.ts';
import { createResetToken, endLinksMadeBy, type ResetToken } from '../../../sessions/reset-link.ts';
import { insertMembership, insertUser, lockUsers, nameFrom } from '../../../users/user-store.ts';
import type { Role } from '../../contract.ts';
import type { OperatorAction } from '../../operator-contract.ts';
import type { ListQuery } from '../list.ts';
import { type Found, requireOperator, rowsFound } from '../operator-queries.ts';

export type UserOverview = {
  id: string;
  email: string;
  name: string;
  email_verified: boolean;
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
export async function findUsers(
  sql: SQL,
  operatorId: string,
  { search, limit, before }: ListQuery,
): Promise<UserOverview[]> {
  const rows = await sql<Found<UserOverview, 'id'>[]>`
    select person.* from users as operator left join lateral (
      select * from user_overviews
      where id < ${before}
        and (${search.pattern}::text is null or email ~ ${search.pattern} or name ~ ${search.pattern}
             or id = ${search.id}::uuid)
      order by id desc limit ${limit + 1}
    ) as person on true
    where operator.id = ${operatorId} and operator.is_operator
    order by person.id desc`;
  return rowsFound(rows, 'id');
}

export async function findUser(sql: SQL, operatorId: string, id: string): Promise<UserOverview | null> {
  const rows = await sql<Found<UserOverview, 'id'>[]>`
    select person.* from users as operator left join user_overviews as person on person.id = ${id}
    where operator.id = ${operatorId} and operator.is_operator`;
  return rowsFound(rows, 'id')[0] ?? null;
}

/** Someone who will choose a password by a link. */
export async function createUserAs(
  sql: SQL,
  operatorId: string,
  user: InvitedUser,
): Promise<Readonly<{ userId: string; link: ResetToken }>> {
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
    const link = await createResetToken(transaction, created.id, operatorId);
    return { userId: created.id, link };
  });
}

/** Of two operators who dismiss each other, one stays. Whoever is dismissed keeps no link to anyone's sign-in. */
export async function makeOperatorAs(
  sql: SQL,
  operatorId: string,
  userId: string,
  isOperator: boolean,
  isConfirmed: boolean,
): Promise<void> {
  await sql.begin(async (transaction) => {
    await lockUsers(transaction, operatorId, userId);
    await requireOperator(transaction, operatorId);
    if (isOperator && !isConfirmed) await requireVerified(transaction, userId);
    const changed = await transaction`
      update users set is_operator = ${isOperator}, updated_at = now()
      where id = ${userId} and is_operator <> ${isOperator}::boolean returning id`;
    if (changed.length > 0)
      await note(transaction, operatorId, isOperator ? 'make_operator' : 'unmake_operator', userId, null);
    if (!isOperator) await endLinksMadeBy(transaction, userId);
  });
}

/** Anyone may have signed up with an address that nobody was asked for. Whoever is not there is somebody else's concern. */
async function requireVerified(transaction: TransactionSQL, userId: string): Promise<void> {
  const found = await transaction`select 1 from users where id = ${userId} and not email_verified`;
  if (found.length > 0) throw new ApiError('email_not_verified', { param: 'confirm_unverified' });
}

type NewMembership = Readonly<{ accountId: string; role: Role; isConfirmed: boolean }>;

/** Who belongs to the account already has this role from now on. */
export async function addMemberAs(
  sql: SQL,
  operatorId: string,
  userId: string,
  { accountId, role, isConfirmed }: NewMembership,
): Promise<void> {
  await sql.begin(async (transaction) => {
    await requireOperator(transaction, operatorId);
    if (!(await accountExists(transaction, accountId)))
      throw new ApiError('account_not_found', { param: 'account_id' });
    if (!isConfirmed) await requireVerified(transaction, userId);
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

/**
 * How many sessions were in force until now; null when there is no such user. Whoever should not have been in may have made
 * links meanwhile, so those end too.
 */
export async function signOutAs(sql: SQL, operatorId: string, userId: string): Promise<number | null> {
  return await sql.begin(async (transaction) => {
    await lockUsers(transaction, operatorId, userId);
    await requireOperator(transaction, operatorId);
    if (!(await userExists(transaction, userId))) return null;
    const ended = await transaction<{ was_in_force: boolean }[]>`
      delete from sessions where user_id = ${userId} returning expires_at > now() as was_in_force`;
    await endLinksMadeBy(transaction, userId);
    await note(transaction, operatorId, 'sign_user_out', userId, null);
    return ended.filter((session) => session.was_in_force).length;
  });
}

/** Null when there is no such user. */
export async function makeResetLinkAs(
  sql: SQL,
  operatorId: string,
  userId: string,
): Promise<ResetToken | null> {
  return await sql.begin(async (transaction) => {
    await requireOperator(transaction, operatorId);
    if (!(await userExists(transaction, userId))) return null;
    await note(transaction, operatorId, 'make_reset_link', userId, null);
    return await createResetToken(transaction, userId, operatorId);
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
