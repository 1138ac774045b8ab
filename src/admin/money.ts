/** Credits, corrections, refunds and ledger entries of an account, and what the operator bears: write-offs and discrepancies. */
import type { SQL } from 'bun';
import { z } from 'zod';
import type { TokenActor } from '../audit-log/audit-log.ts';
import { findEntries, presentEntry } from '../console/billing.ts';
import { correctionOf } from '../console/operator/movements.ts';
import { findDays, presentDay } from '../console/operator/reconciliation.ts';
import { ApiError } from '../errors.ts';
import { invalidQuery } from '../http/query.ts';
import { amountFrom, bodyOf, converted, line, signedAmount } from '../json/fields.ts';
import { parseBody } from '../json/problem.ts';
import { book, type Correction, isBooked, type Movement, type Refund } from '../ledger/movements.ts';
import { refusalOf } from '../ledger/refusals.ts';
import { isUuid, requestIdFromUuid, uuidFromRequestId } from '../lib/ids.ts';
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

const byHand = { reason: line(500), reference: line(200) };

export const correctionSchema = bodyOf({
  amount: signedAmount(', or null to undo the entry').nullable().default(null),
  entry_number: z
    .int('the number of an entry, or null')
    .positive('the number of an entry, or null')
    .nullable()
    .default(null),
  request_id: converted('the ID of a request, or null', uuidFromRequestId).nullable().default(null),
  ...byHand,
});

export const refundSchema = bodyOf({
  amount: amountFrom(1n, ', or null for all that is left').nullable().default(null),
  ...byHand,
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
    '/accounts/:account/corrections': {
      POST: changing({
        scope: 'money',
        parse: (body) => parseBody(correctionSchema, body),
        change: async (transaction, call) => {
          const accountId = await accountOf(transaction, call);
          const movement = { ...correctionOf(call.body), kind: 'correction', accountId } as const;
          return { status: 201, body: await correctOrRefund(transaction, call.actor, movement) };
        },
      }),
    },
    '/generations/:generation/refunds': {
      POST: changing({
        scope: 'money',
        parse: (body) => parseBody(refundSchema, body),
        change: async (transaction, { actor, params, body }) => {
          const generationId = uuidFromRequestId(params.generation ?? '');
          if (generationId === null) throw new ApiError('generation_not_found');
          const { amount, ...words } = body;
          const movement = {
            kind: 'refund',
            generationId,
            accountId: null,
            amount: amount ?? 'rest',
            ...words,
          } as const;
          return { status: 201, body: await correctOrRefund(transaction, actor, movement) };
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

/** The same reference again is the same movement; with other content it is refused. */
async function move(sql: SQL, actor: TokenActor, movement: Movement) {
  const result = await book(sql, actor, movement);
  if (!isBooked(result)) {
    const { code, ...details } = refusalOf(result);
    throw new ApiError(code, details);
  }
  const { accountId, entryNumber, amount, balance, outcome } = result;
  return {
    account_id: accountId,
    entry_number: entryNumber === null ? null : Number(entryNumber),
    amount: formatMoney(amount),
    balance: formatMoney(balance),
    isRepeated: outcome === 'repeated',
  };
}

async function credit(
  sql: SQL,
  actor: TokenActor,
  accountId: string,
  { amount, memo: given, reference }: z.output<typeof creditSchema>,
) {
  // Customers see the memo of a credit, so an invoice number that is given as the reference is shown there.
  const memo = given ?? reference;
  const { isRepeated, ...booked } = await move(sql, actor, {
    kind: 'credit',
    accountId,
    amount,
    memo,
    reference,
  });
  return { object: 'credit', ...booked, memo, reference, already_credited: isRepeated };
}

async function correctOrRefund(sql: SQL, actor: TokenActor, movement: Correction | Refund) {
  const { kind, reason, reference } = movement;
  const { isRepeated, ...booked } = await move(sql, actor, movement);
  return { object: kind, ...booked, reason, reference, already_booked: isRepeated };
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
