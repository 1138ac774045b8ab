/** Tells a database that is away from one that rejects a statement. */
import { SQL } from 'bun';
import { LateError } from './within.ts';

/** Connection failures, a server that is starting, stopping or full, and one that accepts no writes. */
const passingCodes = /^(08|57P|53300|25006)/;

/** Whether the same request may succeed a little later, once the database is back. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (error instanceof LateError) return true;
  if (!(error instanceof SQL.PostgresError)) return false;
  return error.code.startsWith('ERR_POSTGRES_CONNECTION') || passingCodes.test(error.errno ?? '');
}
