import type { SQL } from 'bun';
import { leaseSeconds } from '../../../ledger/node-lease.ts';
import { type Found, rowsFound } from '../operator-queries.ts';

/** As much as can be counted while somebody waits for it: on a busy gateway a day has millions. */
const mostAttempts = 100_000;
const mostFailures = 50;

export type AttemptCounts = Readonly<{
  since: Date;
  /** By the name that attempts are recorded under. */
  byProvider: ReadonlyMap<string, Readonly<{ attempts: number; failed: number }>>;
}>;

type CountRow = { provider: string; attempts: number; failed: number; oldest: Date };

/** Of requests that have ended. The newest attempts lie at the end of the index by ID, which is by time. */
export async function countAttempts(sql: SQL, operatorId: string): Promise<AttemptCounts> {
  const found = await sql<Found<CountRow, 'provider'>[]>`
    select provider, count(*)::int as attempts, (count(*) filter (where status = 'failed'))::int as failed,
           min(started_at) as oldest
    from users left join lateral (
      select provider, status, started_at from attempts
      where generation_id >= first_id_at(now() - interval '24 hours')
      order by generation_id desc limit ${mostAttempts}
    ) as newest on true
    where users.id = ${operatorId} and is_operator
    group by provider`;
  const rows = rowsFound(found, 'provider');
  const total = rows.reduce((sum, { attempts }) => sum + attempts, 0);
  const dayAgoMs = Date.now() - 24 * 60 * 60 * 1000;
  const oldestMs = Math.min(...rows.map(({ oldest }) => oldest.getTime()));
  return {
    since: new Date(total < mostAttempts ? dayAgoMs : Math.max(dayAgoMs, oldestMs)),
    byProvider: new Map(rows.map(({ provider, attempts, failed }) => [provider, { attempts, failed }])),
  };
}

export type FailureRow = {
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

export async function findFailures(sql: SQL, operatorId: string): Promise<FailureRow[]> {
  const rows = await sql<Found<FailureRow, 'generation_id'>[]>`
    with newest as materialized (
      select generation_id, index, provider, error_code, upstream_status, completed_at from attempts
      where status = 'failed' and generation_id >= first_id_at(now() - interval '24 hours')
      order by generation_id desc, index desc limit ${mostFailures}
    )
    select generation_id, account_id, accounts.name as account_name, model, newest.provider, index, newest.error_code,
           upstream_status, newest.completed_at
    from users
    left join (
      newest join generations on generations.id = generation_id join accounts on accounts.id = account_id
    ) on true
    where users.id = ${operatorId} and is_operator
    order by generation_id desc, index desc`;
  return rowsFound(rows, 'generation_id');
}

export type ReportRow = { name: string; report: unknown };

/** What the nodes that live have told of themselves. */
export async function findReports(sql: SQL, operatorId: string): Promise<ReportRow[]> {
  const rows = await sql<Found<ReportRow, 'name'>[]>`
    select nodes.name, report
    from users
    left join nodes on stopped_at is null and heartbeat_at > now() - make_interval(secs => ${leaseSeconds})
    where users.id = ${operatorId} and is_operator
    order by nodes.name, nodes.id`;
  return rowsFound(rows, 'name');
}
