/** Files that are sent piece by piece as they are read: there may be more of it than should be in memory at once. */
import type { ErrorCode } from '../errors.ts';
import { noteStream } from '../http/client-stream.ts';
import { lookUp } from '../http/lookup.ts';
import type { Log } from '../lib/log.ts';
import type { ConsoleContext } from './guard.ts';

/** No piece may be empty. `failure` is the error if the first piece cannot be read. */
export async function csvDownload(
  name: string,
  pieces: AsyncGenerator<string, undefined>,
  failure: ErrorCode,
  { base }: ConsoleContext,
  log: Log,
): Promise<Response> {
  // The first piece is read before the response starts, so that an error still gets its own status.
  const first = await lookUp(failure, () => pieces.next());
  base.waitPatiently();
  const headers = {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${name}"`,
  };
  const onError = (error: unknown) =>
    log.error('download cut short', { requestId: base.requestId, code: failure, error });
  return noteStream(new Response(streamOf(first.value ?? '', pieces, onError), { headers }));
}

/** A failure resets the connection: half a file must not look complete. */
function streamOf(
  first: string,
  pieces: AsyncGenerator<string, undefined>,
  onError: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    start: (controller) => controller.enqueue(encoder.encode(first)),
    pull: async (controller) => {
      const next = await pieces.next().catch((error: unknown) => {
        onError(error);
        // A body that fails without a reason is not logged a second time.
        return Promise.reject();
      });
      if (next.done === true) controller.close();
      else controller.enqueue(encoder.encode(next.value));
    },
  });
}
