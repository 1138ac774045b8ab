/** A Generation as the API returns it. */
import { type ErrorCode, errorTable } from '../errors.ts';
import type { Attempt } from '../ledger/operations.ts';
import { requestIdFromUuid } from '../lib/ids.ts';
import { presentAttribution } from './attribution.ts';
import type { GenerationRecord, GenerationSummary } from './generation-store.ts';

export function presentGeneration(record: GenerationRecord) {
  return {
    ...presentSummary(record),
    streaming: record.streaming,
    time_to_first_token_ms: record.time_to_first_token_ms,
    tokens_per_second: tokensPerSecond(record),
    routing: presentRouting(record),
    attempts: (record.attempts ?? []).map(presentAttempt),
    error: presentError(record.error_code),
  };
}

/** Null when no provider was called, because then none was selected. */
function presentRouting({ provider, fallback, attempts }: GenerationRecord) {
  if (attempts === null || attempts.length === 0) return null;
  return { selected_provider: provider, fallback, attempt_count: attempts.length };
}

/** `attribution` is there only if the request said whom it was for. */
export function presentSummary(summary: GenerationSummary) {
  const { attribution } = summary;
  return {
    id: requestIdFromUuid(summary.id),
    object: 'generation',
    created_at: summary.created_at.toISOString(),
    status: summary.status,
    workload: summary.workload,
    model: summary.model,
    provider: summary.provider,
    latency_ms: summary.latency_ms,
    usage: presentUsage(summary),
    cost: presentCost(summary),
    fallback: summary.fallback,
    completed_at: summary.completed_at?.toISOString() ?? null,
    ...(attribution === null ? {} : { attribution: presentAttribution(attribution) }),
  };
}

type PresentedUsage = {
  input_tokens: number;
  output_tokens: number;
  total_tokens: number;
  units: string;
  unit: string;
  /** Parts of the input, only where they are not zero. */
  cache_read_tokens?: number;
  cache_write_tokens?: number;
};

function presentUsage(summary: GenerationSummary): PresentedUsage | null {
  const { input_tokens: input, output_tokens: output, units, unit } = summary;
  if (input === null || output === null || units === null || unit === null) return null;
  const read = summary.cache_read_tokens ?? 0n;
  const written = (summary.cache_write_tokens ?? 0n) + (summary.cache_write_long_tokens ?? 0n);
  return {
    input_tokens: Number(input),
    output_tokens: Number(output),
    total_tokens: Number(input + output),
    units: `${units}`,
    unit,
    ...(read > 0n && { cache_read_tokens: Number(read) }),
    ...(written > 0n && { cache_write_tokens: Number(written) }),
  };
}

function presentCost({ cost_input: input, cost_output: output, cost_total: total }: GenerationSummary) {
  if (input === null || output === null || total === null) return null;
  return { input, output, total, currency: 'USD' };
}

/** Over the time in which tokens arrived: from the first one on, where that is known. */
function tokensPerSecond(record: GenerationRecord): number | null {
  const { unit, output_tokens: tokens, latency_ms: latencyMs, time_to_first_token_ms: firstTokenMs } = record;
  const durationMs = latencyMs - (firstTokenMs ?? 0);
  if (unit !== 'tokens' || tokens === null || durationMs <= 0) return null;
  return Math.round((Number(tokens) * 100_000) / durationMs) / 100;
}

function presentAttempt(attempt: Attempt) {
  const { completedAtMs, startedAtMs } = attempt;
  return {
    index: attempt.index,
    provider: attempt.provider,
    status: attempt.status,
    started_at: new Date(startedAtMs).toISOString(),
    completed_at: completedAtMs === null ? null : new Date(completedAtMs).toISOString(),
    latency_ms: completedAtMs === null ? null : Math.round(completedAtMs - startedAtMs),
    upstream_status: attempt.upstreamStatus,
    error: attempt.errorCode,
  };
}

function presentError(errorCode: string | null) {
  if (errorCode === null) return null;
  const code = errorCode in errorTable ? (errorCode as ErrorCode) : 'internal_error';
  return { type: errorTable[code].type, code, message: errorTable[code].message };
}
