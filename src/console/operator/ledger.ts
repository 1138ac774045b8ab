/** Whether the ledger is consistent, and the settlements that the database rejected. */
import type { SQL, TransactionSQL } from 'bun';
import { ApiError } from '../../errors.ts';
import { readQuery } from '../../http/query.ts';
import { askInvariants, type Finding, readScope } from '../../ledger/audit.ts';
import { findDeadLetters } from '../../ledger/dead-letters.ts';
import { requestIdFromUuid } from '../../lib/ids.ts';
import { formatMoney } from '../../lib/money.ts';
import { requireOperator, rowsForOperator } from '../access.ts';
import type { Unsent } from '../contract.ts';
import { nothing, readBody } from '../fields.ts';
import type { ConsoleHandler, Routes } from '../guard.ts';
import type { Audit, DeadLetters } from '../operator-contract.ts';

const maxLetters = 100;

export function ledgerPage({ sql }: Readonly<{ sql: SQL }>): Routes<ConsoleHandler> {
  return {
    '/ledger-audit': {
      POST: async (request, { signedIn, base }) => {
        await readBody(request, nothing);
        base.waitPatiently();
        const at = new Date();
        const { findings, totals } = await auditAs(sql, signedIn.userId);
        return Response.json({
          at,
          holds: findings.every(({ violations }) => violations === 0),
          findings: [...findings],
          totals,
        } satisfies Unsent<Audit>);
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
async function findDeadLettersAs(sql: SQL, operatorId: string, most: number): Promise<Unsent<DeadLetters>> {
  return await sql.begin('isolation level repeatable read', async (transaction) => {
    await requireOperator(transaction, operatorId);
    const letters = await findDeadLetters(transaction, most);
    const accountIds = letters.map(({ accountId }) => accountId);
    const accounts = await transaction<{ id: string; name: string }[]>`
      select id, name from accounts where id = any (${transaction.array(accountIds, 'uuid')})`;
    const names = new Map(accounts.map(({ id, name }) => [id, name]));
    const [{ total }] = await transaction<
      [{ total: number }]
    >`select count(*)::int as total from dead_letters`;
    const data = letters.map((letter) => ({
      request_id: requestIdFromUuid(letter.generationId),
      account: { id: letter.accountId, name: names.get(letter.accountId) ?? '' },
      amount: letter.amount === null ? null : formatMoney(letter.amount),
      refusal: { code: letter.refusalCode, about: letter.refusalAbout },
      at: letter.createdAt,
    }));
    return { data, total };
  });
}

type AuditResult = Readonly<{ findings: readonly Finding[]; totals: Audit['totals'] }>;

/** Any number that no other advisory lock uses. */
const auditLock = 7_012_018_007;

/** It reads every row: a second audit at the same time, on any node, would only slow down the first and all requests. */
export async function auditAs(sql: SQL, operatorId: string): Promise<AuditResult> {
  return await sql.begin('isolation level repeatable read read only', async (transaction) => {
    const rows = await transaction<{ is_first: boolean }[]>`
      select pg_try_advisory_xact_lock(${auditLock}) as is_first
      from users where id = ${operatorId} and is_operator`;
    const [lock] = rowsForOperator(rows, 'is_first');
    if (lock?.is_first !== true)
      throw new ApiError('too_many_attempts', {
        message: 'An audit is already running. Wait until it has finished.',
      });
    return {
      findings: await askInvariants(transaction, await readScope(transaction, null)),
      totals: await findTotals(transaction),
    };
  });
}

/** What customers have paid and not used, how much of it is held, what was written off, and what was not believed. */
async function findTotals(transaction: TransactionSQL): Promise<Audit['totals']> {
  const [totals] = await transaction<[Audit['totals']]>`
    select coalesce(sum(balance), 0)::numeric(38,12) as balance, coalesce(sum(held), 0)::numeric(38,12) as held,
           coalesce((select sum(amount) from write_offs where reason <> 'implausible_usage'), 0)::numeric(38,12) as written_off,
           coalesce((select sum(amount) from write_offs where reason = 'implausible_usage'), 0)::numeric(38,12) as not_believed
    from accounts`;
  return totals;
}
