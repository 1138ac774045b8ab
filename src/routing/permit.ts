/** The right to one call. */
import { MachineShortage } from '../providers/machine-shortage.ts';
import type { CallFailure } from './failures.ts';
import type { Gate } from './gate.ts';
import type { Share } from './slots.ts';

/** One call that was let through. Only its gate uses its properties. */
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
