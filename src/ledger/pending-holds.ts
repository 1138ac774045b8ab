/**
 * How far a hold has come. One that `waits` is not in the database; once it is `sent`, it may be. The client of one that was
 * `given up` has its response, and it is never sent.
 */
import type { Hold, Operation } from './operations.ts';

type State = 'waits' | 'sent' | 'given up';

export class PendingHolds {
  readonly #states = new WeakMap<Operation, State>();

  begin(hold: Hold): void {
    this.#states.set(hold, 'waits');
  }

  /** False for one that was sent: what it holds has to be released once that is known. */
  giveUp(hold: Hold): boolean {
    if (this.#states.get(hold) === 'sent') return false;
    this.#states.set(hold, 'given up');
    return true;
  }

  isGivenUp(operation: Operation): boolean {
    return this.#states.get(operation) === 'given up';
  }

  isSent(operation: Operation): boolean {
    return this.#states.get(operation) === 'sent';
  }

  /** To be called in the turn in which it is sent. */
  noteSent(batch: readonly Operation[]): void {
    for (const operation of batch) {
      const state = this.#states.get(operation);
      if (state === 'given up') throw new Error('A hold that was given up must not be sent.');
      if (state === 'waits') this.#states.set(operation, 'sent');
    }
  }

  /** The database has rejected the statement, so nothing of it was written. */
  noteRejected(batch: readonly Operation[]): void {
    for (const operation of batch) if (this.isSent(operation)) this.#states.set(operation, 'waits');
  }
}

/** The outcome of a hold that was given up before it was sent. */
export const givenUp = new Error('Nobody waits for this operation any more.');
