/** /api/console/operator/ledger-audit and dead-letters: whether the ledger holds, and what it could not take. */
import { readQuery } from '../../../http/query.ts';
import { requestIdFromUuid } from '../../../lib/ids.ts';
import { formatMoney } from '../../../lib/money.ts';
import type { ConsoleContext } from '../../guard.ts';
import type { Audit, DeadLetter, DeadLetters } from '../../operator-contract.ts';
import { nothing, readBody } from '../fields.ts';
import { auditAs } from './audit-queries.ts';
import { findDeadLettersAs, type ListedLetter } from './dead-letter-queries.ts';

const mostLetters = 100;

export async function listDeadLetters(
  request: Request,
  { services, signedIn }: ConsoleContext,
): Promise<Response> {
  readQuery(request.url, []);
  const { letters, total } = await findDeadLettersAs(services.sql, signedIn.userId, mostLetters);
  return Response.json({ data: letters.map(presentLetter), total } satisfies DeadLetters);
}

function presentLetter(letter: ListedLetter): DeadLetter {
  return {
    request_id: requestIdFromUuid(letter.generationId),
    account: { id: letter.accountId, name: letter.accountName },
    amount: letter.amount === null ? null : formatMoney(letter.amount),
    refusal: { code: letter.refusalCode, about: letter.refusalAbout },
    at: letter.createdAt.toISOString(),
  };
}

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
