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

type SummaryRow = {
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

type Row = SummaryRow & {
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
  const [row] = await sql<Row[]>`
    select id, created_at, 'in_progress' as status, workload, model, provider, streaming,
           floor(extract(epoch from clock_timestamp() - created_at) * 1000)::int as latency_ms,
           null::int as time_to_first_token_ms, null::bigint as input_tokens, null::bigint as output_tokens,
           null::bigint as units, null::text as unit, null::numeric as cost_input, null::numeric as cost_output,
           null::numeric as cost_total, null::text as error_code, null::timestamptz as completed_at,
           jsonb_array_length(attempts) > 1 as fallback, attempts
    from open_generations where id = ${id} and key_id = ${keyId}
    union all
    select id, created_at, status, workload, model, provider, streaming, latency_ms, time_to_first_token_ms,
           input_tokens, output_tokens, units, unit, cost_input, cost_output, cost_total, error_code, completed_at,
           fallback,
           (select jsonb_agg(jsonb_build_object(
              'index', index, 'provider', provider, 'status', status,
              'startedAtMs', extract(epoch from started_at) * 1000, 'completedAtMs', extract(epoch from completed_at) * 1000,
              'upstreamStatus', upstream_status, 'errorCode', error_code) order by index)
            from attempts where generation_id = ${id}) as attempts
    from generations where id = ${id} and key_id = ${keyId}`;
  return row ? toRecord(row) : null;
}

function toRecord(row: Row): GenerationRecord {
  return {
    ...toSummary(row),
    streaming: row.streaming,
    timeToFirstTokenMs: row.time_to_first_token_ms,
    errorCode: row.error_code,
    attempts: row.attempts ?? [],
  };
}

function toSummary(row: SummaryRow): GenerationSummary {
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
