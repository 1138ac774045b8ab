/** What became of the operations of a batch. */
import type { OperationResult } from './commit.ts';
import type { CommittedFree } from './commit-free.ts';
import { RowLockedError } from './database-error.ts';
import type { Operation } from './operations.ts';

/** Unless `isDurable`, a crash of the database may still undo it. `server` is where it was committed. */
export type Committed<Result = OperationResult> = Readonly<{
  result: Result;
  isDurable: boolean;
  server: string;
}>;

export type Outcome = Committed | Error;

const givenUp = new Error('Nobody waits for this operation any more.');

/** One outcome per operation of the batch: an error for those that were locked, or that nobody wanted any more. */
export function outcomesOf(
  batch: readonly Operation[],
  { committed, lockedRowOf }: CommittedFree,
  where: Pick<Committed, 'isDurable' | 'server'>,
): Outcome[] {
  const { wanted, results } = committed ?? { wanted: [], results: [] };
  const resultOf = new Map(wanted.map((operation, index) => [operation, results[index]]));
  return batch.map((operation) => {
    const result = resultOf.get(operation);
    if (result !== undefined) return { result, ...where };
    const rowId = lockedRowOf(operation);
    return rowId === null ? givenUp : new RowLockedError(rowId);
  });
}
