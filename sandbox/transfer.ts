/** Puts an answer on the wire: at the pace asked for, ended in the way asked for, no faster than the client reads. */

import type { Ended, RequestRecord } from './log.ts';
import type { ReportedUsage } from './usage.ts';

export type Writes = readonly (string | Uint8Array)[];

export type Transfer = Readonly<{
  writes: Writes;
  delayMs: number;
  /** After the last write: end as HTTP ends, reset the connection, or keep it open in silence. */
  ending: 'end' | 'reset' | 'stall';
  /** Whether a client that gets all of it was given a whole answer. */
  isWhole: boolean;
  /** The usage told, and the write that tells it. */
  usage: Readonly<{ reported: ReportedUsage; writeIndex: number }> | null;
}>;

/** A client that is given a reset at once may never see what was sent before it. */
const beforeResetMs = 120;

export function transferBody(transfer: Transfer, record: RequestRecord): ReadableStream {
  const { writes, delayMs, ending, usage } = transfer;
  const ended = endOf(transfer);
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
      return record.finish(200, ended, null);
    }
    if (ending === 'reset') {
      if (writes.length > 0) await Bun.sleep(Math.max(beforeResetMs, delayMs));
      record.finish(200, ended, null);
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

/** How it will have ended if the client does not leave before. */
function endOf({ ending, isWhole }: Transfer): Ended {
  if (ending === 'reset') return 'cut';
  if (ending === 'stall') return 'client_gone';
  return isWhole ? 'complete' : 'ended_early';
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export function cutBytes(text: string, size: number): Writes {
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}

const megabyte = Buffer.alloc(1_000_000, 'x');

/** Puts a field of so many megabytes into the first object of the text. The megabytes are one, written many times. */
export function padText(text: string, megabytes: number): Writes {
  const start = text.indexOf('{') + 1;
  const padding = new Array<Uint8Array>(megabytes).fill(megabyte);
  return [`${text.slice(0, start)}"padding":"`, ...padding, `",${text.slice(start)}`];
}
