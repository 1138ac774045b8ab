/** Failures because this machine ran out of something. The other side is not to blame. */
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

/** As many as resolving a name and connecting may take. */
const descriptorsOfACall = 4;

/** Finds out by opening some: the code of the shortage, or null when there are enough. */
export function shortOfDescriptors(): string | null {
  const opened: number[] = [];
  try {
    while (opened.length < descriptorsOfACall) opened.push(openSync(devNull, 'r'));
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown';
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

/** A connection could not be opened because this machine has run out of something. */
export class ShortageError extends Error {
  override readonly name = 'ShortageError';
}

/**
 * Why a connection to the database really could not be opened: the driver always says that it was refused. Call it at
 * once, before the missing resource becomes free again.
 */
export function reasonNotConnected(error: unknown): unknown {
  const shortage = shortOfDescriptors();
  if (shortage === null) return error;
  return new ShortageError(`This machine is out of resources (${shortage}).`, { cause: error });
}
