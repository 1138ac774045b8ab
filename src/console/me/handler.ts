/** GET /api/console/me: who is signed in, and what for. */

import { ownOriginOf } from '../../http/origin.ts';
import type { Me } from '../contract.ts';
import type { ConsoleContext } from '../guard.ts';
import { findMemberships } from './membership-queries.ts';

export async function showMe(request: Request, { services, signedIn }: ConsoleContext): Promise<Response> {
  const accounts = await findMemberships(services.sql, signedIn.userId);
  const decider = services.decisions();
  return Response.json({
    user: {
      id: signedIn.userId,
      email: signedIn.email,
      name: signedIn.name,
      is_operator: signedIn.isOperator,
    },
    accounts: accounts.map(({ id, name, role, isSuspended }) => ({
      id,
      name,
      role,
      is_suspended: isSuspended,
    })),
    decisions: { is_configured: decider !== null, model: decider?.model ?? null },
    api_origin: ownOriginOf(request, services.publicUrl),
  } satisfies Me);
}
