/** Assembles the gateway: config → check the port → database → migrate → catalogue → ledger → routes → listen → drain. */
import { hostname } from 'node:os';
import { keepAdminTidy } from './admin/upkeep.ts';
import { openAuditJobs } from './audit/jobs.ts';
import type { Config } from './config.ts';
import type { Database } from './database/connection.ts';
import { explainDatabaseError } from './database/explain.ts';
import { fingerprintOf } from './database/node-secrets.ts';
import { keepPartitionsAhead } from './database/partitions.ts';
import { keepRetention } from './database/retention.ts';
import { watchDatabaseState } from './database/state.ts';
import { openDecisions } from './decisions/open.ts';
import { prepareDemo } from './demo.ts';
import { keepCausesTold } from './events/causes.ts';
import { keepEventsPublished } from './events/publish.ts';
import { Exports } from './exports/exports.ts';
import { keepGrantsSettled } from './grants/upkeep.ts';
import { BodyBudget } from './http/body-budget.ts';
import { streamResponse } from './http/client-stream.ts';
import { Idempotency } from './idempotency/once.ts';
import { Admission } from './inference/admission.ts';
import { recordAttempts } from './inference/attempts.ts';
import { identifyWith } from './inference/attribution.ts';
import { CancelledCalls } from './inference/cancelled-calls.ts';
import { EarlyCalls } from './inference/early-calls.ts';
import type { OpenGeneration } from './inference/generation.ts';
import { ReadOnStreams } from './inference/read-on-streams.ts';
import { authenticateWith } from './keys/authenticate.ts';
import { openKeyCache } from './keys/key-cache.ts';
import { KnownRates } from './keys/known-rates.ts';
import { openLedger } from './ledger/ledger.ts';
import { settleLeftBehind } from './ledger/left-behind.ts';
import { openSpool } from './ledger/spool.ts';
import type { DerivedKeys } from './lib/derived-keys.ts';
import { newId } from './lib/ids.ts';
import { createLog, type Log } from './lib/log.ts';
import { LimitsInForce } from './limits/applied-limits.ts';
import { keepLimitsTidy } from './limits/upkeep.ts';
import { defaultTimings, type LeaseTimings } from './nodes/heartbeat.ts';
import { leaseSeconds, takeLease } from './nodes/lease.ts';
import { drain } from './operations/drain.ts';
import { checkReadiness } from './operations/health.ts';
import { type Closers, listenForSignals, type Signals } from './operations/lifecycle.ts';
import { listen } from './operations/listen.ts';
import { defaultPatienceMs, openForServing } from './operations/open-for-serving.ts';
import { serveWithWorkers } from './operations/parent.ts';
import { runToEnd } from './operations/run-to-end.ts';
import { openSecret } from './operations/secret.ts';
import { sandboxChat, showWelcome } from './operations/welcome.ts';
import { followParent, type Parent } from './operations/worker.ts';
import { openStripe } from './payments/stripe-client.ts';
import { openPayments } from './payments/sweep.ts';
import type { Attempts } from './people/attempts.ts';
import { keepEventMailsSent } from './people/event-mail.ts';
import { type Mailer, openMailer } from './people/mailer.ts';
import { openPeople } from './people/open.ts';
import { keepSignInTidy } from './people/upkeep.ts';
import { Calls } from './providers/call.ts';
import { keepBillsReconciled } from './reconciliation/daily.ts';
import { readBillFigures } from './reconciliation/figures.ts';
import { RefusalRecorder } from './requests/refusal-recorder.ts';
import { keepRefusalsTidy } from './requests/upkeep.ts';
import { keepRequestsRolledUp } from './rollups/keep.ts';
import { createRoutes } from './routes.ts';
import { type FollowedCatalog, followCatalog } from './routing/active-catalog.ts';
import { Conversations } from './routing/conversations.ts';
import { reportOf } from './routing/node-report.ts';
import { GatewayMetrics } from './telemetry/gateway-metrics.ts';
import { measuredLedger } from './telemetry/measured-ledger.ts';
import { listenForMetrics, type MetricsPage, openMetricsPage } from './telemetry/metrics-page.ts';
import { OtlpExporter } from './telemetry/otlp-exporter.ts';
import { RequestRecorder } from './telemetry/request-recorder.ts';
import { keepUsageAddedUp } from './usage/usage-days.ts';
import { keepDelivering } from './webhooks/deliver.ts';

