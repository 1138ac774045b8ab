/** Requests that arrive at a steady rate, whatever happens to earlier ones, from clients that retry nothing. */
import { KeptConnection } from '../trials/kept-connection.ts';

export type Target = Readonly<{ origin: string; key: string; model: string }>;

export type LoadResult = Readonly<{
  requests: number;
  /** How many failed, by status and code or by how the connection broke. */
  failures: ReadonlyMap<string, number>;
  p50Ms: number;
  p99Ms: number;
  /** The longest time in which no request succeeded. */
  longestGapMs: number;
}>;

const path = '/v1/chat/completions';
/** Longer than anything that the gateway or a balancer lets a client wait for such a request. */
const patienceMs = 30_000;
/** One in this many requests is a short stream. */
const streamEvery = 4;

export class SteadyLoad {
  readonly #target: Target;
  readonly #idle: KeptConnection[] = [];
  readonly #latenciesMs: number[] = [];
  readonly #failures = new Map<string, number>();
  readonly #open = new Set<Promise<void>>();
  readonly #sending: Promise<void>;
  #stopping: Promise<LoadResult> | null = null;
  #requests = 0;
  #isOver = false;
  #lastSuccessAtMs = performance.now();
  #longestGapMs = 0;

  constructor(target: Target, perSecond: number) {
    this.#target = target;
    this.#sending = this.#sendAll(1_000 / perSecond);
  }

  /** Sends nothing more and waits for the requests in progress. */
  stop(): Promise<LoadResult> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<LoadResult> {
    this.#isOver = true;
    await this.#sending;
    await Promise.all(this.#open);
    this.#noteGap();
    for (const connection of this.#idle) connection.close();
    const sorted = this.#latenciesMs.toSorted((a, b) => a - b);
    const quantile = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
    return {
      requests: this.#requests,
      failures: this.#failures,
      p50Ms: quantile(0.5),
      p99Ms: quantile(0.99),
      longestGapMs: this.#longestGapMs,
    };
  }

  /** When this process is late, it sends what was due meanwhile at once. */
  async #sendAll(everyMs: number): Promise<void> {
    const startedAtMs = performance.now();
    while (!this.#isOver) {
      const due = Math.floor((performance.now() - startedAtMs) / everyMs);
      for (; this.#requests < due; this.#requests += 1) this.#begin(this.#requests);
      await Bun.sleep(Math.min(everyMs, 5));
    }
  }

  #begin(place: number): void {
    const request = this.#send(place % streamEvery === 0).finally(() => this.#open.delete(request));
    this.#open.add(request);
  }

  async #send(isStream: boolean): Promise<void> {
    const connection = this.#idle.pop() ?? new KeptConnection(this.#target.origin);
    const startedAtMs = performance.now();
    const failure = await failureOf(connection, this.#target, '[[usage 10 20]] Hello', isStream);
    if (failure === null) {
      this.#latenciesMs.push(performance.now() - startedAtMs);
      this.#noteGap();
      this.#idle.push(connection);
      return;
    }
    connection.close();
    this.#failures.set(failure, (this.#failures.get(failure) ?? 0) + 1);
  }

  #noteGap(): void {
    const nowMs = performance.now();
    this.#longestGapMs = Math.max(this.#longestGapMs, nowMs - this.#lastSuccessAtMs);
    this.#lastSuccessAtMs = nowMs;
  }
}

/** A stream of this length on its own connection. Null when it arrived in full, else how it failed. */
export async function holdStream(target: Target, seconds: number): Promise<string | null> {
  const chunkMs = 250;
  const words = `[[long ${Math.ceil((seconds * 1000) / chunkMs)}]] [[chunk-delay ${chunkMs}]]`;
  const connection = new KeptConnection(target.origin);
  const failure = await failureOf(connection, target, words, true, patienceMs + seconds * 1_000);
  connection.close();
  return failure;
}

async function failureOf(
  connection: KeptConnection,
  { key, model }: Target,
  content: string,
  isStream: boolean,
  maxMs = patienceMs,
): Promise<string | null> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ model, stream: isStream, messages: [{ role: 'user', content }] });
  const { promise: silence, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('no response')), maxMs);
  try {
    const reply = await Promise.race([connection.post(path, headers, body), silence]);
    const code = /"code":"(\w+)"/.exec(reply.body)?.[1];
    if (reply.status !== 200 || code !== undefined) return `${reply.status} ${code ?? ''}`.trim();
    return isStream && !reply.body.includes('[DONE]') ? 'stream cut off' : null;
  } catch (error) {
    return error instanceof Error && error.message === 'no response' ? error.message : 'connection lost';
  } finally {
    clearTimeout(timer);
  }
}
