/** Which circuits keep calls from providers, on which nodes. */
import type { SQL } from 'bun';
import { type NodeReport, readReport } from '../../routing/node-report.ts';
import { type OperatorReader, operatorOnly } from '../access.ts';
import type { OperatorHome } from '../home-contract.ts';
import { findReports } from './providers.ts';

type Circuit = OperatorHome['circuits'][number];
type Reported = NodeReport['circuits'][number];

/** A node that nobody asks keeps its circuit half open, also when others have called the provider successfully since. */
export async function findOpenCircuits(
  sql: SQL,
  reader: OperatorReader,
  nameOf: (providerId: string) => string,
): Promise<Circuit[]> {
  const reports = await findReports(sql, reader);
  const circuits = circuitsIn(
    reports.flatMap(({ report }) => readReport(report)?.circuits ?? []),
    nameOf,
  );
  const lastSuccess = await findLastSuccess(sql, reader, circuits);
  return circuits.filter(({ state, provider, model, failing_since: since }) => {
    const successAt = lastSuccess.get(JSON.stringify([provider, model]));
    const isProven = since !== null && successAt !== undefined && successAt > new Date(since);
    return state === 'open' || !isProven;
  });
}

/** Each once, though several nodes may report it: as bad as the worst of them. */
export function circuitsIn(reported: readonly Reported[], nameOf: (providerId: string) => string): Circuit[] {
  const known = new Map<string, Circuit>();
  for (const { provider: id, model, state, failing_since: since, until } of reported) {
    if (state === 'closed') continue;
    const provider = nameOf(id);
    const name = JSON.stringify([provider, model]);
    const other = known.get(name);
    known.set(name, {
      provider,
      model,
      state: other?.state === 'open' ? 'open' : state,
      nodes: (other?.nodes ?? 0) + 1,
      failing_since: earliest(other?.failing_since ?? null, since),
      until: latest(other?.until ?? null, until),
    });
  }
  return [...known.values()].sort(
    (one, other) =>
      Number(other.state === 'open') - Number(one.state === 'open') ||
      compare(one.provider, other.provider) ||
      compare(one.model, other.model),
  );
}

function compare(one: string, other: string): number {
  return Number(one > other) - Number(one < other);
}

function earliest(one: string | null, other: string | null): string | null {
  return one !== null && other !== null && one < other ? one : (other ?? one);
}

function latest(one: string | null, other: string | null): string | null {
  return one !== null && other !== null && one > other ? one : (other ?? one);
}

/** By the minute, and up to a minute late: what has been added up is enough here. */
async function findLastSuccess(
  sql: SQL,
  reader: OperatorReader,
  circuits: readonly Circuit[],
): Promise<ReadonlyMap<string, Date>> {
  const asked = circuits.filter(({ state, failing_since: since }) => state === 'half_open' && since !== null);
  if (asked.length === 0) return new Map();
  const list = (of: (circuit: Circuit) => string) => sql.array(asked.map(of), 'TEXT');
  const rows = await sql<{ provider: string; model: string; at: Date }[]>`
    select asked.provider, asked.model, succeeded.at
    from ${operatorOnly(sql, reader)} as allowed cross join unnest(
      ${list(({ provider }) => provider)}::text[], ${list(({ model }) => model)}::text[],
      ${list(({ failing_since: since }) => since ?? '')}::text[]) as asked (provider, model, since)
    cross join lateral (
      select max(minute) as at from attempt_minutes as sums
      where sums.provider = asked.provider and sums.model = asked.model and sums.status = 'succeeded'
        and minute > asked.since::timestamptz
    ) as succeeded
    where succeeded.at is not null`;
  return new Map(rows.map(({ provider, model, at }) => [JSON.stringify([provider, model]), at]));
}
