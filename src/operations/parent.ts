/**
 * The parent of a gateway with several workers. It does what must be done once: it migrates, runs the embedded database and
 * the sandbox, and prints the welcome message. It serves no requests itself.
 */
import type { Config } from '../config.ts';
import { explainDatabaseError } from '../database/explain.ts';
import { prepareDemo } from '../demo.ts';
import { createLog, type Log } from '../lib/log.ts';
import { readCatalogFile } from '../models/catalog-store.ts';
import { SharedSandbox } from '../providers/shared-sandbox.ts';
import { type Closers, listenForSignals, type Signals } from './lifecycle.ts';
import { findSharedPlace } from './listen.ts';
import { openForServing } from './open-for-serving.ts';
import { runToEnd } from './run-to-end.ts';
import { openSecret } from './secret.ts';
import { sandboxChat, showWelcome } from './welcome.ts';
import { startWorkers } from './workers.ts';

/** The parent serves nobody, so it leaves the connections to its workers. */
const databasePool = 2;

/** Runs until SIGTERM or SIGINT, lets all workers drain, and ends the process. */
export async function serveWithWorkers(config: Config, databasePatienceMs: number): Promise<never> {
  const log = createLog(config.logLevel);
  const signals = listenForSignals();
  return await runToEnd({
    log,
    signals,
    isReported: true,
    start: (closers) => start(config, databasePatienceMs, log, signals, closers),
    explain: (error) => explainDatabaseError(error, config),
  });
}

async function start(
  config: Config,
  databasePatienceMs: number,
  log: Log,
  signals: Signals,
  closers: Closers,
) {
  const database = await openForServing({ ...config, databasePool }, databasePatienceMs, log, closers);
  // Generated once, before any worker looks for it.
  await openSecret(config, database.sql, log);
  const sandbox = new SharedSandbox(() => log.warn('sandbox ended, starting it again'));
  closers.add('sandbox', sandbox.stop);
  const { address, localOrigin, port } = await findSharedPlace(config);
  const workers = startWorkers({ config, port, sandboxUrl: sandbox.url, log });
  closers.add('workers', workers.end);
  await workers.listening;
  signals.onReload(workers.reload);
  log.info('listening', { address, count: config.workers });
  if (database.isEmbedded) {
    const demo = await prepareDemo(database.sql, config.dataFolder);
    const { result } = await readCatalogFile(config.catalogFile);
    showWelcome(config.publicUrl ?? localOrigin, demo, result.ok && result.catalog.models.has(sandboxChat));
  }
  return {
    drain: async () => {
      signals.hurryRequested.then(workers.hurry).catch(() => undefined);
      await workers.stop();
    },
  };
}
