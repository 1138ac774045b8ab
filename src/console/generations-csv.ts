/** Generations as comma-separated values, the newest first. */
import type { SQL } from 'bun';
import { headerOf, writeLine } from '../exports/columns.ts';
import { listedColumns } from '../exports/generations.ts';
import type { FoundList } from '../generations/attributed-query.ts';
import { csvType, sendDownload } from '../http/download.ts';
import { readQuery } from '../http/query.ts';
import { firstIdAt } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { addDays, dayOf } from '../usage/days.ts';
import {
  type AccountFilter,
  filterParameters,
  findList,
  type ListedGeneration,
  parseFilter,
} from './generations.ts';
import type { AccountContext, AccountHandler, Routes } from './guard.ts';
import { type DayRange, parseRange } from './usage.ts';

const failure = 'generation_lookup_failed';
/** As many as a page may have. */
const rowsPerPiece = 100;

/** Takes the filters of the list, and days as the usage does. */
export function generationsDownload({
  reads,
  log,
}: Readonly<{ reads: () => SQL; log: Log }>): Routes<AccountHandler> {
  return {
    '/generations.csv': {
      GET: async (request, context) => {
        const query = readQuery(request.url, [...filterParameters, 'from', 'to']);
        const range = parseRange(query, dayOf(new Date()));
        const pieces = csvPieces(reads, context, parseFilter(query), range);
        const fileName = `generations-${range.from}-to-${range.to}.csv`;
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
  filter: AccountFilter,
  range: DayRange,
): AsyncGenerator<string, undefined> {
  const { first, end } = idsOf(range);
  let text = headerOf('csv', listedColumns);
  let before: string | null = end;
  while (before !== null && before > first) {
    const position: string = before;
    const found: FoundList<ListedGeneration> = await inSlot(() =>
      findList(reads(), caller, filter, position, rowsPerPiece),
    );
    const rows = found.rows.filter(({ id }) => id >= first);
    for (const row of rows) text += writeLine('csv', listedColumns, row);
    yield text;
    text = '';
    before = found.rows.length < rowsPerPiece ? found.scannedTo : (found.rows.at(-1)?.id ?? null);
  }
}

/** The IDs of a range of days: from the first one, up to the first one after. */
export function idsOf({ from, to }: DayRange): Readonly<{ first: string; end: string }> {
  return { first: firstIdAt(Date.parse(from)), end: firstIdAt(Date.parse(addDays(to, 1))) };
}
