/** Revenue, cost and margin, for the operator's page and as a file. Customers see none of it. */
import type { SQL } from 'bun';
import { csvType } from '../../http/download.ts';
import { lookUp } from '../../http/lookup.ts';
import { invalidQuery, type Query, readQuery } from '../../http/query.ts';
import { lineOf, textCell } from '../../lib/csv.ts';
import { formatMoney } from '../../lib/money.ts';
import { dayOf } from '../../usage/days.ts';
import { inSnapshot } from '../figures-snapshot.ts';
import type { ConsoleHandler, Routes } from '../guard.ts';
import type { MarginFigures, Margins } from '../operator-contract.ts';
import { type DayRange, parseRange } from '../usage.ts';
import {
  type Dimension,
  dimensions,
  type MarginFigures as Figures,
  findMargins,
  type MarginOrder,
  type MarginRow,
  marginOrders,
} from './margin-queries.ts';

const failure = 'usage_lookup_failed';
/** The sum of the others is one more row, so the totals are those of all. */
const maxRowsOnPage = 500;
const maxRowsInFile = 50_000;

export function marginsPage({ reads }: Readonly<{ reads: () => SQL }>): Routes<ConsoleHandler> {
  const find = (operatorId: string, { range, by, order }: Wanted, maxRows: number) =>
    lookUp(failure, () =>
      inSnapshot(reads(), null, (snapshot) => findMargins(snapshot, operatorId, range, by, maxRows, order)),
    );
  return {
    '/margins': {
      GET: async (request, { signedIn }) => {
        const wanted = wantedIn(request);
        const rows = await find(signedIn.userId, wanted, maxRowsOnPage);
        return Response.json(presentMargins(wanted, rows));
      },
    },
    '/margins.csv': {
      GET: async (request, { signedIn }) => {
        const wanted = wantedIn(request);
        const rows = await find(signedIn.userId, wanted, maxRowsInFile);
        const { from, to } = wanted.range;
        const headers = {
          'content-type': csvType,
          'content-disposition': `attachment; filename="margins-by-${wanted.by}-${from}-to-${to}.csv"`,
        };
        return new Response(csvHeader + rows.map(csvRow).join(''), { headers });
      },
    },
  };
}

type Wanted = Readonly<{ range: DayRange; by: Dimension; order: MarginOrder | null }>;

function wantedIn(request: Request): Wanted {
  const query = readQuery(request.url, ['from', 'to', 'by', 'order']);
  const text = query.get('by') ?? 'day';
  const by = dimensions.find((dimension) => dimension === text);
  if (by === undefined) throw invalidQuery('by', `one of ${dimensions.join(', ')}`);
  return { range: parseRange(query, dayOf(new Date())), by, order: orderIn(query) };
}

function orderIn(query: Query): MarginOrder | null {
  const text = query.get('order');
  const order = marginOrders.find((one) => one === text) ?? null;
  if (text !== null && order === null) throw invalidQuery('order', `one of ${marginOrders.join(', ')}`);
  return order;
}

function presentMargins({ range, by }: Wanted, rows: readonly MarginRow[]): Margins {
  const others = rows.find(({ name }) => name === null);
  return {
    ...range,
    by,
    totals: presentFigures(rows.reduce(addMargins, noMargin)),
    rows: rows.flatMap((row) =>
      row.name === null ? [] : [{ id: row.name, name: row.label, ...presentFigures(row) }],
    ),
    others: others === undefined ? null : { groups: Number(others.groups), ...presentFigures(others) },
  };
}

export const noMargin: Figures = {
  requests: 0n,
  revenue: 0n,
  cost: 0n,
  unpricedRequests: 0n,
  unpricedRevenue: 0n,
  unchargedAttempts: 0n,
  unchargedCost: 0n,
  unknownAttempts: 0n,
};

export function addMargins(sum: Figures, row: Figures): Figures {
  return {
    requests: sum.requests + row.requests,
    revenue: sum.revenue + row.revenue,
    cost: sum.cost + row.cost,
    unpricedRequests: sum.unpricedRequests + row.unpricedRequests,
    unpricedRevenue: sum.unpricedRevenue + row.unpricedRevenue,
    unchargedAttempts: sum.unchargedAttempts + row.unchargedAttempts,
    unchargedCost: sum.unchargedCost + row.unchargedCost,
    unknownAttempts: sum.unknownAttempts + row.unknownAttempts,
  };
}

/** Revenue without a known cost is no margin yet. */
export function marginOf({ revenue, unpricedRevenue, cost, unchargedCost }: Figures): bigint {
  return revenue - unpricedRevenue - cost - unchargedCost;
}

function presentFigures(figures: Figures): MarginFigures {
  return {
    requests: Number(figures.requests),
    revenue: formatMoney(figures.revenue),
    cost: formatMoney(figures.cost),
    uncharged_attempts: Number(figures.unchargedAttempts),
    uncharged_cost: formatMoney(figures.unchargedCost),
    margin: formatMoney(marginOf(figures)),
    unpriced_requests: Number(figures.unpricedRequests),
    unpriced_revenue: formatMoney(figures.unpricedRevenue),
    unknown_attempts: Number(figures.unknownAttempts),
  };
}

const csvHeader = lineOf([
  'id',
  'name',
  'requests',
  'revenue_usd',
  'cost_usd',
  'uncharged_attempts',
  'uncharged_cost_usd',
  'margin_usd',
  'unpriced_requests',
  'unpriced_revenue_usd',
  'unknown_attempts',
]);

function csvRow(row: MarginRow): string {
  const { name, label, groups } = row;
  const figures = presentFigures(row);
  return lineOf([
    textCell(name ?? ''),
    textCell(name === null ? `${groups} others` : label),
    `${figures.requests}`,
    figures.revenue,
    figures.cost,
    `${figures.uncharged_attempts}`,
    figures.uncharged_cost,
    figures.margin,
    `${figures.unpriced_requests}`,
    figures.unpriced_revenue,
    `${figures.unknown_attempts}`,
  ]);
}
