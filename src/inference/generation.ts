/** A Generation while it is open: its facts, which providers were tried, and how it ends. */
import { ApiError, type ErrorCode } from '../errors.ts';
import type { GenerationSummary } from '../http/context.ts';
import { spanIdOf, type TraceContext, traceparentOf } from '../http/trace-context.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type {
  AppliedLimits,
  Attempt,
  GenerationFacts,
  GrantedTokens,
  Held,
  Hold,
  ProviderUsage,
  Settlement,
  SettlementResult,
} from '../ledger/operations.ts';
import { type Ending, failure, settlementOf, unknownUsage } from '../ledger/settlement.ts';
import { requestIdFromUuid } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import type { Price } from '../pricing/price.ts';
import { Cancellation } from '../providers/cancellation.ts';
import type { ProviderError } from '../providers/upstream.ts';
import type { PermittedCandidate } from '../routing/candidates.ts';
import type { IdentifyUpstream } from './attribution.ts';
import { mayBeBilled } from './uncharged.ts';

export class OpenGeneration {
  /** Its cost was held, or it is not known whether it was. */
  mayBeHeld = false;
  #facts: GenerationFacts;
  readonly #ledger: Ledger;
  readonly #log: Log;
  readonly #attempts: Attempt[];
  /** The provider to record when none could be tried. */
  readonly #preferred: string;
  /** Who is called in the attempt in progress. */
  #current: PermittedCandidate | null;
  /** What its provider reported, for the case that no customer is charged for it. */
  #used: ProviderUsage = unknownUsage;
  #hold: Hold | null = null;
  /** What was counted of its tokens towards limits. */
  #tokens: GrantedTokens | null = null;
  /** Ends the first call, if that started before its hold was committed. */
  #cancellation: Cancellation | null = null;
  #firstTokenAtMs: number | null = null;
  #finishReason: string | null = null;
  /** When the last attempt ended, on the clock of the process. From then on, the client waits for the database alone. */
  #attemptEndedAtMs: number | null = null;
  readonly #trace: TraceContext | null;
  readonly #identify: IdentifyUpstream | null;
  #settlement: Settlement | null = null;
  #result: SettlementResult | 'late' | null = null;

  /** `first` is the candidate to be tried first; null when none can be. */
  constructor(
    facts: GenerationFacts,
    preferred: string,
    first: PermittedCandidate | null,
    trace: TraceContext | null,
    ledger: Ledger,
    log: Log,
    identify: IdentifyUpstream | null = null,
  ) {
    this.#facts = facts;
    this.#identify = identify;
    this.#preferred = preferred;
    this.#attempts = first === null ? [] : [openAttempt(1, first, facts.createdAtMs)];
    this.#current = first;
    this.#trace = trace;
    this.#ledger = ledger;
    this.#log = log;
  }

  get facts(): GenerationFacts {
    return this.#facts;
  }

  /** Before it is held. */
  applyLimits(limits: AppliedLimits): void {
    this.#facts = { ...this.#facts, limits };
  }

  get attempts(): readonly Attempt[] {
    return this.#attempts;
  }

  get provider(): string {
    return this.#attempts.at(-1)?.provider ?? this.#preferred;
  }

  /** What the provider of the attempt in progress asks of the operator; null when the catalogue does not say. */
  get providerPrice(): Price | null {
    return this.#current?.candidate.cost ?? null;
  }

  get requestId(): string {
    return requestIdFromUuid(this.facts.id);
  }

