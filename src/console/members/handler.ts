/** /api/console/accounts/{account}/members: members see each other, owners say who is what. */
import { readQuery } from '../../http/query.ts';
import { callerOf } from '../access.ts';
import { readSmallBody } from '../body.ts';
import type { ConsoleContext } from '../guard.ts';
import { idIn } from '../params.ts';
import { deleteMember, findMembers, updateRole } from './member-queries.ts';
import { parseMemberChange } from './parse.ts';
import { presentMember } from './present.ts';

export async function listMembers(request: Request, context: ConsoleContext): Promise<Response> {
  const caller = callerOf(context);
  readQuery(request.url, []);
  const members = await findMembers(context.services.sql, caller);
  return Response.json({ data: members.map(presentMember) });
}

export async function changeMember(request: Request, context: ConsoleContext): Promise<Response> {
  const caller = callerOf(context);
  const memberId = memberIn(context);
  readQuery(request.url, []);
  const role = parseMemberChange(await readSmallBody(request));
  return Response.json(presentMember(await updateRole(context.services.sql, caller, memberId, role)));
}

/** What they made stays: keys and requests belong to the account. */
export async function removeMember(request: Request, context: ConsoleContext): Promise<Response> {
  const caller = callerOf(context);
  const memberId = memberIn(context);
  readQuery(request.url, []);
  await deleteMember(context.services.sql, caller, memberId);
  return new Response(null, { status: 204 });
}

function memberIn({ params }: ConsoleContext): string {
  return idIn(params, 'user', 'user_not_found');
}
