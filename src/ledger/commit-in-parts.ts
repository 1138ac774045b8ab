/**
 * Commits a batch, in parts if it cannot be committed as a whole: an error of one operation must not fail the others in
 * its batch.
 */
import type { Log } from '../lib/log.ts';
import { isIntegrityError, isLocked } from './database-error.ts';
import type { Operation } from './operations.ts';

/** The result of an operation that fails alone is the error. */
export async function commitInParts<Result>(
  batch: readonly Operation[],
  commit: (part: readonly Operation[]) => Promise<readonly (Result | Error)[]>,
  log: Log,
): Promise<readonly (Result | Error)[]> {
  try {
    return await commit(batch);
  } catch (error) {
    if (isIntegrityError(error)) log.error('the database rejected a batch', { count: batch.length, error });
    const parts = partsOf(batch, error);
    if (parts.length === 1) {
      if (isIntegrityError(error)) return batch.map(() => error);
      throw error;
    }
    const outcomes = new Map<Operation, Result | Error>();
    for (const part of parts) {
      const results = await commitInParts(part, commit, log).catch((failed: Error) => part.map(() => failed));
      for (const [index, operation] of part.entries())
        outcomes.set(operation, results[index] as Result | Error);
    }
    return batch.map((operation) => outcomes.get(operation) as Result | Error);
  }
}

function partsOf(batch: readonly Operation[], error: unknown): readonly (readonly Operation[])[] {
  if (isIntegrityError(error)) return batch.map((operation) => [operation]);
  if (!isLocked(error)) return [batch];
  return [...Map.groupBy(batch, ({ generation }) => generation.accountId).values()];
}
