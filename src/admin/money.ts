/** Credits and ledger entries of an account, and what the operator bears: write-offs and discrepancies. */
import type { SQL } from 'bun';
import type { z } from 'zod';
import { findEntries, presentEntry } from '../console/billing.ts';
import { findDays, presentDay } from '../console/operator/reconciliation.ts';
import { ApiError } from '../errors.ts';
import { invalidQuery } from '../http/query.ts';
import { amountFrom, bodyOf, line } from '../json/fields.ts';
import { parseBody } from '../json/problem.ts';
import { giveCredit } from '../ledger/credit.ts';
import { referenceIdOf } from '../ledger/credit-reference.ts';
import { isUuid, requestIdFromUuid } from '../lib/ids.ts';
import { formatMoney } from '../lib/money.ts';
import { accountOf, readerOf } from './account.ts';
import { changing, type Endpoints, reading } from './endpoint.ts';
import { numberAtPosition, pageOf, pageParameters, positionOfNumber, readPage } from './page.ts';
import type { AdminServices } from './services.ts';

export const creditSchema = bodyOf({
  amount: amountFrom(1n),
  memo: line(500).nullable().default(null),
  reference: line(200).nullable().default(null),
});

export function moneyEndpoints({ sql, deriveKey }: AdminServices): Endpoints {
  const cursorKey = deriveKey('admin cursor');
  return {
    '/accounts/:account/credits': {
      POST: changing({
        scope: 'money',
        parse: (body) => parseBody(creditSchema, body),
        change: async (transaction, call) => {
          const accountId = await accountOf(transaction, call);
          return { status: 201, body: await credit(transaction, call.actor, accountId, call.body) };
        },
      }),
    },
    '/accounts/:account/ledger-entries': {
      GET: reading({
        scope: 'read',
        query: pageParameters,
        read: async (call) => {
          const reader = await readerOf(sql, call);
          const page = readPage(call.query, ['ledger entries', reader.accountId], cursorKey);
          const { entries } = await findEntries(sql, reader, numberAtPosition(page.before), page.limit + 1);
          const present = (entry: EntryRow) => presentOwnEntry(entry, reader.accountId);
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
          return { body: presentOwnEntry(entry, reader.accountId) };
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

/** The same reference again is the same credit; with another amount or memo it is refused. */
async function credit(
  sql: SQL,
  actor: Parameters<typeof giveCredit>[1],
  accountId: string,
  { amount, memo, reference }: z.output<typeof creditSchema>,
) {
  // Customers see the memo of a credit, so an invoice number that is given as the reference is shown there.
  const shown = memo ?? reference;
  const outcome = await giveCredit(sql, actor, {
    accountId,
    amount,
    memo: shown,
    reference: reference === null ? null : referenceIdOf(reference),
  });
  if (outcome.kind === 'missing') throw new ApiError('account_not_found');
  if (outcome.kind === 'different' || (outcome.kind === 'repeated' && outcome.earlierMemo !== shown))
    throw new ApiError('reference_taken', { param: 'reference' });
  return {
    object: 'credit',
    account_id: accountId,
    amount: formatMoney(amount),
    memo: shown,
    reference,
    balance: formatMoney(outcome.balance),
    already_credited: outcome.kind === 'repeated',
  };
}

type EntryRow = Awaited<ReturnType<typeof findEntries>>['entries'][number];

function presentOwnEntry(entry: EntryRow, accountId: string) {
  return { object: 'ledger_entry', account_id: accountId, ...presentEntry(entry) };
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
