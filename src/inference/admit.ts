/** Opens a Generation: the key's limits and the balance are checked and the money is held, in one transaction. */
import { ApiError } from '../errors.ts';
import type { ApiKey } from '../keys/key-store.ts';
import { isAboutSpend } from '../ledger/database-error.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { HoldRefusal, HoldResult, Shortage } from '../ledger/operations.ts';
import type { Log } from '../lib/log.ts';
import { formatDollars, type Money } from '../lib/money.ts';
import type { RateLimit } from '../lib/rate-limit.ts';
import type { Turn } from '../routing/candidates.ts';
import { OpenGeneration, openAttempt } from './generation.ts';
import { KnownRates } from './known-rates.ts';

export type Admission = Readonly<{
  /** The UUID inside the request ID. */
  id: string;
  key: ApiKey;
  workload: string;
  model: string;
  streaming: boolean;
  priceListId: number;
  /** The provider that is preferred, and the one that will be tried first; null when none can be. */
  provider: string;
  turn: Turn | null;
  /** The name of the request, hashed, when it has one. */
  claimedName: string | null;
  /** What is held: the same twice where the request itself says how much it may cost. */
  hold: Readonly<{ least: Money; most: Money }>;
  /** What the client could change for the request to fit into this much; null when nothing would help. */
  advice: (available: Money) => string | null;
}>;

/** `held` is what the request may cost at the most. */
export type Admitted = Readonly<{ generation: OpenGeneration; held: Money; rate: RateLimit }>;

export class Admitter {
  readonly #ledger: Ledger;
  readonly #nodeId: string;
  readonly #log: Log;
  readonly #clock: { isOff: () => boolean };
  /**
   * Keys that were told to wait, and until when: a flood of one key costs the database nothing. What is known of a key
   * is read anew every few seconds and whenever it changes, and what was told to it goes with it.
   */
  readonly #waiting = new WeakMap<ApiKey, Readonly<{ untilMs: number; concurrencyLimit: number | null }>>();
  readonly #rates = new KnownRates();

  constructor(ledger: Ledger, nodeId: string, log: Log, clock: { isOff: () => boolean }) {
    this.#log = log;
    this.#clock = clock;
    this.#ledger = ledger;
    this.#nodeId = nodeId;
  }

  async admit(admission: Admission): Promise<Admitted> {
    try {
      return await this.#admit(admission);
    } catch (error) {
      admission.turn?.permit.withdrawn();
      throw error;
    }
  }

  async #admit(admission: Admission): Promise<Admitted> {
    this.refuseWhoMustWait(admission.key);
    if (this.#clock.isOff())
      throw new ApiError('server_not_configured', {
        message: "The server's clock is off, so it takes no requests until that is put right.",
      });
    const createdAtMs = Date.now();
    const facts = {
      id: admission.id,
      accountId: admission.key.accountId,
      keyId: admission.key.id,
      workload: admission.workload,
      model: admission.model,
      streaming: admission.streaming,
      priceListId: admission.priceListId,
      claimedName: admission.claimedName,
      createdAtMs,
    };
    const { turn, provider } = admission;
    const first = turn && {
      attempt: openAttempt(1, turn.candidate.connection.provider.name, createdAtMs),
      permit: turn.permit,
    };
    const generation = new OpenGeneration(facts, provider, first, this.#ledger, this.#log);
    const result = await this.#hold(generation, admission);
    this.#note(admission.key, result.rate);
    if (result.outcome === 'refused') throw this.#refusal(admission, result);
    return { generation, held: result.amount, rate: result.rate };
  }

  async #hold({ facts, provider, attempts }: OpenGeneration, { hold }: Admission): Promise<HoldResult> {
    try {
      return await this.#ledger.hold({
        kind: 'hold',
        generation: facts,
        nodeId: this.#nodeId,
        provider,
        ...hold,
        attempts: [...attempts],
      });
    } catch (cause) {
      throw new ApiError(isAboutSpend(cause) ? 'monthly_spend_lookup_failed' : 'balance_lookup_failed', {
        cause,
      });
    }
  }

  /** A stored answer that is given again counts towards the rate of its key like any other request. */
  async countReplay(key: ApiKey, id: string): Promise<void> {
    this.refuseWhoMustWait(key);
    const generation = { id, accountId: key.accountId, keyId: key.id };
    const result = await this.#ledger.count({ kind: 'count', generation }).catch((cause: unknown) => {
      throw new ApiError('balance_lookup_failed', { cause });
    });
    this.#note(key, result.rate);
    if (result.outcome === 'refused') throw this.#limited(key, result);
  }

  /** The state of the key's rate, as far as this node knows. */
  rateOf(key: ApiKey): RateLimit {
    return this.#rates.of(key);
  }

  #note(key: ApiKey, rate: RateLimit | null): void {
    if (rate !== null) this.#rates.note(key.id, rate);
  }

  /** Also to be asked before anything else that costs the database something. */
  refuseWhoMustWait(key: ApiKey): void {
    const waiting = this.#waiting.get(key);
    if (!waiting) return;
    const leftMs = waiting.untilMs - performance.now();
    if (leftMs > 0) throw rateLimited(leftMs, waiting.concurrencyLimit);
  }

  #refusal(admission: Admission, refused: Extract<HoldResult, { outcome: 'refused' }>): ApiError {
    const { code, shortage } = refused;
    if (shortage !== null) return new ApiError(code, { message: shortageMessage(admission, code, shortage) });
    return this.#limited(admission.key, refused);
  }

  /** Remembers who was told to wait. */
  #limited(
    key: ApiKey,
    { code, retryAfterMs, concurrencyLimit }: Extract<HoldResult, { outcome: 'refused' }>,
  ): ApiError {
    if (code !== 'rate_limit_exceeded' || retryAfterMs === null) return new ApiError(code);
    this.#waiting.set(key, { untilMs: performance.now() + retryAfterMs, concurrencyLimit });
    return rateLimited(retryAfterMs, concurrencyLimit);
  }
}

/** What is needed, what there is, and what would fit. */
function shortageMessage(
  { hold, advice }: Admission,
  code: HoldRefusal,
  { needed, available, spendable }: Shortage,
): string {
  const cost = formatDollars(needed, 'up');
  const request =
    hold.least === hold.most ? `This request may cost up to ${cost}` : `This request needs at least ${cost}`;
  const rest = formatDollars(available, 'down');
  const left =
    code === 'monthly_spend_limit_exceeded'
      ? `${rest} is left of the monthly limit of this API key.`
      : `${rest} is available.`;
  return [`${request}; ${left}`, advice(spendable) ?? ''].join(' ').trim();
}

/** The limit that was reached is that of a minute, or that of requests at once. */
function rateLimited(retryAfterMs: number, concurrencyLimit: number | null): ApiError {
  return new ApiError('rate_limit_exceeded', {
    ...(concurrencyLimit === null
      ? {}
      : {
          message: `This API key already has ${concurrencyLimit} requests under way, the most it may have at once.`,
        }),
    retryAfterSeconds: Math.max(1, Math.ceil(retryAfterMs / 1000)),
  });
}
