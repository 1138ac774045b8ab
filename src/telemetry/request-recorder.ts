/** Reports each request once it has ended: a line in the log, the metrics and, where they are exported, its spans. */
import type { GenerationSummary, RequestContext } from '../http/context.ts';
import { traceOf } from '../http/trace-context.ts';
import type { Log, LogFields } from '../lib/log.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import type { OtlpExporter } from './otlp-exporter.ts';
import { spansOf } from './spans.ts';

/** Machines request these every few seconds, which would drown out the requests of customers. */
const unrecordedRoutes: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

export class RequestRecorder {
  readonly #log: Log;
  readonly #metrics: GatewayMetrics | null;
  readonly #traces: OtlpExporter | null;

  constructor(log: Log, metrics: GatewayMetrics | null, traces: OtlpExporter | null) {
    this.#log = log;
    this.#metrics = metrics;
    this.#traces = traces;
  }

  start(context: RequestContext, headers: Headers): void {
    this.#metrics?.requestStarted();
    if (this.#traces !== null) context.trace = traceOf(context.id, headers.get('traceparent'));
  }

  /** For a response that is still being written. */
  endWith(
    ended: Promise<void>,
    route: string,
    method: string,
    status: number,
    startedAt: number,
    context: RequestContext,
  ): void {
    this.#metrics?.streamStarted();
    const end = () => this.end(route, method, status, startedAt, true, context);
    ended.then(end, end);
  }

  end(
    route: string,
    method: string,
    status: number,
    startedAt: number,
    isStream: boolean,
    context: RequestContext,
  ): void {
    if (unrecordedRoutes.has(route)) {
      this.#metrics?.requestUncounted();
      return;
    }
    const latencyMs = performance.now() - startedAt;
    const summary = context.generation?.summary() ?? null;
    const code = context.errorCode ?? summary?.code ?? null;
    this.#metrics?.requestEnded(route, status, code, latencyMs, isStream, summary);
    const { id, requestId, caller, trace } = context;
    const fields: Fields = { requestId, method, route, status, latencyMs: Math.round(latencyMs) };
    if (code !== null) fields.code = code;
    if (caller !== null) {
      fields.accountId = caller.accountId;
      fields.keyId = caller.id;
    }
    if (summary !== null) addSummary(fields, summary);
    this.#log.info('request', fields);
    if (this.#traces === null || trace === null || !trace.isSampled) return;
    const endedAtMs = Date.now();
    const startedAtMs = endedAtMs - latencyMs;
    this.#traces.add(
      spansOf({ id, requestId, method, route, status, code, startedAtMs, endedAtMs, summary }, trace),
    );
  }
}

/** Filled field by field: objects that are merged would cost more than the line that is logged. */
type Fields = { -readonly [Name in keyof LogFields]: LogFields[Name] };

function addSummary(fields: Fields, summary: GenerationSummary): void {
  fields.model = summary.model;
  fields.provider = summary.provider;
  if (summary.status !== null) fields.outcome = summary.status;
  fields.inputTokens = summary.inputTokens;
  fields.outputTokens = summary.outputTokens;
  if (summary.costUsd !== null) fields.costUsd = summary.costUsd;
  if (summary.isEarly) fields.early = 'yes';
  if (summary.firstTokenMs !== null) fields.firstTokenMs = summary.firstTokenMs;
}
