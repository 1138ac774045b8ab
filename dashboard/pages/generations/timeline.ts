/** The attempts of a request on one axis of time, which begins when the request arrived. */
import type { GenerationDetail } from '../../../src/console/contract.ts';
import { marksOf } from '../../kit/chart-scale.ts';

type Attempt = GenerationDetail['attempts'][number];

export type Bar = Readonly<{
  attempt: Attempt;
  startedAfterMs: number;
  /** So far, for one that is under way. */
  durationMs: number;
  /** Of the axis, from 0 to 1. */
  start: number;
  length: number;
}>;

type Timeline = Readonly<{ bars: readonly Bar[]; marksMs: readonly number[] }>;

export function timelineOf({
  created_at: createdAt,
  latency_ms: latencyMs,
  attempts,
}: Pick<GenerationDetail, 'created_at' | 'latency_ms' | 'attempts'>): Timeline {
  const beginMs = Date.parse(createdAt);
  const spans = attempts.map((attempt) => {
    // The clocks of two machines may differ a little; nothing begins before the request did.
    const startedAfterMs = Math.max(0, Date.parse(attempt.started_at) - beginMs);
    const durationMs = Math.max(0, attempt.latency_ms ?? latencyMs - startedAfterMs);
    return { attempt, startedAfterMs, durationMs };
  });
  const marksMs = marksOf(
    Math.max(1, latencyMs, ...spans.map((span) => span.startedAfterMs + span.durationMs)),
    true,
  );
  const axisMs = marksMs.at(-1) ?? 1;
  return {
    marksMs,
    bars: spans.map((span) => ({
      ...span,
      start: span.startedAfterMs / axisMs,
      length: span.durationMs / axisMs,
    })),
  };
}