  /** For the provider that is called next; null unless traces are exported. */
  get traceparent(): string | null {
    if (this.#trace === null) return null;
    return traceparentOf(this.#trace, spanIdOf(this.facts.id, this.#attempts.length));
  }

  get cacheKey(): string | null {
    return this.#current?.conversation?.key ?? null;
  }

  /** Made when a provider is to get it. */
  get endUserId(): string | null {
    return this.#identify?.(this.facts) ?? null;
  }

  get cancellation(): Cancellation | null {
    return this.#cancellation;
  }

  /** The first call starts before its hold is committed, and may have to be cancelled. */
  startEarly(): void {
    this.#cancellation = new Cancellation();
  }

  /** The call in progress was cancelled, and the attempt begins again. Returns what that call used. */
  restart(): ProviderUsage {
    const used = this.#used;
    this.#used = unknownUsage;
    this.#cancellation = null;
    return used;
  }

  /** The hold as it was granted. */
  noteHold(hold: Hold, { amount, tokens = null }: Held): void {
    this.#hold = { ...hold, min: amount, max: amount };
    if (tokens === null) return;
    this.#tokens = tokens;
    this.#hold = { ...this.#hold, tokens: { min: tokens.count, max: tokens.count } };
  }

  /** For a hold that the database has lost: the next attempt costs no less. Throws when that much cannot be held again. */
  async holdAgain(): Promise<void> {
    const { provider, attempts } = this;
    if (this.#hold === null) throw new Error('Nothing was held.');
    const { outcome } = await this.#ledger.hold({ ...this.#hold, provider, attempts: [...attempts] });
    if (outcome === 'denied') throw new Error('What was held and lost cannot be held again.');
  }

  startAttempt(next: PermittedCandidate): void {
    this.#attempts.push(openAttempt(this.#attempts.length + 1, next, Date.now()));
    this.#current = next;
    this.#used = unknownUsage;
  }

  /** Before the attempt ends. */
  noteUsed(used: ProviderUsage): void {
    this.#used = used;
  }

  attemptSucceeded(upstreamStatus: number): void {
    const ended = this.#endAttempt('succeeded', upstreamStatus, null, true);
    ended?.permit.succeeded();
    ended?.conversation?.servedBy(ended.candidate);
  }

  attemptFailed(failure: ProviderError): void {
    const { code, upstreamStatus, reason } = failure;
    // The client may never see it, because another provider takes over, but the operator has to know.
    this.#log.warn('attempt failed', {
      requestId: requestIdFromUuid(this.facts.id),
      model: this.facts.model,
      provider: this.provider,
      code,
      ...(reason === null ? {} : { reason }),
      ...(upstreamStatus === null ? {} : { upstreamStatus }),
    });
    this.#endAttempt('failed', upstreamStatus, code, mayBeBilled(failure))?.permit.failed(failure);
  }

  /** For a call that ended through no fault of the provider. */
  attemptCancelled(upstreamStatus: number | null, code: ErrorCode | null): void {
    this.#endAttempt('cancelled', upstreamStatus, code, true)?.permit.withdrawn();
  }

  /** Why the answer ended, as the provider reported it. */
  noteFinish(reason: string | null): void {
    this.#finishReason = reason;
  }

  noteFirstToken(): void {
    this.#firstTokenAtMs ??= Date.now();
    this.#current?.permit.answered();
  }

  /** `late` means that the database is unreachable; the settlement continues, with the ending `onTimeout`. */
  settle(ending: Ending, onTimeout: Ending = ending): Promise<SettlementResult | 'late'> {
    if (ending.loss !== null && ending.loss.reported !== null)
      this.#log.warn('implausible usage reported', {
        requestId: requestIdFromUuid(this.facts.id),
        model: this.facts.model,
        provider: this.provider,
        ...ending.loss.reported,
      });
    const settlement = this.#endedWith(ending);
    this.#settlement = settlement;
    const settled = this.#ledger.settle(
      settlement,
      () => (onTimeout === ending ? settlement : this.#endedWith(onTimeout)),
      this.#attemptEndedAtMs === null ? 0 : performance.now() - this.#attemptEndedAtMs,
    );
    return settled.then((result) => {
      this.#result = result;
      return result;
    });
  }

  summary(): GenerationSummary {
    const { workload, accountId, keyId, model, createdAtMs } = this.facts;
    const settlement = this.#settlement;
    const usage = settlement?.usage;
    const cost = settlement?.cost ?? null;
    return {
      operation: operations[workload] ?? workload,
      accountId,
      keyId,
      model,
      provider: this.provider,
      status: settlement?.status ?? null,
      code: settlement?.errorCode ?? null,
      inputTokens: usage?.inputTokens ?? 0,
      outputTokens: usage?.outputTokens ?? 0,
      cached: usage?.cached ?? null,
      costUsd: this.#result === 'settled' && cost !== null ? Number(cost.total) / 1e12 : null,
      unchargedProviders: this.#unchargedProviders(),
      lossReason: this.#result === 'short' ? 'insufficient_balance' : (settlement?.loss?.reason ?? null),
      isContradictory: (settlement?.loss?.counts ?? null) !== null,
      firstTokenMs: this.#firstTokenAtMs === null ? null : this.#firstTokenAtMs - createdAtMs,
      isEarly: this.#cancellation !== null,
      attempts: this.#attempts,
    };
  }

  #unchargedProviders(): readonly string[] {
    const { cost = null, onInsufficientBalance } = this.#settlement ?? {};
    // What was delivered is charged late, short or when its dead letter is retried, unless the ledger has given it up.
    const isDue = onInsufficientBalance === 'write_off' && this.#result !== 'interrupted';
    const isCharged = cost !== null && (this.#result === 'settled' || isDue);
    if (isCharged && this.#attempts.length === 1) return noProviders;
    const attempts = isCharged ? this.#attempts.slice(0, -1) : this.#attempts;
    return attempts.flatMap(({ uncharged, provider }) => (uncharged === null ? [] : [provider]));
  }

  /** Gives the permit back: no provider was called. */
  withdraw(code: ErrorCode | null = null): void {
    if (this.#current !== null) this.#endAttempt('cancelled', null, code, false)?.permit.withdrawn();
  }

  /** For a client that left before a provider was called: it is not charged. */
  async abandon(): Promise<void> {
    this.withdraw();
    await this.settle({ ...failure('internal_error'), status: 'cancelled', errorCode: null });
  }

  /** Every attempt ends exactly once. The caller ends the permit of what this returns, too. */
  #endAttempt(
    status: 'succeeded' | 'failed' | 'cancelled',
    upstreamStatus: number | null,
    errorCode: ErrorCode | null,
    isBillable: boolean,
  ): PermittedCandidate | null {
    const current = this.#attempts.pop();
    if (current?.status !== 'in_progress') throw new Error('There is no attempt in progress.');
    const uncharged = isBillable ? this.#used : null;
    const completedAtMs = Date.now();
    this.#attempts.push({ ...current, status, upstreamStatus, errorCode, completedAtMs, uncharged });
    this.#attemptEndedAtMs = performance.now();
    const ended = this.#current;
    this.#current = null;
    return ended;
  }

  #endedWith(ending: Ending): Settlement {
    const { facts: generation, provider } = this;
    const known = {
      generation,
      isHeld: true,
      provider,
      attempts: [...this.#attempts],
      firstTokenAtMs: this.#firstTokenAtMs,
      finishReason: this.#finishReason,
      tokens: this.#tokens,
    };
    return settlementOf(known, ending);
  }
}

