/** A Generation while it is open: what was promised for it, which providers were tried, and how it ends. */
import type { ErrorCode } from '../errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Attempt, GenerationFacts, Settlement, SettlementResult } from '../ledger/operations.ts';
import { type Ending, failure, settlementOf } from '../ledger/settlement.ts';
import { requestIdFromUuid } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import type { ProviderError } from '../providers/upstream.ts';
import type { Turn } from '../routing/candidates.ts';
import type { Permit } from '../routing/gate.ts';

export { type Ending, failure };

export class OpenGeneration {
  readonly facts: GenerationFacts;
  readonly #ledger: Ledger;
  readonly #log: Log;
  readonly #attempts: Attempt[];
  /** The provider that was to serve it, when none could be tried. */
  readonly #preferred: string;
  /** Of the attempt in progress. */
  #permit: Permit | null;
  #firstTokenAtMs: number | null = null;

  constructor(
    facts: GenerationFacts,
    preferred: string,
    first: Readonly<{ attempt: Attempt; permit: Permit }> | null,
    ledger: Ledger,
    log: Log,
  ) {
    this.facts = facts;
    this.#preferred = preferred;
    this.#attempts = first === null ? [] : [first.attempt];
    this.#permit = first?.permit ?? null;
    this.#ledger = ledger;
    this.#log = log;
  }

  get attempts(): readonly Attempt[] {
    return this.#attempts;
  }

  get provider(): string {
    return this.#attempts.at(-1)?.provider ?? this.#preferred;
  }

  startAttempt({ candidate, permit }: Turn): void {
    const { name } = candidate.connection.provider;
    this.#attempts.push(openAttempt(this.#attempts.length + 1, name, Date.now()));
    this.#permit = permit;
  }

  attemptSucceeded(upstreamStatus: number): void {
    this.#endAttempt('succeeded', upstreamStatus, null)?.succeeded();
  }

  attemptFailed(failure: ProviderError): void {
    const { code, upstreamStatus } = failure;
    // What a client may never see of it, because another provider takes over, its operator has to know.
    this.#log.warn('attempt failed', {
      requestId: requestIdFromUuid(this.facts.id),
      model: this.facts.model,
      provider: this.provider,
      code,
      ...(upstreamStatus === null ? {} : { upstreamStatus }),
    });
    this.#endAttempt('failed', upstreamStatus, code)?.failed(failure);
  }

  /** It ended for a reason that is not the provider's. */
  attemptCancelled(upstreamStatus: number | null, code: ErrorCode | null = null): void {
    this.#endAttempt('cancelled', upstreamStatus, code)?.withdrawn();
  }

  noteFirstToken(): void {
    this.#firstTokenAtMs ??= Date.now();
    this.#permit?.answered();
  }

  /** `late` means that the database is away; the settlement goes on, as `whenLate` if that is another ending. */
  settle(ending: Ending, whenLate: Ending = ending): Promise<SettlementResult | 'late'> {
    if (ending.loss !== null && ending.loss.reported !== null)
      this.#log.warn('implausible usage reported', {
        requestId: requestIdFromUuid(this.facts.id),
        model: this.facts.model,
        provider: this.provider,
        ...ending.loss.reported,
      });
    return this.#ledger.settle(this.#settlement(ending), () => this.#settlement(whenLate));
  }

  /** For a client that left before anything was asked of a provider: it is not charged. */
  async abandon(): Promise<void> {
    if (this.#permit !== null) this.attemptCancelled(null);
    await this.settle({ ...failure('internal_error'), status: 'cancelled', errorCode: null });
  }

  /** Every attempt ends exactly once, and its gate hears of it. */
  #endAttempt(
    status: 'succeeded' | 'failed' | 'cancelled',
    upstreamStatus: number | null,
    errorCode: ErrorCode | null,
  ): Permit | null {
    const current = this.#attempts.pop();
    if (current?.status !== 'in_progress') throw new Error('There is no attempt in progress.');
    this.#attempts.push({ ...current, status, upstreamStatus, errorCode, completedAtMs: Date.now() });
    const permit = this.#permit;
    this.#permit = null;
    return permit;
  }

  #settlement(ending: Ending): Settlement {
    return settlementOf(
      {
        generation: this.facts,
        provider: this.provider,
        attempts: [...this.#attempts],
        firstTokenAtMs: this.#firstTokenAtMs,
      },
      ending,
    );
  }
}

export function openAttempt(index: number, provider: string, startedAtMs: number): Attempt {
  return {
    index,
    provider,
    status: 'in_progress',
    startedAtMs,
    completedAtMs: null,
    upstreamStatus: null,
    errorCode: null,
  };
}
