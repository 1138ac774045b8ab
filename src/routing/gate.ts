/**
 * What stands between the gateway and one model of one provider: the circuits, everyone's and each account's, the pause
 * that the provider asked for, and how many calls it takes at once. Its state is local to this process and survives a
 * change of the catalogue.
 */
import type { Provider } from '../models/model.ts';
import { MachineShortage } from '../providers/machine-shortage.ts';
import { type AccountRecord, AccountRecords, isShutFor } from './account-records.ts';
import {
  beginCall,
  type Circuit,
  canBegin,
  closedCircuit,
  endCall,
  isProbe,
  shutCircuit,
  type Verdict,
  waitMs,
} from './circuit.ts';
import {
  type CallFailure,
  type Finding,
  findingOf,
  pauseSecondsOf,
  rejectsRequest,
  type SetbackKind,
  setbackOf,
} from './findings.ts';
import { noPause, type Pause, pausedFor } from './pause.ts';
import type { Share, Slots } from './slots.ts';

/** A provider that asks for more is tried again after this long, in case it was mistaken. */
const maxPauseMs = 3_600_000;
/** When to look again for a free slot: nobody knows when a call will end. */
const nextLookMs = 1_000;

/** The last failure since a success that only the operator can fix. */
export type Setback = Readonly<{ kind: SetbackKind; upstreamStatus: number | null; at: Date }>;

/** Why a gate is not simply open. Times are of `performance.now()`. */
export type GateStatus = Readonly<{
  state: Circuit['state'];
  consecutiveFailures: number;
  /** When an open circuit lets a probe through, or a pause is over; null when there is neither. */
  untilMs: number | null;
  /** How many accounts it is shut for because of their own failures. */
  accountsShut: number;
  setback: Setback | null;
}>;

