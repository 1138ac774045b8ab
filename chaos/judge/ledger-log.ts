/** The third log: what the database has about every Generation, once all is quiet. */
import type { SQL } from 'bun';
import { requestIdFromUuid } from '../../src/lib/ids.ts';
import { moneyFromDatabase } from '../../src/lib/money.ts';

export type RecordedAttempt = Readonly<{ provider: string; status: string; errorCode: string | null }>;

export type RecordedGeneration = Readonly<{
  requestId: string;
  /** The provider that was called last. */
  provider: string;
  isFallback: boolean;
  /** In their order. */
  attempts: readonly RecordedAttempt[];
  status: string;
  errorCode: string | null;
  streaming: boolean;
  inputTokens: number | null;
  outputTokens: number | null;
  /** The hold when it was settled; null when it had been released before. */
  hold: bigint | null;
  /** Its charges; more than one is a fault. */
  charges: readonly bigint[];
  /** Its refunds. */
  refunds: readonly bigint[];
  /** Whether the charge is the gateway's own estimate. */
  isEstimated: boolean;
  /** What was written off and why; the amount is null if it is unknown. */
  writeOff: Readonly<{ reason: string; amount: bigint | null }> | null;
}>;

export type LedgerLog = Readonly<{
  generations: ReadonlyMap<string, RecordedGeneration>;
  /** Charges whose Generation does not exist. */
  strayCharges: readonly string[];
  accounts: number;
  /** Accounts whose entries do not sum to their balance. */
  unequalAccounts: number;
  openGenerations: number;
  /** Accounts and keys that still hold something. */
  holders: number;
  limitedKeys: number;
  /** Keys that spent more than their limit, not counting what was settled after its hold had been released. */
  exceededLimits: number;
  /** Settlements that the database refused for good. */
  deadLetters: number;
}>;

type GenerationRow = {
  id: string;
  provider: string;
  fallback: boolean;
  status: string;
  error_code: string | null;
  streaming: boolean;
  input_tokens: bigint | null;
  output_tokens: bigint | null;
  hold: string | null;
};
type AttemptRow = { generation_id: string; provider: string; status: string; error_code: string | null };
type EntryRow = { generation_id: string; kind: 'charge' | 'refund'; amount: string; is_estimated: boolean };
type WriteOffRow = { generation_id: string; reason: string; amount: string | null };
type SummaryRow = Record<
  'accounts' | 'unequal' | 'open' | 'holders' | 'limited_keys' | 'exceeded_limits' | 'dead_letters',
  bigint
>;

export async function readLedger(sql: SQL): Promise<LedgerLog> {
  const rows = await sql<GenerationRow[]>`
    select id, provider, fallback, status, error_code, streaming, input_tokens, output_tokens, hold
    from generations`;
  const attempts = await sql<AttemptRow[]>`
    select generation_id, provider, status, error_code from attempts order by generation_id, index`;
  const entries = await sql<EntryRow[]>`
    select generation_id, kind, amount, is_estimated from ledger_entries where generation_id is not null`;
  const writeOffs = await sql<WriteOffRow[]>`select generation_id, reason, amount from write_offs`;
  const [summary] = await sql<SummaryRow[]>`
    select (select count(*) from accounts) as accounts,
      (select count(*) from accounts where balance <> coalesce(
        (select sum(amount) from ledger_entries where account_id = accounts.id), 0)) as unequal,
      (select count(*) from open_generations) as open,
      (select count(*) from accounts where held <> 0) + (select count(*) from api_key_meters where held <> 0) as holders,
      (select count(*) from api_keys where monthly_limit is not null) as limited_keys,
      (select count(*) from api_keys where monthly_limit < coalesce(
        (select sum(cost) from usage_records join generations using (id)
         where usage_records.key_id = api_keys.id and refunded_at is null and hold is not null), 0)) as exceeded_limits,
      (select count(*) from dead_letters) as dead_letters`;
  if (!summary) throw new Error('The database does not answer.');
  const tried = Map.groupBy(attempts, (attempt) => attempt.generation_id);
  const charged = Map.groupBy(entries, (entry) => entry.generation_id);
  const lost = new Map(writeOffs.map((row) => [row.generation_id, row]));
  const known = new Set(rows.map((row) => row.id));
  return {
    generations: new Map(
      rows.map((row) => [
        requestIdFromUuid(row.id),
        {
          requestId: requestIdFromUuid(row.id),
          provider: row.provider,
          isFallback: row.fallback,
          attempts: (tried.get(row.id) ?? []).map(({ provider, status, error_code }) => ({
            provider,
            status,
            errorCode: error_code,
          })),
          status: row.status,
          errorCode: row.error_code,
          streaming: row.streaming,
          inputTokens: row.input_tokens === null ? null : Number(row.input_tokens),
          outputTokens: row.output_tokens === null ? null : Number(row.output_tokens),
          hold: row.hold === null ? null : moneyFromDatabase(row.hold),
          ...entriesOf(charged.get(row.id) ?? []),
          writeOff: writeOffOf(lost.get(row.id)),
        },
      ]),
    ),
    strayCharges: [...charged.keys()].filter((id) => !known.has(id)),
    accounts: Number(summary.accounts),
    unequalAccounts: Number(summary.unequal),
    openGenerations: Number(summary.open),
    holders: Number(summary.holders),
    limitedKeys: Number(summary.limited_keys),
    exceededLimits: Number(summary.exceeded_limits),
    deadLetters: Number(summary.dead_letters),
  };
}

function entriesOf(
  entries: readonly EntryRow[],
): Pick<RecordedGeneration, 'charges' | 'refunds' | 'isEstimated'> {
  const charges = entries.filter(({ kind }) => kind === 'charge');
  const refunds = entries.filter(({ kind }) => kind === 'refund');
  return {
    charges: charges.map(({ amount }) => -moneyFromDatabase(amount)),
    refunds: refunds.map(({ amount }) => moneyFromDatabase(amount)),
    isEstimated: charges.some(({ is_estimated: isEstimated }) => isEstimated),
  };
}

function writeOffOf(row: WriteOffRow | undefined): RecordedGeneration['writeOff'] {
  if (row === undefined) return null;
  return { reason: row.reason, amount: row.amount === null ? null : moneyFromDatabase(row.amount) };
}
