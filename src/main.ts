/** Puts the gateway together: config → database → migrate → catalogue → ledger → routes → listen → drain. */
import { hostname } from 'node:os';
import type { Config } from './config.ts';
import { type Database, explainRefusal, openDatabase, readinessOf } from './database/connection.ts';
import { migrate } from './database/migrate.ts';
import { keepPartitionsAhead } from './database/partitions.ts';
import { keepRetention } from './database/retention.ts';
import { openDecisions } from './decisions/open.ts';
import { prepareDemo } from './demo.ts';
import { BodyBudget } from './http/body-budget.ts';
import { streamResponse } from './http/client-stream.ts';
import { openIdempotency } from './idempotency/once.ts';
import { AbandonedStreams } from './inference/abandoned-streams.ts';
import { Admission } from './inference/admission.ts';
import { recordAttempts } from './inference/attempts.ts';
import type { OpenGeneration } from './inference/generation.ts';
import { authenticateWith } from './keys/authenticate.ts';
import { openKeyCache } from './keys/key-cache.ts';
import { KnownRates } from './keys/known-rates.ts';
import { openAuditJobs } from './ledger/audit-jobs.ts';
import { defaultTimings, type LeaseTimings } from './ledger/heartbeat.ts';
import { type Ledger, openLedger } from './ledger/ledger.ts';
import { takeLease } from './ledger/node-lease.ts';
import { withheld } from './ledger/settlement.ts';
import { openSpool, type Spool } from './ledger/spool.ts';
import { newId } from './lib/ids.ts';
import { createLog, type Log } from './lib/log.ts';
import { Closers, listenForSignals, type Signals } from './operations/lifecycle.ts';
import { listen } from './operations/listen.ts';
import { openSecret } from './operations/secret.ts';
import { showWelcome } from './operations/welcome.ts';
import { Calls } from './providers/call.ts';
import { createRoutes } from './routes.ts';
import { type FollowedCatalog, followCatalog } from './routing/active-catalog.ts';
import { reportOf } from './routing/node-report.ts';
import { openAttempts } from './sessions/attempts.ts';
import { createAuth } from './sessions/auth.ts';
import { openResetMail } from './sessions/reset-mail.ts';
import { openSessions } from './sessions/sessions.ts';
import { keepSignInTidy } from './sessions/upkeep.ts';
import { keepUsageAddedUp } from './usage/usage-days.ts';

/** Runs until SIGTERM or SIGINT, then finishes what is under way. */
export async function serve(config: Config, leaseTimings: LeaseTimings = defaultTimings): Promise<void> {
  const log = createLog(config.logLevel);
  const signals = listenForSignals();
  const closers = new Closers();
  try {
    const gateway = await start(config, leaseTimings, log, signals, closers);
    const signal = await signals.stopRequested;
    log.info('draining', { signal });
    await gateway.drain();
  } catch (error) {
    throw explainRefusal(error);
  } finally {
    await closers.closeAll(log);
  }
  log.info('stopped');
}

