/** /api/console/operator/users: everyone who can sign in, and what an operator can do for or about them. */
import { ApiError } from '../../../errors.ts';
import { ownOriginOf } from '../../../http/origin.ts';
import type { ResetToken } from '../../../sessions/reset-link.ts';
import type { ConsoleContext } from '../../guard.ts';
import type { NewUser, OperatorUser, OperatorUsers, ResetLink, SignedOut } from '../../operator-contract.ts';
import { idIn } from '../../params.ts';
import { nothing, readBody } from '../fields.ts';
import { pageOf, readListQuery } from '../list.ts';
import { readUserDraft, userChange, userMembership } from './parse.ts';
import { presentResetLink, presentUser } from './present.ts';
import {
  addMemberAs,
  createUserAs,
  findUser,
  findUsers,
  makeOperatorAs,
  makeResetLinkAs,
  signOutAs,
} from './user-queries.ts';

export async function listUsers(request: Request, { services, signedIn }: ConsoleContext): Promise<Response> {
  const query = readListQuery(request.url);
  const users = await findUsers(services.sql, signedIn.userId, query);
  return Response.json(pageOf(users, query.limit, presentUser) satisfies OperatorUsers);
}

export async function createUser(request: Request, context: ConsoleContext): Promise<Response> {
  const draft = await readUserDraft(request);
  const { userId, link } = await createUserAs(context.services.sql, context.signedIn.userId, draft);
  const user = await overviewOf(context, userId);
  return Response.json({ user, ...linkFor(request, context, link) } satisfies NewUser);
}

export async function changeUser(request: Request, context: ConsoleContext): Promise<Response> {
  const userId = userIn(context);
  const { is_operator: isOperator, confirm_unverified: isConfirmed } = await readBody(request, userChange);
  const { services, signedIn } = context;
  // Whoever dismisses themselves may be the last who could have appointed another.
  if (userId === signedIn.userId)
    throw new ApiError('permission_denied', { message: 'Only another operator can change this of you.' });
  await makeOperatorAs(services.sql, signedIn.userId, userId, isOperator, isConfirmed);
  return Response.json(await overviewOf(context, userId));
}

export async function addMembership(request: Request, context: ConsoleContext): Promise<Response> {
  const userId = userIn(context);
  const draft = await readBody(request, userMembership);
  const { account_id: accountId, role, confirm_unverified: isConfirmed } = draft;
  const { services, signedIn } = context;
  await addMemberAs(services.sql, signedIn.userId, userId, { accountId, role, isConfirmed });
  return Response.json(await overviewOf(context, userId));
}

export async function createResetLink(request: Request, context: ConsoleContext): Promise<Response> {
  const userId = userIn(context);
  await readBody(request, nothing);
  const link = await makeResetLinkAs(context.services.sql, context.signedIn.userId, userId);
  if (link === null) throw new ApiError('user_not_found');
  return Response.json(linkFor(request, context, link));
}

export async function signUserOut(request: Request, context: ConsoleContext): Promise<Response> {
  const userId = userIn(context);
  await readBody(request, nothing);
  const ended = await signOutAs(context.services.sql, context.signedIn.userId, userId);
  if (ended === null) throw new ApiError('user_not_found');
  return Response.json({ sessions_ended: ended } satisfies SignedOut);
}

function userIn({ params }: ConsoleContext): string {
  return idIn(params, 'user', 'user_not_found');
}

function linkFor(request: Request, { services }: ConsoleContext, link: ResetToken): ResetLink {
  return presentResetLink(ownOriginOf(request, services.publicUrl), link);
}

async function overviewOf({ services, signedIn }: ConsoleContext, userId: string): Promise<OperatorUser> {
  const user = await findUser(services.sql, signedIn.userId, userId);
  if (user === null) throw new ApiError('user_not_found');
  return presentUser(user);
}
