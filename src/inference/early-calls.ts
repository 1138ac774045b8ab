/**
 * Calls to providers that start while the holds of their requests are still being committed. Nothing of such a call reaches
 * the client before that, and a call for which nothing is held is cancelled. Then a provider may bill what no customer is
 * charged for, so the number of such calls is bounded.
 */
import type { GenerationFacts, Held, ProviderUsage } from '../ledger/operations.ts';
import type { Outlook } from '../ledger/outlook.ts';
import type { Money } from '../lib/money.ts';
import { Tally } from '../lib/tally.ts';
import { ProviderError } from '../providers/upstream.ts';
import type { Candidate } from '../routing/candidates.ts';
import type { OpenGeneration } from './generation.ts';
import { mayBeBilled } from './uncharged.ts';
import type { Exchange } from './workload.ts';

/** Whose holds are not committed yet. */
const maxPerAccount = 32;
const maxPerNode = 1_024;

/** Why nothing is held for a call: its hold was denied, was not committed, or is smaller than was expected. */
type CancelReason = 'denied' | 'not_committed' | 'smaller_hold';

/** A call that a provider may bill, apart from any Generation. */
export type CancelledCall = Readonly<{
  generation: GenerationFacts;
  provider: string;
  reason: CancelReason;
  endedAtMs: number;
  used: ProviderUsage;
}>;

type EarlyCallServices = Readonly<{
  outlook: Pick<Outlook, 'surprised'>;
  /** An answer waits for its hold. */
  hurry: () => void;
  /** Must not wait for anything. */
  record: (call: CancelledCall) => void;
  onStart?: (provider: string) => void;
  onCancel?: (provider: string) => void;
}>;

/** The early calls of a node. */
export class EarlyCalls {
  readonly #isOn: boolean;
  readonly #services: EarlyCallServices;
  readonly #byAccount = new Tally();
  #count = 0;

  constructor(isOn: boolean, services: EarlyCallServices) {
    this.#isOn = isOn;
    this.#services = services;
  }

