/** Explains errors of the database to the operator: what it says, and what to do about it. */
import { join } from 'node:path';
import { SQL } from 'bun';
import type { Config } from '../config.ts';
import { isDatabaseUnavailable } from '../lib/database-unavailable.ts';
import { urlsOfHosts } from '../lib/database-url.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { LateError } from '../lib/within.ts';

const tooManyConnections = '53300';
const insufficientPrivilege = '42501';
/** A transaction that was idle for too long, deadlocks, locks that others hold. */
const interruptions = /^(25P0[34]|40|55P03)/;
/** A full disk or memory, a damaged file, a defect: problems of the server itself, whatever the query. */
const ownTroubles = /^(53|58|XX|F0)/;

/**
 * Whether a database that is starting at the same time as this gateway could fail like this: nothing listens there yet,
 * its name is not known yet, or it answers that it is starting. A password or a limit does not change by waiting.
 */
export function isStillAway(error: unknown): boolean {
  if (error instanceof SQL.PostgresError && error.errno === tooManyConnections) return false;
  return isDatabaseUnavailable(error);
}

/** Whether the same operation may well succeed when started over. */
export function isPassing(error: unknown): boolean {
  const reason = error instanceof OperatorError ? error.cause : error;
  return (
    isStillAway(reason) || (reason instanceof SQL.PostgresError && interruptions.test(reason.errno ?? ''))
  );
}

/** An error of the database at startup, as a sentence for the operator. Other errors stay as they are. */
export function explainDatabaseError(
  error: unknown,
  { databaseUrl, dataFolder }: Pick<Config, 'databaseUrl' | 'dataFolder'>,
): unknown {
  if (error instanceof LateError)
    return new OperatorError(
      'The database did not answer in time. Try again once the machine is less busy.',
      {
        cause: error,
      },
    );
  if (!(error instanceof SQL.PostgresError)) return error;
  if (databaseUrl === null)
    return new OperatorError(
      `The embedded database failed: ${error.message}. Start Tollgate again; if that fails too, ${join(dataFolder, 'postgres/server.log')} says more.`,
      { cause: error },
    );
  if (error.errno === tooManyConnections) return unreachable(error, [databaseUrl]);
  if (error.errno === insufficientPrivilege)
    return new OperatorError(
      `The database user lacks a privilege: ${error.message}. It must own the database and what is in it: ALTER DATABASE name OWNER TO user; ALTER SCHEMA public OWNER TO user; and if another user has migrated it before, REASSIGN OWNED BY that_user TO user.`,
      { cause: error },
    );
  if (isPassing(error))
    return new OperatorError(
      `The database interrupted what Tollgate was doing: ${error.message}. Try again once the database is at rest.`,
      { cause: error },
    );
  if (ownTroubles.test(error.errno ?? ''))
    return new OperatorError(`The database has a problem of its own: ${error.message}. Its log says more.`, {
      cause: error,
    });
  return new OperatorError(
    `The database rejects what Tollgate needs: ${error.message}. DATABASE_URL must name a database for Tollgate alone, and a user who owns it.`,
    { cause: error },
  );
}

/** Why the database at these URLs cannot be used. No password is repeated. */
export function unreachable(error: unknown, urls: readonly string[]): OperatorError {
  if (error instanceof OperatorError) return error;
  if (error instanceof SQL.PostgresError && error.errno === tooManyConnections)
    return new OperatorError(
      `The database has no connection left (${error.message}). A gateway uses up to DATABASE_POOL connections and six more: lower DATABASE_POOL, ${remedyOf(error)}, or put pgbouncer in front and set DATABASE_DIRECT_URL.`,
      { cause: error },
    );
  const places = [...new Set(urls.flatMap(placesIn))];
  const where = places.join(' or ');
  const reason = error instanceof Error ? error.message : String(error);
  if (error instanceof SQL.PostgresError && error.errno !== undefined && !isStillAway(error))
    return new OperatorError(`PostgreSQL at ${where} refuses the connection: ${reason}. Check DATABASE_URL.`);
  return new OperatorError(
    `The database at ${where} cannot be reached: ${isRefused(error) ? refusalAt(places) : reason}. Check DATABASE_URL and that PostgreSQL is running.`,
  );
}

/** Hosts with their ports, or a socket. */
function placesIn(url: string): string[] {
  return (urlsOfHosts(url) ?? []).map((one) => {
    const { hostname, port, searchParams } = new URL(one);
    return searchParams.get('path') ?? `${hostname}:${port || defaultPort}`;
  });
}

const defaultPort = 5432;

const isRefused = (error: unknown) =>
  error instanceof SQL.PostgresError && error.code === 'ERR_POSTGRES_CONNECTION_REFUSED';

/** The driver has the same error for a port on which nothing listens and for an unknown host. */
function refusalAt(places: readonly string[]): string {
  const haveNames = places.some((place) => /^[^[/]*[a-z][^:]*:\d+$/i.test(place));
  return haveNames ? 'nothing listens there, or no host has this name' : 'nothing listens there';
}

/** The routine shows which limit is reached; the message may be in any language. */
function remedyOf({ routine }: SQL.PostgresError): string {
  if (routine === 'InitializeSessionUserId')
    return 'raise the limit of the user (ALTER ROLE name CONNECTION LIMIT number)';
  if (routine === 'CheckMyDatabase')
    return 'raise the limit of the database (ALTER DATABASE name CONNECTION LIMIT number)';
  return 'raise max_connections';
}
