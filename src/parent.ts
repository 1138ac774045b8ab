/**
 * The parent of a gateway with several workers. It does once what must not be done by each of them: it migrates, runs the
 * embedded database and the sandbox, welcomes. It serves no requests itself.
 */
import type { Config } from './config.ts';
import { explainDatabaseError, openDatabase } from './database/connection.ts';
import { migrate } from './database/migrate.ts';
import { prepareDemo } from './demo.ts';
import { createLog } from './lib/log.ts';
import { Closers, endProcess, listenForSignals } from './operations/lifecycle.ts';
import { findSharedPlace } from './operations/listen.ts';
import { openSecret } from './operations/secret.ts';
import { showWelcome } from './operations/welcome.ts';
import { startWorkers } from './operations/workers.ts';
import { SharedSandbox } from './providers/shared-sandbox.ts';

/** Runs until SIGTERM or SIGINT, lets all workers drain, and ends the process. */
export async function serveWithWorkers(config: Config): Promise<void> {
  const log = createLog(config.logLevel);
  const signals = listenForSignals();
  const closers = new Closers();
  try {
    const database = await openDatabase(config, log);
    closers.add('database', database.close);
    const applied = await migrate(database.sql);
    if (applied.length > 0) log.info('database migrated', { count: applied.length });
    // Generated once, before any worker looks for it.
    await openSecret(config, database.sql, log);
    const sandbox = new SharedSandbox(() => log.warn('sandbox ended, starting it again'));
    closers.add('sandbox', sandbox.stop);
    const { address, localOrigin, port } = await findSharedPlace(config);
    const workers = await startWorkers({ count: config.workers, port, sandboxUrl: sandbox.url, log });
    signals.onReload(workers.reload);
    log.info('listening', { address, count: config.workers });
    if (database.isEmbedded)
      showWelcome(config.publicUrl ?? localOrigin, await prepareDemo(database.sql, config.dataFolder));
    const signal = await signals.stopRequested;
    log.info('draining', { signal });
    signals.hurryRequested.then(workers.hurry, () => undefined);
    await workers.stop();
  } catch (error) {
    throw explainDatabaseError(error);
  } finally {
    await closers.closeAll(log);
  }
  log.info('stopped');
  await endProcess(0);
}
