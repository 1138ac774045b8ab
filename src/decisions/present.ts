/** What POST /api/decisions/run answers with, in the words of the wire. What has no value is left out, never null. */
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
  /** Under the names of the questions. */
  answers: Record<string, DecisionAnswer>;
  usage: { input_tokens: number; output_tokens: number };
  /** Only when the provider said in so many words what it charged. */
  charge?: { amount: number; currency: 'USD' };
  service: {
    request_id: string;
    /** Of the call to the provider, with its retries. */
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
    /** These three where a provider was asked, and as far as it answered. */
    provider?: string;
    upstream_status?: number;
    upstream_request_id?: string;
    /** With 429 only, and only when the provider said how long to wait. */
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

/** Its names are own properties, whatever the client calls them: `Object.fromEntries` defines and never assigns. */
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
