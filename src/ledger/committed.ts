/** What became of a batch that was committed. */
import type { OperationResult } from './commit.ts';
import type { Operation } from './operations.ts';

/** Unless `isDurable`, a crash of the database may still undo it. `server` is where it was committed. */
export type Committed<Result = OperationResult> = Readonly<{
  result: Result;
  isDurable: boolean;
  server: string;
}>;

const givenUp = new Error('Nobody waits for this operation any more.');

/** One outcome per operation of the batch; the results are of those that were still wanted. */
export function outcomesOf(
  batch: readonly Operation[],
  wanted: readonly Operation[],
  results: readonly OperationResult[],
  where: Pick<Committed, 'isDurable' | 'server'>,
): (Committed | Error)[] {
  const resultOf = new Map(wanted.map((operation, index) => [operation, results[index]]));
  return batch.map((operation) => {
    const result = resultOf.get(operation);
    return result === undefined ? givenUp : { result, ...where };
  });
}
