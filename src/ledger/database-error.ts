/** Reads errors of PostgreSQL by their codes and names, because messages are translated and quote values. */
import { SQL } from 'bun';
import type { DatabaseErrorSummary } from './operations.ts';

const undefinedTable = '42P01';

/** A data exception or a violated constraint: the statement will fail again, however often it is sent. */
export function isIntegrityError(error: unknown): error is SQL.PostgresError {
  const { code } = summarizeError(error);
  return code.startsWith('22') || code.startsWith('23');
}

const uniqueViolation = '23505';

export function isUniqueViolation(error: unknown): boolean {
  return summarizeError(error).code === uniqueViolation;
}

const needsNotMet = 'TG001';

/**
 * The IDs of accounts, keys and Generations that were not as a batch needed them, so that nothing of it was written; null
 * for any other error.
 */
export function unmetNeeds(error: unknown): readonly string[] | null {
  if (summarizeError(error).code !== needsNotMet) return null;
  return (error as SQL.PostgresError).detail?.split(',') ?? [];
}

const lockNotAvailable = '55P03';
const deadlock = '40P01';

/** Another transaction has an account or a key locked that an operation needs. */
export class RowLockedError extends Error {
  override readonly name = 'RowLockedError';
  readonly rowId: string;

  constructor(rowId: string) {
    super('Another transaction has a row locked.');
    this.rowId = rowId;
  }
}

/** Another transaction keeps a row locked. Nothing was changed. */
export function isLocked(error: unknown): boolean {
  const { code } = summarizeError(error);
  return error instanceof RowLockedError || code === lockNotAvailable || code === deadlock;
}

/** The database has rejected the statement for what it says, so nothing of it was written, and the session goes on. */
export function isRejection(error: unknown): boolean {
  return isIntegrityError(error) || isLocked(error) || unmetNeeds(error) !== null;
}

/** Names only: the values that PostgreSQL may quote are a customer's. */
export function summarizeError(error: unknown): DatabaseErrorSummary {
  if (!(error instanceof SQL.PostgresError)) return { code: '', about: 'unknown' };
  const { errno, constraint, column, table, routine } = error;
  return { code: errno ?? '', about: constraint || column || table || routine || 'unknown' };
}

/** Balance and monthly spend are read together. The table that failed shows which of them could not be read. */
export function isAboutSpend(error: unknown): boolean {
  return tableOf(error) === 'api_key_meters';
}

/** The table that a statement failed on; null when PostgreSQL does not name one. */
export function tableOf(error: unknown): string | null {
  if (!(error instanceof SQL.PostgresError)) return null;
  const { errno, table, internalQuery, internalPosition } = error;
  if (table) return table;
  // For a missing table inside a function, PostgreSQL reports the query and the position of the name in it.
  if (errno !== undefinedTable || !internalQuery) return null;
  return /^\w+/.exec(internalQuery.slice(Number(internalPosition) - 1))?.[0] ?? null;
}
