/**
 * A model may think for minutes before its first word, and proxies and clients give up on a silent connection. So after a
 * few seconds the headers are sent, and then a comment every few seconds. Comments are not part of the response:
 * SSE parsers skip them, and they are not stored for retries. Another provider can still take over.
 */
import type { ClientStream } from '../http/client-stream.ts';
import { Deadlines } from '../lib/deadlines.ts';

export const maxSilenceMs = 5_000;
const comment = ': keep-alive\n\n';
const deadlines = new Deadlines();

/** What `opening` resolves to; null when it takes too long to leave the client without a sign of life. */
export function unlessSilent<Opened>(opening: Promise<Opened>): Promise<Opened | null> {
  const { promise, resolve, reject } = Promise.withResolvers<Opened | null>();
  const deadline = deadlines.start(maxSilenceMs, () => resolve(null));
  opening.then(
    (opened) => {
      deadline.clear();
      resolve(opened);
    },
    (error: unknown) => {
      deadline.clear();
      reject(error as Error);
    },
  );
  return promise;
}

/** Writes comments until `opening` settles or the client has gone, each only once the client has taken the one before. */
export async function whileWaiting<Opened>(opening: Promise<Opened>, client: ClientStream): Promise<Opened> {
  while (!client.isGone) {
    await client.write(comment);
    const opened = await unlessSilent(opening);
    if (opened !== null) return opened;
  }
  return await opening;
}
