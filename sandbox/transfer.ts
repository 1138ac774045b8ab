/** Puts an answer on the wire: at the pace asked for, ended in the way asked for, no faster than the client reads. */

import type { RequestRecord } from './log.ts';
import type { ReportedUsage } from './usage.ts';

export type Transfer = {
  readonly writes: readonly (string | Uint8Array)[];
  readonly delayMs: number;
  /** After the last write: end as HTTP ends, reset the connection, or keep it open in silence. */
  readonly ending: 'end' | 'reset' | 'stall';
  /** Whether a client that gets all of it was given a whole answer. */
  readonly isWhole: boolean;
  /** The usage told, and the write that tells it. */
  readonly usage: { readonly reported: ReportedUsage; readonly writeIndex: number } | null;
};

/** A client that is given a reset at once may never see what was sent before it. */
const beforeResetMs = 20;

export function transferBody(transfer: Transfer, record: RequestRecord): ReadableStream {
  const { writes, delayMs, ending, usage } = transfer;
  const ended = transfer.isWhole ? 'complete' : 'ended_early';
  const { promise: clientGone, resolve: leave } = Promise.withResolvers<void>();
  let isGone = false;

  async function pull(controller: ReadableStreamDirectController): Promise<void> {
    for (let index = 0; index < writes.length; index += 1) {
      // What is written in one turn of the event loop leaves in one packet. A turn each keeps events apart.
      if (index > 0) await (delayMs > 0 ? Bun.sleep(delayMs) : nextTurn());
      if (isGone) return record.finish(200, 'client_gone', null);
      // Logged before it leaves: a charge can be checked against the log whatever crashes afterwards.
      if (index === usage?.writeIndex) record.finish(200, ended, usage.reported);
      const accepted = controller.write(writes[index] ?? '');
      const flushed = controller.flush();
      // A number means taken at once; a promise means that the client reads slower than we write.
      if (typeof accepted !== 'number' || typeof flushed !== 'number') await Promise.all([accepted, flushed]);
    }
    if (ending === 'stall') {
      await clientGone;
      return record.finish(200, 'client_gone', null);
    }
    if (ending === 'reset') {
      if (writes.length > 0) await Bun.sleep(beforeResetMs);
      record.finish(200, 'cut', null);
      // Bun resets the connection when a body fails; if nothing was written, no header has left either.
      // It also prints why, so it is given no reason.
      return Promise.reject();
    }
    record.finish(200, ended, null);
    controller.close();
  }

  function cancel(): void {
    isGone = true;
    leave();
  }

  return new ReadableStream({ type: 'direct', pull, cancel });
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export function cutBytes(text: string, size: number): readonly Uint8Array[] {
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}
