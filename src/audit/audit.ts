/** Checks the invariants of the ledger in one snapshot, so that an audit can run while requests are being settled. */
import type { SQL, TransactionSQL } from 'bun';
import { nilId } from '../lib/ids.ts';
import type { AuditScope } from './invariant.ts';
import { invariants } from './invariants.ts';

export type InvariantResult = Readonly<{ invariant: string; checked: number; violations: number }>;

export const invariantCount = invariants.length;

/** Checks everything that is in the database and records nothing. */
export async function auditLedger(sql: SQL): Promise<InvariantResult[]> {
  return await sql.begin('isolation level repeatable read read only', async (transaction) =>
    checkInvariants(transaction, await readScope(transaction, null)),
  );
}

/** What came after an audit, or everything. */
export async function readScope(sql: SQL | TransactionSQL, since: Date | null): Promise<AuditScope> {
  const [row] = await sql<[{ archived_before: string | null; archived_id: string | null; since_id: string }]>`
    select max(ends_on)::text as archived_before,
           first_id_at(max(ends_on)::timestamp at time zone 'UTC' + interval '1 day') as archived_id,
           coalesce(first_id_at(${since}::timestamptz - interval '1 day'), ${nilId}::text::uuid) as since_id
    from ledger_archives`;
  return {
    isFull: since === null,
    sinceId: row.since_id,
    archivedBefore: row.archived_before,
    archivedBeforeId: row.archived_id ?? nilId,
  };
}

/**
 * The transaction must be repeatable read, so that all queries see one snapshot. `onStep` gets the number of invariants that
 * were checked, and the next one.
 */
export async function checkInvariants(
  transaction: SQL | TransactionSQL,
  scope: AuditScope,
  onStep: (done: number, next: string) => void = () => undefined,
): Promise<InvariantResult[]> {
  const findings: InvariantResult[] = [];
  for (const { invariant, query } of invariants) {
    onStep(findings.length, invariant);
    const [row] = await transaction.unsafe<[{ checked: bigint; violations: bigint }]>(query(scope));
    findings.push({ invariant, checked: Number(row.checked), violations: Number(row.violations) });
  }
  return findings;
}
