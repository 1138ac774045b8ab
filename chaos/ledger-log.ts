/** The third log: what the database says of every Generation, once all is quiet. */
import type { SQL } from 'bun';
import { requestIdFromUuid } from '../src/lib/ids.ts';
import { moneyFromDatabase } from '../src/lib/money.ts';

export type RecordedAttempt = Readonly<{ provider: string; status: string; errorCode: string | null }>;

export type RecordedGeneration = Readonly<{
  requestId: string;
  /** The provider that was asked last. */
  provider: string;
  isFallback: boolean;
  /** In their order. */
  attempts: readonly RecordedAttempt[];
  status: string;
  errorCode: string | null;
  inputTokens: number | null;
  outputTokens: number | null;
  /** What was charged, each time; more than one is a fault. */
  charges: readonly bigint[];
  /** What the operator had to bear, where an amount is known. */
  writtenOff: bigint;
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
  exceededLimits: number;
}>;

type GenerationRow = {
  id: string;
  provider: string;
  fallback: boolean;
  status: string;
  error_code: string | null;
  input_tokens: bigint | null;
  output_tokens: bigint | null;
};
type AttemptRow = { generation_id: string; provider: string; status: string; error_code: string | null };
type ChargeRow = { generation_id: string; amount: string };
type SummaryRow = Record<
  'accounts' | 'unequal' | 'open' | 'holders' | 'limited_keys' | 'exceeded_limits',
  bigint
>;

export async function readLedger(sql: SQL): Promise<LedgerLog> {
  const rows = await sql<GenerationRow[]>`
    select id, provider, fallback, status, error_code, input_tokens, output_tokens from generations`;
  const attempts = await sql<AttemptRow[]>`
    select generation_id, provider, status, error_code from attempts order by generation_id, index`;
  const charges = await sql<ChargeRow[]>`
    select generation_id, amount from ledger_entries where kind = 'charge'`;
  const writeOffs = await sql<ChargeRow[]>`
    select generation_id, amount from write_offs where amount is not null`;
  const [summary] = await sql<SummaryRow[]>`
    select (select count(*) from accounts) as accounts,
      (select count(*) from accounts where balance <> coalesce(
        (select sum(amount) from ledger_entries where account_id = accounts.id), 0)) as unequal,
      (select count(*) from open_generations) as open,
      (select count(*) from accounts where held <> 0) + (select count(*) from api_key_meters where held <> 0) as holders,
      (select count(*) from api_keys where monthly_limit is not null) as limited_keys,
      (select count(*) from api_keys where monthly_limit < coalesce(
        (select sum(cost) from usage_records where key_id = api_keys.id), 0)) as exceeded_limits`;
  if (!summary) throw new Error('The database does not answer.');
  const tried = Map.groupBy(attempts, (attempt) => attempt.generation_id);
  const charged = Map.groupBy(charges, (charge) => charge.generation_id);
  const lost = new Map(writeOffs.map((row) => [row.generation_id, moneyFromDatabase(row.amount)]));
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
          inputTokens: row.input_tokens === null ? null : Number(row.input_tokens),
          outputTokens: row.output_tokens === null ? null : Number(row.output_tokens),
          charges: (charged.get(row.id) ?? []).map(({ amount }) => -moneyFromDatabase(amount)),
          writtenOff: lost.get(row.id) ?? 0n,
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
  };
}
