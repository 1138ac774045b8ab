/**
 * The parent of a gateway with several workers. It does what must be done once: it migrates, runs the embedded database and
 * the sandbox, and prints the welcome message. It serves no requests itself.
 */
import type { Config } from './config.ts';
import { explainDatabaseError, openDatabase } from './database/connection.ts';
import { prepareSchema } from './database/prepare-schema.ts';
import { prepareDemo } from './demo.ts';
import { createLog } from './lib/log.ts';
import { readCatalogFile } from './models/catalog-store.ts';
import { Closers, endProcess, listenForSignals } from './operations/lifecycle.ts';
import { checkPlace, findSharedPlace } from './operations/listen.ts';
import { openSecret } from './operations/secret.ts';
import { sandboxChat, showWelcome } from './operations/welcome.ts';
import { startWorkers } from './operations/workers.ts';
import { SharedSandbox } from './providers/shared-sandbox.ts';

/** The parent serves nobody, so it leaves the connections to its workers. */
const databasePool = 2;

/** Runs until SIGTERM or SIGINT, lets all workers drain, and ends the process. */
export async function serveWithWorkers(config: Config): Promise<void> {
  const log = createLog(config.logLevel);
  const signals = listenForSignals();
  const closers = new Closers();
  try {
    await checkPlace(config);
    const database = await openDatabase({ ...config, databasePool }, log);
    closers.add('database', database.close);
    await prepareSchema(database, config.migratesAtStart, log);
    // Generated once, before any worker looks for it.
    await openSecret(config, database.sql, log);
    const sandbox = new SharedSandbox(() => log.warn('sandbox ended, starting it again'));
    closers.add('sandbox', sandbox.stop);
    const { address, localOrigin, port } = await findSharedPlace(config);
    const workers = await startWorkers({ config, port, sandboxUrl: sandbox.url, log });
    closers.add('workers', workers.stop);
    signals.onReload(workers.reload);
    log.info('listening', { address, count: config.workers });
    if (database.isEmbedded) {
      const demo = await prepareDemo(database.sql, config.dataFolder);
      const { result } = await readCatalogFile(config.catalogFile);
      showWelcome(config.publicUrl ?? localOrigin, demo, result.ok && result.catalog.models.has(sandboxChat));
    }
    const signal = await signals.stopRequested;
    log.info('draining', { signal });
    const hurry = signals.hurryRequested.then(() => {
      workers.hurry();
      // The parent leaves last, also when it is made to leave at once.
      process.on('exit', workers.kill);
    });
    hurry.catch(() => undefined);
    await workers.stop();
  } catch (error) {
    throw explainDatabaseError(error);
  } finally {
    await closers.closeAll(log);
  }
  log.info('stopped');
  await endProcess(0);
}
