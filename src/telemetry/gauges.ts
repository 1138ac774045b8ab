/** Values that are read when somebody asks for the metrics. */
import { heapStats } from 'bun:jsc';
import type { SQL } from 'bun';
import type { Ledger } from '../ledger/ledger.ts';
import type { Spool } from '../ledger/spool.ts';
import { countDescriptors } from '../lib/descriptors.ts';
import { within } from '../lib/within.ts';
import type { BillFigures } from '../reconciliation/figures.ts';
import type { NodeReport } from '../routing/node-report.ts';
import { addEventGauges, type EventFigures, readEventFigures } from './event-gauges.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';

type Sources = Readonly<{
  sql: SQL;
  ledger: Ledger;
  spool: Spool;
  report: () => NodeReport;
  readOnCount: () => number;
  /** Null when no traces are exported. */
  droppedSpanCount: () => number | null;
  leaseAgeMs: () => number;
  isDraining: () => boolean;
  isReady: () => Promise<boolean>;
  bills: () => Promise<readonly BillFigures[]>;
}>;

const lagProbeMs = 250;
const databaseMs = 1_000;

/** Returns `refresh`, to be called before each scrape, and `close`. */
export function addGauges(metrics: GatewayMetrics, sources: Sources) {
  const { ledger, spool, report, readOnCount, leaseAgeMs, isDraining } = sources;
  const lag = new LoopLag();
  let database: DatabaseFigures | null = null;
  let events: EventFigures | null = null;
  let bills: readonly BillFigures[] = [];
  let isReady = false;
  metrics.gauge('tollgate_ready', '1 while /readyz answers 200.', () => (isReady ? 1 : 0));
  metrics.gauge('tollgate_draining', '1 while the gateway drains.', () => (isDraining() ? 1 : 0));
  metrics.gauge(
    'tollgate_queue_length',
    'Work that is waiting, by queue.',
    () => [
      ['ledger', ledger.counts().waiting],
      ['abandoned_streams', readOnCount()],
    ],
    { label: 'queue' },
  );
  addSettlementGauges(metrics, ledger, spool);
  metrics.gauge(
    'tollgate_circuit_open',
    'Models of a provider whose circuit is open.',
    () => openCircuits(report()),
    {
      label: 'provider',
    },
  );
  addDatabaseGauges(metrics, () => database);
  addEventGauges(metrics, () => events);
  addBillGauges(metrics, () => bills);
  metrics.gauge(
    'tollgate_dropped_spans_total',
    'Spans that the collector did not get.',
    sources.droppedSpanCount,
    { type: 'counter' },
  );
  metrics.gauge(
    'tollgate_heartbeat_age_seconds',
    'Time since the lease of this node was last renewed.',
    () => leaseAgeMs() / 1000,
  );
  addProcessGauges(metrics, lag);

  return {
    /** If the database does not answer in time, its figures are left out. */
    refresh: async () => {
      [database, events, bills, isReady] = await Promise.all([
        within(databaseMs, readDatabase(sources.sql)).catch(() => null),
        within(databaseMs, readEventFigures(sources.sql)).catch(() => null),
        within(databaseMs, sources.bills()).catch(() => []),
        sources.isReady(),
      ]);
    },
    close: lag.stop,
  };
}

function addSettlementGauges(metrics: GatewayMetrics, ledger: Ledger, spool: Spool): void {
  metrics.gauge(
    'tollgate_unsettled_settlements',
    'Settlements that are not committed yet.',
    () => ledger.counts().unsettled,
  );
  metrics.gauge('tollgate_spooled_settlements', 'Settlements that are only in the spool.', spool.count);
  metrics.gauge(
    'tollgate_unstored_settlements',
    'Settlements that are neither in the database nor in the spool.',
    spool.unstoredCount,
  );
  metrics.gauge(
    'tollgate_spool_free_bytes',
    'Room left for the spool: set aside for it, and free on its disk.',
    spool.freeBytes,
  );
}

function* openCircuits({ circuits }: NodeReport): Iterable<readonly [string, number]> {
  const counts = new Map<string, number>();
  for (const { provider, state } of circuits)
    counts.set(provider, (counts.get(provider) ?? 0) + (state === 'open' ? 1 : 0));
  yield* counts;
}

