/** GET /v1/usage */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import type { Handler } from '../http/context.ts';
import { lookUp } from '../http/lookup.ts';
import { readQuery } from '../http/query.ts';
import type { Authenticate } from '../keys/authenticate.ts';
import { presentUsage } from './present.ts';
import { type BilledUsage, findRecentUsage, withCharges } from './usage-store.ts';

/** Usage records have the usage, the ledger has the charges. Each lookup has its own error code. */
export function listUsage({
  reads,
  authenticate,
}: Readonly<{ reads: () => SQL; authenticate: Authenticate }>): Handler {
  return async (request, context) => {
    const { accountId } = await authenticate(request, context, 'usage_lookup_failed');
    const limit = parseLimit(readQuery(request.url, ['limit']).get('limit'));
    const sql = reads();
    // A month may be archived between the two queries, and takes both its records and its charges with it.
    const billed = (await findBilled(sql, accountId, limit)) ?? (await findBilled(sql, accountId, limit));
    if (billed === null)
      throw new ApiError('usage_cost_lookup_failed', { cause: new Error('A usage record has no charge.') });
    return Response.json(presentUsage(billed));
  };
}

/** Null when a record has no charge. */
async function findBilled(sql: SQL, accountId: string, limit: number): Promise<BilledUsage[] | null> {
  const records = await lookUp('usage_lookup_failed', () => findRecentUsage(sql, accountId, limit));
  return await lookUp('usage_cost_lookup_failed', () => withCharges(sql, records));
}

const defaultLimit = 50;
const maxLimit = 500;

/** Any integer is valid and clamped to the range. */
export function parseLimit(text: string | null): number {
  if (text === null) return defaultLimit;
  if (!/^-?[0-9]+$/.test(text))
    throw new ApiError('invalid_parameter', {
      param: 'limit',
      message: 'The query parameter limit is invalid: expected an integer.',
    });
  return Math.min(Math.max(Number(text), 1), maxLimit);
}