  /** Null where calls have to wait for their holds. */
  to<Job, Opened>(
    candidate: Candidate,
    generation: OpenGeneration,
    exchange: Exchange<Job, Opened>,
    accept: (amount: Money) => Job,
  ): EarlyCall<Job, Opened> | null {
    if (!this.#isOn || candidate.connection.provider.holdsFirst) return null;
    return new EarlyCall(this, this.#services, candidate, generation, exchange, accept);
  }

  /** Takes a slot, if there is one. */
  enter(accountId: string): boolean {
    if (this.#count >= maxPerNode || this.#byAccount.of(accountId) >= maxPerAccount) return false;
    this.#count += 1;
    this.#byAccount.add(accountId, 1);
    return true;
  }

  leave(accountId: string): void {
    this.#count -= 1;
    this.#byAccount.add(accountId, -1);
  }
}

/** What a provider was asked for, counting on a hold of this amount, and what has become of it. */
type Begun<Job, Opened> = {
  readonly amount: Money;
  readonly job: Job;
  readonly opening: Promise<Opened>;
  outcome: Readonly<{ opened: Opened } | { error: unknown }> | null;
};

/** The first attempt of a request, which may start early. It ends in `held` or in `cancel`. */
export class EarlyCall<Job, Opened> {
  readonly #calls: EarlyCalls;
  readonly #services: EarlyCallServices;
  readonly #candidate: Candidate;
  readonly #generation: OpenGeneration;
  readonly #exchange: Exchange<Job, Opened>;
  readonly #accept: (amount: Money) => Job;
  #begun: Begun<Job, Opened> | null = null;

  constructor(
    calls: EarlyCalls,
    services: EarlyCallServices,
    candidate: Candidate,
    generation: OpenGeneration,
    exchange: Exchange<Job, Opened>,
    accept: (amount: Money) => Job,
  ) {
    this.#calls = calls;
    this.#services = services;
    this.#candidate = candidate;
    this.#generation = generation;
    this.#exchange = exchange;
    this.#accept = accept;
  }

  /**
   * Returns whether it has started. Never throws: what cannot be started now is tried again when the hold is committed, and
   * fails there if it must.
   */
  start(amount: Money): boolean {
    const { accountId } = this.#generation.facts;
    if (!this.#calls.enter(accountId)) return false;
    const begun = this.#open(amount);
    if (begun === null) {
      this.#calls.leave(accountId);
      return false;
    }
    this.#begun = begun;
    this.#awaitAnswer(begun);
    this.#services.onStart?.(this.#generation.provider);
    return true;
  }

  #open(amount: Money): Begun<Job, Opened> | null {
    try {
      const job = this.#accept(amount);
      this.#generation.startEarly();
      const opening = this.#exchange.open(job, this.#candidate, this.#generation);
      return { amount, job, opening, outcome: null };
    } catch {
      this.#generation.restart();
      return null;
    }
  }

  /** An answer that is there before the hold waits here, and nowhere else. */
  #awaitAnswer(begun: Begun<Job, Opened>): void {
    const end = (outcome: Begun<Job, Opened>['outcome']) => {
      begun.outcome = outcome;
      if (this.#begun === begun) this.#services.hurry();
    };
    begun.opening.then(
      (opened) => end({ opened }),
      (error: unknown) => end({ error }),
    );
  }

  /** The hold is committed. Returns what was begun for it; null when the call has yet to be made. */
  held({ amount, tokens = null }: Held): Readonly<{ job: Job; opening: Promise<Opened> }> | null {
    const begun = this.#take();
    if (begun === null || (begun.amount === amount && tokens === null)) return begun;
    // The answer could cost more than is held now, or use more tokens than a limit that is new allows.
    this.#end(begun);
    this.#services.outlook.surprised({ generation: this.#generation.facts });
    const used = this.#generation.restart();
    if (!isRefused(begun)) this.#record('smaller_hold', used, Date.now());
    return null;
  }

  /** Nothing is held. The attempt ends here, unless no call was made. */
  cancel(reason: 'denied' | 'not_committed'): void {
    if (!this.#abandon()) return;
    const { uncharged, completedAtMs } = this.#generation.attempts.at(-1) ?? {};
    if (uncharged) this.#record(reason, uncharged, completedAtMs ?? Date.now());
  }

  /** Ends the call and its attempt. Returns whether there was a call. */
  #abandon(): boolean {
    const begun = this.#take();
    if (begun === null) return false;
    this.#end(begun);
    const error = begun.outcome !== null && 'error' in begun.outcome ? begun.outcome.error : null;
    if (error instanceof ProviderError) this.#generation.attemptFailed(error);
    else this.#generation.attemptCancelled(null, null);
    return true;
  }

  #take(): Begun<Job, Opened> | null {
    const begun = this.#begun;
    this.#begun = null;
    if (begun !== null) this.#calls.leave(this.#generation.facts.accountId);
    return begun;
  }

  #end({ job, outcome }: Begun<Job, Opened>): void {
    if (outcome !== null && 'opened' in outcome)
      this.#exchange.discard(job, outcome.opened, this.#candidate, this.#generation);
    this.#generation.cancellation?.cancel();
    this.#services.onCancel?.(this.#generation.provider);
  }

  #record(reason: CancelReason, used: ProviderUsage, endedAtMs: number): void {
    const { facts: generation, provider } = this.#generation;
    this.#services.record({ generation, provider, reason, endedAtMs, used });
  }
}

/** Whether the provider says that it did not do the work, or was never reached. */
function isRefused({ outcome }: Begun<unknown, unknown>): boolean {
  return (
    outcome !== null &&
    'error' in outcome &&
    outcome.error instanceof ProviderError &&
    !mayBeBilled(outcome.error)
  );
}
