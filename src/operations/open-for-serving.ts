/** How a gateway opens its database at the start: patiently, and so that it is closed even when the start is given up. */
import type { SQL } from 'bun';
import type { Config } from '../config.ts';
import { type Database, openDatabase } from '../database/connection.ts';
import { prepareSchema } from '../database/prepare-schema.ts';
import { findLocalPorts } from '../database/running-gateways.ts';
import { isGateway } from '../lib/gateway-address.ts';
import { localOriginOf } from '../lib/ip-address.ts';
import type { Log } from '../lib/log.ts';
import type { Closers } from './lifecycle.ts';
import { checkPlace } from './listen.ts';

/** When both start at the same time, as containers often do, PostgreSQL needs longer than the gateway. */
export const defaultPatienceMs = 30_000;

/** The port is checked first, and the schema is ready at the end. What must be done once is left out in a worker. */
export async function openForServing(
  config: Config,
  patienceMs: number,
  log: Log,
  closers: Closers,
): Promise<Database> {
  const isWorker = config.worker !== null;
  if (!isWorker) await checkPlace(config);
  const opening = openDatabase(config, log, undefined, { patienceMs, signal: closers.ended });
  // Added before it is open: an embedded server that is still starting must not be left running.
  closers.add('database', () =>
    opening.then(
      (database) => database.close(),
      () => undefined,
    ),
  );
  const database = await opening;
  await prepareSchema(database, config.migratesAtStart && !isWorker, log);
  if (database.isEmbedded && !isWorker) await reportOtherGateways(database.sql, config, log);
  return database;
}

const answerMs = 1_000;

/** Whoever starts a second gateway on one data folder by mistake should hear about the first. */
async function reportOtherGateways(
  sql: SQL,
  { host, dataFolder }: Pick<Config, 'host' | 'dataFolder'>,
  log: Log,
): Promise<void> {
  // This gateway is not a node yet, so it does not find itself.
  for (const port of await findLocalPorts(sql)) {
    // One that was killed a moment ago still looks alive in the database.
    const address = localOriginOf({ host, port });
    if (await isGateway(address, answerMs))
      log.warn(
        'another gateway already runs on this data folder, and both serve the same accounts: to separate them, set TOLLGATE_DATA to another folder',
        { folder: dataFolder, address },
      );
  }
}
