/** GET /api/console/operator/actions: who did what. */
import { readQuery } from '../../../http/query.ts';
import type { ConsoleContext } from '../../guard.ts';
import type { OperatorAction } from '../../operator-contract.ts';
import { findActions } from './action-queries.ts';
import { presentAction } from './present.ts';

const mostActions = 100;

export async function listActions(
  request: Request,
  { services, signedIn }: ConsoleContext,
): Promise<Response> {
  readQuery(request.url, []);
  const actions = await findActions(services.sql, signedIn.userId, mostActions);
  return Response.json({ data: actions.map(presentAction) } satisfies { data: OperatorAction[] });
}
