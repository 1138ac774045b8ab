/** GET /api/console/accounts/{account}/ledger: every movement of the balance, the newest first. */
import { lookUp } from '../../http/lookup.ts';
import { readQuery } from '../../http/query.ts';
import { callerOf } from '../access.ts';
import type { ConsoleContext } from '../guard.ts';
import { findLedgerPart } from './ledger-queries.ts';
import { parseStatement, statementParameters } from './parse.ts';
import { presentStatement } from './present.ts';

export async function showStatement(request: Request, context: ConsoleContext): Promise<Response> {
  const caller = callerOf(context);
  const { limit, before } = parseStatement(readQuery(request.url, statementParameters));
  // One more than asked for tells whether there is more.
  const part = await lookUp('balance_lookup_failed', () =>
    findLedgerPart(context.services.sql, caller, before, limit + 1),
  );
  return Response.json(presentStatement(part, limit));
}
