/**
 * Reads an export page by page. Each page is a short transaction of its own, so a slow client holds nothing in the database,
 * and any page can be read again, or from another server.
 */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { type Format, headerOf, writeLine } from './columns.ts';
import type { ExportOrder, ExportPage, ExportSource } from './source.ts';

/** Few enough that requests hardly notice the time in which they are written as text. */
const rowsPerPage = 250;
/** As PostgreSQL writes it. */
const statementTimeout = '10s';
/** A replica may cancel a query or be promoted. The next attempt goes to wherever reads go then. */
const retryMs = [200, 1_000, 3_000];
const maxPauseMs = 100;

export type ExportPiece = Readonly<{
  text: string;
  rowCount: number;
  /** Where the next piece begins; null after the last. */
  next: string | null;
}>;

export type Reading<Row> = Readonly<{
  source: ExportSource<Row>;
  order: ExportOrder;
  format: Format;
  /** Null from the beginning: then the file has its header. */
  after: string | null;
  /** Called before each attempt to read a page; throws to end the export. */
  check?: () => void;
  /** The same, but it may fail like the reading itself, and is tried again. An ApiError ends the export. */
  authorize?: () => Promise<void>;
}>;

/** It works at most half of the time, so that requests and other exports have their turn. */
export async function* exportPieces<Row>(
  reads: () => SQL,
  reading: Reading<Row>,
): AsyncGenerator<ExportPiece, undefined> {
  const { source, order, format, after } = reading;
  const columns = source.columns(order.isOperator);
  let text = after === null ? headerOf(format, columns) : '';
  let position = after;
  do {
    const startedAtMs = performance.now();
    const { rows, next }: ExportPage<Row> = await findPatiently(reads, reading, position);
    for (const row of rows) text += writeLine(format, columns, row);
    const tookMs = performance.now() - startedAtMs;
    yield { text, rowCount: rows.length, next };
    text = '';
    position = next;
    if (next !== null) await Bun.sleep(Math.min(tookMs, maxPauseMs));
  } while (position !== null);
}

async function findPatiently<Row>(
  reads: () => SQL,
  reading: Reading<Row>,
  after: string | null,
): Promise<ExportPage<Row>> {
  for (const waitMs of retryMs) {
    reading.check?.();
    try {
      return await findPage(reads, reading, after);
    } catch (error) {
      if (error instanceof ApiError) throw error;
      await Bun.sleep(waitMs);
    }
  }
  reading.check?.();
  return await findPage(reads, reading, after);
}

async function findPage<Row>(
  reads: () => SQL,
  { source, order, authorize }: Reading<Row>,
  after: string | null,
): Promise<ExportPage<Row>> {
  await authorize?.();
  return await reads().begin('read only', async (transaction) => {
    await preparePage(transaction);
    const page = await source.find(transaction, order, after, rowsPerPage);
    // Afterwards, because a month may leave the database while its rows are being read.
    await source.requireStored(transaction, order);
    return page;
  });
}

/**
 * For the rest of a transaction. Every page is the beginning of a range of an index, in the order of that index. The planner
 * does not know how long the range is, and if it takes it for short, it reads and sorts all of it: so it must not.
 */
export async function preparePage(transaction: SQL): Promise<void> {
  await transaction`
    select set_config('statement_timeout', ${statementTimeout}, true),
           set_config('idle_in_transaction_session_timeout', ${statementTimeout}, true),
           set_config('enable_sort', 'off', true), set_config('enable_seqscan', 'off', true),
           set_config('enable_bitmapscan', 'off', true), set_config('jit', 'off', true)`;
}
