/** What providers billed, next to the metered cost. */
import type { SQL } from 'bun';
import { invalidQuery, readQuery } from '../../http/query.ts';
import { parseTime } from '../../lib/calendar.ts';
import type { Provider } from '../../models/model.ts';
import type { Secret } from '../../models/provider-key.ts';
import { isAdminKeySet } from '../../reconciliation/reconcile.ts';
import { isPreliminary, type PresentedExplanation, type PresentedModel } from '../../reconciliation/store.ts';
import { describeExplanation } from '../../reconciliation/words.ts';
import type { ActiveCatalog } from '../../routing/active-catalog.ts';
import { type Found, type OperatorReader, operatorOnly, rowsForOperator } from '../access.ts';
import { boundedRead } from '../bounded-read.ts';
import type { Unsent } from '../contract.ts';
import type { ConsoleHandler, Routes } from '../guard.ts';
import type {
  ReconciledDay,
  ReconciledDetail,
  ReconciledProvider,
  Reconciliation,
} from '../operator-contract.ts';

type ReconciliationServices = Readonly<{ sql: SQL; catalog: () => ActiveCatalog; secret: Secret }>;

const shownDays = 31;
const maxRows = 2_000;
const maxVersions = 50;

export function reconciliationPage({ sql, catalog, secret }: ReconciliationServices): Routes<ConsoleHandler> {
  return {
    '/reconciliation': {
      GET: async (request, { signedIn }) => {
        readQuery(request.url, []);
        const [days, runs] = await boundedRead(
          sql,
          async (read) => [await findDays(read, signedIn), await findRuns(read, signedIn)] as const,
        );
        const { providers } = catalog().catalog;
        return Response.json({
          providers: presentProviders(providers, runs, secret),
          data: days.map(presentDay),
        } satisfies Unsent<Reconciliation>);
      },
    },
    '/reconciliation/:provider/:day': {
      GET: async (request, { params, signedIn }) => {
        readQuery(request.url, []);
        const { provider = '', day = '' } = params;
        // The database has no year 0.
        if (!/^\d{4}-\d{2}-\d{2}$/.test(day) || day < '0001' || parseTime(day) === null)
          throw invalidQuery('day', 'a day such as 2027-01-31');
        // Nor does it take a NUL. The query has to be run all the same, because it checks who is asking.
        const name = provider.replaceAll('\0', '\ufffd');
        const data = await boundedRead(sql, (read) => findDetail(read, signedIn, name, day));
        return Response.json({ data } satisfies { data: Unsent<ReconciledDetail> | null });
      },
    },
  };
}

type DayRow = Omit<Unsent<ReconciledDay>, 'changed'> & { changed_at: Date | null; before: string | null };

/** The newest days of each provider. Both joins look up single rows of a primary key. */
export async function findDays(sql: SQL, reader: OperatorReader): Promise<DayRow[]> {
  const rows = await sql<Found<DayRow, 'day'>[]>`
    select reconciled.* from ${operatorOnly(sql, reader)} as allowed left join lateral (
      select days.provider, days.day::text as day, days.charged, days.metered, days.uncharged, days.billed,
             days.difference, days.tolerance, days.is_within, days.compared_at, (${isPreliminary(sql)}) as is_preliminary,
             case when newest.version > 1 then newest.first_read_at end as changed_at, earlier.billed as before
      from (select provider, max(day) as day from reconciled_days group by provider) as latest
      join reconciled_days as days on days.provider = latest.provider and days.day > latest.day - ${shownDays}::int
      left join lateral (
        select version, first_read_at, refreshed_at from bill_versions as bill
        where bill.provider = days.provider and bill.day = days.day order by version desc limit 1
      ) as newest on true
      left join bill_versions as earlier
        on earlier.provider = days.provider and earlier.day = days.day and earlier.version = newest.version - 1
      order by days.provider, days.day desc limit ${maxRows}
    ) as reconciled on true
    order by provider, day desc`;
  return rowsForOperator(rows, 'day');
}

export function presentDay({ changed_at: at, before, ...day }: DayRow): Unsent<ReconciledDay> {
  return { ...day, changed: at === null || before === null ? null : { at, before } };
}

