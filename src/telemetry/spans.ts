/** The spans of a request in OTLP's JSON form, with the names of OpenTelemetry's conventions for HTTP and generative AI. */
import type { GenerationSummary } from '../http/context.ts';
import { spanIdOf, type TraceContext } from '../http/trace-context.ts';

type Value = Readonly<{ stringValue: string } | { intValue: string } | { doubleValue: number }>;
type Attribute = Readonly<{ key: string; value: Value }>;

export type Span = Readonly<{
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: 2 | 3;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: readonly Attribute[];
  status: Readonly<{ code?: 2 }>;
}>;

export type EndedRequest = Readonly<{
  id: string;
  requestId: string;
  method: string;
  route: string;
  status: number;
  code: string | null;
  startedAtMs: number;
  endedAtMs: number;
  summary: GenerationSummary | null;
}>;

const server = 2;
const client = 3;

/** The request itself, and one span for each attempt at a provider. */
export function spansOf(request: EndedRequest, trace: TraceContext): Span[] {
  const { id, summary } = request;
  const spanId = spanIdOf(id);
  const own: Span = {
    traceId: trace.traceId,
    spanId,
    ...(trace.parentId === null ? {} : { parentSpanId: trace.parentId }),
    name: `${request.method} ${request.route}`,
    kind: server,
    startTimeUnixNano: nanoseconds(request.startedAtMs),
    endTimeUnixNano: nanoseconds(request.endedAtMs),
    attributes: attributesOf({
      'http.request.method': request.method,
      'http.route': request.route,
      'http.response.status_code': request.status,
      'error.type': request.code,
      'tollgate.request_id': request.requestId,
      'tollgate.cost_usd': summary?.costUsd ?? null,
      'tollgate.early_call': summary?.isEarly ? 'yes' : null,
      ...genAi(summary),
    }),
    status: request.status >= 500 || (request.status < 400 && request.code !== null) ? { code: 2 } : {},
  };
  const attempts = (summary?.attempts ?? []).map(
    (attempt): Span => ({
      traceId: trace.traceId,
      spanId: spanIdOf(id, attempt.index),
      parentSpanId: spanId,
      name: `${summary?.operation} ${summary?.model}`,
      kind: client,
      startTimeUnixNano: nanoseconds(attempt.startedAtMs),
      endTimeUnixNano: nanoseconds(attempt.completedAtMs ?? request.endedAtMs),
      attributes: attributesOf({
        'gen_ai.operation.name': summary?.operation ?? null,
        'gen_ai.provider.name': attempt.provider,
        'gen_ai.request.model': summary?.model ?? null,
        'http.response.status_code': attempt.upstreamStatus,
        'error.type': attempt.errorCode,
      }),
      status: attempt.status === 'failed' ? { code: 2 } : {},
    }),
  );
  return [own, ...attempts];
}

function genAi(summary: GenerationSummary | null): Record<string, string | number | null> {
  if (summary === null) return {};
  const { cached } = summary;
  return {
    'gen_ai.operation.name': summary.operation,
    'gen_ai.provider.name': summary.provider,
    'gen_ai.request.model': summary.model,
    'gen_ai.usage.input_tokens': summary.inputTokens,
    'gen_ai.usage.output_tokens': summary.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': cached?.read ?? null,
    'gen_ai.usage.cache_creation.input_tokens': cached === null ? null : cached.write + cached.writeLong,
    'gen_ai.server.time_to_first_token': summary.firstTokenMs === null ? null : summary.firstTokenMs / 1000,
  };
}

function attributesOf(given: Readonly<Record<string, string | number | null>>): Attribute[] {
  return Object.entries(given).flatMap(([key, value]) =>
    value === null ? [] : [{ key, value: valueFor(value) }],
  );
}

function valueFor(value: string | number): Value {
  if (typeof value === 'string') return { stringValue: value };
  return Number.isInteger(value) ? { intValue: `${value}` } : { doubleValue: value };
}

function nanoseconds(ms: number): string {
  return `${BigInt(Math.round(ms * 1_000)) * 1_000n}`;
}
