import type { SQL, TransactionSQL } from 'bun';
import { ApiError } from '../../../errors.ts';
import { askInvariants, type Finding } from '../../../ledger/audit.ts';
import { refuseNobody } from '../operator-queries.ts';

type LedgerTotals = { balance: string; held: string; written_off: string; not_believed: string };

type AuditResult = Readonly<{ findings: readonly Finding[]; totals: LedgerTotals }>;

/** Any number that nothing else takes an advisory lock on. */
const auditLock = 7_012_018_007;

/** It reads every row there is: a second one at once, on any node, would only slow down the first and everyone else. */
export async function auditAs(sql: SQL, operatorId: string): Promise<AuditResult> {
  return await sql.begin('isolation level repeatable read read only', async (transaction) => {
    const operators = await transaction<{ is_first: boolean }[]>`
      select pg_try_advisory_xact_lock(${auditLock}) as is_first
      from users where id = ${operatorId} and is_operator`;
    refuseNobody(operators);
    if (operators[0]?.is_first !== true)
      throw new ApiError('too_many_attempts', {
        message: 'An audit is running already. Wait until it has ended.',
      });
    return { findings: await askInvariants(transaction), totals: await findTotals(transaction) };
  });
}

/** What customers have paid and not used, what of it is reserved, what was lost for good, and what was only claimed. */
async function findTotals(transaction: TransactionSQL): Promise<LedgerTotals> {
  const [totals] = await transaction<[LedgerTotals]>`
    select coalesce(sum(balance), 0)::numeric(38,12) as balance, coalesce(sum(held), 0)::numeric(38,12) as held,
           coalesce((select sum(amount) from write_offs where reason <> 'implausible_usage'), 0)::numeric(38,12) as written_off,
           coalesce((select sum(amount) from write_offs where reason = 'implausible_usage'), 0)::numeric(38,12) as not_believed
    from accounts`;
  return totals;
}
