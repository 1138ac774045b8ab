/** Requests as comma-separated values, the newest first. */
import type { SQL } from 'bun';
import { type Column, headerOf, id, nested, plain, text, writeLine } from '../exports/columns.ts';
import { presentAttribution } from '../generations/attribution.ts';
import { csvType, type Download, sendDownload } from '../http/download.ts';
import { readQuery } from '../http/query.ts';
import { lineOf, quoted } from '../lib/csv.ts';
import { requestIdFromUuid, timeOfId } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import type { RequestFilter } from '../requests/filter.ts';
import type { FoundRequests } from '../requests/list-query.ts';
import { boundedList } from './bounded-read.ts';
import type { AccountHandler, ConsoleContext, Routes } from './guard.ts';
import { fallbackFrom, type NamedRequest } from './present-request.ts';
import { parseListFilter, requestParameters } from './request-filter.ts';
import { findOfAccount } from './requests.ts';

/** As many as a page may have. */
export const rowsPerPiece = 100;
/** More than people read, and little enough that a file ends. Exports have everything. */
const maxRows = 50_000;
/** With rare matches, a piece looks at up to 10,000 requests. */
const maxPieces = 1_000;

type CsvServices = Readonly<{ reads: () => SQL; log: Log }>;

/** Takes the filters of the list. */
export function requestsDownload({ reads, log }: CsvServices): Routes<AccountHandler> {
  return {
    '/requests.csv': {
      GET: async (request, context) => {
        const { caller } = context;
        const filter = parseListFilter(readQuery(request.url, requestParameters), caller.accountId);
        const find: FindPiece = (before) =>
          boundedList(reads(), (read) => findOfAccount(read, caller, filter, before, rowsPerPiece));
        return await sendDownload(fileOf(columns, filter, context, find), request, context.base, log);
      },
    },
  };
}

export type FindPiece = (before: string) => Promise<FoundRequests<NamedRequest>>;

export function fileOf(
  of: readonly Column<NamedRequest>[],
  filter: RequestFilter,
  context: Pick<ConsoleContext, 'inSlot'>,
  find: FindPiece,
): Download {
  return {
    fileName: `requests-${new Date().toISOString().slice(0, 10)}.csv`,
    contentType: csvType,
    pieces: piecesOf(of, filter, context, find),
    failure: 'generation_lookup_failed',
  };
}

/** Each is read in its own slot, so that a slow download occupies none while it waits. */
async function* piecesOf(
  of: readonly Column<NamedRequest>[],
  { end }: RequestFilter,
  { inSlot }: Pick<ConsoleContext, 'inSlot'>,
  find: FindPiece,
): AsyncGenerator<string, undefined> {
  let lines = headerOf('csv', of);
  let before: string | null = end;
  let rowCount = 0;
  for (let pieces = 0; before !== null && pieces < maxPieces && rowCount < maxRows; pieces += 1) {
    const position: string = before;
    const found = await inSlot(() => find(position));
    for (const row of found.rows) lines += writeLine('csv', of, row);
    yield lines;
    lines = '';
    rowCount += found.rows.length;
    before = found.rows.length < rowsPerPiece ? found.scannedTo : (found.rows.at(-1)?.id ?? null);
  }
  if (before === null) return;
  const note = quoted(cutOff(before));
  // As many cells as on any line, because some readers insist on it.
  yield lineOf(of.map((_, index) => (index === 0 ? note : '')));
}

function cutOff(position: string): string {
  return `This file ends here. Requests before ${timeOfId(position).toISOString()} are not in it: ask for them with to=.`;
}

const attributionOf = ({ attribution }: NamedRequest) => presentAttribution(attribution ?? []);

/** Columns are empty where nothing is known. Programs count them, so new ones come last. */
export const columns: readonly Column<NamedRequest>[] = [
  plain('at', (row) => timeOfId(row.id)),
  plain('request_id', (row) => requestIdFromUuid(row.id)),
  plain('status', (row) => row.status),
  plain('error_code', (row) => row.error_code),
  plain('api', (row) => row.api),
  text('model', (row) => row.model),
  id('key_id', (row) => row.key_id),
  text('key_name', (row) => row.key_name),
  text('provider', (row) => row.provider),
  text('fallback_from', (row) => fallbackFrom(row.first_provider, row.provider)),
  plain('streamed', (row) => row.streaming),
  text('finish_reason', (row) => row.finish_reason),
  plain('input_tokens', (row) => row.input_tokens),
  plain('output_tokens', (row) => row.output_tokens),
  plain('cache_read_tokens', (row) => row.cache_read_tokens),
  plain('units', (row) => row.units),
  plain('unit', (row) => row.unit),
  plain('cost_usd', (row) => row.cost_total),
  plain('duration_ms', (row) => row.latency_ms),
  plain('time_to_first_token_ms', (row) => row.time_to_first_token_ms),
  text('end_user', (row) => attributionOf(row).end_user),
  text('session', (row) => attributionOf(row).session),
  nested('tags', (row) => {
    const { tags } = attributionOf(row);
    return Object.keys(tags).length === 0 ? null : tags;
  }),
];
