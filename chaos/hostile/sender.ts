/** Sends hostile requests over many connections, has every answer judged, and remembers what was wrong and what was slow. */

import type { Truth } from '../judge/truth.ts';
import { Random } from '../random.ts';
import { HostileConnection } from './connection.ts';
import { judgeExchange } from './judge.ts';
import type { Gap } from './loop-watch.ts';
import type { Keys } from './maker.ts';
import type { HostileRequest } from './request.ts';
import { hostileRequest } from './requests.ts';

const maxExamples = 200;

/** A request slow enough to be what kept the event loop busy. */
type Slow = Readonly<{ fromMs: number; toMs: number; bytes: number; says: string }>;

const slowMs = 40;
const maxSlow = 500_000;
const maxSuspects = 3;

export class Sender {
  readonly sent = new Map<string, number>();
  readonly answered = new Map<string, number>();
  seconds = 0;
  readonly #slow: Slow[] = [];
  readonly #wrong: string[] = [];
  readonly #connections: readonly HostileConnection[];
  readonly #random: Random;
  readonly #keys: Keys;
  #wrongCount = 0;
  #next = 0;

  constructor(
    port: number,
    { connections, seed }: Readonly<{ connections: number; seed: number }>,
    keys: Keys,
  ) {
    this.#connections = Array.from({ length: connections }, () => new HostileConnection(port));
    this.#random = new Random(seed);
    this.#keys = keys;
  }

  /** Sends up to this number, and closes all connections. */
  async sendUntil(end: number): Promise<void> {
    const startedAt = performance.now();
    await Promise.all(this.#connections.map((connection) => this.#sendOn(connection, end)));
    this.seconds += (performance.now() - startedAt) / 1_000;
  }

  truth(): Truth {
    const more = this.#wrongCount - this.#wrong.length;
    return {
      says: 'every response has a status and a code that the request explains, and gives nothing away',
      checked: this.#next,
      wrong: more > 0 ? [...this.#wrong, `… and ${more} more`] : this.#wrong,
    };
  }

  /** The largest requests that were in progress in a gap. */
  suspectsOf({ atMs, gapMs }: Gap): string[] {
    return this.#slow
      .filter(({ fromMs, toMs }) => fromMs <= atMs && toMs >= atMs - gapMs)
      .toSorted((a, b) => b.bytes - a.bytes)
      .slice(0, maxSuspects)
      .map(({ says }) => says);
  }

  async #sendOn(connection: HostileConnection, end: number): Promise<void> {
    while (this.#next < end) {
      const number = this.#next;
      this.#next += 1;
      const request = hostileRequest(number, this.#random.fork(number), this.#keys);
      const { previous } = connection;
      const fromMs = Date.now();
      const exchange = await connection.perform(number, request);
      const toMs = Date.now();
      if (toMs - fromMs > slowMs && this.#slow.length < maxSlow) {
        const bytes = request.bytes.length;
        this.#slow.push({ fromMs, toMs, bytes, says: `${number} ${request.name}, ${bytes} bytes` });
      }
      count(this.sent, request.name);
      for (const { status } of exchange.answers) count(this.answered, `${status}`);
      if (exchange.answers.length === 0) count(this.answered, exchange.ended);
      const wrong = judgeExchange(request, exchange);
      if (wrong !== null) this.#note(number, request, previous, wrong);
    }
    connection.close();
  }

  #note(number: number, request: HostileRequest, previous: string | null, wrong: string): void {
    this.#wrongCount += 1;
    if (this.#wrong.length >= maxExamples) return;
    const sent = JSON.stringify(withoutKeys(request.bytes.toString('latin1', 0, 900)));
    const before = previous === null ? 'the first on its connection' : `after ${previous}`;
    this.#wrong.push(`request ${number} (${request.name}, ${before}): ${wrong}; it was ${sent}`);
  }
}

function withoutKeys(text: string): string {
  return text.replace(/svc_sk_\w+/g, 'svc_sk_…');
}

export function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
