/**
 * What stands between the gateway and one model of one provider: the circuit, the pause that the provider asked for,
 * and how many calls it takes at once. Its memory is this process's own and outlives a change of the catalogue.
 */
import type { ErrorCode } from '../errors.ts';
import type { Provider } from '../models/model.ts';
import type { ProviderError } from '../providers/upstream.ts';
import { beginCall, type Circuit, closedCircuit, endCall, type Verdict, waitMs } from './circuit.ts';

/** A provider that asks for more is asked again after this long, in case it was mistaken. */
const longestPauseMs = 3_600_000;
/** When a call may end is not known; this is when to look again. */
const nextLookMs = 1_000;

/** The calls to one provider that are under way, for all its models. */
type Load = { calls: number };

/** Told when a provider begins to be left alone with a model, for how long and why, and when it is back. */
export type GateObserver = (
  change: 'opened' | 'paused' | 'closed',
  provider: string,
  model: string,
  pauseMs: number,
) => void;

/** Why a gate is not simply open. Times are of `performance.now()`. */
export type GateStatus = Readonly<{
  state: Circuit['state'];
  consecutiveFailures: number;
  /** When an open circuit lets a probe through, or a pause is over; null when neither is waited for. */
  untilMs: number | null;
}>;

export class Gate {
  readonly #model: string;
  readonly #load: Load;
  readonly #observer: GateObserver;
  #provider: Provider;
  #circuit: Circuit = closedCircuit;
  #pausedUntilMs = 0;
  #consecutiveFailures = 0;

  constructor(provider: Provider, model: string, load: Load, observer: GateObserver) {
    this.#provider = provider;
    this.#model = model;
    this.#load = load;
    this.#observer = observer;
  }

  /** The settings of the catalogue in force. */
  configure(provider: Provider): void {
    this.#provider = provider;
  }

