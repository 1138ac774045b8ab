/** What the metrics say about the bills of the providers in the catalogue. */
import type { SQL } from 'bun';
import type { Provider } from '../models/model.ts';
import type { Secret } from '../models/provider-key.ts';
import { isAdminKeySet } from './reconcile.ts';
import { isPreliminary } from './store.ts';

export type BillFigures = Readonly<{
  /** The ID in the catalogue: several providers may have one name. */
  provider: string;
  /** In US dollars, on the newest day with a bill that the provider no longer corrects; null when there is none. */
  difference: number | null;
  tolerance: number | null;
  /** When a bill was last read, in Unix time, and 0 if never; null for a provider whose bill no gateway reads. */
  readAtSeconds: number | null;
}>;

type Row = { provider: string; difference: number | null; tolerance: number | null; read_at: number };

/** Each part reads a few rows at the end of an index. */
export async function readBillFigures(
  sql: SQL,
  providers: ReadonlyMap<string, Provider>,
  secret: Secret,
): Promise<readonly BillFigures[]> {
  const rows = await sql<Row[]>`
    select known.provider, final.difference::float8 as difference, final.tolerance::float8 as tolerance,
           coalesce((
             select extract(epoch from finished_at)::float8 from reconciliation_runs as run
             where run.provider = known.provider and finished_at is not null and error is null
             order by started_at desc limit 1), 0) as read_at
    from unnest(${sql.array([...providers.keys()], 'text')}) as known (provider)
    left join lateral (
      select days.difference, days.tolerance from reconciled_days as days
      left join lateral (
        select refreshed_at from bill_versions as bill
        where bill.provider = days.provider and bill.day = days.day order by version desc limit 1
      ) as newest on true
      where days.provider = known.provider and days.billed is not null and not (${isPreliminary(sql)})
      order by days.day desc limit 1
    ) as final on true`;
  return rows.map(({ provider: id, difference, tolerance, read_at: readAt }) => {
    const provider = providers.get(id);
    const isReadByGateways = provider !== undefined && isAdminKeySet(provider, secret);
    return { provider: id, difference, tolerance, readAtSeconds: isReadByGateways ? readAt : null };
  });
}
