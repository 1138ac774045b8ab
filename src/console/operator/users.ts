/** Everyone who can sign in, and what an operator can do about them. Each statement checks that an operator runs it. */
import type { SQL, TransactionSQL } from 'bun';
import { z } from 'zod';
import { accountExists } from '../../accounts/account-store.ts';
import { type DashboardActor, recordChange } from '../../audit-log/audit-log.ts';
import { ApiError } from '../../errors.ts';
import { ownOriginOf } from '../../http/origin.ts';
import { bodyOf, nothing, readBody, role, uuid } from '../../json/fields.ts';
import { shortTransaction } from '../../lib/short-transaction.ts';
import { addMemberAs } from '../../people/members.ts';
import { createResetToken, endLinksMadeBy, type ResetToken, resetUrl } from '../../people/reset-link.ts';
import {
  describeNewUser,
  insertMembership,
  insertUser,
  isEmailAddress,
  lockUsers,
  nameFrom,
} from '../../people/user-store.ts';
import { revokeTokensOf } from '../../tokens/token-store.ts';
import { type Found, idIn, requireOperator, rowsForOperator } from '../access.ts';
import { boundedRead } from '../bounded-read.ts';
import type { Role, Unsent } from '../contract.ts';
import type { ConsoleContext, ConsoleHandler, Routes } from '../guard.ts';
import type { NewUser, OperatorUser, OperatorUsers, ResetLink, SignedOut } from '../operator-contract.ts';
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
        const users = await boundedRead(sql, (read) => findUsers(read, signedIn.userId, query));
        return Response.json(pageOf(users, query.limit) satisfies Unsent<OperatorUsers>);
      },
      POST: async (request, context) => {
        const draft = await readDraft(request);
        const { userId, link } = await createUserAs(sql, context.actor, draft);
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
        await makeOperatorAs(sql, context.actor, userId, change.is_operator, change.confirm_unverified);
        return Response.json(await showUser(sql, context, userId));
      },
    },
    '/users/:user/memberships': {
      POST: async (request, context) => {
        const userId = userIn(context);
        const membership = await readBody(request, userMembership);
        await appointMemberAs(sql, context.actor, userId, {
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
        const link = await makeResetLinkAs(sql, context.actor, userId);
        return Response.json(presentLink(request, publicUrl, link));
      },
    },
    '/users/:user/sign-out': {
      POST: async (request, context) => {
        const userId = userIn(context);
        await readBody(request, nothing);
        const ended = await signOutAs(sql, context.actor, userId);
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
  actor: DashboardActor,
  user: InvitedUser,
): Promise<Readonly<{ userId: string; link: ResetToken }>> {
  return await shortTransaction(sql, async (transaction) => {
    await requireOperator(transaction, actor.userId);
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
    await recordChange(transaction, actor, {
      action: 'create_user',
      accountId: user.accountId,
      object: { type: 'user', id: created.id },
      after: describeNewUser(user),
    });
    const link = await createResetToken(transaction, created.id, actor.userId);
    return { userId: created.id, link };
  });
}

/** Of two operators who dismiss each other, one remains. Links and tokens of a dismissed operator end as well. */
export async function makeOperatorAs(
  sql: SQL,
  actor: DashboardActor,
  userId: string,
  isOperator: boolean,
  isConfirmed: boolean,
): Promise<void> {
  await shortTransaction(sql, async (transaction) => {
    await lockUsers(transaction, actor.userId, userId);
    await requireOperator(transaction, actor.userId);
    if (isOperator && !isConfirmed) await requireVerified(transaction, userId);
    const changed = await transaction`
      update users set is_operator = ${isOperator}, updated_at = now()
      where id = ${userId} and is_operator <> ${isOperator}::boolean returning id`;
    if (changed.length > 0)
      await recordChange(transaction, actor, {
        action: isOperator ? 'make_operator' : 'unmake_operator',
        object: { type: 'user', id: userId },
        before: { is_operator: !isOperator },
        after: { is_operator: isOperator },
      });
    if (isOperator) return;
    await endLinksMadeBy(transaction, userId);
    await revokeTokensOf(transaction, actor, userId);
  });
}

/** Anyone can sign up with an address that is not theirs. A user who does not exist passes, for the caller to report. */
async function requireVerified(transaction: TransactionSQL, userId: string): Promise<void> {
  const found = await transaction`select 1 from users where id = ${userId} and not email_verified`;
  if (found.length > 0) throw new ApiError('email_not_verified', { param: 'confirm_unverified' });
}

type NewMembership = Readonly<{ accountId: string; role: Role; isConfirmed: boolean }>;

/** A user who already belongs to the account gets this role. */
export async function appointMemberAs(
  sql: SQL,
  actor: DashboardActor,
  userId: string,
  { accountId, role, isConfirmed }: NewMembership,
): Promise<void> {
  await shortTransaction(sql, async (transaction) => {
    await requireOperator(transaction, actor.userId);
    if (!(await accountExists(transaction, accountId)))
      throw new ApiError('account_not_found', { param: 'account_id' });
    if (!isConfirmed) await requireVerified(transaction, userId);
    await addMemberAs(transaction, actor, accountId, userId, role);
  });
}

/**
 * Returns how many sessions were in force until now. An intruder may have created links in the meantime, so those end
 * too.
 */
export async function signOutAs(sql: SQL, actor: DashboardActor, userId: string): Promise<number> {
  return await shortTransaction(sql, async (transaction) => {
    await lockUsers(transaction, actor.userId, userId);
    await requireOperator(transaction, actor.userId);
    await requireUser(transaction, userId);
    const ended = await transaction<{ was_in_force: boolean }[]>`
      delete from sessions where user_id = ${userId} returning expires_at > now() as was_in_force`;
    await endLinksMadeBy(transaction, userId);
    await recordChange(transaction, actor, { action: 'sign_user_out', object: { type: 'user', id: userId } });
    return ended.filter((session) => session.was_in_force).length;
  });
}

export async function makeResetLinkAs(sql: SQL, actor: DashboardActor, userId: string): Promise<ResetToken> {
  return await shortTransaction(sql, async (transaction) => {
    await requireOperator(transaction, actor.userId);
    await requireUser(transaction, userId);
    await recordChange(transaction, actor, {
      action: 'make_reset_link',
      object: { type: 'user', id: userId },
    });
    return await createResetToken(transaction, userId, actor.userId);
  });
}

async function requireUser(transaction: TransactionSQL, userId: string): Promise<void> {
  const found = await transaction`select 1 from users where id = ${userId}`;
  if (found.length === 0) throw new ApiError('user_not_found');
}
