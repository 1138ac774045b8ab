/** What exports must have had, read from the database once all is quiet. */
import type { SQL } from 'bun';
import { requestIdFromUuid } from '../../src/lib/ids.ts';
import type { ExportName } from '../trials/exports.ts';

/** A line that an export may have: the time by which it is selected, and when it was committed. */
export type ExportableLine = Readonly<{ cursor: string; atMs: number; committedAtMs: number }>;

export type ExportableLines = Readonly<Record<ExportName, readonly ExportableLine[]>>;

type EntryRow = { account_id: string; number: bigint; kind: string; at_ms: number; committed_ms: number };

export async function readExportable(sql: SQL, holds: ReadonlyMap<string, number>): Promise<ExportableLines> {
  const entries = await sql<EntryRow[]>`
    select account_id, number, kind, extract(epoch from created_at)::float8 * 1000 as at_ms,
           extract(epoch from pg_xact_commit_timestamp(xmin))::float8 * 1000 as committed_ms
    from ledger_entries`;
  const generations = await sql<{ id: string; committed_ms: number }[]>`
    select id, extract(epoch from pg_xact_commit_timestamp(xmin))::float8 * 1000 as committed_ms from generations`;
  const lineOf = (row: EntryRow): ExportableLine => ({
    cursor: `${row.account_id}:${row.number}`,
    atMs: row.at_ms,
    committedAtMs: row.committed_ms,
  });
  return {
    entries: entries.map(lineOf),
    usage: entries.filter(({ kind }) => kind === 'charge').map(lineOf),
    generations: generations.map(({ id, committed_ms: committedMs }) => {
      const cursor = requestIdFromUuid(id);
      // One that is open is a line, too, but its hold may have been lost in a crash.
      return { cursor, atMs: millisecondsIn(id), committedAtMs: holds.get(cursor) ?? committedMs };
    }),
  };
}

/** A UUID of version 7 begins with the time. */
function millisecondsIn(id: string): number {
  return Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
}