/** Runs until SIGTERM or SIGINT, then drains and ends the process. */
export async function serve(
  config: Config,
  leaseTimings: LeaseTimings = defaultTimings,
  databasePatienceMs = defaultPatienceMs,
): Promise<never> {
  if (config.workers > 1 && config.worker === null) return await serveWithWorkers(config, databasePatienceMs);
  const log = createLog(config.logLevel);
  const signals = listenForSignals();
  const parent = config.worker === null ? null : followParent(signals);
  return await runToEnd({
    log,
    signals,
    isReported: parent === null,
    start: (closers) => start({ config, leaseTimings, databasePatienceMs, log, signals, parent, closers }),
    explain: (error) => explainDatabaseError(error, config),
  });
}

/** What a start is given. Whatever it opens is added to the closers. */
type Start = Readonly<{
  config: Config;
  leaseTimings: LeaseTimings;
  databasePatienceMs: number;
  log: Log;
  signals: Signals;
  /** Null unless this is a worker. */
  parent: Parent | null;
  closers: Closers;
}>;

async function start(given: Start) {
  const { config, log, signals, parent, closers } = given;
  const opened = await openAll(given);
  const { database, catalog, ledger, calls, readOn } = opened;
  let isDraining = false;
  const services = servicesOf(config, log, opened, () => isDraining);
  // Whoever restarts a parent that was killed needs its ports at once. Open requests may still end well.
  const portRequested = parent?.lost ?? new Promise<never>(() => undefined);
  // Before the gateway's own port, so that nobody is served when this one cannot be opened.
  const metricsPage = openMetrics(given, opened, services, portRequested);
  const origin = (): string => config.publicUrl ?? server.localOrigin;
  const isShared = parent !== null;
  const server = listen({ ...config, isShared }, createRoutes({ ...services, metricsPage }, origin));
  closers.add('server', server.closeAll);
  parent?.listening();
  if (parent === null) {
    log.info('listening', { address: server.address });
    if (database.isEmbedded) {
      const demo = await prepareDemo(database.sql, config.dataFolder);
      showWelcome(origin(), demo, catalog.current().catalog.models.has(sandboxChat));
    }
  }

  return {
    drain: async () => {
      isDraining = true;
      // Streams that are still being read for their usage at the deadline are settled without it.
      const endCalls = () => {
        readOn.giveUp();
        calls.endAll();
      };
      const { isBusy } = ledger;
      const { hurryRequested } = signals;
      await drain({ server, isBusy, endCalls, hurryRequested, portRequested }, config.drain);
    },
  };
}

type Opened = Awaited<ReturnType<typeof openAll>>;

/** Everything that lasts as long as the process, in the order of its dependencies. */
async function openAll(given: Start) {
  const { config, log, signals, parent, closers } = given;
  const database = await openForServing(config, given.databasePatienceMs, log, closers);
  keepTidy(config, database, log, closers);
  const deriveKey = await openSecret(config, database.sql, log);

  const calls = new Calls();
  const { secret, isProxied } = config;
  const metrics = config.metrics.isOn ? new GatewayMetrics() : null;
  const catalog = await followCatalog(
    config.catalogFile,
    { secret, isProxied, calls },
    database.sql,
    log,
    (outcome) => metrics?.catalogReloaded(outcome),
    parent?.sandbox,
  );
  closers.add('catalogue', catalog.close);
  signals.onReload(catalog.reload);
  closers.addUpkeep(
    'reconciliation',
    keepBillsReconciled({ sql: database.sql, catalog: () => catalog.current().catalog, secret, log }),
  );

  const keys = await openKeyCache(database.sql, Date.now, {}, database.listen);
  closers.add('keys', keys.close);
  const { ledger, node, lease, spool } = await startLedger(
    given,
    database,
    catalog,
    fingerprintOf(deriveKey),
    metrics,
  );
  const traces = config.traces === null ? null : new OtlpExporter(config.traces, node.id, log);
  if (traces !== null) closers.add('traces', () => traces.close());
  const idempotency = new Idempotency(database.sql, deriveKey('idempotency'), node.id, streamResponse, log);
  closers.add('idempotency', idempotency.close);
  const mailer = config.mail === null ? null : openMailer(config.mail, log);
  if (mailer !== null) closers.add('mail', mailer.close);
  const people = openPeople(database.sql, deriveKey, config.publicUrl, mailer, config.welcomeGrant);
  tellEvents(given, database, { nodeId: node.id, deriveKey, mailer, attempts: people.attempts });
  const payments = startPayments(given, database);
  const audits = openAuditJobs(database.sql, database.openDedicated, log);
  closers.add('audits', audits.close);
  const readOn = new ReadOnStreams();
  const refusals = startRefusals(given, database, node.id, catalog);
  const cancelledCalls = new CancelledCalls(database.sql, log);
  closers.add('cancelled calls', () => cancelledCalls.close());
  return {
    database,
    deriveKey,
    calls,
    metrics,
    catalog,
    keys,
    ledger,
    node,
    lease,
    spool,
    traces,
    idempotency,
    people,
    payments,
    audits,
    readOn,
    refusals,
    cancelledCalls,
  };
}

