/** Every movement of an account's balance, the newest first. */
import type { SQL } from 'bun';
import { ApiError } from '../errors.ts';
import { findDraws } from '../grants/grant-store.ts';
import { lookUp } from '../http/lookup.ts';
import { presentPage } from '../http/present-page.ts';
import { parseLimit, readQuery } from '../http/query.ts';
import { newestEntry } from '../ledger/entries.ts';
import { requestIdFromUuid } from '../lib/ids.ts';
import { type AccountReader, readableAccount } from './access.ts';
import { boundedRead } from './bounded-read.ts';
import type { LedgerEntry, Statement, Unsent } from './contract.ts';
import { presentDrawsOf } from './draws.ts';
import type { AccountHandler, Routes } from './guard.ts';

const defaultLimit = 50;

export function billingPage({ sql }: Readonly<{ sql: SQL }>): Routes<AccountHandler> {
  return {
    '/ledger': {
      GET: async (request, { caller }) => {
        const query = readQuery(request.url, ['limit', 'cursor']);
        const limit = parseLimit(query.get('limit'), defaultLimit);
        const before = parseEntryCursor(query.get('cursor'));
        // One more than requested shows whether there is another page.
        const { entries, ...account } = await lookUp('balance_lookup_failed', () =>
          boundedRead(sql, (read) => findEntries(read, caller, before, limit + 1)),
        );
        // Whoever may see the entries may see this.
        const draws = await lookUp('balance_lookup_failed', () =>
          boundedRead(sql, (read) => findDraws(read, caller.accountId, entries)),
        );
        const present = (entry: EntryRow) => ({
          ...presentEntry(entry),
          draws: presentDrawsOf(draws, entry),
        });
        const page = presentPage(entries, limit, present, ({ number }) => `${number}`);
        return Response.json({ ...account, ...page } satisfies Unsent<Statement>);
      },
    },
  };
}

/**
 * A cursor is the number of the last entry on the page. Entries are numbered without gaps and never change, so it needs
 * neither a signature nor an expiry: it contains nothing that the statement does not show.
 */
export function parseEntryCursor(text: string | null): bigint {
  if (text === null) return newestEntry;
  if (!/^[1-9][0-9]{0,17}$/.test(text)) throw new ApiError('invalid_cursor', { param: 'cursor' });
  return BigInt(text);
}

type EntryRow = Unsent<Omit<LedgerEntry, 'number' | 'generation' | 'concerns_entry'>> & {
  number: bigint;
  concerns_entry: bigint | null;
  generation_id: string | null;
  /** Null without a Generation, and when it is no longer stored. */
  model: string | null;
};

export function presentEntry(row: EntryRow): Unsent<LedgerEntry> {
  const { number, generation_id: id, model, concerns_entry: concerned, ...entry } = row;
  const generation = id === null ? null : { id: requestIdFromUuid(id), model };
  const concernsEntry = concerned === null ? null : Number(concerned);
  return { ...entry, number: Number(number), generation, concerns_entry: concernsEntry };
}

type AccountRow = { balance: string; held: string };

/** The newest `rowCount` entries before a number, and the balance, in one snapshot. */
export async function findEntries(
  sql: SQL,
  reader: AccountReader,
  before: bigint,
  rowCount: number,
): Promise<AccountRow & { entries: EntryRow[] }> {
  const rows = await sql<((EntryRow | { number: null }) & AccountRow)[]>`
    select balance, held, entry.number, entry.kind, entry.amount, entry.is_estimated, entry.balance_after,
           entry.memo, entry.created_at, entry.concerns_entry, entry.actor is not null as is_by_hand,
           coalesce(entry.reference_text, entry.reference::text) as reference, concerned_id as generation_id,
           (select model from generations where generations.id = concerned_id) as model
    from ${readableAccount(sql, reader)} as readable join accounts on accounts.id = readable.account_id
    left join lateral (
      select *, coalesce(ledger_entries.generation_id, concerns_generation_id) as concerned_id from ledger_entries where ledger_entries.account_id = accounts.id and number < ${before}
      order by number desc limit ${rowCount}
    ) as entry on true
    order by entry.number desc`;
  const [first] = rows;
  if (first === undefined) throw new ApiError('account_not_found');
  const entries = rows.filter((row) => row.number !== null).map(({ balance, held, ...entry }) => entry);
  return { balance: first.balance, held: first.held, entries };
}
