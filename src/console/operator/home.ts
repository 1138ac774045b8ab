/** What an operator should know first: money, providers, refusals, and everything that is wrong. */
import type { SQL } from 'bun';
import type { RecordedAudit } from '../../audit/run.ts';
import { lookUp } from '../../http/lookup.ts';
import { invalidQuery, readQuery } from '../../http/query.ts';
import { dayMs, minuteMs } from '../../lib/time-units.ts';
import { floorTo, type Span, stepsOf, widened } from '../../rollups/range.ts';
import type { ActiveCatalog } from '../../routing/active-catalog.ts';
import { readReport } from '../../routing/node-report.ts';
import { dayOf } from '../../usage/days.ts';
import { boundedRead } from '../bounded-read.ts';
import type { Unsent } from '../contract.ts';
import { inSnapshot } from '../figures-snapshot.ts';
import type { ConsoleHandler, Routes } from '../guard.ts';
import type { OperatorHome } from '../home-contract.ts';
import { countRefused } from '../request-figures.ts';
import { findDryAccounts } from './dry-accounts.ts';
import { findHomeMoney } from './home-money.ts';
import { findAuditsAs } from './ledger.ts';
import { findFailedSettlements, findFailingWebhooks, findWriteOffs } from './losses.ts';
import { findNodes } from './nodes.ts';
import { findOpenCircuits } from './open-circuits.ts';
import { findProviderCalls } from './provider-calls.ts';
import { findDays } from './reconciliation.ts';
import { findShortAccounts } from './short-accounts.ts';

type HomeServices = Readonly<{ sql: SQL; reads: () => SQL; catalog: () => ActiveCatalog }>;
type Home = Unsent<OperatorHome>;

const failure = 'usage_lookup_failed';
const daysIn = new Map([
  ['24h', 1],
  ['7d', 7],
  ['30d', 30],
]);

export function homePage({ sql, reads, catalog }: HomeServices): Routes<ConsoleHandler> {
  return {
    '/home': {
      GET: async (request, { signedIn }) => {
        const days = daysIn.get(readQuery(request.url, ['range']).get('range') ?? '24h');
        if (days === undefined) throw invalidQuery('range', [...daysIn.keys()].join(', '));
        const nowMs = Date.now();
        const { providers } = catalog().catalog;
        const nameOf = (id: string) => providers.get(id)?.name ?? id;
        const home = await lookUp(failure, async (): Promise<Home> => {
          const [figures, state] = await Promise.all([
            inSnapshot(reads(), null, (snapshot) => findFigures(snapshot, signedIn, nowMs, days)),
            findState(sql, signedIn, nameOf),
          ]);
          return { ...figures, ...state };
        });
        return Response.json(home);
      },
    },
  };
}

type Figures =
  | 'from'
  | 'to'
  | 'money'
  | 'providers'
  | 'refusals'
  | 'short_accounts'
  | 'dry_accounts'
  | 'write_offs';

/** One after the other: a page that is refreshed by itself takes few of the connections that requests need, too. */
async function findFigures(
  snapshot: SQL,
  reader: Readonly<{ userId: string }>,
  nowMs: number,
  days: number,
): Promise<Pick<Home, Figures>> {
  const span = spanOf(days, nowMs);
  return {
    from: new Date(span.fromMs).toISOString(),
    to: new Date(span.toMs).toISOString(),
    money: await findHomeMoney(snapshot, reader.userId, dayOf(new Date(nowMs)), days),
    providers: await findProviderCalls(snapshot, reader, span),
    refusals: await findRefusals(snapshot, reader, span),
    short_accounts: await findShortAccounts(snapshot, reader, nowMs),
    dry_accounts: await findDryAccounts(snapshot, reader, nowMs),
    write_offs: await findWriteOffs(snapshot, reader, span),
  };
}

/** What is true now, and little to read. A replica may know it too late. */
async function findState(
  sql: SQL,
  reader: Readonly<{ userId: string }>,
  nameOf: (providerId: string) => string,
): Promise<Omit<Home, Figures>> {
  const [audit] = await findAuditsAs(sql, reader.userId);
  return await boundedRead(sql, async (read) => ({
    failed_settlements: await findFailedSettlements(read, reader),
    failing_webhooks: await findFailingWebhooks(read, reader),
    circuits: await findOpenCircuits(read, reader, nameOf),
    nodes: presentNodes(await findNodes(read, reader)),
    audit: presentAudit(audit),
    reconciliation: presentBills(await findDays(read, reader), nameOf),
  }));
}

/** From the same round time as in the explorer and on the page of a provider, so that all count the same requests. */
function spanOf(days: number, nowMs: number): Span {
  const { fromMs, toMs } = widened({ fromMs: nowMs, toMs: nowMs }, minuteMs);
  const steps = stepsOf({ fromMs: fromMs - days * dayMs, toMs }, nowMs);
  return { fromMs: floorTo(steps.fromMs, steps.stepMs), toMs: steps.toMs };
}

async function findRefusals(
  snapshot: SQL,
  reader: Readonly<{ userId: string }>,
  span: Span,
): Promise<Home['refusals']> {
  const codes = await countRefused(snapshot, reader, span, 'error_code');
  return codes.map(({ value, refused }) => ({ code: value ?? '', count: refused }));
}

function presentNodes(nodes: Awaited<ReturnType<typeof findNodes>>): Home['nodes'] {
  const alive = nodes.flatMap(({ state, name, report }) =>
    state === 'alive' ? [{ name, report: readReport(report) }] : [],
  );
  return {
    alive: alive.length,
    lost: nodes.filter(({ state }) => state === 'lost').length,
    price_versions: [...new Set(alive.flatMap(({ report }) => report?.price_version ?? []))].sort(),
    catalog_errors: alive.flatMap(({ name, report }) =>
      report?.catalog_error ? [{ node: name, error: report.catalog_error }] : [],
    ),
  };
}

function presentAudit(audit: RecordedAudit | undefined): Home['audit'] {
  if (audit === undefined) return null;
  return {
    state: audit.state,
    is_full: audit.isFull,
    started_at: audit.startedAt,
    finished_at: audit.finishedAt,
    violations: audit.findings.reduce((sum, { violations }) => sum + violations, 0),
  };
}

/** The days of each provider come newest first. One that differs is what an operator has to know. */
function presentBills(
  days: Awaited<ReturnType<typeof findDays>>,
  nameOf: (providerId: string) => string,
): Home['reconciliation'] {
  return [...Map.groupBy(days, ({ provider }) => provider)].flatMap(([provider, own]) => {
    const compared = own.filter((day) => day.is_within !== null && !day.is_preliminary);
    const outside = compared.filter((day) => day.is_within === false);
    const shown = outside[0] ?? compared[0] ?? own[0];
    if (shown === undefined) return [];
    return [
      {
        provider: nameOf(provider),
        day: shown.day,
        difference: shown.difference,
        is_preliminary: shown.is_preliminary,
        compared_at: shown.compared_at,
        days_compared: compared.length,
        days_outside: outside.length,
      },
    ];
  });
}
