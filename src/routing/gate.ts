/**
 * What stands between the gateway and one model of one provider: the circuits, everyone's and each account's, the pause
 * that the provider asked for, and how many calls it takes at once. Its state is local to this process and survives a
 * change of the catalogue.
 *
 * Only what no request can cause opens everyone's circuit. Failures that a request may have caused open the circuit of
 * its account. When many accounts fail (`outage.ts`), accounts whose last call succeeded are still let through; the
 * others have to wait for as long as a circuit is open, once, and one failure is enough to open theirs. So nobody's
 * requests can take from an account what works for it, except for the short pauses of `pause.ts`.
 */
import type { Provider } from '../models/model.ts';
import { MachineShortage } from '../providers/machine-shortage.ts';
import type { SetbackKind } from '../providers/upstream.ts';
import {
  beginCall,
  type Circuit,
  canBegin,
  closedCircuit,
  endCall,
  isProbe,
  openUntil,
  type Verdict,
  waitMs,
} from './circuit.ts';
import {
  type CallFailure,
  type CountsFor,
  countsFor,
  pauseSecondsOf,
  rejectsRequest,
  setbackOf,
} from './failures.ts';
import { noOutage, type Outage, outageAfter, Witnesses } from './outage.ts';
import { noPause, type Pause, pausedFor } from './pause.ts';
import type { Share, Slots } from './slots.ts';

/** A provider that asks for a longer pause is tried again after this long, in case it was mistaken. */
const maxPauseMs = 3_600_000;
/** When to look again for a free slot: nobody knows when a call will end. */
const nextLookMs = 1_000;
/** A permitted call waits for its hold first, up to five seconds, and one that does not connect in time fails a moment late. */
const beforeConnectingMs = 10_000;

/** The last failure since a success that only the operator can fix. */
export type Setback = Readonly<{ kind: SetbackKind; upstreamStatus: number | null; at: Date }>;

/** Why a gate is not simply open. Times are by `performance.now()`. */
export type GateStatus = Readonly<{
  /** Half open also after a probe that was answered with a failure: the provider may be called, but nothing has worked yet. */
  state: Circuit['state'];
  consecutiveFailures: number;
  /** When it was shut for everyone, if no call has succeeded since. */
  failingSince: Date | null;
  /** When an open circuit lets a probe through, or a pause is over; null when there is neither, or probes are let through. */
  untilMs: number | null;
  /** How many accounts it is shut for because of their own failures. */
  accountsShut: number;
  setback: Setback | null;
}>;

/**
 * What a gate reports, for the log: a provider is not called for a model for some time, or is back, for one account or,
 * when that is null, for everyone. Or it could not be called because this machine is out of resources.
 */
export type GateEvent = Readonly<{ provider: string; model: string }> &
  (
    | Readonly<{ kind: 'opened' | 'paused' | 'closed'; pauseMs: number; account: string | null }>
    | Readonly<{ kind: 'short'; shortage: string }>
  );

export type GateObserver = (event: GateEvent) => void;

export class Gate {
  readonly #model: string;
  readonly #slots: Slots;
  readonly #observer: GateObserver;
  readonly #records = new AccountRecords();
  readonly #witnesses = new Witnesses();
  #provider: Provider;
  #circuit: Circuit = closedCircuit;
  /** When the last probe of that circuit began. */
  #probedAtMs = 0;
  #outage: Outage = noOutage;
  #pause: Pause = noPause;
  #consecutiveFailures = 0;
  #failingSince: Date | null = null;
  #setback: Setback | null = null;

  constructor(provider: Provider, model: string, slots: Slots, observer: GateObserver) {
    this.#provider = provider;
    this.#model = model;
    this.#slots = slots;
    this.#observer = observer;
  }

  /** Takes over the settings of a new catalogue. */
  configure(provider: Provider): void {
    this.#provider = provider;
  }