type DatabaseFigures = {
  dead_letters: number;
  orphan_seconds: number;
  rollup_seconds: number;
  pingSeconds: number;
};

function addDatabaseGauges(metrics: GatewayMetrics, figures: () => DatabaseFigures | null): void {
  metrics.gauge(
    'tollgate_dead_letters',
    'Settlements that the database rejected.',
    () => figures()?.dead_letters ?? null,
  );
  metrics.gauge(
    'tollgate_oldest_orphan_age_seconds',
    'Age of the oldest open Generation of a node that is gone; 0 if there is none.',
    () => figures()?.orphan_seconds ?? null,
  );
  metrics.gauge(
    'tollgate_rollup_age_seconds',
    'Time since the end of the last minute whose requests were added up.',
    () => figures()?.rollup_seconds ?? null,
  );
  metrics.gauge(
    'tollgate_database_ping_seconds',
    'How long a query took through the pool, waiting for a connection included.',
    () => figures()?.pingSeconds ?? null,
  );
}

async function readDatabase(sql: SQL): Promise<DatabaseFigures> {
  const startedAt = performance.now();
  const [row] = await sql<[Omit<DatabaseFigures, 'pingSeconds'>]>`
    select (select count(*)::int from dead_letters) as dead_letters,
           (select extract(epoch from now() - rolled_to)::float8 from rollup_progress) as rollup_seconds,
           coalesce((
             select extract(epoch from now() - min(open.created_at))::float8
             from open_generations as open
             where not exists (
               select 1 from nodes
               where nodes.id = open.node_id and nodes.heartbeat_at > now() - interval '1 minute')), 0) as orphan_seconds`;
  return { ...row, pingSeconds: (performance.now() - startedAt) / 1000 };
}

function addBillGauges(metrics: GatewayMetrics, bills: () => readonly BillFigures[]): void {
  const byProvider = (read: (of: BillFigures) => number | null) => () =>
    bills().flatMap((of): (readonly [string, number])[] => {
      const value = read(of);
      return value === null ? [] : [[of.provider, value]];
    });
  metrics.gauge(
    'tollgate_reconciliation_difference_usd',
    'What the provider billed beyond the metered cost on the newest day that it no longer corrects.',
    byProvider(({ difference }) => difference),
    { label: 'provider' },
  );
  metrics.gauge(
    'tollgate_reconciliation_tolerance_usd',
    'How large that difference may be.',
    byProvider(({ tolerance }) => tolerance),
    { label: 'provider' },
  );
  metrics.gauge(
    'tollgate_reconciliation_last_success_timestamp_seconds',
    'When a bill that gateways read by themselves was last read and compared; 0 if never.',
    byProvider(({ readAtSeconds }) => readAtSeconds),
    { label: 'provider' },
  );
}

function addProcessGauges(metrics: GatewayMetrics, lag: LoopLag): void {
  metrics.gauge(
    'tollgate_event_loop_lag_seconds',
    'Longest delay of the event loop since the last scrape.',
    lag.read,
  );
  metrics.gauge('tollgate_heap_bytes', 'JavaScript heap.', () => heapStats().heapSize);
  metrics.gauge('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss());
  metrics.gauge('process_open_fds', 'Open file descriptors.', countDescriptors);
  metrics.gauge(
    'process_cpu_seconds_total',
    'CPU time, user and system.',
    () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
    { type: 'counter' },
  );
  const startedSeconds = Date.now() / 1000 - process.uptime();
  metrics.gauge('process_start_time_seconds', 'When the process started.', () => startedSeconds);
}

class LoopLag {
  #longestMs = 0;
  #dueAtMs = performance.now() + lagProbeMs;
  readonly #timer = setInterval(() => {
    const nowMs = performance.now();
    this.#longestMs = Math.max(this.#longestMs, nowMs - this.#dueAtMs);
    this.#dueAtMs = nowMs + lagProbeMs;
  }, lagProbeMs);

  readonly read = (): number => {
    const longestMs = this.#longestMs;
    this.#longestMs = 0;
    return Math.max(0, longestMs) / 1000;
  };

  readonly stop = (): void => clearInterval(this.#timer);
}
