/** Ledger entries of an account, and what the operator bears: write-offs and discrepancies. */
import type { SQL } from 'bun';
import { findEntries, presentEntry } from '../console/billing.ts';
import { findDays, presentDay } from '../console/operator/reconciliation.ts';
import { ApiError } from '../errors.ts';
import { type Draws, findDraws } from '../grants/grant-store.ts';
import { presentDraws } from '../grants/present.ts';
import { invalidQuery } from '../http/query.ts';
import { isUuid, requestIdFromUuid } from '../lib/ids.ts';
import { readerOf } from './account.ts';
import { type Endpoints, reading } from './endpoint.ts';
import { numberAtPosition, pageOf, pageParameters, positionOfNumber, readPage } from './page.ts';
import type { AdminServices } from './services.ts';

export function moneyEndpoints({ sql, deriveKey }: AdminServices): Endpoints {
  const cursorKey = deriveKey('admin cursor');
  return {
    '/accounts/:account/ledger-entries': {
      GET: reading({
        scope: 'read',
        query: pageParameters,
        read: async (call) => {
          const reader = await readerOf(sql, call);
          const page = readPage(call.query, ['ledger entries', reader.accountId], cursorKey);
          const { entries } = await findEntries(sql, reader, numberAtPosition(page.before), page.limit + 1);
          const draws = await findDraws(sql, reader.accountId, entries);
          const present = (entry: EntryRow) => presentOwnEntry(entry, reader.accountId, draws);
          return { body: pageOf(entries, page, present, ({ number }) => positionOfNumber(number)) };
        },
      }),
    },
    '/accounts/:account/ledger-entries/:number': {
      GET: reading({
        scope: 'read',
        read: async (call) => {
          const reader = await readerOf(sql, call);
          const { number = '' } = call.params;
          if (!/^[1-9][0-9]{0,17}$/.test(number)) throw new ApiError('entry_not_found');
          const { entries } = await findEntries(sql, reader, BigInt(number) + 1n, 1);
          const [entry] = entries;
          if (entry === undefined || `${entry.number}` !== number) throw new ApiError('entry_not_found');
          const draws = await findDraws(sql, reader.accountId, [entry]);
          return { body: presentOwnEntry(entry, reader.accountId, draws) };
        },
      }),
    },
    '/write-offs': {
      GET: reading({
        scope: 'read',
        query: [...pageParameters, 'account'],
        read: async ({ query }) => {
          const accountId = query.get('account');
          if (accountId !== null && !isUuid(accountId)) throw invalidQuery('account', 'the ID of an account');
          const page = readPage(query, ['write-offs', accountId], cursorKey);
          const rows = await findWriteOffs(sql, accountId, page.before, page.limit + 1);
          return { body: pageOf(rows, page, presentWriteOff, ({ generation_id }) => generation_id) };
        },
      }),
    },
    '/discrepancies': {
      GET: reading({
        scope: 'read',
        read: async ({ actor }) => {
          const days = (await findDays(sql, actor)).filter(({ is_within }) => is_within === false);
          const data = days.map((day) => ({ object: 'discrepancy', ...presentDay(day) }));
          return { body: { object: 'list', data, has_more: false, next_cursor: null } };
        },
      }),
    },
  };
}

type EntryRow = Awaited<ReturnType<typeof findEntries>>['entries'][number];

function presentOwnEntry(entry: EntryRow, accountId: string, draws: Draws) {
  return {
    object: 'ledger_entry',
    account_id: accountId,
    ...presentEntry(entry),
    drawn_from: presentDraws(draws.get(entry.number)),
  };
}

type WriteOffRow = Readonly<{
  generation_id: string;
  account_id: string;
  reason: string;
  amount: string | null;
  created_at: Date;
}>;

/** Few requests are written off, so those of an account are found among all of them. */
async function findWriteOffs(
  sql: SQL,
  accountId: string | null,
  before: string,
  rowCount: number,
): Promise<WriteOffRow[]> {
  return await sql<WriteOffRow[]>`
    select generation_id, account_id, reason, amount, created_at from write_offs
    where generation_id < ${before}::uuid and (${accountId}::uuid is null or account_id = ${accountId}::uuid)
    order by generation_id desc limit ${rowCount}::int`;
}

function presentWriteOff({ generation_id, account_id, reason, amount, created_at }: WriteOffRow) {
  return {
    object: 'write_off',
    generation: requestIdFromUuid(generation_id),
    account_id,
    reason,
    amount,
    created_at: created_at.toISOString(),
  };
}
