import type { SQL } from 'bun';
import type { Attempt } from '../ledger/operations.ts';

/** What a list says of a Generation, open or finished. */
export type GenerationSummary = Readonly<{
  id: string;
  createdAt: Date;
  status: GenerationStatus;
  workload: string;
  model: string;
  provider: string;
  latencyMs: number;
  usage: Readonly<{ inputTokens: bigint; outputTokens: bigint; units: bigint; unit: string }> | null;
  /** Decimal texts with 12 digits, as they were stored. */
  cost: Readonly<{ input: string; output: string; total: string }> | null;
  fallback: boolean;
  completedAt: Date | null;
}>;

/** What is told of one that is looked up. */
export type GenerationRecord = GenerationSummary &
  Readonly<{
    streaming: boolean;
    timeToFirstTokenMs: number | null;
    errorCode: string | null;
    attempts: readonly Attempt[];
  }>;

export const generationStatuses = ['in_progress', 'completed', 'failed', 'cancelled'] as const;
export type GenerationStatus = (typeof generationStatuses)[number];

/** Which Generations a list is about; null stands for all. */
export type GenerationFilter = Readonly<{ status: GenerationStatus | null; model: string | null }>;

/** A row of list_generations or of list_account_generations. */
export type SummaryRow = {
  id: string;
  created_at: Date;
  status: GenerationStatus;
  workload: string;
  model: string;
  provider: string;
  latency_ms: number;
  input_tokens: bigint | null;
  output_tokens: bigint | null;
  units: bigint | null;
  unit: string | null;
  cost_input: string | null;
  cost_output: string | null;
  cost_total: string | null;
  fallback: boolean;
  completed_at: Date | null;
};

/** A row of find_generation. */
export type RecordRow = SummaryRow & {
  streaming: boolean;
  time_to_first_token_ms: number | null;
  error_code: string | null;
  attempts: Attempt[] | null;
};

/** No ID is greater, so this is where a list begins. */
export const newestPosition = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** The newest `rowCount` Generations of this key before a position, in one snapshot of the open and the finished ones. */
export async function findPage(
  sql: SQL,
  keyId: string,
  { status, model }: GenerationFilter,
  before: string,
  rowCount: number,
): Promise<GenerationSummary[]> {
  const rows = await sql<SummaryRow[]>`
    select * from list_generations(${keyId}::uuid, ${before}::uuid, ${status}::text, ${model}::text, ${rowCount}::int)`;
  return rows.map(toSummary);
}

/** Only what this key itself created is found: the key is part of the question. */
export async function findGeneration(sql: SQL, id: string, keyId: string): Promise<GenerationRecord | null> {
  const [row] = await sql<RecordRow[]>`
    select * from find_generation(${id}::uuid) where key_id = ${keyId}`;
  return row ? toRecord(row) : null;
}

export function toRecord(row: RecordRow): GenerationRecord {
  return {
    ...toSummary(row),
    streaming: row.streaming,
    timeToFirstTokenMs: row.time_to_first_token_ms,
    errorCode: row.error_code,
    attempts: row.attempts ?? [],
  };
}

export function toSummary(row: SummaryRow): GenerationSummary {
  const { input_tokens: inputTokens, output_tokens: outputTokens, units, unit } = row;
  const { cost_input: input, cost_output: output, cost_total: total } = row;
  return {
    id: row.id,
    createdAt: row.created_at,
    status: row.status,
    workload: row.workload,
    model: row.model,
    provider: row.provider,
    latencyMs: row.latency_ms,
    usage:
      inputTokens === null || outputTokens === null || units === null || unit === null
        ? null
        : { inputTokens, outputTokens, units, unit },
    cost: input === null || output === null || total === null ? null : { input, output, total },
    fallback: row.fallback,
    completedAt: row.completed_at,
  };
}
