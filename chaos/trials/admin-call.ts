/**
 * A request to the admin API of gateways that are killed meanwhile. When its answer is lost, it is sent again with the same
 * idempotency key, to the other gateway, until there is one. Now and then it is not even waited for.
 */
import { randomUUID } from 'node:crypto';
import type { Random } from '../random.ts';
import type { GatewayNode } from '../world/gateway-node.ts';

export type AdminRequest = Readonly<{
  method: 'POST' | 'PATCH' | 'DELETE';
  path: string;
  body: object | null;
  /** Without a key, a retry relies on the reference of what it asks for. */
  hasKey: boolean;
}>;

export type AdminAnswer = Readonly<{
  /** How often it was sent. */
  sent: number;
  /** Null if there never was an answer that settles it. */
  status: number | null;
  code: string | null;
  body: Readonly<Record<string, unknown>>;
}>;

/** Longer than a gateway is frozen. */
const unansweredMs = 60_000;
const impatientShare = 0.15;
const maxImpatientMs = 30;
const retryMs = 100;
/** Longer than all of the outages that can follow each other closely. */
const patienceMs = 150_000;

export class AdminClient {
  readonly #nodes: readonly GatewayNode[];
  readonly #token: string;
  readonly #random: Random;
  #next = 0;

  constructor(nodes: readonly GatewayNode[], token: string, random: Random) {
    this.#nodes = nodes;
    this.#token = token;
    this.#random = random;
  }

  /** Each gateway in turn. */
  origin(): string {
    this.#next += 1;
    return this.#nodes[this.#next % this.#nodes.length]?.origin ?? '';
  }

  get authorization(): string {
    return `Bearer ${this.#token}`;
  }

  async send(request: AdminRequest): Promise<AdminAnswer> {
    const key = request.hasKey ? randomUUID() : null;
    const deadlineMs = performance.now() + patienceMs;
    let isAbandoned = false;
    for (let sent = 1; ; sent += 1) {
      const isImpatient = sent === 1 && this.#random.happens(impatientShare);
      const answer = await this.#sendOnce(
        request,
        key,
        isImpatient ? this.#random.between(1, maxImpatientMs) : unansweredMs,
      );
      if (isImpatient && answer === null) isAbandoned = true;
      // What is refused now may be done later, when a gateway comes to the request that was not waited for.
      const isSettled = answer !== null && (answer.status < 300 || !isAbandoned);
      if (isSettled) return { ...answer, sent };
      if (answer !== null || performance.now() > deadlineMs)
        return { sent, status: null, code: answer?.code ?? null, body: {} };
      await Bun.sleep(retryMs);
    }
  }

  /** Null if it is unknown what became of it, or the gateway could not do it now. */
  async #sendOnce(
    { method, path, body }: AdminRequest,
    key: string | null,
    timeoutMs: number,
  ): Promise<(Omit<AdminAnswer, 'sent'> & { status: number }) | null> {
    try {
      const response = await fetch(`${this.origin()}/admin/v1${path}`, {
        method,
        headers: {
          authorization: this.authorization,
          'content-type': 'application/json',
          ...(key === null ? {} : { 'idempotency-key': key }),
          ...(method === 'PATCH' ? { 'if-match': '*' } : {}),
        },
        body: body === null ? null : JSON.stringify(body),
        signal: AbortSignal.timeout(timeoutMs),
      });
      const answered = (await response.json()) as Record<string, unknown>;
      if (response.status === 429 || response.status >= 500) return null;
      const { code = null } = (answered.error ?? {}) as { code?: string };
      return { status: response.status, code, body: answered };
    } catch {
      return null;
    }
  }
}
