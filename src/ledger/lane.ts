/**
 * Commits operations in batches. Most batches take the express lane, which is here: they are decided as if there were
 * plenty of everything, and one statement writes them if what that needs is there. Operations that need more than that, or
 * whose rows others have locked, go to `locking-lane.ts`, so they hold up nobody else.
 */
import { GroupCommit } from '../lib/group-commit.ts';
import { OneAtATime } from '../lib/one-at-a-time.ts';
import { commitInParts } from './commit-in-parts.ts';
import { isIntegrityError, isLocked, isRejection, unmetNeeds } from './database-error.ts';
import { decideWithPlenty, isForeseeable, withRates } from './express.ts';
import { type LaneParts, LockingLane } from './locking-lane.ts';
import type { Committed, Operation, OperationResult, Outcome } from './operations.ts';
import { givenUp } from './pending-operations.ts';

/** Another batch is sent while one is being executed, if it is not small. */
const batchesAtOnce = 2;
const minBeside = 16;
/** A hold whose call is under way waits this long for others to share its batch. */
const patienceMs = 8;

export class Lane {
  readonly #parts: LaneParts;
  readonly #locking: LockingLane;
  readonly #batches: GroupCommit<Operation, Committed>;
  /**
   * A node may close a Generation as an orphan's while it settles the same from the spool. What comes second depends on what
   * came first.
   */
  readonly #endings = new OneAtATime();
  #executing = 0;

  constructor(parts: LaneParts) {
    this.#parts = parts;
    this.#locking = new LockingLane(parts);
    this.#batches = new GroupCommit(
      (batch) => commitInParts(batch, (part) => this.#commit(part), parts.log),
      { maxAtOnce: batchesAtOnce, minBeside, patienceMs, isPatient },
    );
  }

  get waitingCount(): number {
    return this.#batches.waitingCount + this.#locking.waitingCount;
  }

  /** `isAgain`: it may have been committed before, without this process knowing. */
  submit<Result extends OperationResult>(operation: Operation, isAgain = false): Promise<Committed<Result>> {
    const isEnding = operation.kind === 'settle' || operation.kind === 'set_aside';
    const committed = isEnding
      ? this.#endings.run(operation.generation.id, () => this.#submit(operation, isAgain))
      : this.#submit(operation, isAgain);
    return committed as Promise<Committed<Result>>;
  }

  #submit(operation: Operation, isAgain: boolean): Promise<Committed> {
    if ((isAgain && operation.kind === 'hold') || !this.#isForExpress(operation))
      return this.#locking.submit(operation);
    return this.#batches.submit(operation).catch((error: unknown) => {
      if (!(error instanceof LeftExpress)) throw error;
      return this.#locking.submit(operation);
    });
  }

  /** Somebody waits for a hold that was patient before. */
  hurry(): void {
    this.#batches.hurry();
  }

  #isForExpress(operation: Operation): boolean {
    return isForeseeable(operation, this.#parts.holds) && !this.#locking.takes(operation);
  }

  /** `LeftExpress` is the outcome of an operation that this lane cannot commit. */
  async #commit(batch: readonly Operation[]): Promise<readonly Outcome[]> {
    const { pending } = this.#parts;
    const express: Operation[] = [];
    this.#executing += 1;
    try {
      const outcomes = await this.#write(batch, express);
      return batch.map(
        (operation) => outcomes.get(operation) ?? (pending.isGivenUp(operation) ? givenUp : leftExpress),
      );
    } catch (error) {
      if (isRejection(error)) pending.noteRejected(express);
      if (!this.#divert(express, error)) throw error;
    } finally {
      this.#executing -= 1;
    }
    return await this.#commit(batch);
  }

  /** `express` gets the operations that are sent: which these are is known only when there is a session to send them on. */
  async #write(batch: readonly Operation[], express: Operation[]): Promise<Map<Operation, Outcome>> {
    const { holds, pending, writer, onCommit, onAdmitted } = this.#parts;
    return await writer.use(async (connection, { server }) => {
      const outcomes = new Map<Operation, Outcome>();
      for (const operation of batch)
        if (this.#isForExpress(operation) && !pending.isGivenUp(operation)) express.push(operation);
      if (express.length === 0) return outcomes;
      const isDurable = this.#isIdle && express.every(({ kind }) => kind !== 'hold');
      const { results, effects, rows, needs } = decideWithPlenty(express, holds);
      pending.noteSent(express);
      const admitted = await effects.write(connection, rows, { atMs: null, needs, isDurable });
      if (admitted !== null) onAdmitted(admitted);
      onCommit(express.length);
      for (const [place, result] of withRates(express, results, admitted).entries())
        outcomes.set(express[place] as Operation, { result, isDurable, server });
      return outcomes;
    });
  }

  /** Nothing would wait behind a batch that waits for the disk. */
  get #isIdle(): boolean {
    return this.#executing === 1 && this.#batches.waitingCount === 0;
  }

  /** Sends what kept the batch from being written to the other lane. False if that was something else. */
  #divert(batch: readonly Operation[], error: unknown): boolean {
    // What violates a constraint may have been done before: another try with the rows locked finds out.
    const isLeft = isLocked(error) || (isIntegrityError(error) && batch.length === 1);
    const ids = isLeft ? batch.map(({ generation }) => generation.id) : unmetNeeds(error);
    if (ids === null) return false;
    for (const id of ids) this.#locking.divert(id);
    // Each time it is tried again with fewer operations.
    if (batch.every((operation) => !this.#locking.takes(operation)))
      throw new Error('The database has rejected a batch without saying why.', { cause: error });
    return true;
  }
}

/** The operation has to be decided with its rows locked. */
class LeftExpress extends Error {
  override readonly name = 'LeftExpress';
}

const leftExpress = new LeftExpress('This operation takes the locking lane.');

function isPatient(operation: Operation): boolean {
  return operation.kind === 'hold' && operation.isPatient === true;
}
