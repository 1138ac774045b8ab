/** /api/console/accounts/{account}/usage and usage.csv: what was used by day, model and key. */
import { noteStream } from '../../http/client-stream.ts';
import { lookUp } from '../../http/lookup.ts';
import { invalidQuery, readQuery } from '../../http/query.ts';
import { dayOf } from '../../usage/days.ts';
import { type Caller, callerOf } from '../access.ts';
import type { ConsoleContext, ConsoleContextAtLength } from '../guard.ts';
import { csvHeader, csvRow } from './csv.ts';
import { type DayRange, parseRange, rangeParameters } from './parse.ts';
import { presentUsage } from './present.ts';
import { beginningOf, type DayUsage, findUsage, type Position } from './usage-queries.ts';

const failure = 'usage_lookup_failed';
/** More than this is for a spreadsheet, not for a page. */
const mostRows = 50_000;
const rowsPerPiece = 5_000;

export async function showUsage(request: Request, context: ConsoleContext): Promise<Response> {
  const caller = callerOf(context);
  const range = rangeOf(request);
  const { sql } = context.services;
  const rows = await lookUp(failure, () =>
    findUsage(sql, caller, beginningOf(range.from), range.to, mostRows + 1),
  );
  if (rows.length > mostRows)
    throw invalidQuery('from', `fewer days: these have more than ${mostRows} rows, which usage.csv holds`);
  return Response.json(presentUsage(range, rows));
}

/** Sent as it is read, piece by piece: an account with many keys has more of it than should be held at once. */
export async function downloadUsage(request: Request, context: ConsoleContextAtLength): Promise<Response> {
  const caller = callerOf(context);
  const range = rangeOf(request);
  const pieces = csvPieces(context, caller, range);
  // The first piece is read before anything is answered: a refusal has a status of its own.
  const first = await lookUp(failure, () => pieces.next());
  context.waitPatiently();
  const headers = {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="usage-${range.from}-to-${range.to}.csv"`,
  };
  return noteStream(new Response(bodyOf(first.value ?? '', pieces, context), { headers }));
}

function rangeOf(request: Request): DayRange {
  return parseRange(readQuery(request.url, rangeParameters), dayOf(new Date()));
}

/** None of them is empty. Each is read in turn: whoever downloads slowly keeps nobody waiting, not even themselves. */
async function* csvPieces(
  { services, inTurn }: ConsoleContextAtLength,
  caller: Caller,
  { from, to }: DayRange,
): AsyncGenerator<string, undefined> {
  let text = csvHeader;
  let after: Position | undefined = beginningOf(from);
  while (after !== undefined) {
    const place: Position = after;
    const rows: DayUsage[] = await inTurn(() => findUsage(services.sql, caller, place, to, rowsPerPiece));
    text += rows.map(csvRow).join('');
    if (text !== '') yield text;
    text = '';
    after = rows.length < rowsPerPiece ? undefined : rows.at(-1);
  }
}

/** What fails on the way resets the connection: half a file must not pass for a whole one. */
function bodyOf(
  first: string,
  pieces: AsyncGenerator<string, undefined>,
  { services, requestId }: ConsoleContext,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    start: (controller) => controller.enqueue(encoder.encode(first)),
    pull: async (controller) => {
      const next = await pieces.next().catch((error: unknown) => {
        services.log.error('download cut short', { requestId, code: failure, error });
        // A body that fails without a reason is not logged a second time.
        return Promise.reject();
      });
      if (next.done === true) controller.close();
      else controller.enqueue(encoder.encode(next.value));
    },
  });
}
