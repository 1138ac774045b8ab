/** GET /v1/usage */
import type { RequestContext } from '../http/context.ts';
import { lookUp } from '../http/lookup.ts';
import { readQuery } from '../http/query.ts';
import { parseLimit } from './limit.ts';
import { presentUsage } from './present.ts';
import { findRecentUsage, withCharges } from './usage-store.ts';

/** The records say what was used, the ledger what was debited for it. Each can fail by itself, and is said by itself. */
export async function listUsage(request: Request, context: RequestContext): Promise<Response> {
  const { sql } = context.services;
  const { accountId } = await context.authenticate('usage_lookup_failed');
  const limit = parseLimit(readQuery(request.url, ['limit']).get('limit'));
  const records = await lookUp('usage_lookup_failed', () => findRecentUsage(sql, accountId, limit));
  const billed = await lookUp('usage_cost_lookup_failed', () => withCharges(sql, records));
  return Response.json(presentUsage(billed));
}
