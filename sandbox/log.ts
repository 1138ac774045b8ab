/** The log: one line of JSON per request, to check a gateway's charges against. */

import { openSync, writeSync } from 'node:fs';
import type { ReportedUsage } from './usage.ts';

export type Ended = 'complete' | 'ended_early' | 'cut' | 'client_gone';

export type LogEntry = {
  /** When the request arrived, and when this line was written. */
  readonly received_at: string;
  readonly at: string;
  readonly path: string;
  /** The IDs that the caller sent; null if it sent none. */
  readonly request_id: string | null;
  readonly client_request_id: string | null;
  readonly generation: string | null;
  readonly model: string | null;
  readonly stream: boolean;
  /** Null if the client disconnected before there was one. */
  readonly status: number | null;
  readonly usage: ReportedUsage | null;
  readonly ended: Ended;
  readonly directives: readonly string[];
};

/** Entries in memory also have the received request, for tests of what a gateway forwards. */
export type StoredEntry = LogEntry & { readonly headers: Headers; readonly body: unknown };

export type LogOptions = {
  /** A file to append to. */
  logFile?: string | undefined;
  /** How many entries to keep in memory. */
  keepEntries?: number | undefined;
};

export class Log {
  readonly stored: StoredEntry[] = [];
  readonly #file: number | null;
  readonly #keepEntries: number;

  constructor({ logFile, keepEntries = 0 }: LogOptions) {
    this.#file = logFile === undefined ? null : openSync(logFile, 'a');
    this.#keepEntries = keepEntries;
  }

  get isOn(): boolean {
    return this.#file !== null || this.#keepEntries > 0;
  }

  write(entry: LogEntry, received: { headers: Headers; body: unknown }): void {
    // Unbuffered: the line must be written before the answer that it describes is sent.
    if (this.#file !== null) writeSync(this.#file, `${JSON.stringify(entry)}\n`);
    if (this.#keepEntries === 0) return;
    this.stored.push({ ...entry, ...received });
    if (this.stored.length > this.#keepEntries) this.stored.shift();
  }
}

/** Collects the log entry of one request. Only the first `finish` counts. */
export class RequestRecord {
  body: unknown = null;
  model: string | null = null;
  stream = false;
  directives: readonly string[] = [];
  readonly #receivedAt = new Date();
  #isFinished = false;

  constructor(
    readonly log: Log,
    readonly request: Request,
  ) {}

  finish(status: number | null, ended: Ended, usage: ReportedUsage | null): void {
    if (this.#isFinished || !this.log.isOn) return;
    this.#isFinished = true;
    const { headers } = this.request;
    const entry: LogEntry = {
      received_at: this.#receivedAt.toISOString(),
      at: new Date().toISOString(),
      path: new URL(this.request.url).pathname,
      request_id: headers.get('x-request-id') ?? headers.get('x-service-request-id'),
      client_request_id: headers.get('x-client-request-id'),
      generation: headers.get('x-tollgate-generation'),
      model: this.model,
      stream: this.stream,
      status,
      usage,
      ended,
      directives: this.directives,
    };
    this.log.write(entry, { headers, body: this.body });
  }
}
