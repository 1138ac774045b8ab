/** The state of every provider, on every node. */
import type { SQL } from 'bun';
import { lookUp } from '../../http/lookup.ts';
import { readQuery } from '../../http/query.ts';
import { requestIdFromUuid } from '../../lib/ids.ts';
import { dayMs, hourMs, minuteMs } from '../../lib/time-units.ts';
import { leaseSeconds } from '../../nodes/lease.ts';
import { readProgress } from '../../rollups/figures.ts';
import { inOneStep, knownFrom, type Steps, widened } from '../../rollups/range.ts';
import type { ActiveCatalog } from '../../routing/active-catalog.ts';
import { readReport } from '../../routing/node-report.ts';
import { type Found, type OperatorReader, operatorOnly, rowsForOperator } from '../access.ts';
import { boundedRead } from '../bounded-read.ts';
import type { Unsent } from '../contract.ts';
import { inSnapshot } from '../figures-snapshot.ts';
import type { ConsoleHandler, Routes } from '../guard.ts';
import type { ListedCircuit, Providers } from '../operator-contract.ts';
import { findCalls } from './provider-calls.ts';

type ProvidersServices = Readonly<{ sql: SQL; reads: () => SQL; catalog: () => ActiveCatalog }>;

export function providersPage({ sql, reads, catalog: current }: ProvidersServices): Routes<ConsoleHandler> {
  return {
    '/providers': {
      GET: async (request, { signedIn }) => {
        readQuery(request.url, []);
        const [reports, counts, failures] = await Promise.all([
          boundedRead(sql, (read) => findReports(read, signedIn)),
          lookUp('usage_lookup_failed', () => countAttempts(reads(), signedIn)),
          boundedRead(sql, (read) => findFailures(read, signedIn)),
        ]);
        const { catalog, connections } = current();
        const circuits = circuitsByProvider(reports);
        return Response.json({
          data: [...catalog.providers.values()].map(({ id, name, adapter, apiKeyEnv }) => ({
            id,
            name,
            adapter,
            is_configured: connections.has(id),
            key_variable: apiKeyEnv,
            circuits: circuits.get(id) ?? [],
            last_24_hours: counts.day.get(name) ?? none,
            last_hour: counts.hour.get(name) ?? none,
          })),
          attempts_since: counts.since.toISOString(),
          failures: failures.map(presentFailure),
        } satisfies Unsent<Providers>);
      },
    },
  };
}

export function circuitsByProvider(reports: readonly ReportRow[]): ReadonlyMap<string, ListedCircuit[]> {
  const reported = reports.flatMap(({ name, report }) =>
    (readReport(report)?.circuits ?? []).map(({ provider, ...circuit }) => ({
      provider,
      circuit: { node: name, ...circuit },
    })),
  );
  return new Map(
    [...Map.groupBy(reported, ({ provider }) => provider)].map(([provider, ofProvider]) => [
      provider,
      ofProvider.map(({ circuit }) => circuit),
    ]),
  );
}

function presentFailure(row: FailureRow): Unsent<Providers['failures'][number]> {
  return {
    request_id: requestIdFromUuid(row.generation_id),
    account: { id: row.account_id, name: row.account_name },
    model: row.model,
    provider: row.provider,
    attempt: row.index,
    error: row.error_code ?? 'internal_error',
    upstream_status: row.upstream_status,
    at: row.completed_at,
  };
}

const maxFailures = 50;

type Counts = Readonly<{ attempts: number; failed: number }>;
const none: Counts = { attempts: 0, failed: 0 };

type AttemptCounts = Readonly<{
  since: Date;
  /** By the name that attempts are recorded under. */
  day: ReadonlyMap<string, Counts>;
  hour: ReadonlyMap<string, Counts>;
}>;

/** Of requests that have ended. A request that is invalid is not a failure of its provider. */
export async function countAttempts(sql: SQL, reader: OperatorReader): Promise<AttemptCounts> {
  const nowMs = Date.now();
  const last = (lengthMs: number) => inOneStep(widened({ fromMs: nowMs - lengthMs, toMs: nowMs }, minuteMs));
  const day = last(dayMs);
  return await inSnapshot(sql, null, async (snapshot) => {
    const progress = await readProgress(snapshot, day);
    const count = async (steps: Steps) =>
      new Map(
        (await findCalls(snapshot, reader, steps, progress)).map(
          ({ provider, succeeded, failed, rejected, cancelled }) => [
            provider,
            { attempts: succeeded + failed + cancelled, failed: failed - rejected },
          ],
        ),
      );
    return {
      since: new Date(knownFrom(day, progress) ?? day.fromMs),
      day: await count(day),
      hour: await count(last(hourMs)),
    };
  });
}

type FailureRow = {
  generation_id: string;
  account_id: string;
  account_name: string;
  model: string;
  provider: string;
  index: number;
  error_code: string | null;
  upstream_status: number | null;
  completed_at: Date;
};

export async function findFailures(sql: SQL, reader: OperatorReader): Promise<FailureRow[]> {
  const rows = await sql<Found<FailureRow, 'generation_id'>[]>`
    with newest as materialized (
      select generation_id, index, provider, error_code, upstream_status, completed_at from attempts
      where status = 'failed' and generation_id >= first_id_at(now() - interval '24 hours')
      order by generation_id desc, index desc limit ${maxFailures}
    )
    select generation_id, account_id, accounts.name as account_name, model, newest.provider, index, newest.error_code,
           upstream_status, newest.completed_at
    from ${operatorOnly(sql, reader)} as allowed
    left join (
      newest join generations on generations.id = generation_id join accounts on accounts.id = account_id
    ) on true
    order by generation_id desc, index desc`;
  return rowsForOperator(rows, 'generation_id');
}

type ReportRow = { name: string; report: unknown };

/** What the live nodes report. */
export async function findReports(sql: SQL, reader: OperatorReader): Promise<ReportRow[]> {
  const rows = await sql<Found<ReportRow, 'name'>[]>`
    select nodes.name, report
    from ${operatorOnly(sql, reader)} as allowed
    left join nodes on stopped_at is null and heartbeat_at > now() - make_interval(secs => ${leaseSeconds})
    order by nodes.name, nodes.id`;
  return rowsForOperator(rows, 'name');
}
