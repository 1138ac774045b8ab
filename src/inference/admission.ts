/** Admits requests: the ledger checks limits and balance and holds the money, in one transaction. */
import { ApiError, type RequestShortage } from '../errors.ts';
import { lookupFailed } from '../http/lookup.ts';
import type { ApiKey } from '../keys/key-store.ts';
import type { KnownRates } from '../keys/known-rates.ts';
import { isAboutSpend } from '../ledger/database-error.ts';
import { countUnit } from '../ledger/decide-limits.ts';
import { UnknownHoldError } from '../ledger/holding.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Denial, DenialCode, ExceededLimit, Hold, HoldResult, Shortage } from '../ledger/operations.ts';
import { formatDollars, formatMoney, type Money } from '../lib/money.ts';
import type { RateLimit } from '../lib/rate-limit.ts';
import type { LimitsInForce } from '../limits/applied-limits.ts';
import { limitMessage, spendLeftMessage } from '../limits/words.ts';
import type { EarlyCall } from './early-calls.ts';
import type { OpenGeneration } from './generation.ts';
import type { Plan } from './workload.ts';

/** What the client could do for a request to fit into an amount. */
type Remedies = Readonly<{
  advice: (available: Money) => string | null;
  fittingTokens: (available: Money) => number | null;
}>;

export class Admission {
  readonly #ledger: Ledger;
  readonly #nodeId: string;
  readonly #clock: { isOff: () => boolean };
  /**
   * Keys that must wait, and until when, so that a flood from one key costs the database nothing. A key is read again
   * every few seconds and whenever it changes, as a new object, so its entry here disappears with the old object.
   */
  readonly #waiting = new WeakMap<ApiKey, Readonly<{ untilMs: number; concurrencyLimit: number | null }>>();
  readonly #rates: KnownRates;
  readonly #limits: Pick<LimitsInForce, 'renew' | 'versionOf'>;

  constructor(
    ledger: Ledger,
    nodeId: string,
    rates: KnownRates,
    limits: Pick<LimitsInForce, 'renew' | 'versionOf'>,
    clock: { isOff: () => boolean },
  ) {
    this.#rates = rates;
    this.#limits = limits;
    this.#clock = clock;
    this.#ledger = ledger;
    this.#nodeId = nodeId;
  }

  /** Throws for a key that must still wait. Costs no query, so it comes before everything that does. */
  checkWait(key: ApiKey): void {
    const waiting = this.#waiting.get(key);
    if (!waiting) return;
    const leftMs = waiting.untilMs - performance.now();
    if (leftMs > 0) throw rateLimited(leftMs, waiting.concurrencyLimit);
  }