function startRefusals({ log, closers }: Start, { sql }: Database, nodeId: string, catalog: FollowedCatalog) {
  const isModel = (name: string) => catalog.current().catalog.models.has(name);
  const refusals = new RefusalRecorder({ sql, nodeId, isModel, log });
  closers.add('refusals', () => refusals.close());
  return refusals;
}

/** Null when nothing can be paid here. */
function startPayments({ config: { payments: settings }, log, closers }: Start, { sql }: Database) {
  if (settings === null) return null;
  if (!settings.isLive)
    log.warn('payments are in test mode: no real money moves, but what is paid is credit that can be spent');
  const payments = openPayments({ sql, stripe: openStripe(settings), settings, log });
  closers.add('payments', payments.close);
  return payments;
}

/** Regular upkeep of the database, done by every node. */
function keepTidy(config: Config, { sql, openDedicated }: Database, log: Log, closers: Closers): void {
  closers.addUpkeep('partitions', keepPartitionsAhead(sql, log));
  closers.addUpkeep('usage', keepUsageAddedUp(sql, log));
  closers.addUpkeep('rollups', keepRequestsRolledUp(sql, config.generationRetentionDays, log));
  if (config.generationRetentionDays !== null)
    closers.addUpkeep('retention', keepRetention(openDedicated, config.generationRetentionDays, log));
  closers.addUpkeep('old refusals', keepRefusalsTidy(sql, config.refusalRetentionDays, log));
  closers.addUpkeep('sign-in', keepSignInTidy(sql, log));
  closers.addUpkeep('admin requests', keepAdminTidy(sql, log));
  closers.addUpkeep('meters of limits', keepLimitsTidy(sql, log));
  closers.addUpkeep('grants', keepGrantsSettled(sql, log));
  closers.addUpkeep('events', keepEventsPublished(sql, log));
  closers.addUpkeep('causes', keepCausesTold(sql, log, { leaseSeconds }));
}

/** Sends events to webhooks and, where there is a mail server, to people. */
function tellEvents(
  { config, log, closers }: Start,
  { sql }: Database,
  {
    nodeId,
    deriveKey,
    mailer,
    attempts,
  }: Readonly<{ nodeId: string; deriveKey: DerivedKeys; mailer: Mailer | null; attempts: Attempts }>,
): void {
  closers.addUpkeep(
    'webhooks',
    keepDelivering({
      sql,
      nodeId,
      encryptionKey: deriveKey('webhook secrets'),
      networks: config.webhookNetworks,
      log,
    }),
  );
  if (mailer !== null) closers.addUpkeep('event mails', keepEventMailsSent({ sql, mailer, attempts }, log));
}

