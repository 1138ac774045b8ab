/** Faults that replace the answer. */

import { answerHeaders, type Call } from './endpoint.ts';
import { privateDetail } from './errors.ts';
import { transferBody } from './transfer.ts';

/** Statuses that have no body in HTTP. */
const bodiless = new Set([204, 205, 304]);

const maxFailedIds = 10_000;

/** The memory of the faults that pass after a while. */
export class FaultMemory {
  /** How often each `[[flaky …]]` directive has failed, by its text. */
  readonly #flakyCounts = new Map<string, number>();
  /** The requests whose first call has failed, oldest first. */
  readonly #failedIds = new Set<string>();

  nextFlakyCount(key: string): number {
    const count = this.#flakyCounts.get(key) ?? 0;
    this.#flakyCounts.set(key, count + 1);
    return count;
  }

  /** Calls without an ID cannot be told apart, so each of them counts as the first. */
  isFirstCall(id: string | null): boolean {
    if (id === null) return true;
    if (this.#failedIds.has(id)) return false;
    const [oldest] = this.#failedIds;
    if (this.#failedIds.size >= maxFailedIds && oldest !== undefined) this.#failedIds.delete(oldest);
    this.#failedIds.add(id);
    return true;
  }
}

export async function answerFault(call: Call<unknown>, memory: FaultMemory): Promise<Response | null> {
  const { scenario } = call.reading;
  const { signal } = call.record.request;
  if (scenario.delay) await Promise.race([Bun.sleep(scenario.delay), aborted(signal)]);
  if (scenario.hang) await aborted(signal);
  if (signal.aborted) {
    call.record.finish(null, 'client_gone', null);
    return new Response(null);
  }
  if (scenario.close) {
    const nothing = { writes: [], delayMs: 0, ending: 'reset', isComplete: false, usage: null } as const;
    return new Response(transferBody(nothing, call.record));
  }
  if (scenario.flaky && memory.nextFlakyCount(scenario.flaky.key) < scenario.flaky.times)
    return sendError(call, scenario.flaky.status);
  const id = call.record.request.headers.get('x-client-request-id');
  if (scenario['fail-first'] && memory.isFirstCall(id)) return sendError(call, scenario['fail-first']);
  if (scenario.status) return sendError(call, scenario.status);
  if (scenario.html) {
    const page = `<html><head><title>${scenario.html}</title></head><body>${privateDetail}</body></html>`;
    return send(call, scenario.html, 'text/html', page);
  }
  if (scenario['error-body']) return send(call, 200, 'application/json', bodyOf(call, 500));
  if (scenario['not-json']) return send(call, 200, 'application/json', `Not JSON. ${privateDetail}`);
  if (scenario.redirect) return send(call, 302, 'text/plain', '', { location: '/v1/redirected' });
  return null;
}

function sendError(call: Call<unknown>, status: number): Response {
  const retryAfter = call.reading.scenario['retry-after'];
  const more = retryAfter ? { 'retry-after': retryAfter } : {};
  return send(call, status, 'application/json', bodyOf(call, status), more);
}

function send(call: Call<unknown>, status: number, type: string, body: string, more = {}): Response {
  call.record.finish(status, 'complete', null);
  const headers = { ...answerHeaders(call, type), ...more };
  if (bodiless.has(status)) return new Response(null, { status, headers });
  return new Response(call.reading.scenario.gzip ? Bun.gzipSync(body) : body, { status, headers });
}

function bodyOf({ format, number, reading }: Call<unknown>, status: number): string {
  const message = `The sandbox was asked to answer ${status}.`;
  return format.errorBody({ status, message, retryAfter: reading.scenario['retry-after'] }, number);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
