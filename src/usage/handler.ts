/** GET /v1/usage */
import type { SQL } from 'bun';
import type { Handler } from '../http/context.ts';
import { lookUp } from '../http/lookup.ts';
import { readQuery } from '../http/query.ts';
import type { Authenticate } from '../keys/authenticate.ts';
import { parseLimit } from './limit.ts';
import { presentUsage } from './present.ts';
import { findRecentUsage, withCharges } from './usage-store.ts';

/** The records state what was used, the ledger what was debited for it. Either lookup can fail, with an error code of its own. */
export function listUsage({
  sql,
  authenticate,
}: Readonly<{ sql: SQL; authenticate: Authenticate }>): Handler {
  return async (request, context) => {
    const { accountId } = await authenticate(request, context, 'usage_lookup_failed');
    const limit = parseLimit(readQuery(request.url, ['limit']).get('limit'));
    const records = await lookUp('usage_lookup_failed', () => findRecentUsage(sql, accountId, limit));
    const billed = await lookUp('usage_cost_lookup_failed', () => withCharges(sql, records));
    return Response.json(presentUsage(billed));
  };
}
