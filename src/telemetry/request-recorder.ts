/** Reports each request once it has ended: a line in the log, the metrics and, where they are exported, its spans. */
import type { RequestContext } from '../http/context.ts';
import { traceOf } from '../http/trace-context.ts';
import type { Log } from '../lib/log.ts';
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
    this.#log.info('request', {
      requestId,
      method,
      route,
      status,
      latencyMs: Math.round(latencyMs),
      ...(code === null ? undefined : { code }),
      ...(caller === null ? undefined : { accountId: caller.accountId, keyId: caller.id }),
      ...(summary === null
        ? undefined
        : {
            model: summary.model,
            provider: summary.provider,
            ...(summary.status === null ? undefined : { outcome: summary.status }),
            inputTokens: summary.inputTokens,
            outputTokens: summary.outputTokens,
            ...(summary.costUsd === null ? undefined : { costUsd: summary.costUsd }),
            ...(summary.isEarly ? { early: 'yes' } : undefined),
            ...(summary.firstTokenMs === null ? undefined : { firstTokenMs: summary.firstTokenMs }),
          }),
    });
    if (this.#traces === null || trace === null || !trace.isSampled) return;
    const endedAtMs = Date.now();
    const startedAtMs = endedAtMs - latencyMs;
    this.#traces.add(
      spansOf({ id, requestId, method, route, status, code, startedAtMs, endedAtMs, summary }, trace),
    );
  }
}