  /** Lets a call of an account through, or returns null when the provider must not be called now. The caller must end the permit. */
  enter(account: string, isWitness = true): Permit | null {
    const nowMs = performance.now();
    if (this.#isShut(account, nowMs)) return null;
    const slot = this.#slots.take(account, this.#provider.maxConcurrency, nowMs);
    if (slot === null) return null;
    if (this.#circuit.state === 'open') this.#probedAtMs = nowMs;
    this.#circuit = beginCall(this.#circuit);
    const before = this.#circuitOf(account, nowMs);
    const own = beginCall(before);
    if (own !== before) this.#records.findOrAdd(account).circuit = own;
    return new Permit(this, account, isWitness, slot, this.#circuit.era, own.era);
  }

  /** An account that got no slot, although money is held for its call, gets one before those with their full share. */
  turnAway(account: string): void {
    const nowMs = performance.now();
    if (!this.#isShut(account, nowMs)) this.#slots.turnAway(account, nowMs);
  }

  #isShut(account: string, nowMs: number): boolean {
    this.#noteConnected(nowMs);
    if (nowMs < this.#pause.untilMs || !canBegin(this.#circuit, nowMs)) return true;
    const pausedUntilMs = this.#records.find(account)?.pausedUntilMs ?? 0;
    return nowMs < pausedUntilMs || !canBegin(this.#circuitOf(account, nowMs), nowMs);
  }

  /** A probe that would have failed to connect by now has been connected. Whoever made it must not keep others waiting. */
  #noteConnected(nowMs: number): void {
    const before = this.#circuit;
    const connectedAtMs = this.#probedAtMs + beforeConnectingMs + this.#provider.timeouts.connectMs;
    if (before.state !== 'half_open' || nowMs < connectedAtMs) return;
    this.#circuit = endCall(before, before.era, 'success', this.#provider.circuit, nowMs);
    this.#reportChange(before, this.#circuit, null, nowMs);
  }

  /** The account's own circuit. When an outage begins, it is open for those who are not being served. */
  #circuitOf(account: string, nowMs: number): Circuit {
    const own = this.#records.find(account)?.circuit ?? closedCircuit;
    const untilMs = this.#outageUntilMs();
    const isDoubtful = nowMs < untilMs && !this.#witnesses.isServed(account, nowMs);
    return isDoubtful && own.state === 'closed' ? openUntil(own, untilMs) : own;
  }

  /** Until when an outage keeps those out who are not being served; 0 without one. */
  #outageUntilMs(): number {
    return this.#outage.isOn ? this.#outage.startedAtMs + this.#provider.circuit.openMs : 0;
  }

  /** How long until this account should try again. */
  waitMs(account: string): number {
    const nowMs = performance.now();
    const hasSlot = this.#slots.hasSlotFor(account, this.#provider.maxConcurrency, nowMs);
    return Math.max(
      this.#pause.untilMs - nowMs,
      waitMs(this.#circuit, nowMs),
      (this.#records.find(account)?.pausedUntilMs ?? 0) - nowMs,
      waitMs(this.#circuitOf(account, nowMs), nowMs),
      hasSlot ? 0 : nextLookMs,
    );
  }

  /** Null when nothing is known against the provider. */
  status(nowMs: number): GateStatus | null {
    // Without calls, nothing else would notice that an outage is over.
    this.#weighOutage(nowMs);
    const circuit = this.#circuit;
    const failingSince = this.#failingSince;
    const state = this.#stateForReaders();
    const consecutiveFailures = this.#consecutiveFailures;
    const openUntilMs = circuit.state === 'open' ? circuit.untilMs : 0;
    const times = [this.#outageUntilMs(), this.#pause.untilMs].filter((untilMs) => untilMs > nowMs);
    const untilMs = Math.max(openUntilMs, ...times);
    const accountsShut = this.#records.countShut(nowMs);
    const setback = this.#setback;
    const isWell = state === 'closed' && untilMs === 0 && consecutiveFailures === 0;
    if (isWell && accountsShut === 0 && setback === null) return null;
    return {
      state,
      consecutiveFailures,
      failingSince,
      untilMs: untilMs === 0 ? null : untilMs,
      accountsShut,
      setback,
    };
  }

  /** What works is known only after a success. For calls, any answer to a probe is enough. */
  #stateForReaders(): Circuit['state'] {
    if (this.#circuit.state !== 'closed') return this.#circuit.state;
    if (this.#outage.isOn) return 'open';
    return this.#failingSince === null ? 'closed' : 'half_open';
  }

  noteAnswer(call: Permit): void {
    const nowMs = performance.now();
    if (isProbe(this.#circuit, call.era)) this.#noteForEveryone(call, 'success', nowMs);
    if (this.#isOwnProbe(call)) this.#noteForAccount(call, 'success', nowMs);
  }

  noteSuccess(call: Permit): void {
    const nowMs = performance.now();
    this.#setback = null;
    // A call from before the circuit opened proves nothing about the time since.
    if (call.era === this.#circuit.era) this.#failingSince = null;
    this.#noteForEveryone(call, 'success', nowMs);
    this.#witnesses.noteSuccess(call.account, nowMs);
    // It can end an outage, but not begin one.
    if (this.#outage.isOn) this.#weighOutage(nowMs);
    this.#noteForAccount(call, 'success', nowMs);
  }

  noteNothing(call: Permit): void {
    const nowMs = performance.now();
    this.#noteForEveryone(call, 'nothing', nowMs);
    this.#noteForAccount(call, 'nothing', nowMs);
  }

  /** This machine could not make the call; the provider is not to blame. */
  noteShortage(call: Permit, shortage: string): void {
    this.noteNothing(call);
    this.#observer({ provider: this.#provider.name, model: this.#model, kind: 'short', shortage });
  }

  noteFailure(call: Permit, failure: CallFailure): void {
    const nowMs = performance.now();
    if (rejectsRequest(failure)) this.noteAnswer(call);
    const pauseMs = Math.min(pauseSecondsOf(failure) * 1000, maxPauseMs);
    if (pauseMs > 0) this.#notePause(call, pauseMs, nowMs);
    const kind = setbackOf(failure);
    if (kind !== null) this.#setback = { kind, upstreamStatus: failure.upstreamStatus, at: new Date() };
    this.#countFailure(call, countsFor(failure), nowMs);
  }

  leave({ slot }: Permit): void {
    this.#slots.leave(slot);
  }

  #countFailure(call: Permit, whom: CountsFor, nowMs: number): void {
    if (whom === 'everyone') this.#noteForEveryone(call, 'failure', nowMs);
    // Any other failure shows that the provider was reached, with a key that it knows: all that a probe can find out.
    else this.#noteForEveryone(call, isProbe(this.#circuit, call.era) ? 'success' : 'nothing', nowMs);
    if (whom === 'account') {
      if (call.isWitness) this.#consecutiveFailures += 1;
      this.#witnesses.noteFailure(call.account, call.isWitness, nowMs);
      this.#weighOutage(nowMs);
    }
    this.#noteForAccount(call, whom === 'account' ? 'failure' : 'nothing', nowMs);
  }

  #isOwnProbe({ account, accountEra }: Permit): boolean {
    const record = this.#records.find(account);
    return record !== undefined && isProbe(record.circuit, accountEra);
  }

  #weighOutage(nowMs: number): void {
    const { circuit } = this.#provider;
    const before = this.#outage;
    this.#outage = outageAfter(before, this.#witnesses.areManyFailing(circuit, nowMs), circuit, nowMs);
    if (before.isOn === this.#outage.isOn) return;
    if (this.#outage.isOn) this.#failingSince ??= new Date();
    if (this.#outage.isOn) this.#report('opened', circuit.openMs, null);
    else this.#report('closed', 0, null);
  }

  #noteForEveryone(call: Permit, verdict: Verdict, nowMs: number): void {
    const before = this.#circuit;
    if (call.era !== before.era) return;
    if (verdict === 'success') this.#consecutiveFailures = 0;
    else if (verdict === 'failure') this.#consecutiveFailures += 1;
    this.#circuit = endCall(before, call.era, verdict, this.#provider.circuit, nowMs);
    call.era = this.#circuit.era;
    if (verdict === 'failure' && this.#circuit.state === 'open') this.#failingSince ??= new Date();
    this.#reportChange(before, this.#circuit, null, nowMs);
  }

  #noteForAccount(call: Permit, verdict: Verdict, nowMs: number): void {
    const { account } = call;
    const record = verdict === 'failure' ? this.#records.findOrAdd(account) : this.#records.find(account);
    if (record === undefined) return;
    const { circuit: settings } = this.#provider;
    const ownSettings = this.#outage.isOn ? { ...settings, failures: 1 } : settings;
    const before = record.circuit;
    record.circuit = endCall(before, call.accountEra, verdict, ownSettings, nowMs);
    if (call.accountEra === before.era) call.accountEra = record.circuit.era;
    this.#reportChange(before, record.circuit, account, nowMs);
  }

  #notePause({ account, isWitness }: Permit, pauseMs: number, nowMs: number): void {
    if (isWitness) this.#pause = pausedFor(this.#pause, pauseMs, nowMs);
    const record = this.#records.findOrAdd(account);
    record.pausedUntilMs = Math.max(record.pausedUntilMs, nowMs + pauseMs);
    this.#report('paused', pauseMs, account);
  }

  #reportChange(before: Circuit, after: Circuit, account: string | null, nowMs: number): void {
    if (before.state === after.state) return;
    const pauseMs = Math.round(waitMs(after, nowMs));
    // After an inconclusive probe the next one may follow at once: nothing has changed.
    if (after.state !== 'closed' && pauseMs === 0) return;
    this.#report(after.state === 'open' ? 'opened' : 'closed', pauseMs, account);
  }

  #report(kind: 'opened' | 'paused' | 'closed', pauseMs: number, account: string | null): void {
    this.#observer({ provider: this.#provider.name, model: this.#model, kind, pauseMs, account });
  }
}

/** The right to one call. Only its gate uses its properties. */
export class Permit {
  readonly account: string;
  /** Whether the account's failures may, together with those of many others, concern everyone. */
  readonly isWitness: boolean;
  readonly slot: Share;
  /** The eras of the circuits, everyone's and the account's own, in which the call began or goes on. */
  era: number;
  accountEra: number;
  readonly #gate: Gate;
  #isEnded = false;

  constructor(gate: Gate, account: string, isWitness: boolean, slot: Share, era: number, accountEra: number) {
    this.#gate = gate;
    this.account = account;
    this.isWitness = isWitness;
    this.slot = slot;
    this.era = era;
    this.accountEra = accountEra;
  }

  /** The provider has begun to answer. That is all a probe has to find out: a long answer must not keep others waiting. */
  answered(): void {
    this.#gate.noteAnswer(this);
  }

  succeeded(): void {
    this.#end();
    this.#gate.noteSuccess(this);
  }

  /** The call never began, or the gateway ended it. */
  withdrawn(): void {
    this.#end();
    this.#gate.noteNothing(this);
  }

  failed(failure: CallFailure): void {
    this.#end();
    if (failure instanceof MachineShortage) this.#gate.noteShortage(this, failure.shortage);
    else this.#gate.noteFailure(this, failure);
  }

  #end(): void {
    if (this.#isEnded) throw new Error('The call has ended already.');
    this.#isEnded = true;
    this.#gate.leave(this);
  }
}

type AccountRecord = {
  circuit: Circuit;
  /** Until when the provider asked this account to wait. */
  pausedUntilMs: number;
};

/** Whether a call of the account would not be let through now. */
function isShutFor({ circuit, pausedUntilMs }: AccountRecord, nowMs: number): boolean {
  return nowMs < pausedUntilMs || !canBegin(circuit, nowMs);
}

/** Beyond this the account that failed longest ago starts over. */
const maxRecords = 500;

/** How individual accounts fare with the provider: only those whose calls have failed, and a bounded number of them. */
class AccountRecords {
  readonly #records = new Map<string, AccountRecord>();

  /** Undefined for an account without failures. */
  find(account: string): AccountRecord | undefined {
    return this.#records.get(account);
  }

  /** For an account whose call has just failed. */
  findOrAdd(account: string): AccountRecord {
    const record = this.#records.get(account) ?? { circuit: closedCircuit, pausedUntilMs: 0 };
    // Moved to the end, so that the first is always the one that failed longest ago.
    this.#records.delete(account);
    this.#records.set(account, record);
    if (this.#records.size > maxRecords) {
      const [oldest = ''] = this.#records.keys();
      this.#records.delete(oldest);
    }
    return record;
  }

  /** How many accounts the provider is shut for because of their own failures. */
  countShut(nowMs: number): number {
    let count = 0;
    for (const record of this.#records.values()) if (isShutFor(record, nowMs)) count += 1;
    return count;
  }
}
