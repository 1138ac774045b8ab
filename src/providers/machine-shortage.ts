/** What this machine itself ran out of when a call could not be made. It is nobody's failure but our own. */
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

/** No descriptors, memory or ports left. */
const shortages = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'EADDRNOTAVAIL']);

/** What fetch says instead when a provider goes by a name: it tries several addresses and forgets why each failed. */
const disguises = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'ConnectionRefused',
  'DNSLookupFailed',
  'FailedToOpenSocket',
]);

/** As many as looking a name up and connecting may take. */
const descriptorsOfACall = 4;

export class MachineShortage extends Error {
  readonly code: string;

  constructor(code: string) {
    super('A provider could not be called, because this machine ran out of something.');
    this.name = 'MachineShortage';
    this.code = code;
  }
}

/** Null when the failure of a fetch, by its code, is none of this machine's. */
export function machineShortage(code: string): MachineShortage | null {
  if (shortages.has(code)) return new MachineShortage(code);
  const found = disguises.has(code) ? shortOfDescriptors() : null;
  return found === null ? null : new MachineShortage(found);
}

/** Tries it out. The code of the shortage, or null when there are enough. */
function shortOfDescriptors(): string | null {
  const opened: number[] = [];
  try {
    while (opened.length < descriptorsOfACall) opened.push(openSync(devNull, 'r'));
    return null;
  } catch (error) {
    return codeOf(error);
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

/** What the system or fetch calls an error; empty when it has no name. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