  /** Lets a call through, or null when the provider is to be left alone. Who gets a permit must end it. */
  enter(): Permit | null {
    const nowMs = performance.now();
    if (nowMs < this.#pausedUntilMs || this.#isFull()) return null;
    const { circuit, isAllowed } = beginCall(this.#circuit, nowMs);
    this.#circuit = circuit;
    if (!isAllowed) return null;
    this.#load.calls += 1;
    return new Permit(this, circuit.era);
  }

  /** How long until another look is worthwhile. */
  waitMs(): number {
    const nowMs = performance.now();
    const pauseMs = Math.max(0, this.#pausedUntilMs - nowMs);
    return Math.max(pauseMs, waitMs(this.#circuit, nowMs), this.#isFull() ? nextLookMs : 0);
  }

  /** Null when nothing is known against the provider. */
  status(nowMs: number): GateStatus | null {
    const { state } = this.#circuit;
    const consecutiveFailures = this.#consecutiveFailures;
    const isPaused = nowMs < this.#pausedUntilMs;
    if (state === 'closed' && !isPaused && consecutiveFailures === 0) return null;
    const openUntilMs = this.#circuit.state === 'open' ? this.#circuit.untilMs : 0;
    const untilMs = Math.max(openUntilMs, isPaused ? this.#pausedUntilMs : 0);
    return { state, consecutiveFailures, untilMs: untilMs === 0 ? null : untilMs };
  }

  /** What a call has told so far; the era in which it goes on. */
  note(era: number, verdict: Verdict): number {
    const before = this.#circuit;
    if (era === before.era) this.#count(verdict);
    this.#circuit = endCall(before, era, verdict, this.#provider.circuit, performance.now());
    this.#tellOfChange(before.state);
    return era === before.era ? this.#circuit.era : era;
  }

  /** Whether the call that began in this era is the one that finds out whether the provider is back. */
  isProbe(era: number): boolean {
    return this.#circuit.state === 'half_open' && this.#circuit.era === era;
  }

  pause(seconds: number): void {
    const untilMs = performance.now() + Math.min(seconds * 1000, longestPauseMs);
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, untilMs);
    this.#observer('paused', this.#provider.name, this.#model, seconds * 1000);
  }

  leave(): void {
    this.#load.calls -= 1;
  }

  #count(verdict: Verdict): void {
    if (verdict === 'success') this.#consecutiveFailures = 0;
    else if (verdict === 'failure') this.#consecutiveFailures += 1;
  }

  #tellOfChange(before: Circuit['state']): void {
    const { state } = this.#circuit;
    if (before === state) return;
    const pauseMs = Math.round(waitMs(this.#circuit, performance.now()));
    // A probe that found out nothing makes way for the next at once: nothing has changed.
    if (state === 'closed' || pauseMs > 0)
      this.#observer(state === 'open' ? 'opened' : 'closed', this.#provider.name, this.#model, pauseMs);
  }

  #isFull(): boolean {
    return this.#load.calls >= this.#provider.maxConcurrency;
  }
}

type CallFailure = Pick<ProviderError, 'code' | 'retryAfterSeconds' | 'isProvoked'>;

/** Only these say something about the calls after them. */
const asksForPause: ReadonlySet<ErrorCode> = new Set(['provider_rate_limit', 'provider_unavailable']);

/** What a request can bring about by itself must not shut a provider for everyone else. */
const provokedByClients: ReadonlySet<ErrorCode> = new Set([
  'provider_bad_request',
  'repeated_streaming_chunk_limit',
]);

/** One call that was let through. */
export class Permit {
  readonly #gate: Gate;
  #era: number;
  #isEnded = false;

  constructor(gate: Gate, era: number) {
    this.#gate = gate;
    this.#era = era;
  }

  /** The provider has begun to answer. That is all a probe is to find out: a long answer must not keep others waiting. */
  answered(): void {
    if (this.#gate.isProbe(this.#era)) this.#era = this.#gate.note(this.#era, 'success');
  }

  succeeded(): void {
    this.#end('success');
  }

  /** The client left, or the call never began. */
  withdrawn(): void {
    this.#end('nothing');
  }

  failed({ code, retryAfterSeconds, isProvoked }: Readonly<CallFailure>): void {
    // A provider that refuses a request works.
    if (code === 'provider_bad_request') this.answered();
    const pauseSeconds = asksForPause.has(code) ? (retryAfterSeconds ?? 0) : 0;
    if (pauseSeconds > 0) this.#gate.pause(pauseSeconds);
    // One that says how long to wait is paused and not broken.
    const isPaused = code === 'provider_rate_limit' && pauseSeconds > 0;
    this.#end(isPaused || isProvoked || provokedByClients.has(code) ? 'nothing' : 'failure');
  }

  #end(verdict: Verdict): void {
    if (this.#isEnded) throw new Error('The call has ended already.');
    this.#isEnded = true;
    this.#gate.note(this.#era, verdict);
    this.#gate.leave();
  }
}

/** One gate for each provider and model, the same one for as long as the process lives. */
export class Gates {
  readonly #gates = new Map<string, Gate>();
  readonly #loads = new Map<string, Load>();
  readonly #observer: GateObserver;

  constructor(observer: GateObserver = () => undefined) {
    this.#observer = observer;
  }

  /** With another address or another key it is another provider, of which nothing is known yet. */
  at(provider: Provider, model: string, apiKey: string | null = null): Gate {
    const name = JSON.stringify([provider.id, provider.baseUrl, `${Bun.hash(apiKey ?? '')}`, model]);
    const gate =
      this.#gates.get(name) ?? new Gate(provider, model, this.#loadOf(provider.id), this.#observer);
    this.#gates.set(name, gate);
    gate.configure(provider);
    return gate;
  }

  #loadOf(providerId: string): Load {
    const load = this.#loads.get(providerId) ?? { calls: 0 };
    this.#loads.set(providerId, load);
    return load;
  }
}