async function start(
  config: Config,
  leaseTimings: LeaseTimings,
  log: Log,
  signals: Signals,
  closers: Closers,
) {
  const database = await openDatabase(config, log);
  closers.add('database', database.close);
  const applied = await migrate(database.sql);
  if (applied.length > 0) log.info('database migrated', { count: applied.length });
  closers.add('partitions', keepPartitionsAhead(database.sql, log));
  closers.add('usage', keepUsageAddedUp(database.sql, log));
  if (config.generationRetentionDays !== null)
    closers.add('retention', keepRetention(database.openDedicated, config.generationRetentionDays, log));
  const deriveKey = await openSecret(config, database.sql, log);

  const calls = new Calls();
  const { secret, isProxied } = config;
  const catalog = await followCatalog(config.catalogFile, { secret, isProxied, calls }, database.sql, log);
  closers.add('catalogue', catalog.close);
  signals.onReload(catalog.reload);

  const keys = await openKeyCache(database.sql);
  closers.add('keys', keys.close);
  const { ledger, node, clock } = await startLedger(config, leaseTimings, database, catalog, log, closers);

  const idempotency = openIdempotency(database.sql, deriveKey('idempotency'), node.id, streamResponse, log);
  closers.add('idempotency', idempotency.close);
  closers.add('sign-in', keepSignInTidy(database.sql, log));
  const auth = createAuth(database.sql, {
    secret: deriveKey('sessions').toString('base64'),
    publicUrl: config.publicUrl,
  });
  const resetMail = config.mail === null ? null : openResetMail(database.sql, config.mail, log);
  if (resetMail !== null) closers.add('mail', resetMail.close);
  const audits = openAuditJobs(database.sql, database.openDedicated, log);
  closers.add('audits', audits.close);
  let isDraining = false;
  const abandoned = new AbandonedStreams();
  const rates = new KnownRates();
  const services = {
    log,
    sql: database.sql,
    keys,
    bodies: new BodyBudget(config.bodyBudgetBytes),
    catalog: catalog.current,
    catalogFile: catalog.file,
    catalogStatus: catalog.status,
    nodeId: node.id,
    audits,
    authenticate: authenticateWith(keys),
    rates,
    admission: new Admission(ledger, node.id, rates, clock),
    recordAttempts: (generation: OpenGeneration) => recordAttempts(database.sql, generation),
    ledger,
    abandoned,
    idempotency,
    deriveKey,
    sessions: openSessions(database.sql, auth),
    attempts: openAttempts(database.sql, deriveKey('sign-in attempts')),
    isSignUpOpen: config.isSignUpOpen,
    resetMail,
    trustedProxies: config.trustedProxies,
    decisions: openDecisions({
      settings: config.decisions,
      secret: config.secret,
      isDemo: database.isEmbedded,
      catalog: catalog.current,
      log,
    }),
    publicUrl: config.publicUrl,
    isDraining: () => isDraining,
    isDatabaseReachable: readinessOf(database.sql),
    clockProblem: () => clock.problem(),
  };
  const origin = (): string => config.publicUrl ?? server.localOrigin;
  const server = listen(config, createRoutes(services, origin));
  log.info('listening', { address: server.address });
  if (database.isEmbedded) showWelcome(origin(), await prepareDemo(database.sql, config.dataFolder));

  return {
    /** Everything within one deadline; what is still being read for its usage then is settled without it. */
    drain: async () => {
      isDraining = true;
      await server.drain(ledger.isBusy);
      abandoned.giveUp();
      calls.endAll();
      await server.end(ledger.isBusy);
    },
  };
}

/** The ledger of this node, with its lease on what it opens. */
async function startLedger(
  config: Config,
  leaseTimings: LeaseTimings,
  database: Database,
  catalog: FollowedCatalog,
  log: Log,
  closers: Closers,
) {
  const node = { id: newId(), name: `${hostname()}:${config.port}` };
  const spool = openSpool(config.dataFolder, process.pid, node.id);
  const ledger = openLedger(database.openDedicated, spool, log);
  closers.add('ledger', ledger.close);
  await settleLeftBehind(ledger, spool, log);
  const lease = await takeLease({
    connection: database.dedicated,
    ledger,
    node,
    log,
    report: () => reportOf(catalog),
    timings: leaseTimings,
  });
  closers.add('lease', lease.stop);
  return { ledger, node, clock: lease.clock };
}

/** Usage that an earlier process could not store any more is settled before anything new begins. */
async function settleLeftBehind(ledger: Ledger, spool: Spool, log: Log): Promise<void> {
  const { settlements, malformedCount } = spool.leftBehind();
  if (malformedCount > 0)
    log.error('lines of the spool could not be read and were put into malformed.txt', {
      count: malformedCount,
    });
  // A whole response goes out only once it is settled: of one that was not, nobody has got anything.
  const results = await Promise.all(
    settlements.map((settlement) =>
      ledger.settle(
        settlement.onInsufficientBalance === 'withhold' && settlement.stored === null
          ? withheld(settlement)
          : settlement,
      ),
    ),
  );
  // What is still under way stays in its file for the next start; settling it twice does no harm.
  if (results.includes('late')) return;
  spool.clearLeftBehind();
  if (settlements.length > 0)
    log.warn('settled what an earlier process left behind', { count: settlements.length });
}
