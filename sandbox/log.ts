/** The log: one line of JSON for each request, so that what a gateway charged can be checked against it. */

import { openSync, writeSync } from 'node:fs';
import type { ReportedUsage } from './usage.ts';

export type Ended = 'complete' | 'ended_early' | 'cut' | 'client_gone';

export type LogEntry = {
  readonly at: string;
  readonly path: string;
  /** The identifiers that the caller sent along, each null when it did not. */
  readonly request_id: string | null;
  readonly client_request_id: string | null;
  readonly generation: string | null;
  readonly model: string | null;
  readonly stream: boolean;
  /** Null when the client left before there was one. */
  readonly status: number | null;
  readonly usage: ReportedUsage | null;
  readonly ended: Ended;
  readonly directives: readonly string[];
};

/** What is kept in memory also has what was received, for tests that look at what a gateway forwards. */
export type KeptEntry = LogEntry & { readonly headers: Headers; readonly body: unknown };

export type LogOptions = {
  /** A file to append to. */
  logFile?: string | undefined;
  /** How many entries to keep in memory. */
  keepEntries?: number | undefined;
};

export class Log {
  readonly kept: KeptEntry[] = [];
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
    // Written at once, not buffered: the line must be there before the answer that it describes.
    if (this.#file !== null) writeSync(this.#file, `${JSON.stringify(entry)}\n`);
    if (this.#keepEntries === 0) return;
    this.kept.push({ ...entry, ...received });
    if (this.kept.length > this.#keepEntries) this.kept.shift();
  }
}

/** One request on its way to its line in the log. The first `finish` is the one that counts. */
export class RequestRecord {
  body: unknown = null;
  model: string | null = null;
  stream = false;
  directives: readonly string[] = [];
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