/**
 * What a gate reports, for the log: a provider is not called for a model for some time, or is back, for one account or,
 * when that is null, for everyone. Or it could not be called because this machine is short of something.
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
  #provider: Provider;
  #circuit: Circuit = closedCircuit;
  #pause: Pause = noPause;
  #consecutiveFailures = 0;
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
    const record = this.#records.find(account);
    if (this.#isShut(record, nowMs)) return null;
    const slot = this.#slots.take(account, this.#provider.maxConcurrency, nowMs);
    if (slot === null) return null;
    this.#circuit = beginCall(this.#circuit);
    if (record !== undefined) record.circuit = beginCall(record.circuit);
    const { era } = record?.circuit ?? closedCircuit;
    return new Permit(this, account, isWitness, slot, this.#circuit.era, era);
  }

  /** An account that was not let through, though its call was paid for, gets a slot before those with their full share. */
  turnAway(account: string): void {
    const nowMs = performance.now();
    if (!this.#isShut(this.#records.find(account), nowMs)) this.#slots.turnAway(account, nowMs);
  }

  #isShut(record: AccountRecord | undefined, nowMs: number): boolean {
    if (nowMs < this.#pause.untilMs || !canBegin(this.#circuit, nowMs)) return true;
    return record !== undefined && isShutFor(record, nowMs);
  }

  /** How long until this account should try again. */
  waitMs(account: string): number {
    const nowMs = performance.now();
    const record = this.#records.find(account);
    const hasSlot = this.#slots.hasSlotFor(account, this.#provider.maxConcurrency, nowMs);
    return Math.max(
      this.#pause.untilMs - nowMs,
      waitMs(this.#circuit, nowMs),
      (record?.pausedUntilMs ?? 0) - nowMs,
      waitMs(record?.circuit ?? closedCircuit, nowMs),
      hasSlot ? 0 : nextLookMs,
    );
  }

  /** Null when nothing is known against the provider. */
  status(nowMs: number): GateStatus | null {
    const { state } = this.#circuit;
    const consecutiveFailures = this.#consecutiveFailures;
    const isPaused = nowMs < this.#pause.untilMs;
    const accountsShut = this.#records.countShut(nowMs);
    const setback = this.#setback;
    const isWell = state === 'closed' && !isPaused && consecutiveFailures === 0;
    if (isWell && accountsShut === 0 && setback === null) return null;
    const openUntilMs = this.#circuit.state === 'open' ? this.#circuit.untilMs : 0;
    const untilMs = Math.max(openUntilMs, isPaused ? this.#pause.untilMs : 0);
    return { state, consecutiveFailures, untilMs: untilMs === 0 ? null : untilMs, accountsShut, setback };
  }

  noteAnswer(call: Permit): void {
    const nowMs = performance.now();
    if (isProbe(this.#circuit, call.era)) this.#noteForEveryone(call, 'success', null, nowMs);
    if (this.#isOwnProbe(call)) this.#noteForAccount(call, 'success', nowMs);
  }

  noteSuccess(call: Permit): void {
    const nowMs = performance.now();
    this.#setback = null;
    this.#noteForEveryone(call, 'success', null, nowMs);
    this.#noteForAccount(call, 'success', nowMs);
  }

  noteNothing(call: Permit): void {
    const nowMs = performance.now();
    this.#noteForEveryone(call, 'nothing', null, nowMs);
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
    this.#noteFinding(call, findingOf(failure), nowMs);
  }

  leave({ slot }: Permit): void {
    this.#slots.leave(slot);
  }

  #noteFinding(call: Permit, finding: Finding, nowMs: number): void {
    const { account, era, isWitness } = call;
    const before = this.#circuit;
    const by = finding === 'account' ? account : null;
    const counts = finding === 'everyone' || (finding === 'account' && isWitness);
    this.#noteForEveryone(call, counts ? 'failure' : 'nothing', by, nowMs);
    const wasProbe = before.state === 'half_open' && before.era === era;
    if (wasProbe && finding === 'account' && !this.#isOwnProbe(call))
      this.#shutFor(account, before.openings + 1, nowMs);
    else this.#noteForAccount(call, finding === 'account' ? 'failure' : 'nothing', nowMs);
  }

  #isOwnProbe({ account, accountEra }: Permit): boolean {
    const record = this.#records.find(account);
    return record !== undefined && isProbe(record.circuit, accountEra);
  }

  #noteForEveryone(call: Permit, verdict: Verdict, by: string | null, nowMs: number): void {
    const before = this.#circuit;
    if (call.era !== before.era) return;
    if (verdict === 'success') this.#consecutiveFailures = 0;
    else if (verdict === 'failure') this.#consecutiveFailures += 1;
    this.#circuit = endCall(before, call.era, verdict, by, this.#provider.circuit, nowMs);
    call.era = this.#circuit.era;
    this.#reportChange(before, this.#circuit, null, nowMs);
  }

  #noteForAccount(call: Permit, verdict: Verdict, nowMs: number): void {
    const { account } = call;
    const record = verdict === 'failure' ? this.#records.findOrAdd(account) : this.#records.find(account);
    if (record === undefined) return;
    const before = record.circuit;
    record.circuit = endCall(before, call.accountEra, verdict, null, this.#provider.circuit, nowMs);
    if (call.accountEra === before.era) call.accountEra = record.circuit.era;
    this.#reportChange(before, record.circuit, account, nowMs);
  }

  /** For an account whose call failed as everyone's probe: it must not make the next one too. */
  #shutFor(account: string, openings: number, nowMs: number): void {
    const record = this.#records.findOrAdd(account);
    const before = record.circuit;
    record.circuit = shutCircuit(before, openings, this.#provider.circuit, nowMs);
    this.#reportChange(before, record.circuit, account, nowMs);
  }

  #notePause({ account, isWitness }: Permit, pauseMs: number, nowMs: number): void {
    if (isWitness) this.#pause = pausedFor(this.#pause, account, pauseMs, nowMs);
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

/** One call that was let through. Only its gate uses its properties. */
export class Permit {
  readonly account: string;
  /** Whether the account's failures, together with those of others, count for everyone. */
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

  /** The client left, or the call never began. */
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
