/** Files that are sent piece by piece as they are read: there may be more of it than should be in memory at once. */
import { ApiError, type ErrorCode } from '../errors.ts';
import type { Log } from '../lib/log.ts';
import { type ClientStream, streamResponse } from './client-stream.ts';
import type { RequestContext } from './context.ts';
import { lookUp } from './lookup.ts';

export type Download = Readonly<{
  fileName: string;
  contentType: string;
  pieces: AsyncGenerator<string, undefined>;
  /** The error if the first piece cannot be read. */
  failure: ErrorCode;
  headers?: Readonly<Record<string, string>>;
}>;

export const csvType = 'text/csv; charset=utf-8';

/**
 * A piece is read when the client has taken the one before. Whatever ends the pieces early resets the connection, and so
 * does a client that stops reading: half a file must not look complete.
 */
export async function sendDownload(
  { fileName, contentType, pieces, failure, headers = {} }: Download,
  request: Request,
  base: RequestContext,
  log: Log,
): Promise<Response> {
  const all = new Headers({
    'content-type': contentType,
    'content-disposition': `attachment; filename="${fileName}"`,
    ...headers,
  });
  // Nothing would read the pieces.
  if (request.method === 'HEAD') return new Response(null, { headers: all });
  // The first piece is read before the response starts, so that an error still gets its own status.
  const first = await lookUp(failure, () => pieces.next()).catch((error: unknown) => endAfter(pieces, error));
  base.waitPatiently();
  return streamResponse(all, request.signal, async (client) => {
    try {
      await sendPieces(client, first, pieces);
    } catch (error) {
      const fields = { requestId: base.requestId, code: failure, error };
      // Whoever downloads may no longer do so, or the rows are gone: nothing is broken.
      if (error instanceof ApiError) log.warn('download cut short', fields);
      else if (!(error instanceof CutShort)) log.error('download cut short', fields);
      // A body that fails without a reason is not logged a second time.
      return Promise.reject();
    } finally {
      await pieces.return(undefined);
    }
  });
}

/** Ends a download on purpose: nothing has failed. */
export class CutShort extends Error {
  override readonly name = 'CutShort';
}

async function sendPieces(
  client: ClientStream,
  first: IteratorResult<string, undefined>,
  pieces: AsyncGenerator<string, undefined>,
): Promise<void> {
  for (let piece = first; piece.done !== true && !client.isGone; piece = await pieces.next())
    if (piece.value !== '') await client.write(piece.value);
}

async function endAfter(pieces: AsyncGenerator<string, undefined>, error: unknown): Promise<never> {
  // Not awaited: the first piece may still be on its way.
  pieces.return(undefined).catch(() => undefined);
  throw error;
}
