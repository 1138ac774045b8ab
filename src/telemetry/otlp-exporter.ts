/**
 * Sends spans to an OpenTelemetry collector over HTTP, in batches. A collector that is away or slow costs spans, never
 * requests: what does not fit into the queue is dropped and counted.
 */
import type { TraceSettings } from '../config.ts';
import type { Log } from '../lib/log.ts';
import type { Span } from './spans.ts';

const maxQueued = 8_192;
const maxPerBatch = 512;
const flushMs = 2_000;
const deadlineMs = 10_000;

export class OtlpExporter {
  readonly #settings: TraceSettings;
  readonly #nodeId: string;
  readonly #log: Log;
  #queue: Span[] = [];
  #timer: Timer | null = null;
  #sending: Promise<void> | null = null;
  #droppedCount = 0;
  #isFailing = false;

  constructor(settings: TraceSettings, nodeId: string, log: Log) {
    this.#settings = settings;
    this.#nodeId = nodeId;
    this.#log = log;
  }

  get droppedCount(): number {
    return this.#droppedCount;
  }

  add(spans: readonly Span[]): void {
    if (this.#queue.length + spans.length > maxQueued) {
      this.#droppedCount += spans.length;
      return;
    }
    this.#queue.push(...spans);
    if (this.#queue.length >= maxPerBatch) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), flushMs);
  }

  /** Sends what is queued, within one deadline. */
  async close(): Promise<void> {
    await this.#sending;
    this.#flush();
    await this.#sending;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#sending !== null || this.#queue.length === 0) return;
    const batch = this.#queue.splice(0, maxPerBatch);
    this.#sending = this.#send(batch).finally(() => {
      this.#sending = null;
      if (this.#queue.length >= maxPerBatch) this.#flush();
      else if (this.#queue.length > 0) this.#timer ??= setTimeout(() => this.#flush(), flushMs);
    });
  }

  async #send(spans: readonly Span[]): Promise<void> {
    const { endpoint, headers, serviceName } = this.#settings;
    const resource = {
      attributes: [
        { key: 'service.name', value: { stringValue: serviceName } },
        { key: 'service.instance.id', value: { stringValue: this.#nodeId } },
      ],
    };
    try {
      const response = await fetch(`${endpoint}/v1/traces`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({
          resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'tollgate' }, spans }] }],
        }),
        redirect: 'error',
        signal: AbortSignal.timeout(deadlineMs),
      });
      await response.body?.cancel();
      this.#note(response.ok ? null : response.status, spans.length);
    } catch (error) {
      this.#note(error, spans.length);
    }
  }

  /** One line when the collector stops taking spans, and one when it takes them again. */
  #note(problem: unknown, count: number): void {
    if (problem !== null) this.#droppedCount += count;
    if ((problem !== null) === this.#isFailing) return;
    this.#isFailing = problem !== null;
    if (problem === null) this.#log.info('traces are accepted again');
    else if (typeof problem === 'number') this.#log.warn('traces are not accepted', { status: problem });
    else this.#log.warn('traces cannot be sent', { error: problem });
  }
}
