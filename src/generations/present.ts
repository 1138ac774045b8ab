/** A Generation in the words of the contract. */
import { type ErrorCode, errorTable } from '../errors.ts';
import type { Attempt } from '../ledger/operations.ts';
import { requestIdFromUuid } from '../lib/ids.ts';
import type { GenerationRecord, GenerationSummary } from './generation-store.ts';

export function presentGeneration(record: GenerationRecord) {
  const summary = presentSummary(record);
  return {
    ...summary,
    streaming: record.streaming,
    time_to_first_token_ms: record.timeToFirstTokenMs,
    tokens_per_second: tokensPerSecond(record),
    routing: presentRouting(record),
    attempts: record.attempts.map(presentAttempt),
    error: presentOutcome(record.errorCode),
  };
}

/** Where no provider was called, none was selected. */
function presentRouting({ provider, fallback, attempts }: GenerationRecord) {
  if (attempts.length === 0) return null;
  return { selected_provider: provider, fallback, attempt_count: attempts.length };
}

export function presentSummary(record: GenerationSummary) {
  const { usage, cost } = record;
  return {
    id: requestIdFromUuid(record.id),
    object: 'generation',
    created_at: record.createdAt.toISOString(),
    status: record.status,
    workload: record.workload,
    model: record.model,
    provider: record.provider,
    latency_ms: record.latencyMs,
    usage: usage && {
      input_tokens: Number(usage.inputTokens),
      output_tokens: Number(usage.outputTokens),
      total_tokens: Number(usage.inputTokens + usage.outputTokens),
      units: `${usage.units}`,
      unit: usage.unit,
    },
    cost: cost && { ...cost, currency: 'USD' },
    fallback: record.fallback,
    completed_at: record.completedAt?.toISOString() ?? null,
  };
}

/** Of the time in which tokens arrived: from the first one on where that is known. */
function tokensPerSecond({ usage, latencyMs, timeToFirstTokenMs }: GenerationRecord): number | null {
  const durationMs = latencyMs - (timeToFirstTokenMs ?? 0);
  if (usage === null || usage.unit !== 'tokens' || durationMs <= 0) return null;
  return Math.round((Number(usage.outputTokens) * 100_000) / durationMs) / 100;
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

function presentOutcome(code: string | null) {
  if (code === null) return null;
  const known = code in errorTable ? (code as ErrorCode) : 'internal_error';
  return { type: errorTable[known].type, code: known, message: errorTable[known].message };
}
