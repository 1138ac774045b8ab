/** Exports over HTTP, for the admin API and the dashboard: how many run at once, and when they end. */
import type { SQL } from 'bun';
import { ApiError, type ErrorCode } from '../errors.ts';
import type { RequestContext } from '../http/context.ts';
import { CutShort, csvType, sendDownload } from '../http/download.ts';
import { lookUp } from '../http/lookup.ts';
import { invalidQuery, type Query } from '../http/query.ts';
import type { Log } from '../lib/log.ts';
import { Tally } from '../lib/tally.ts';
import { within } from '../lib/within.ts';
import { auditLogExport } from './audit-log.ts';
import { type Format, formats } from './columns.ts';
import { entriesExport, usageExport } from './entries.ts';
import { generationsExport } from './generations.ts';
import { exportPieces } from './pieces.ts';
import { findLatestEnd, parseExportRange } from './range.ts';
import type { ExportName, ExportOrder, ExportSource } from './source.ts';

/** Rows of any kind: who calls does not look into them. */
// biome-ignore lint/suspicious/noExplicitAny: the type of the rows stays between a source and its columns.
export const exportSources: Readonly<Record<ExportName, ExportSource<any>>> = {
  generations: generationsExport,
  usage: usageExport,
  entries: entriesExport,
  audit_log: auditLogExport,
};

const failures: Readonly<Record<ExportName, ErrorCode>> = {
  generations: 'generation_lookup_failed',
  usage: 'usage_lookup_failed',
  entries: 'balance_lookup_failed',
  audit_log: 'internal_error',
};

const contentTypes: Readonly<Record<Format, string>> = { csv: csvType, ndjson: 'application/x-ndjson' };

/**
 * Each reads a page at a time, with one of the connections that everyone shares. Those of customers and those of the
 * operator are counted apart, so that customers cannot take the operator's slots.
 */
const maxPerNode = 4;
const maxPerOrigin = 2;
const patienceMs = 4_000;
/** A client that reads a little now and then does not keep its slot for ever. It can go on after its last line. */
const maxMinutes = 60;

type ExportServices = Readonly<{
  sql: SQL;
  reads: () => SQL;
  log: Log;
  isDraining: () => boolean;
  /** How long an export may take. */
  maxMs?: number;
}>;

/** A table for a query: one row for whoever may read this, and none for anyone else. */
type Allowed = (sql: SQL) => SQL.Query<unknown>;

export type ExportRequest = Readonly<{
  name: ExportName;
  /** Whose exports are counted together: a token, a user, an account. */
  origins: readonly string[];
  access: Pick<ExportOrder, 'isOperator' | 'accountId'> & Readonly<{ allowed: Allowed }>;
  query: Query;
  request: Request;
  context: RequestContext;
}>;

/** Besides the account. */
export const exportParameters = ['from', 'to', 'format', 'after'] as const;

export class Exports {
  readonly #services: ExportServices;
  /** By each origin, and by whether it is the operator's. */
  readonly #running = new Tally();

  constructor(services: ExportServices) {
    this.#services = services;
  }

  async respond({ name, origins, access, query, request, context }: ExportRequest): Promise<Response> {
    const source = exportSources[name];
    const latestEnd = await lookUp(failures[name], () => findLatestEnd(this.#services.sql));
    const range = parseExportRange(query, latestEnd);
    const format = parseFormat(query.get('format'));
    const { allowed, ...what } = access;
    const order: ExportOrder = { ...what, ...range };
    const after = query.get('after');
    if (after !== null && !source.isCursor(after, order))
      throw new ApiError('invalid_cursor', {
        param: 'after',
        message: 'after must be the first column of a line of this export, of the same account and range.',
      });
    this.#refuseWhileEnding();
    const side = access.isOperator ? 'the operator' : 'customers';
    this.#requireSlot(origins, side);
    const { log } = this.#services;
    const to = range.to.toISOString();
    const day = (time: Date) => time.toISOString().slice(0, 10);
    const fileName = `${name.replace('_', '-')}-${day(range.from)}-to-${day(range.to)}.${format}`;
    const reading = {
      source,
      order,
      format,
      after,
      check: this.#checkOf(request.signal),
      authorize: () => this.#requireAllowed(allowed),
    };
    const pieces = this.#inSlot([...origins, side], exportPieces(this.#services.reads, reading));
    const contentType = contentTypes[format];
    const download = {
      fileName,
      contentType,
      pieces,
      failure: failures[name],
      headers: { 'x-export-to': to },
    };
    return await sendDownload(download, request, context, log);
  }

  /** By the primary: a replica may not know yet that a token was made, or that one was revoked. */
  async #requireAllowed(allowed: Allowed): Promise<void> {
    const { sql } = this.#services;
    const found = await within(patienceMs, sql`select 1 from ${allowed(sql)} as allowed`);
    if (found.length === 0) throw new ApiError('permission_denied');
  }

  #refuseWhileEnding(): void {
    if (!this.#services.isDraining()) return;
    throw new ApiError('server_overloaded', {
      message: 'This gateway is shutting down. Try again in a moment.',
      retryAfterSeconds: 1,
    });
  }

  /** Ends an export that nobody reads, or that its client can go on with: after its last line, here or at another gateway. */
  #checkOf(client: AbortSignal): () => void {
    const { isDraining, maxMs = maxMinutes * 60_000 } = this.#services;
    const startedAtMs = performance.now();
    return () => {
      if (client.aborted) throw new CutShort('The client has gone.');
      if (isDraining()) throw new CutShort('The gateway is shutting down.');
      if (performance.now() - startedAtMs > maxMs) throw new CutShort('It has taken too long.');
    };
  }

  #requireSlot(origins: readonly string[], side: string): void {
    const isFree = (origin: string) => this.#running.of(origin) < maxPerOrigin;
    if (this.#running.of(side) < maxPerNode && origins.every(isFree)) return;
    throw new ApiError('rate_limit_exceeded', {
      message: `Too many exports are running: at most ${maxPerOrigin} at a time for each token, user or account, and ${maxPerNode} on this gateway.`,
      retryAfterSeconds: 10,
    });
  }

  /** Takes its slot when it is first read, in the same turn as it was checked. */
  async *#inSlot(
    counted: readonly string[],
    pieces: ReturnType<typeof exportPieces>,
  ): AsyncGenerator<string, undefined> {
    for (const name of counted) this.#running.add(name, 1);
    try {
      for await (const { text } of pieces) yield text;
    } finally {
      for (const name of counted) this.#running.add(name, -1);
    }
  }
}

function parseFormat(text: string | null): Format {
  if (text === null) return 'csv';
  const format = formats.find((candidate) => candidate === text);
  if (format === undefined) throw invalidQuery('format', formats.join(' or '));
  return format;
}
