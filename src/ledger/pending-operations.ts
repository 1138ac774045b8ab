/**
 * How far a hold or a settlement has come. One that `waits` is in no statement; once it is `sent`, it may be in the database.
 * One that was `given up` is never sent: its client has another response.
 */
import type { Operation } from './operations.ts';

type State = 'waits' | 'sent' | 'given up';

export class PendingOperations {
  readonly #states = new Map<Operation, State>();

  begin(operation: Operation): void {
    this.#states.set(operation, 'waits');
  }

  /** Its outcome is known. */
  end(operation: Operation): void {
    this.#states.delete(operation);
  }

  /** Does nothing to one that was sent: its outcome will be known, and has to be dealt with. */
  giveUp(operation: Operation): void {
    if (this.#states.get(operation) === 'waits') this.#states.set(operation, 'given up');
  }

  isGivenUp(operation: Operation): boolean {
    return this.#states.get(operation) === 'given up';
  }

  isSent(operation: Operation): boolean {
    return this.#states.get(operation) === 'sent';
  }

  /** To be called in the turn in which it is sent. */
  noteSent(batch: readonly Operation[]): void {
    if (batch.some((operation) => this.isGivenUp(operation)))
      throw new Error('An operation that was given up must not be sent.');
    for (const operation of batch)
      if (this.#states.get(operation) === 'waits') this.#states.set(operation, 'sent');
  }

  /** The database has rejected the statement, so nothing of it was written. */
  noteRejected(batch: readonly Operation[]): void {
    for (const operation of batch) if (this.isSent(operation)) this.#states.set(operation, 'waits');
  }
}

/** The outcome of an operation that was given up before it was sent. */
export const givenUp = new Error('Nobody waits for this operation any more.');
