/** How a gateway opens its database at the start: patiently, and so that it is closed even when the start is given up. */
import type { Config } from '../config.ts';
import { type Database, openDatabase } from '../database/connection.ts';
import type { Log } from '../lib/log.ts';
import type { Closers } from './lifecycle.ts';

/** Where both start at the same time, as in many containers, PostgreSQL needs longer than the gateway. */
export const defaultPatienceMs = 30_000;

export async function openForServing(
  config: Config,
  patienceMs: number,
  log: Log,
  closers: Closers,
): Promise<Database> {
  const opening = openDatabase(config, log, undefined, { patienceMs, signal: closers.ended });
  // Added before it is open: an embedded server that is still starting must not be left running.
  closers.add('database', () =>
    opening.then(
      (database) => database.close(),
      () => undefined,
    ),
  );
  return await opening;
}
