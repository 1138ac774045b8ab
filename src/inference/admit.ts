/** Opens a Generation: the key's limits and the balance are checked and the money is held, in one transaction. */
import { ApiError, type RateLimit } from '../errors.ts';
import type { ApiKey } from '../keys/key-store.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { HoldResult } from '../ledger/operations.ts';
import type { Money } from '../lib/money.ts';
import { OpenGeneration, openAttempt } from './generation.ts';

export type Admission = Readonly<{
  /** The UUID inside the request ID. */
  id: string;
  key: ApiKey;
  workload: string;
  model: string;
  streaming: boolean;
  priceListId: number;
  /** The provider that will be tried first. */
  provider: string;
  hold: Money;
}>;

export type Admitted = Readonly<{ generation: OpenGeneration; rate: RateLimit }>;

export class Admitter {
  readonly #ledger: Ledger;
  readonly #nodeId: string;
  /**
   * Keys that were told to wait, and until when: a flood of one key costs the database nothing. What is known of a key
   * is read anew every few seconds and whenever it changes, and what was told to it goes with it.
   */
  readonly #waiting = new WeakMap<ApiKey, { untilMs: number; rate: RateLimit }>();

  constructor(ledger: Ledger, nodeId: string) {
    this.#ledger = ledger;
    this.#nodeId = nodeId;
  }

  async admit(admission: Admission): Promise<Admitted> {
    this.#refuseWhoMustWait(admission.key);
    const createdAtMs = Date.now();
    const facts = {
      id: admission.id,
      accountId: admission.key.accountId,
      keyId: admission.key.id,
      workload: admission.workload,
      model: admission.model,
      streaming: admission.streaming,
      priceListId: admission.priceListId,
      createdAtMs,
    };
    const attempt = openAttempt(1, admission.provider, createdAtMs);
    const result = await this.#hold(facts, attempt, admission);
    if (result.outcome === 'refused') throw this.#refusal(admission.key, result);
    return { generation: new OpenGeneration(facts, attempt, this.#ledger), rate: result.rate };
  }

  async #hold(
    generation: OpenGeneration['facts'],
    attempt: OpenGeneration['attempts'][number],
    { provider, hold }: Admission,
  ): Promise<HoldResult> {
    try {
      return await this.#ledger.hold({
        kind: 'hold',
        generation,
        nodeId: this.#nodeId,
        provider,
        amount: hold,
        attempts: [attempt],
      });
    } catch (cause) {
      throw new ApiError('balance_lookup_failed', { cause });
    }
  }

  #refuseWhoMustWait(key: ApiKey): void {
    const waiting = this.#waiting.get(key);
    if (!waiting) return;
    const leftMs = waiting.untilMs - performance.now();
    if (leftMs > 0) throw rateLimited(leftMs, waiting.rate);
  }

  #refusal(key: ApiKey, { code, rate, retryAfterMs }: Extract<HoldResult, { outcome: 'refused' }>): ApiError {
    if (code !== 'rate_limit_exceeded' || retryAfterMs === null || rate === null)
      return new ApiError(code, { rate });
    this.#waiting.set(key, { untilMs: performance.now() + retryAfterMs, rate });
    return rateLimited(retryAfterMs, rate);
  }
}

function rateLimited(retryAfterMs: number, rate: RateLimit): ApiError {
  return new ApiError('rate_limit_exceeded', {
    rate,
    retryAfterSeconds: Math.max(1, Math.ceil(retryAfterMs / 1000)),
  });
}
