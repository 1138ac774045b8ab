import { requestIdFromUuid } from '../../../lib/ids.ts';
import type { ActiveCatalog } from '../../../routing/active-catalog.ts';
import { readReport } from '../../../routing/node-report.ts';
import type { Circuit, Providers } from '../../operator-contract.ts';
import type { AttemptCounts, FailureRow, ReportRow } from './provider-queries.ts';

export function presentProviders(
  { catalog, connections }: Pick<ActiveCatalog, 'catalog' | 'connections'>,
  reports: readonly ReportRow[],
  counts: AttemptCounts,
  failures: readonly FailureRow[],
): Providers {
  const circuits = circuitsByProvider(reports);
  return {
    data: [...catalog.providers.values()].map(({ id, name, adapter }) => ({
      id,
      name,
      adapter,
      is_configured: connections.has(id),
      circuits: circuits.get(id) ?? [],
      last_24_hours: counts.byProvider.get(name) ?? { attempts: 0, failed: 0 },
    })),
    attempts_since: counts.since.toISOString(),
    failures: failures.map(presentFailure),
  };
}

function circuitsByProvider(reports: readonly ReportRow[]): ReadonlyMap<string, Circuit[]> {
  const told = reports.flatMap(({ name, report }) =>
    (readReport(report)?.circuits ?? []).map(({ provider, ...circuit }) => ({
      provider,
      circuit: { node: name, ...circuit },
    })),
  );
  return new Map(
    [...Map.groupBy(told, ({ provider }) => provider)].map(([provider, ofProvider]) => [
      provider,
      ofProvider.map(({ circuit }) => circuit),
    ]),
  );
}

function presentFailure(row: FailureRow): Providers['failures'][number] {
  return {
    request_id: requestIdFromUuid(row.generation_id),
    account: { id: row.account_id, name: row.account_name },
    model: row.model,
    provider: row.provider,
    attempt: row.index,
    error: row.error_code ?? 'internal_error',
    upstream_status: row.upstream_status,
    at: row.completed_at.toISOString(),
  };
}