/** The ledger, with the lease on which its holds depend and the spool for when the database is away. */
async function startLedger(
  { config, leaseTimings, log, closers }: Start,
  database: Database,
  catalog: FollowedCatalog,
  secret: string,
  metrics: GatewayMetrics | null,
) {
  const place = config.worker === null ? '' : ` worker ${config.worker}`;
  const node = { id: newId(), name: `${hostname()}:${config.port}${place}` };
  const spool = openSpool(config.dataFolder, process.pid, node.id);
  closers.add('spool', spool.close);
  const opened = openLedger(database.openDedicated, spool, log, undefined, (size) =>
    metrics?.committed(size),
  );
  const ledger = metrics === null ? opened : measuredLedger(opened, metrics);
  closers.add('ledger', ledger.close);
  await settleLeftBehind(ledger, spool, log);
  const spoolProblem = spool.problem();
  if (spoolProblem !== null) log.error('the spool cannot be used', { problems: [spoolProblem] });
  const lease = await takeLease({
    connection: database.dedicated,
    otherHosts: database.otherHosts,
    ledger,
    node,
    log,
    report: () => ({ ...reportOf(catalog), secret, calls: catalog.takeCalls() }),
    onCalls: catalog.shareSlots,
    timings: leaseTimings,
  });
  closers.add('lease', lease.stop);
  return { ledger, node, lease, spool };
}

/** What the handlers of all routes share. */
function servicesOf(config: Config, log: Log, opened: Opened, isDraining: () => boolean) {
  const { database, catalog, keys, ledger, node, lease, spool, metrics, traces } = opened;
  const rates = new KnownRates();
  const limits = new LimitsInForce(database.sql);
  return {
    log,
    sql: database.sql,
    reads: database.reads,
    exports: new Exports({ sql: database.sql, reads: database.reads, log, isDraining }),
    keys,
    bodies: new BodyBudget(config.bodyBudgetBytes),
    catalog: catalog.current,
    conversations: new Conversations(opened.deriveKey('conversations')),
    identify: identifyWith(opened.deriveKey('end-users')),
    catalogFile: catalog.file,
    catalogStatus: catalog.status,
    secret: config.secret,
    nodeId: node.id,
    audits: opened.audits,
    authenticate: authenticateWith(keys),
    rates,
    recorder: new RequestRecorder(log, metrics, traces),
    refusals: opened.refusals,
    limits,
    admission: new Admission(ledger, node.id, rates, limits, lease.clock),
    earlyCalls: new EarlyCalls(config.callsEarly, {
      hurry: ledger.hurry,
      outlook: ledger.outlook,
      record: (call) => opened.cancelledCalls.record(call),
      onStart: (provider) => metrics?.earlyCallStarted(provider),
      onCancel: (provider) => metrics?.earlyCallCancelled(provider),
    }),
    recordAttempts: (generation: OpenGeneration) => recordAttempts(database.sql, generation),
    ledger,
    readOn: opened.readOn,
    idempotency: opened.idempotency,
    deriveKey: opened.deriveKey,
    ...opened.people,
    isSignUpOpen: config.isSignUpOpen,
    trustedProxies: config.trustedProxies,
    chatExtensions: config.chatExtensions,
    decisions: openDecisions({
      settings: config.decisions,
      secret: config.secret,
      isDemo: database.isEmbedded,
      catalog: catalog.current,
      sql: database.sql,
      log,
    }),
    payments: opened.payments,
    operatorContact: config.operatorContact,
    publicUrl: config.publicUrl,
    securityContact: config.securityContact,
    isDraining,
    databaseState: watchDatabaseState(database.sql),
    clockProblem: () => lease.clock.problem(),
    leaseProblem: lease.problem,
    spoolProblem: spool.problem,
    catalogProblem: () => (catalog.current().catalog.models.size === 0 ? 'no models' : null),
  };
}

/** Null when they are switched off. */
function openMetrics(
  { config, closers }: Start,
  { database, catalog, ledger, lease, spool, metrics, traces, readOn }: Opened,
  checks: Parameters<typeof checkReadiness>[0],
  portRequested: Promise<void>,
): MetricsPage | null {
  if (metrics === null) return null;
  const page = openMetricsPage(metrics, config.metrics.token, {
    sql: database.sql,
    ledger,
    spool,
    report: () => reportOf(catalog),
    readOnCount: () => readOn.count,
    droppedSpanCount: () => traces?.droppedCount ?? null,
    leaseAgeMs: lease.ageMs,
    isDraining: checks.isDraining,
    isReady: async () => (await checkReadiness(checks)).reasons.length === 0,
    bills: () => readBillFigures(database.sql, catalog.current().catalog.providers, config.secret),
  });
  closers.add('metrics', page.close);
  if (config.metrics.port !== null) {
    const closePort = listenForMetrics(config.host, config.metrics.port, page);
    closers.add('metrics port', closePort);
    portRequested.then(closePort).catch(() => undefined);
  }
  return page;
}
