/** POST /api/console/operator/ledger-audit: whether every truth of the ledger holds, asked of all of it. */
import { ApiError } from '../../../errors.ts';
import { auditLedger } from '../../../ledger/audit.ts';
import type { ConsoleContext, ConsoleHandler } from '../../guard.ts';
import type { Audit } from '../../operator-contract.ts';
import { nothing, readBody } from '../fields.ts';
import { findTotals } from './total-queries.ts';

export const runAudit = oneAtATime(async (_request: Request, { services }: ConsoleContext) => {
  const at = new Date();
  const findings = await auditLedger(services.sql);
  return Response.json({
    at: at.toISOString(),
    holds: findings.every(({ violations }) => violations === 0),
    findings,
    totals: await findTotals(services.sql),
  } satisfies Audit);
});

/** It reads every row there is: a second one at once would only slow down the first, and everyone else. */
function oneAtATime(handler: ConsoleHandler): ConsoleHandler {
  let isRunning = false;
  return async (request, context) => {
    await readBody(request, nothing);
    if (isRunning)
      throw new ApiError('too_many_attempts', {
        message: 'An audit is running already. Wait until it has ended.',
      });
    isRunning = true;
    try {
      return await handler(request, context);
    } finally {
      isRunning = false;
    }
  };
}
