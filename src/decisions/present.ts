/** The responses of POST /api/decisions/run. Fields without a value are omitted, never null. */
import type { Answer, Decision } from './decider.ts';
import { type DecisionError, decisionErrorTable, type UpstreamCall } from './errors.ts';

export type DecisionAnswer =
  | { type: 'noul'; noul: number }
  | { type: 'choice'; choice: string; probabilities: Record<string, number>; confidence?: number }
  | {
      type: 'score';
      /** The expected level. */
      score: number;
      probabilities: Record<string, number>;
      legend: Record<string, string>;
      confidence?: number;
    };

/** Status 200. */
export type DecisionBody = {
  /** The version that answered. */
  model: string;
  /** By the names of the questions. */
  answers: Record<string, DecisionAnswer>;
  usage: { input_tokens: number; output_tokens: number };
  /** Only when the provider reports what it charged. */
  charge?: { amount: number; currency: 'USD' };
  service: {
    request_id: string;
    /** Of the call to the provider, including retries. */
    latency_ms: number;
    provider: string;
    upstream_status: number;
    upstream_request_id?: string;
  };
};

/** Every other status. */
export type DecisionErrorBody = {
  error: {
    type: string;
    status: number;
    message: string;
    request_id: string;
    /** These three only when a provider was called, as far as they are known. */
    provider?: string;
    upstream_status?: number;
    upstream_request_id?: string;
    /** Only with 429, and only when the provider sent it. */
    retry_after_seconds?: number;
  };
};

export function presentDecision(
  { model, answers, usage, chargeUsd, upstream, latencyMs }: Decision & Readonly<{ latencyMs: number }>,
  requestId: string,
): DecisionBody {
  return {
    model,
    answers: record(answers, presentAnswer),
    usage: { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens },
    ...(chargeUsd === null ? {} : { charge: { amount: chargeUsd, currency: 'USD' } }),
    service: {
      request_id: requestId,
      latency_ms: latencyMs,
      provider: upstream.provider,
      upstream_status: upstream.status,
      ...(upstream.requestId === null ? {} : { upstream_request_id: upstream.requestId }),
    },
  };
}

function presentAnswer(answer: Answer): DecisionAnswer {
  if (answer.type === 'noul') return { type: 'noul', noul: answer.probability };
  const confidence = answer.confidence === null ? {} : { confidence: answer.confidence };
  if (answer.type === 'choice') {
    const { choice, probabilities } = answer;
    return { type: 'choice', choice, probabilities: record(probabilities, (share) => share), ...confidence };
  }
  const { score, probabilities, legend } = answer;
  return {
    type: 'score',
    score,
    probabilities: Object.fromEntries(probabilities.entries()),
    legend: Object.fromEntries(legend.entries()),
    ...confidence,
  };
}

/** Safe for any name that a client chooses, because `Object.fromEntries` defines properties and never assigns. */
function record<Value, Shown>(
  values: ReadonlyMap<string, Value>,
  show: (value: Value) => Shown,
): Record<string, Shown> {
  return Object.fromEntries([...values].map(([name, value]) => [name, show(value)]));
}

export function presentDecisionError(error: DecisionError, requestId: string): DecisionErrorBody {
  const { status, type } = decisionErrorTable[error.reason];
  return {
    error: {
      type,
      status,
      message: error.message,
      request_id: requestId,
      ...(error.upstream === null ? {} : presentUpstream(error.upstream)),
      ...(error.retryAfterSeconds === null ? {} : { retry_after_seconds: error.retryAfterSeconds }),
    },
  };
}

function presentUpstream({ provider, status, requestId }: UpstreamCall) {
  return {
    provider,
    ...(status === null ? {} : { upstream_status: status }),
    ...(requestId === null ? {} : { upstream_request_id: requestId }),
  };
}
