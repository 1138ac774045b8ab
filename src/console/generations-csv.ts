/** Generations as comma-separated values, the newest first. */
import type { SQL } from 'bun';
import type { FoundList } from '../generations/attributed-query.ts';
import { presentAttribution } from '../generations/attribution.ts';
import type { GenerationSummary } from '../generations/generation-store.ts';
import { readQuery } from '../http/query.ts';
import { requestIdFromUuid } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { addDays, dayOf } from '../usage/days.ts';
import { asText, lineOf, quoted } from './csv.ts';
import { csvDownload } from './download.ts';
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
        const name = `generations-${range.from}-to-${range.to}.csv`;
        return await csvDownload(name, pieces, failure, context, log);
      },
    },
  };
}

/** None of them is empty. Each is read in its own slot, so that a slow download occupies none while it waits. */
async function* csvPieces(
  reads: () => SQL,
  { caller, inSlot }: AccountContext,
  filter: AccountFilter,
  range: DayRange,
): AsyncGenerator<string, undefined> {
  const { first, end } = idsOf(range);
  let text = lineOf(columns);
  let before: string | null = end;
  while (before !== null && before > first) {
    const position: string = before;
    const found: FoundList<ListedGeneration> = await inSlot(() =>
      findList(reads(), caller, filter, position, rowsPerPiece),
    );
    const rows = found.rows.filter(({ id }) => id >= first);
    for (const row of rows) text += lineOf(cellsOf(row));
    if (text !== '') yield text;
    text = '';
    before = found.rows.length < rowsPerPiece ? found.scannedTo : (found.rows.at(-1)?.id ?? null);
  }
}

/** The IDs of a range of days: from the first one, up to the first one after. */
export function idsOf({ from, to }: DayRange): Readonly<{ first: string; end: string }> {
  return { first: firstIdOf(from), end: firstIdOf(addDays(to, 1)) };
}

/** As first_id_at of the database makes it. */
function firstIdOf(day: string): string {
  const time = Date.parse(day).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}

export const columns = [
  'created_at',
  'request_id',
  'key_id',
  'key_name',
  'workload',
  'model',
  'status',
  'provider',
  'input_tokens',
  'output_tokens',
  'units',
  'unit',
  'cost_usd',
  'latency_ms',
  'end_user',
  'session',
  'tags',
];

type CsvGeneration = GenerationSummary & Readonly<{ key_id: string; key_name: string }>;

/** Cells are empty where nothing is known. */
export function cellsOf(row: CsvGeneration): string[] {
  const { end_user: endUser, session, tags } = presentAttribution(row.attribution ?? []);
  return [
    row.created_at.toISOString(),
    requestIdFromUuid(row.id),
    quoted(row.key_id),
    textCell(row.key_name),
    row.workload,
    textCell(row.model),
    row.status,
    textCell(row.provider),
    `${row.input_tokens ?? ''}`,
    `${row.output_tokens ?? ''}`,
    `${row.units ?? ''}`,
    row.unit ?? '',
    row.cost_total ?? '',
    `${row.latency_ms}`,
    textCell(endUser),
    textCell(session),
    textCell(Object.keys(tags).length === 0 ? null : JSON.stringify(tags)),
  ];
}

/** A spreadsheet must not take it for a formula. */
export function textCell(text: string | null): string {
  return text === null ? '' : quoted(asText(text));
}
