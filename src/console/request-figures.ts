/** The requests of an account, counted: over time, and by what they have in common. */
import type { SQL } from 'bun';
import { ApiError, type ErrorCode } from '../errors.ts';
import { lookUp } from '../http/lookup.ts';
import { invalidQuery, parseLimit, type Query, readQuery } from '../http/query.ts';
import { formatMoney } from '../lib/money.ts';
import { percentileMs } from '../rollups/buckets.ts';
import {
  addFigures,
  type Figures,
  type FiguresRow,
  figuresFrom,
  figuresQuery,
  firstQuery,
  type GroupOrder,
  noFigures,
  rankOf,
  readProgress,
  type Wanted,
} from '../rollups/figures.ts';
import { inProgressQuery, lookedAtQuery } from '../rollups/one-by-one.ts';
import {
  before,
  inOneStep,
  isKept,
  knownFrom,
  type Progress,
  type Span,
  type Steps,
  stepCount,
  stepsOf,
  timeOf,
} from '../rollups/range.ts';
import type { ActiveCatalog } from '../routing/active-catalog.ts';
import { type Found, type OperatorReader, operatorOnly, readableAccount } from './access.ts';
import { inSnapshot } from './figures-snapshot.ts';
import type { AccountHandler, Routes } from './guard.ts';
import {
  type RequestFigures,
  type RequestGrouping,
  type RequestGroups,
  type RequestSeries,
  requestGroupings,
} from './request-contract.ts';
import {
  type CountFilter,
  parseCountFilter,
  parseSeriesFilter,
  requestParameters,
  sumParameters,
} from './request-filter.ts';

const failure = 'usage_lookup_failed';
const defaultGroups = 50;

export type FiguresServices = Readonly<{ reads: () => SQL; catalog: () => ActiveCatalog }>;

export function requestFiguresPage({ reads, catalog }: FiguresServices): Routes<AccountHandler> {
  return {
    '/requests/series': {
      GET: async (request, { caller }) => {
        const query = readQuery(request.url, requestParameters);
        const filter = {
          ...parseSeriesFilter(query, Date.now(), catalog().catalog.models),
          accountId: caller.accountId,
        };
        const series = await lookUp(failure, () =>
          findSeries(reads(), (sql) => readableAccount(sql, caller), 'account_not_found', filter),
        );
        return Response.json(series satisfies RequestSeries);
      },
    },
    '/requests/groups': {
      GET: async (request, { caller }) => {
        const query = readQuery(request.url, [...sumParameters, 'by', 'order', 'limit']);
        const filter = { ...parseCountFilter(query, Date.now()), accountId: caller.accountId };
        const wanted = parseGrouping(query);
        if (wanted.by === 'account') throw invalidQuery('by', 'key, model, provider, error_code');
        const groups = await lookUp(failure, () =>
          findGroups(reads(), (sql) => readableAccount(sql, caller), 'account_not_found', filter, wanted),
        );
        return Response.json(groups satisfies RequestGroups);
      },
    },
  };
}

type GroupsWanted = Readonly<{ by: RequestGrouping; order: GroupOrder; limit?: number }>;

export function parseGrouping(query: Query): GroupsWanted {
  const by = requestGroupings.find((one) => one === query.get('by'));
  if (by === undefined) throw invalidQuery('by', requestGroupings.join(', '));
  const text = query.get('order') ?? 'requests';
  const order = (['requests', 'cost', 'errors'] as const).find((one) => one === text);
  if (order === undefined) throw invalidQuery('order', 'requests, cost, errors');
  return { by, order, limit: parseLimit(query.get('limit'), defaultGroups) };
}

/** One row for whoever may see this, and none for anyone else. */
type Allowed = (sql: SQL) => ReturnType<typeof readableAccount>;

type Counted = Readonly<{ rows: FiguresRow[]; countedFromMs: number | null }>;

