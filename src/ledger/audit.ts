/** Asks the invariants of the ledger in one snapshot, so that an audit can run while requests are being settled. */
import type { SQL, TransactionSQL } from 'bun';
import { type AuditScope, firstId, invariants } from './invariants.ts';

export type Finding = Readonly<{ invariant: string; checked: number; violations: number }>;

export const invariantCount = invariants.length;

/** Everything that is in the database, without leaving a trace. */
export async function auditLedger(sql: SQL): Promise<Finding[]> {
  return await sql.begin('isolation level repeatable read read only', async (transaction) =>
    askInvariants(transaction, await readScope(transaction, null)),
  );
}

/** What there is to check since an audit, or all there is. */
export async function readScope(sql: SQL | TransactionSQL, since: Date | null): Promise<AuditScope> {
  const [row] = await sql<[{ archived_before: string | null; archived_id: string | null; since_id: string }]>`
    select max(ends_on)::text as archived_before,
           first_id_at(max(ends_on)::timestamp at time zone 'UTC' + interval '1 day') as archived_id,
           coalesce(first_id_at(${since}::timestamptz - interval '1 day'), ${firstId}::text::uuid) as since_id
    from ledger_archives`;
  return {
    isFull: since === null,
    sinceId: row.since_id,
    archivedBefore: row.archived_before,
    archivedBeforeId: row.archived_id ?? firstId,
  };
}

/** One snapshot is for the transaction to have. `onStep` hears how many invariants were asked, and which is next. */
export async function askInvariants(
  transaction: SQL | TransactionSQL,
  scope: AuditScope,
  onStep: (done: number, next: string) => void = () => undefined,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { says, query } of invariants) {
    onStep(findings.length, says);
    const [row] = await transaction.unsafe<[{ checked: bigint; violations: bigint }]>(query(scope));
    findings.push({ invariant: says, checked: Number(row.checked), violations: Number(row.violations) });
  }
  return findings;
}