  /**
   * If the hold is expected to be granted, `early` starts in the turn in which the hold is submitted, which may then wait for
   * others to share its batch. Unless the money is held, that call is cancelled, and the permit that the Generation has for a provider is given back.
   */
  async hold(
    generation: OpenGeneration,
    key: ApiKey,
    plan: Pick<Plan, 'hold' | 'tokens'>,
    waitedMs: number,
    early: Pick<EarlyCall<unknown, unknown>, 'start' | 'cancel'> | null = null,
  ): Promise<HoldResult> {
    const { provider, attempts } = generation;
    const startedAt = performance.now();
    let outcome: HoldResult['outcome'] | null = null;
    try {
      this.checkWait(key);
      if (this.#clock.isOff()) throw clockIsWrong();
      const hold: Hold = {
        kind: 'hold',
        generation: generation.facts,
        nodeId: this.#nodeId,
        provider,
        min: plan.hold.min,
        max: plan.hold.max,
        tokens: plan.tokens,
        attempts: [...attempts],
      };
      const expected = early === null ? null : this.#ledger.outlook.expected(hold);
      const isPatient = expected !== null && early?.start(expected) === true;
      const first = await this.#ledger.hold({ ...hold, isPatient }, waitedMs);
      const result = isOutdated(first)
        ? await this.#holdAgain(generation, key, hold, startedAt - waitedMs)
        : first;
      this.#noteRate(key, result.rate);
      outcome = result.outcome;
      generation.mayBeHeld = result.outcome === 'held';
      if (result.outcome === 'held') generation.noteHold({ ...hold, generation: generation.facts }, result);
      return result;
    } catch (cause) {
      if (cause instanceof ApiError) throw cause;
      generation.mayBeHeld = cause instanceof UnknownHoldError;
      const reason = cause instanceof UnknownHoldError ? cause.cause : cause;
      const code = isAboutSpend(reason) ? 'monthly_spend_lookup_failed' : 'balance_lookup_failed';
      throw lookupFailed(code, reason);
    } finally {
      if (outcome !== 'held') {
        early?.cancel(outcome ?? 'not_committed');
        generation.withdraw();
      }
    }
  }

  /** With the limits that the account has now. The client has waited since `sinceMs`. */
  async #holdAgain(
    generation: OpenGeneration,
    key: ApiKey,
    hold: Hold,
    sinceMs: number,
  ): Promise<HoldResult> {
    const endUser = generation.facts.attribution?.endUser ?? null;
    for (let tries = 1; ; tries += 1) {
      generation.applyLimits(await this.#limits.renew(key, endUser));
      const renewed = { ...hold, generation: generation.facts };
      const result = await this.#ledger.hold(renewed, performance.now() - sinceMs);
      if (!isOutdated(result) || tries >= maxRenewals) return result;
    }
  }

  /** The error for a hold that was denied. */
  denial(key: ApiKey, range: Plan['hold'], denied: Denial, { advice, fittingTokens }: Remedies): ApiError {
    const { code, shortage, limit } = denied;
    if (shortage === null) return this.#limited(key, denied);
    const { needed, available, spendable } = shortage;
    return new ApiError(code, {
      message: shortageMessage(range, code, shortage, limit, advice),
      shortage: {
        of: shortOf(code),
        needed: formatMoney(needed),
        available: formatMoney(available),
        fittingMaxTokens: fittingTokens(spendable),
      },
    });
  }

  /** A replay of a stored response counts towards its key's rate like any other request. */
  async countReplay(key: ApiKey, id: string): Promise<void> {
    this.checkWait(key);
    const limits = this.#limits.versionOf(key);
    const generation = { id, accountId: key.accountId, keyId: key.id, limits };
    const result = await this.#ledger.count({ kind: 'count', generation }).catch((cause: unknown) => {
      throw lookupFailed('balance_lookup_failed', cause);
    });
    this.#noteRate(key, result.rate);
    if (result.outcome === 'denied') throw this.#limited(key, result);
  }

  #noteRate(key: ApiKey, rate: RateLimit | null): void {
    if (rate !== null) this.#rates.note(key.id, rate);
  }

  /** Remembers that the key must wait. */
  #limited(key: ApiKey, { code, retryAfterMs, concurrencyLimit, limit }: Denial): ApiError {
    if (code !== 'rate_limit_exceeded' || retryAfterMs === null) return new ApiError(code);
    // Another request of the key may be smaller, or for another end user.
    if (limit !== null)
      return new ApiError(code, {
        message: limitMessage(limit),
        retryAfterSeconds: secondsOf(retryAfterMs),
        shortage: {
          of: 'limit',
          needed: `${limit.needed / countUnit}`,
          available: `${limit.left / countUnit}`,
          fittingMaxTokens: null,
        },
      });
    this.#waiting.set(key, { untilMs: performance.now() + retryAfterMs, concurrencyLimit });
    return rateLimited(retryAfterMs, concurrencyLimit);
  }
}

function shortOf(code: DenialCode): RequestShortage['of'] {
  if (code === 'insufficient_balance') return 'balance';
  return code === 'monthly_spend_limit_exceeded' ? 'key_month' : 'limit';
}

/** What is needed, what is available, and what would fit. */
function shortageMessage(
  range: Plan['hold'],
  code: DenialCode,
  { needed, available, spendable }: Shortage,
  limit: ExceededLimit | null,
  advice: (available: Money) => string | null,
): string {
  const cost = formatDollars(needed, 'up');
  const request =
    range.min === range.max ? `This request may cost up to ${cost}` : `This request needs at least ${cost}`;
  const rest = formatDollars(available, 'down');
  let left = `${rest} is available.`;
  if (code === 'monthly_spend_limit_exceeded') left = `${rest} is left of the monthly limit of this API key.`;
  if (limit !== null) left = spendLeftMessage(limit);
  return [`${request}; ${left}`, advice(spendable) ?? ''].join(' ').trim();
}

/** The limits may change again meanwhile. */
const maxRenewals = 3;

function isOutdated(result: HoldResult): boolean {
  return result.outcome === 'denied' && result.code === 'limits_changed';
}

function secondsOf(durationMs: number): number {
  return Math.max(1, Math.ceil(durationMs / 1000));
}

/** Its IDs and dates could not be relied on. */
function clockIsWrong(): ApiError {
  return new ApiError('server_not_configured', {
    message: "The server's clock is wrong, so it accepts no requests until that is fixed.",
  });
}

/** The limit may be the rate per minute or the number of concurrent requests. */
function rateLimited(retryAfterMs: number, concurrencyLimit: number | null): ApiError {
  const retryAfterSeconds = secondsOf(retryAfterMs);
  const message =
    concurrencyLimit === null
      ? 'This API key has exceeded its limit of requests per minute.'
      : `This API key already has ${concurrencyLimit} requests in progress, the most it may have at once.`;
  return new ApiError('rate_limit_exceeded', { message, retryAfterSeconds });
}
