/** The usage of an account by day, model and key: for a page, and as a file. */
import type { SQL } from 'bun';
import { csvType, sendDownload } from '../http/download.ts';
import { lookUp } from '../http/lookup.ts';
import { invalidQuery, type Query, readQuery } from '../http/query.ts';
import { parseTime } from '../lib/calendar.ts';
import type { Log } from '../lib/log.ts';
import { formatMoney } from '../lib/money.ts';
import { addDays, countDays, dayOf } from '../usage/days.ts';
import type { UsagePosition } from '../usage/usage-days.ts';
import { boundedRead } from './bounded-read.ts';
import type { Usage, UsageFigures } from './contract.ts';
import type { AccountContext, AccountHandler, Routes } from './guard.ts';
import { csvHeader, csvRow } from './usage-csv.ts';
import { beginningOf, type DayUsage, type Figures, findUsage } from './usage-queries.ts';

const failure = 'usage_lookup_failed';
/** More rows than this belong in a spreadsheet, not on a page. */
export const maxUsageRows = 50_000;
const rowsPerPiece = 5_000;

export function usagePage({ reads }: Readonly<{ reads: () => SQL }>): Routes<AccountHandler> {
  return {
    '/usage': {
      GET: async (request, { caller }) => {
        const range = rangeOf(request);
        const rows = await lookUp(failure, () =>
          boundedRead(reads(), (read) =>
            findUsage(read, caller, beginningOf(range.from), range.to, maxUsageRows + 1),
          ),
        );
        if (rows.length > maxUsageRows)
          throw invalidQuery(
            'from',
            `fewer days, because these have more than ${maxUsageRows} rows: use usage.csv`,
          );
        return Response.json(presentUsage(range, rows));
      },
    },
  };
}

/** Sent piece by piece as it is read: an account with many keys has more usage than should be in memory at once. */
export function usageDownload({
  reads,
  log,
}: Readonly<{ reads: () => SQL; log: Log }>): Routes<AccountHandler> {
  return {
    '/usage.csv': {
      GET: async (request, context) => {
        const range = rangeOf(request);
        const pieces = csvPieces(reads, context, range);
        const fileName = `usage-${range.from}-to-${range.to}.csv`;
        const download = { fileName, contentType: csvType, pieces, failure } as const;
        return await sendDownload(download, request, context.base, log);
      },
    },
  };
}

/** Each is read in its own slot, so that a slow download occupies none while it waits. */
async function* csvPieces(
  reads: () => SQL,
  { caller, inSlot }: AccountContext,
  { from, to }: DayRange,
): AsyncGenerator<string, undefined> {
  let text = csvHeader;
  let after: UsagePosition | undefined = beginningOf(from);
  while (after !== undefined) {
    const place: UsagePosition = after;
    const rows: DayUsage[] = await inSlot(() =>
      boundedRead(reads(), (read) => findUsage(read, caller, place, to, rowsPerPiece)),
    );
    text += rows.map(csvRow).join('');
    yield text;
    text = '';
    after = rows.length < rowsPerPiece ? undefined : rows.at(-1);
  }
}

/** Both included. */
export type DayRange = Readonly<{ from: string; to: string }>;

const defaultDays = 30;
const maxDays = 366;
const firstDay = '2000-01-01';
const lastDay = '2199-12-31';

function rangeOf(request: Request): DayRange {
  return parseRange(readQuery(request.url, ['from', 'to']), dayOf(new Date()));
}

/**
 * Without `to`, up to today; without `from`, the 30 days that end there. Nothing is clamped: figures for other days than
 * those requested would be a surprise.
 */
export function parseRange(query: Query, today: string): DayRange {
  const to = parseDay('to', query.get('to')) ?? today;
  const from = parseDay('from', query.get('from')) ?? addDays(to, 1 - defaultDays);
  if (from > to) throw invalidQuery('from', `a day that is not after ${to}`);
  if (countDays(from, to) > maxDays) throw invalidQuery('from', `at most ${maxDays} days up to ${to}`);
  return { from, to };
}

function parseDay(param: string, text: string | null): string | null {
  if (text === null) return null;
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text) && parseTime(text) !== null;
  if (!isDay || text < firstDay || text > lastDay)
    throw invalidQuery(param, `a day as YYYY-MM-DD, from ${firstDay} to ${lastDay}`);
  return text;
}

export function presentUsage({ from, to }: DayRange, rows: readonly DayUsage[]): Usage {
  return {
    from,
    to,
    totals: presentFigures(rows.reduce(add, noFigures)),
    rows: rows.map((row) => ({
      day: row.day,
      model: row.model,
      key_id: row.keyId,
      key_name: row.keyName,
      ...presentFigures(row),
    })),
  };
}

const noFigures: Figures = {
  requests: 0n,
  inputTokens: 0n,
  outputTokens: 0n,
  images: 0n,
  cost: 0n,
  cacheReadTokens: 0n,
  cacheWriteTokens: 0n,
  cacheSaved: 0n,
};

function add(sum: Figures, row: Figures): Figures {
  return {
    requests: sum.requests + row.requests,
    inputTokens: sum.inputTokens + row.inputTokens,
    outputTokens: sum.outputTokens + row.outputTokens,
    images: sum.images + row.images,
    cost: sum.cost + row.cost,
    cacheReadTokens: sum.cacheReadTokens + row.cacheReadTokens,
    cacheWriteTokens: sum.cacheWriteTokens + row.cacheWriteTokens,
    cacheSaved: sum.cacheSaved + row.cacheSaved,
  };
}

function presentFigures(figures: Figures): UsageFigures {
  return {
    requests: Number(figures.requests),
    input_tokens: Number(figures.inputTokens),
    output_tokens: Number(figures.outputTokens),
    images: Number(figures.images),
    cost: formatMoney(figures.cost),
    cache_read_tokens: Number(figures.cacheReadTokens),
    cache_write_tokens: Number(figures.cacheWriteTokens),
    cache_saved: formatMoney(figures.cacheSaved),
  };
}
