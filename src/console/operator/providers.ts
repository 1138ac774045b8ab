/** The state of every provider, on every node. */
import type { SQL } from 'bun';
import { readQuery } from '../../http/query.ts';
import { requestIdFromUuid } from '../../lib/ids.ts';
import { leaseSeconds } from '../../nodes/lease.ts';
import type { ActiveCatalog } from '../../routing/active-catalog.ts';
import { readReport } from '../../routing/node-report.ts';
import { type Found, type OperatorReader, operatorOnly, rowsForOperator } from '../access.ts';
import type { Unsent } from '../contract.ts';
import type { ConsoleHandler, Routes } from '../guard.ts';
import type { ListedCircuit, Providers } from '../operator-contract.ts';

type ProvidersServices = Readonly<{ sql: SQL; catalog: () => ActiveCatalog }>;

export function providersPage({ sql, catalog: current }: ProvidersServices): Routes<ConsoleHandler> {
  return {
    '/providers': {
      GET: async (request, { signedIn }) => {
        readQuery(request.url, []);
        const [reports, counts, failures] = await Promise.all([
          findReports(sql, signedIn),
          countAttempts(sql, signedIn),
          findFailures(sql, signedIn),
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
            last_24_hours: counts.byProvider.get(name)?.day ?? none,
            last_hour: counts.byProvider.get(name)?.hour ?? none,
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

/** As many as can be counted while a user waits: a busy gateway has millions per day. */
const maxAttempts = 100_000;
const maxFailures = 50;

type Counts = Readonly<{ attempts: number; failed: number }>;
const none: Counts = { attempts: 0, failed: 0 };

type AttemptCounts = Readonly<{
  since: Date;
  /** By the name that attempts are recorded under. */
  byProvider: ReadonlyMap<string, Readonly<{ day: Counts; hour: Counts }>>;
}>;

type CountRow = {
  provider: string;
  attempts: number;
  failed: number;
  hour_attempts: number;
  hour_failed: number;
  oldest: Date;
};

/**
 * Of requests that have ended. A request that is invalid is not a failure of its provider. The newest attempts are at the
 * end of the index, because IDs sort by time.
 */
export async function countAttempts(sql: SQL, reader: OperatorReader): Promise<AttemptCounts> {
  const found = await sql<Found<CountRow, 'provider'>[]>`
    select provider, count(*)::int as attempts, (count(*) filter (where is_failed))::int as failed,
           (count(*) filter (where is_of_hour))::int as hour_attempts,
           (count(*) filter (where is_of_hour and is_failed))::int as hour_failed,
           min(started_at) as oldest
    from ${operatorOnly(sql, reader)} as allowed left join lateral (
      select provider, started_at, generation_id >= first_id_at(now() - interval '1 hour') as is_of_hour,
             status = 'failed' and error_code is distinct from 'provider_bad_request' as is_failed
      from attempts
      where generation_id >= first_id_at(now() - interval '24 hours')
      order by generation_id desc limit ${maxAttempts}
    ) as newest on true
    group by provider`;
  const rows = rowsForOperator(found, 'provider');
  const total = rows.reduce((sum, { attempts }) => sum + attempts, 0);
  const dayAgoMs = Date.now() - 24 * 60 * 60 * 1000;
  const oldestMs = Math.min(...rows.map(({ oldest }) => oldest.getTime()));
  return {
    since: new Date(total < maxAttempts ? dayAgoMs : Math.max(dayAgoMs, oldestMs)),
    byProvider: new Map(
      rows.map(({ provider, attempts, failed, hour_attempts, hour_failed }) => [
        provider,
        { day: { attempts, failed }, hour: { attempts: hour_attempts, failed: hour_failed } },
      ]),
    ),
  };
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