export async function findSeries(
  sql: SQL,
  allowed: Allowed,
  denial: ErrorCode,
  filter: CountFilter,
): Promise<RequestSeries> {
  const steps = stepsOf(filter.span, Date.now());
  return await inSnapshot(sql, filter.accountId, async (transaction) => {
    await requireAccess(transaction, allowed(transaction), denial, filter);
    const progress = await readProgress(transaction, { ...steps, fromMs: before(steps).fromMs });
    const count = (of: Steps) => countIn(transaction, allowed(transaction), denial, filter, of, progress);
    const { rows, countedFromMs } = await count(steps);
    const earlier = await countBefore(steps, progress, countedFromMs, count);
    const [{ in_progress }] = await transaction<[{ in_progress: number }]>`
      ${inProgressQuery(transaction, wantedOf(filter), steps)}`;
    const byStep = new Map(rows.map((row) => [row.step, figuresFrom(row)]));
    const points = Array.from({ length: stepCount(steps) }, (_, step) => byStep.get(step) ?? noFigures);
    return {
      from: timeOf(steps.fromMs),
      to: timeOf(steps.toMs),
      step_seconds: steps.stepMs / 1000,
      points: points.map((point, step) => ({
        at: timeOf(steps.fromMs + step * steps.stepMs),
        ...presentFigures(point),
      })),
      totals: presentFigures(points.reduce(addFigures, noFigures)),
      before: earlier === null ? null : presentFigures(earlier),
      in_progress,
      counted_from: countedFromMs === null ? null : timeOf(countedFromMs),
    };
  });
}

async function countIn(
  sql: SQL,
  readable: ReturnType<Allowed>,
  denial: ErrorCode,
  filter: CountFilter,
  steps: Steps,
  progress: Progress,
): Promise<Counted> {
  const wanted = wantedOf(filter);
  type Row = FiguresRow & Readonly<{ looked_from_ms?: number | null }>;
  const rows = await sql<Found<Row, 'step'>[]>`
    select figures.* from ${readable} as readable
    left join lateral (${
      filter.needsRows ? lookedAtQuery(sql, wanted, steps) : figuresQuery(sql, wanted, steps, progress)
    }) as figures on true`;
  const [first] = rows;
  if (first === undefined) throw new ApiError(denial);
  const found = rows.filter((row): row is Row => row.step !== null);
  const lookedFromMs = 'looked_from_ms' in first ? first.looked_from_ms : null;
  return {
    rows: found,
    countedFromMs: filter.needsRows ? (lookedFromMs ?? null) : knownFrom(steps, progress),
  };
}

/** The period before; null when not all of it is known. */
async function countBefore(
  steps: Steps,
  progress: Progress,
  countedFromMs: number | null,
  count: (steps: Steps) => Promise<Counted>,
): Promise<Figures | null> {
  const earlier = inOneStep(before(steps));
  if (countedFromMs !== null || !isKept(earlier, Date.now()) || knownFrom(earlier, progress) !== null)
    return null;
  const counted = await count(earlier);
  if (counted.countedFromMs !== null) return null;
  return counted.rows.map(figuresFrom).reduce(addFigures, noFigures);
}

function wantedOf({ accountId, keyId, sums, rows }: CountFilter) {
  return { scope: { accountId, keyId }, filter: sums, rows };
}

/**
 * Before anything is counted: all of a key's requests would be read to find none of this account. A key that the account does not
 * have is an error: no requests would look as if it had never been used.
 */
async function requireAccess(
  sql: SQL,
  readable: ReturnType<Allowed>,
  denial: ErrorCode,
  { accountId, keyId }: CountFilter,
): Promise<void> {
  const [row] = await sql<{ has_key: boolean }[]>`
    select exists (
      select from api_keys where id = ${keyId}::uuid and (${accountId}::uuid is null or account_id = ${accountId})
    ) as has_key
    from ${readable} as readable`;
  if (row === undefined) throw new ApiError(denial);
  if (keyId !== null && !row.has_key) throw new ApiError('key_not_found', { param: 'key' });
}

export async function findGroups(
  sql: SQL,
  allowed: Allowed,
  denial: ErrorCode,
  filter: CountFilter,
  wanted: GroupsWanted,
): Promise<RequestGroups> {
  return await inSnapshot(sql, filter.accountId, (snapshot) =>
    countGroups(snapshot, allowed, denial, filter, wanted),
  );
}