type RunRow = Readonly<{
  provider: string;
  last_read_at: Date | null;
  next_read_at: Date | null;
  error: string | null;
  finished_at: Date;
  notes: string[];
}>;

/** The last attempt for each provider that was ever asked, and when it last succeeded. */
export async function findRuns(sql: SQL, reader: OperatorReader): Promise<RunRow[]> {
  const rows = await sql<Found<RunRow, 'provider'>[]>`
    select run.* from ${operatorOnly(sql, reader)} as allowed left join lateral (
      select known.provider, last.error, last.finished_at, last.notes,
             (select max(finished_at) from reconciliation_runs as done
              where done.provider = known.provider and done.finished_at is not null and done.error is null) as last_read_at,
             (select next_at from reconciliation_schedule as schedule where schedule.provider = known.provider) as next_read_at
      from (select distinct provider from reconciliation_runs) as known
      cross join lateral (
        select error, finished_at, notes from reconciliation_runs as run
        where run.provider = known.provider and run.finished_at is not null order by started_at desc limit 1
      ) as last
      order by known.provider limit ${maxRows}
    ) as run on true`;
  return rowsForOperator(rows, 'provider');
}

/** Those of the catalogue, in its order, and then those that have left it. */
function presentProviders(
  providers: ReadonlyMap<string, Provider>,
  runs: readonly RunRow[],
  secret: Secret,
): Unsent<ReconciledProvider>[] {
  const byProvider = new Map(runs.map((run) => [run.provider, run]));
  const isShown = ({ id, costReport }: Provider) => costReport.adminKeyEnv !== null || byProvider.has(id);
  const gone = runs.filter(({ provider }) => !providers.has(provider));
  return [
    ...[...providers.values()].filter(isShown).map((provider) => {
      const { id, name, costReport } = provider;
      const isKeySet = isAdminKeySet(provider, secret);
      return presentProvider(
        { id, name, key_variable: costReport.adminKeyEnv, is_key_set: isKeySet },
        byProvider.get(id),
      );
    }),
    ...gone.map((run) =>
      presentProvider({ id: run.provider, name: run.provider, key_variable: null, is_key_set: false }, run),
    ),
  ];
}

function presentProvider(
  about: Pick<ReconciledProvider, 'id' | 'name' | 'key_variable' | 'is_key_set'>,
  run: RunRow | undefined,
): Unsent<ReconciledProvider> {
  return {
    ...about,
    last_read_at: run?.last_read_at ?? null,
    next_read_at: about.is_key_set ? (run?.next_read_at ?? null) : null,
    error: run === undefined || run.error === null ? null : { message: run.error, at: run.finished_at },
    notes: run?.notes ?? [],
  };
}

type DetailRow = Readonly<{
  models: PresentedModel[];
  explanations: PresentedExplanation[];
  versions: ReconciledDetail['versions'] | null;
}>;

/** Null when the day was never compared. */
async function findDetail(
  sql: SQL,
  reader: OperatorReader,
  provider: string,
  day: string,
): Promise<Unsent<ReconciledDetail> | null> {
  const rows = await sql<Found<DetailRow, 'models'>[]>`
    select reconciled.* from ${operatorOnly(sql, reader)} as allowed left join lateral (
      select models, explanations,
             (select jsonb_agg(jsonb_build_object('version', version, 'source', source, 'billed', billed::text,
                'first_read_at', first_read_at, 'last_read_at', last_read_at) order by version desc)
              from (
                select version, source, billed, first_read_at, last_read_at from bill_versions as bill
                where bill.provider = days.provider and bill.day = days.day order by version desc limit ${maxVersions}
              ) as versions) as versions
      from reconciled_days as days where provider = ${provider} and day = ${day}::text::date
    ) as reconciled on true`;
  const [row] = rowsForOperator(rows, 'models');
  if (row === undefined) return null;
  return {
    models: row.models,
    explanations: row.explanations.map((explanation) => ({
      kind: explanation.kind,
      text: describeExplanation(explanation),
    })),
    versions: row.versions ?? [],
  };
}
