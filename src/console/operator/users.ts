/** Everyone who can sign in, and what an operator can do about them. Each statement checks that an operator runs it. */
import type { SQL, TransactionSQL } from 'bun';
import { z } from 'zod';
import { accountExists } from '../../accounts/account-store.ts';
import { ApiError } from '../../errors.ts';
import { ownOriginOf } from '../../http/origin.ts';
import { newId } from '../../lib/ids.ts';
import { createResetToken, endLinksMadeBy, type ResetToken, resetUrl } from '../../people/reset-link.ts';
import {
  insertMembership,
  insertUser,
  isEmailAddress,
  lockUsers,
  nameFrom,
} from '../../people/user-store.ts';
import { type Found, idIn, requireOperator, rowsForOperator } from '../access.ts';
import type { Role, Unsent } from '../contract.ts';
import { bodyOf, nothing, readBody, role, uuid } from '../fields.ts';
import type { ConsoleContext, ConsoleHandler, Routes } from '../guard.ts';
import type {
  NewUser,
  OperatorAction,
  OperatorUser,
  OperatorUsers,
  ResetLink,
  SignedOut,
} from '../operator-contract.ts';
import { type ListQuery, pageOf, readListQuery } from './list.ts';

const boolean = z.boolean('true or false');
const account = uuid('the ID of an account');
const userDraft = bodyOf({
  email: z.string('an e-mail address').refine(isEmailAddress, 'an e-mail address'),
  is_operator: boolean.default(false),
  account_id: account.nullable().default(null),
  role: role.default('owner'),
});
const confirmation = { confirm_unverified: boolean.default(false) };
const userChange = bodyOf({ is_operator: boolean, ...confirmation });
const userMembership = bodyOf({ account_id: account, role, ...confirmation });

export function usersPage({
  sql,
  publicUrl,
}: Readonly<{ sql: SQL; publicUrl: string | null }>): Routes<ConsoleHandler> {
  return {
    '/users': {
      GET: async (request, { signedIn }) => {
        const query = readListQuery(request.url);
        const users = await findUsers(sql, signedIn.userId, query);
        return Response.json(pageOf(users, query.limit) satisfies Unsent<OperatorUsers>);
      },
      POST: async (request, context) => {
        const draft = await readDraft(request);
        const { userId, link } = await createUserAs(sql, context.signedIn.userId, draft);
        const user = await showUser(sql, context, userId);
        return Response.json({ user, ...presentLink(request, publicUrl, link) } satisfies Unsent<NewUser>);
      },
    },
    '/users/:user': {
      PATCH: async (request, context) => {
        const userId = userIn(context);
        const change = await readBody(request, userChange);
        const operatorId = context.signedIn.userId;
        // Nobody could reappoint the last operator.
        if (userId === operatorId)
          throw new ApiError('permission_denied', {
            message: 'Only another operator can change whether you are one.',
          });
        await makeOperatorAs(sql, operatorId, userId, change.is_operator, change.confirm_unverified);
        return Response.json(await showUser(sql, context, userId));
      },
    },
    '/users/:user/memberships': {
      POST: async (request, context) => {
        const userId = userIn(context);
        const membership = await readBody(request, userMembership);
        await addMemberAs(sql, context.signedIn.userId, userId, {
          accountId: membership.account_id,
          role: membership.role,
          isConfirmed: membership.confirm_unverified,
        });
        return Response.json(await showUser(sql, context, userId));
      },
    },
    '/users/:user/reset-link': {
      POST: async (request, context) => {
        const userId = userIn(context);
        await readBody(request, nothing);
        const link = await makeResetLinkAs(sql, context.signedIn.userId, userId);
        return Response.json(presentLink(request, publicUrl, link));
      },
    },
    '/users/:user/sign-out': {
      POST: async (request, context) => {
        const userId = userIn(context);
        await readBody(request, nothing);
        const ended = await signOutAs(sql, context.signedIn.userId, userId);
        return Response.json({ sessions_ended: ended } satisfies SignedOut);
      },
    },
  };
}

function userIn({ params }: ConsoleContext): string {
  return idIn(params, 'user', 'user_not_found');
}

