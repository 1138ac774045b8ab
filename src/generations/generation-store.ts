import type { SQL } from 'bun';
import type { Attempt } from '../ledger/operations.ts';

/** A Generation as it is looked up, open or finished. */
export type GenerationRecord = Readonly<{
  id: string;
  createdAt: Date;
  status: 'in_progress' | 'completed' | 'failed' | 'cancelled';
  workload: string;
  model: string;
  provider: string;
  streaming: boolean;
  latencyMs: number;
  timeToFirstTokenMs: number | null;
  usage: Readonly<{ inputTokens: bigint; outputTokens: bigint; units: bigint; unit: string }> | null;
  /** Decimal texts with 12 digits, as they were stored. */
  cost: Readonly<{ input: string; output: string; total: string }> | null;
  errorCode: string | null;
  completedAt: Date | null;
  attempts: readonly Attempt[];
}>;

type Row = {
  id: string;
  created_at: Date;
  status: GenerationRecord['status'];
  workload: string;
  model: string;
  provider: string;
  streaming: boolean;
  latency_ms: number;
  time_to_first_token_ms: number | null;
  input_tokens: bigint | null;
  output_tokens: bigint | null;
  units: bigint | null;
  unit: string | null;
  cost_input: string | null;
  cost_output: string | null;
  cost_total: string | null;
  error_code: string | null;
  completed_at: Date | null;
  attempts: Attempt[] | null;
};

/** Only what this key itself created is found: the key is part of the question. */
export async function findGeneration(sql: SQL, id: string, keyId: string): Promise<GenerationRecord | null> {
  const [row] = await sql<Row[]>`
    select id, created_at, 'in_progress' as status, workload, model, provider, streaming,
           floor(extract(epoch from clock_timestamp() - created_at) * 1000)::int as latency_ms,
           null::int as time_to_first_token_ms, null::bigint as input_tokens, null::bigint as output_tokens,
           null::bigint as units, null::text as unit, null::numeric as cost_input, null::numeric as cost_output,
           null::numeric as cost_total, null::text as error_code, null::timestamptz as completed_at, attempts
    from open_generations where id = ${id} and key_id = ${keyId}
    union all
    select id, created_at, status, workload, model, provider, streaming, latency_ms, time_to_first_token_ms,
           input_tokens, output_tokens, units, unit, cost_input, cost_output, cost_total, error_code, completed_at,
           (select jsonb_agg(jsonb_build_object(
              'index', index, 'provider', provider, 'status', status,
              'startedAtMs', extract(epoch from started_at) * 1000, 'completedAtMs', extract(epoch from completed_at) * 1000,
              'upstreamStatus', upstream_status, 'errorCode', error_code) order by index)
            from attempts where generation_id = ${id}) as attempts
    from generations where id = ${id} and key_id = ${keyId}`;
  return row ? toRecord(row) : null;
}

function toRecord(row: Row): GenerationRecord {
  const { input_tokens: inputTokens, output_tokens: outputTokens, units, unit } = row;
  const { cost_input: input, cost_output: output, cost_total: total } = row;
  return {
    id: row.id,
    createdAt: row.created_at,
    status: row.status,
    workload: row.workload,
    model: row.model,
    provider: row.provider,
    streaming: row.streaming,
    latencyMs: row.latency_ms,
    timeToFirstTokenMs: row.time_to_first_token_ms,
    usage:
      inputTokens === null || outputTokens === null || units === null || unit === null
        ? null
        : { inputTokens, outputTokens, units, unit },
    cost: input === null || output === null || total === null ? null : { input, output, total },
    errorCode: row.error_code,
    completedAt: row.completed_at,
    attempts: row.attempts ?? [],
  };
}