const noProviders: readonly string[] = [];

/** The names of OpenTelemetry's conventions. */
const operations: Readonly<Record<string, string>> = { chat: 'chat', image: 'generate_content' };

function openAttempt(index: number, { candidate }: PermittedCandidate, startedAtMs: number): Attempt {
  return {
    index,
    provider: candidate.connection.provider.name,
    status: 'in_progress',
    startedAtMs,
    completedAtMs: null,
    upstreamStatus: null,
    errorCode: null,
    uncharged: null,
  };
}

/**
 * Settles a response that has not been delivered yet. It may be delivered only when this returns: otherwise the hold is
 * released, nothing is charged, and the error is thrown.
 */
export async function settleBeforeDelivery(
  generation: OpenGeneration,
  ending: Ending,
  onAlreadyCharged: Ending['onAlreadyCharged'],
): Promise<void> {
  const withheld: Ending = { ...failure('billing_consistency_error', 'interrupted'), onAlreadyCharged };
  const code = errorOf[await generation.settle(ending, withheld)];
  if (code !== null) throw new ApiError(code);
}

/** Settles what has been delivered already, and returns the error still to be sent to the client, if any. */
export async function settleAfterDelivery(
  generation: OpenGeneration,
  ending: Ending,
): Promise<ErrorCode | null> {
  const result = await generation.settle(ending);
  return result === 'late' ? 'billing_temporarily_unavailable' : errorOf[result];
}

const errorOf: Readonly<Record<SettlementResult | 'late', ErrorCode | null>> = {
  settled: null,
  short: 'insufficient_balance',
  interrupted: 'billing_consistency_error',
  set_aside: 'billing_consistency_error',
  late: 'billing_consistency_error',
};