async function showUser(sql: SQL, { signedIn }: ConsoleContext, userId: string): Promise<UserRow> {
  const user = await findUser(sql, signedIn.userId, userId);
  if (user === null) throw new ApiError('user_not_found');
  return user;
}

function presentLink(
  request: Request,
  publicUrl: string | null,
  { token, expiresAt }: ResetToken,
): Unsent<ResetLink> {
  return { reset_url: resetUrl(ownOriginOf(request, publicUrl), token), expires_at: expiresAt };
}

async function readDraft(request: Request): Promise<InvitedUser> {
  const draft = await readBody(request, userDraft);
  // A user with neither could sign in, but see nothing.
  if (!draft.is_operator && draft.account_id === null)
    throw new ApiError('missing_required_parameter', {
      param: 'account_id',
      message: 'A user belongs to an account, or is an operator, or both.',
    });
  return {
    email: draft.email.toLowerCase(),
    isOperator: draft.is_operator,
    accountId: draft.account_id,
    role: draft.role,
  };
}

type UserRow = Unsent<OperatorUser>;

type InvitedUser = Readonly<{
  email: string;
  isOperator: boolean;
  accountId: string | null;
  role: Role;
}>;

/** One more than the limit, if there are that many. */
export async function findUsers(
  sql: SQL,
  operatorId: string,
  { search, limit, before }: ListQuery,
): Promise<UserRow[]> {
  const rows = await sql<Found<UserRow, 'id'>[]>`
    select person.* from users as operator left join lateral (
      select * from user_overviews
      where id < ${before}
        and (${search.pattern}::text is null or email ~ ${search.pattern} or name ~ ${search.pattern}
             or id = ${search.id}::uuid)
      order by id desc limit ${limit + 1}
    ) as person on true
    where operator.id = ${operatorId} and operator.is_operator
    order by person.id desc`;
  return rowsForOperator(rows, 'id');
}

export async function findUser(sql: SQL, operatorId: string, id: string): Promise<UserRow | null> {
  const rows = await sql<Found<UserRow, 'id'>[]>`
    select person.* from users as operator left join user_overviews as person on person.id = ${id}
    where operator.id = ${operatorId} and operator.is_operator`;
  return rowsForOperator(rows, 'id')[0] ?? null;
}

/** The user chooses a password through a link. */
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

/** Of two operators who dismiss each other, one remains. The links that a dismissed operator created end as well. */
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

/** Anyone can sign up with an address that is not theirs. A user who does not exist passes, for the caller to report. */
async function requireVerified(transaction: TransactionSQL, userId: string): Promise<void> {
  const found = await transaction`select 1 from users where id = ${userId} and not email_verified`;
  if (found.length > 0) throw new ApiError('email_not_verified', { param: 'confirm_unverified' });
}

type NewMembership = Readonly<{ accountId: string; role: Role; isConfirmed: boolean }>;

/** A user who already belongs to the account gets this role. */
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

/** All members are locked, in the same order as everywhere else, so that none of them leaves at the same time. */
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
 * Returns how many sessions were in force until now. An intruder may have created links in the meantime, so those end
 * too.
 */
export async function signOutAs(sql: SQL, operatorId: string, userId: string): Promise<number> {
  return await sql.begin(async (transaction) => {
    await lockUsers(transaction, operatorId, userId);
    await requireOperator(transaction, operatorId);
    await requireUser(transaction, userId);
    const ended = await transaction<{ was_in_force: boolean }[]>`
      delete from sessions where user_id = ${userId} returning expires_at > now() as was_in_force`;
    await endLinksMadeBy(transaction, userId);
    await note(transaction, operatorId, 'sign_user_out', userId, null);
    return ended.filter((session) => session.was_in_force).length;
  });
}

export async function makeResetLinkAs(sql: SQL, operatorId: string, userId: string): Promise<ResetToken> {
  return await sql.begin(async (transaction) => {
    await requireOperator(transaction, operatorId);
    await requireUser(transaction, userId);
    await note(transaction, operatorId, 'make_reset_link', userId, null);
    return await createResetToken(transaction, userId, operatorId);
  });
}

async function requireUser(transaction: TransactionSQL, userId: string): Promise<void> {
  const found = await transaction`select 1 from users where id = ${userId}`;
  if (found.length === 0) throw new ApiError('user_not_found');
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
