/** POST /api/console/operator/ledger-audit: whether every truth of the ledger holds, asked of all of it. */
import type { ConsoleContext } from '../../guard.ts';
import type { Audit } from '../../operator-contract.ts';
import { nothing, readBody } from '../fields.ts';
import { auditAs } from './audit-queries.ts';

export async function runAudit(request: Request, context: ConsoleContext): Promise<Response> {
  await readBody(request, nothing);
  context.waitPatiently();
  const at = new Date();
  const { findings, totals } = await auditAs(context.services.sql, context.signedIn.userId);
  return Response.json({
    at: at.toISOString(),
    holds: findings.every(({ violations }) => violations === 0),
    findings: [...findings],
    totals,
  } satisfies Audit);
}
