/** Whether the ledger is consistent, and the settlements that the database rejected. */
import type { SQL } from 'bun';
import { z } from 'zod';
import type { AuditJobs } from '../../audit/jobs.ts';
import { findAudits, type RecordedAudit } from '../../audit/run.ts';
import { ApiError } from '../../errors.ts';
import { readQuery } from '../../http/query.ts';
import { readBody } from '../../json/fields.ts';
import { findDeadLetters } from '../../ledger/dead-letters.ts';
import { requestIdFromUuid } from '../../lib/ids.ts';
import { formatMoney } from '../../lib/money.ts';
import { shortTransaction } from '../../lib/short-transaction.ts';
import { requireOperator } from '../access.ts';
import { boundedRead, boundedSnapshot } from '../bounded-read.ts';
import type { Unsent } from '../contract.ts';
import type { ConsoleHandler, Routes } from '../guard.ts';
import type { Audit, Audits, DeadLetters } from '../operator-contract.ts';

const maxLetters = 100;
const maxAudits = 10;

const auditOrder = z.strictObject({ is_full: z.boolean().optional() });

export function ledgerPage(services: Readonly<{ sql: SQL; audits: AuditJobs }>): Routes<ConsoleHandler> {
  const { sql } = services;
  return {
    '/ledger-audit': {
      GET: async (request, { signedIn }) => {
        readQuery(request.url, []);
        const audits = await findAuditsAs(sql, signedIn.userId);
        return Response.json({ data: audits.map(presentAudit) } satisfies Unsent<Audits>);
      },
      POST: async (request, { signedIn }) => {
        const { is_full: isFull = false } = await readBody(request, auditOrder);
        await startAuditAs(sql, services.audits, signedIn.userId, isFull);
        const audits = await findAuditsAs(sql, signedIn.userId);
        return Response.json({ data: audits.map(presentAudit) } satisfies Unsent<Audits>, { status: 202 });
      },
    },
    '/dead-letters': {
      GET: async (request, { signedIn }) => {
        readQuery(request.url, []);
        const letters = await findDeadLettersAs(sql, signedIn.userId, maxLetters);
        return Response.json(letters satisfies Unsent<DeadLetters>);
      },
    },
  };
}

/** The oldest first, and how many there are. */
async function findDeadLettersAs(sql: SQL, operatorId: string, max: number): Promise<Unsent<DeadLetters>> {
  return await boundedSnapshot(sql, async (transaction) => {
    await requireOperator(transaction, operatorId);
    const letters = await findDeadLetters(transaction, max);
    const accountIds = letters.map(({ accountId }) => accountId);
    const accounts = await transaction<{ id: string; name: string }[]>`
      select id, name from accounts where id = any (${transaction.array(accountIds, 'uuid')})`;
    const names = new Map(accounts.map(({ id, name }) => [id, name]));
    const [{ total }] = await transaction<[{ total: number }]>`
      select count(*)::int as total from dead_letters`;
    const data = letters.map((letter) => ({
      request_id: requestIdFromUuid(letter.generationId),
      account: { id: letter.accountId, name: names.get(letter.accountId) ?? '' },
      amount: letter.amount === null ? null : formatMoney(letter.amount),
      refusal: letter.error,
      at: letter.createdAt,
    }));
    return { data, total };
  });
}

/** It reads a lot: a second audit at the same time, on any node, would only slow down the first and all requests. */
export async function startAuditAs(
  sql: SQL,
  audits: AuditJobs,
  operatorId: string,
  isFull: boolean,
): Promise<void> {
  await shortTransaction(sql, (transaction) => requireOperator(transaction, operatorId));
  if (!(await audits.start({ operatorId, isFull })))
    throw new ApiError('too_many_attempts', {
      message: 'An audit is already running. Wait until it has finished.',
    });
}

export async function findAuditsAs(sql: SQL, operatorId: string): Promise<RecordedAudit[]> {
  return await boundedRead(sql, async (read) => {
    await requireOperator(read, operatorId);
    return await findAudits(read, maxAudits);
  });
}

function presentAudit(audit: RecordedAudit): Unsent<Audit> {
  return {
    id: audit.id,
    state: audit.state,
    is_full: audit.isFull,
    started_at: audit.startedAt,
    finished_at: audit.finishedAt,
    steps_done: audit.stepsDone,
    step_count: audit.stepCount,
    findings: [...audit.findings],
    totals: audit.totals,
  };
}