/** The same in a snapshot that there is already. */
export async function countGroups(
  snapshot: SQL,
  allowed: Allowed,
  denial: ErrorCode,
  filter: CountFilter,
  { by, order, limit = defaultGroups }: GroupsWanted,
): Promise<RequestGroups> {
  const { fromMs, toMs } = stepsOf(filter.span, Date.now());
  const steps = inOneStep({ fromMs, toMs });
  type Row = FiguresRow & Readonly<{ name: string | null }>;
  await requireAccess(snapshot, allowed(snapshot), denial, filter);
  const progress = await readProgress(snapshot, steps);
  const all: Wanted = { ...wantedOf(filter), by };
  const wanted = await narrowed(snapshot, allowed, all, order, limit, steps, progress);
  const rows = await snapshot<Found<Row, 'step'>[]>`
    select figures.*, ${nameOf(snapshot, by)} as name from ${allowed(snapshot)} as readable
    left join lateral (
      select * from (${figuresQuery(snapshot, wanted, steps, progress)}) as grouped
      order by ${rankOf(snapshot, order)} desc, value limit ${limit}::int
    ) as figures on true
    order by ${rankOf(snapshot, order)} desc, value`;
  if (rows.length === 0) throw new ApiError(denial);
  const groups = rows.filter((row): row is Row => row.step !== null);
  return {
    from: timeOf(fromMs),
    to: timeOf(toMs),
    data: groups.map((row) => ({
      value: row.value === '' ? null : row.value,
      name: row.name,
      ...presentFigures(figuresFrom(row)),
    })),
  };
}

/** How many requests of everybody were refused, also of those that were too many to store. */
export async function countRefused(
  snapshot: SQL,
  reader: OperatorReader,
  span: Span,
  by: RequestGrouping,
  errorCode: string | null = null,
): Promise<Readonly<{ value: string | null; refused: number }>[]> {
  const filter: CountFilter = {
    span,
    accountId: null,
    keyId: null,
    sums: { status: 'refused', errorCode, model: null, provider: null },
    rows: { api: null, isStreamed: null, isFallback: null, minCost: null, minDurationMs: null, labels: [] },
    needsRows: false,
  };
  const allowed = (sql: SQL) => operatorOnly(sql, reader);
  const wanted = { by, order: 'requests' } as const;
  return (await countGroups(snapshot, allowed, 'permission_denied', filter, wanted)).data;
}

function nameOf(sql: SQL, by: RequestGrouping) {
  if (by === 'key') return sql`(select name from api_keys where id = figures.value::uuid)`;
  if (by === 'account') return sql`(select name from accounts where id = figures.value::uuid)`;
  return sql`null::text`;
}

/** Which of many keys or accounts come first is found before their figures are read, which have forty columns. */
async function narrowed(
  snapshot: SQL,
  allowed: Allowed,
  wanted: Wanted,
  order: GroupOrder,
  limit: number,
  steps: Steps,
  progress: Progress,
): Promise<Wanted> {
  if (wanted.by !== 'key' && wanted.by !== 'account') return wanted;
  const rows = await snapshot<{ value: string }[]>`
    select first.value from ${allowed(snapshot)} as readable
    cross join lateral (${firstQuery(snapshot, wanted, order, limit, steps, progress)}) as first`;
  return { ...wanted, among: rows.map(({ value }) => value) };
}

export function presentFigures(figures: Figures): RequestFigures {
  const { completed, failed, cancelled, refused, inputTokens, outputTokens, cost, durations, firstTokens } =
    figures;
  return {
    completed,
    failed,
    cancelled,
    refused,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    cost: formatMoney(cost),
    duration_ms_p50: percentileMs(durations, 0.5),
    duration_ms_p95: percentileMs(durations, 0.95),
    time_to_first_token_ms_p50: percentileMs(firstTokens, 0.5),
    time_to_first_token_ms_p95: percentileMs(firstTokens, 0.95),
  };
}
