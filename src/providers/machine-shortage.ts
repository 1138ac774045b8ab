/** Calls that failed because this machine ran out of something. The provider is not to blame. */
import { shortOfDescriptors } from '../lib/shortage.ts';
import { ProviderError } from './upstream.ts';

/** No descriptors, memory or ports left. */
const shortages = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'EADDRNOTAVAIL']);

/** What fetch reports instead for a host name: it tries several addresses and loses the reason why each failed. */
const disguises = new Set([
  'ConnectionRefused',
  'ECONNREFUSED',
  'FailedToOpenSocket',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'DNSLookupFailed',
]);

/** For the client. The resource becomes free when another request ends. */
const retryAfterSeconds = 1;

/** Another provider may still be reachable, over an existing connection. */
export class MachineShortage extends ProviderError {
  /** The system's name for what is missing. */
  readonly shortage: string;

  constructor(shortage: string) {
    super('server_overloaded', { retryAfterSeconds });
    this.name = 'MachineShortage';
    this.message = `This machine is out of resources (${shortage}).`;
    this.shortage = shortage;
  }
}

/** Null when the code of a failed fetch does not point to this machine. */
export function machineShortage(code: string): MachineShortage | null {
  if (shortages.has(code)) return new MachineShortage(code);
  const found = disguises.has(code) ? shortOfDescriptors() : null;
  return found === null ? null : new MachineShortage(found);
}

/** The code that the system or fetch gave an error; empty when it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
