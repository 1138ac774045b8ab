/** Writes an answer with the requested pace and ending, no faster than the client reads. */

import type { Ended, RequestRecord } from './log.ts';
import type { ReportedUsage } from './usage.ts';

export type Writes = readonly (string | Uint8Array)[];

export type Transfer = Readonly<{
  writes: Writes;
  delayMs: number;
  /** After the last write: end normally, reset the connection, or keep it open in silence. */
  ending: 'end' | 'reset' | 'stall';
  /** Whether all of it is a complete answer. */
  isComplete: boolean;
  /** The reported usage, and the write that reports it. */
  usage: Readonly<{ reported: ReportedUsage; writeIndex: number }> | null;
}>;

/** A client may never see what was sent right before a reset. */
const beforeResetMs = 120;

export function transferBody(transfer: Transfer, record: RequestRecord): ReadableStream {
  const { writes, delayMs, ending, usage } = transfer;
  const ended = endOf(transfer);
  const { promise: clientGone, resolve: leave } = Promise.withResolvers<void>();
  let isGone = false;

  async function pull(controller: ReadableStreamDirectController): Promise<void> {
    for (let index = 0; index < writes.length; index += 1) {
      // Writes in one turn of the event loop leave in one packet. One turn per event keeps them separate.
      if (index > 0) await (delayMs > 0 ? Bun.sleep(delayMs) : nextTurn());
      if (isGone) return record.finish(200, 'client_gone', null);
      // Logged before it is sent, so that a charge can be checked against the log whatever crashes afterwards.
      if (index === usage?.writeIndex) record.finish(200, ended, usage.reported);
      const accepted = controller.write(writes[index] ?? '');
      const flushed = controller.flush();
      // A number means accepted; a promise means that the client reads slower than we write.
      if (typeof accepted !== 'number' || typeof flushed !== 'number') await Promise.all([accepted, flushed]);
    }
    if (ending === 'stall') {
      await clientGone;
      return record.finish(200, ended, null);
    }
    if (ending === 'reset') {
      if (writes.length > 0) await Bun.sleep(Math.max(beforeResetMs, delayMs));
      record.finish(200, ended, null);
      // Bun resets the connection when a body fails; if nothing was written, no header was sent either.
      // Bun would print the reason, so there is none.
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

/** How it ends unless the client disconnects first. */
function endOf({ ending, isComplete }: Transfer): Ended {
  if (ending === 'reset') return 'cut';
  if (ending === 'stall') return 'client_gone';
  return isComplete ? 'complete' : 'ended_early';
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export function bytesOf(write: Writes[number]): Uint8Array {
  return typeof write === 'string' ? Buffer.from(write) : write;
}

export function joined(writes: Writes): Uint8Array {
  return Buffer.concat(writes.map(bytesOf));
}

export function cutBytes(bytes: Uint8Array, size: number): Writes {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );
}

const megabyte = Buffer.alloc(1_000_000, 'x');

/** Inserts a field of that many megabytes into the first object of the text. One megabyte is written repeatedly. */
export function padText(text: string, megabytes: number): Writes {
  const start = text.indexOf('{') + 1;
  const padding = new Array<Uint8Array>(megabytes).fill(megabyte);
  return [`${text.slice(0, start)}"padding":"`, ...padding, `",${text.slice(start)}`];
}
