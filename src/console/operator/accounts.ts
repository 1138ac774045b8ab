/** All accounts, their money, and whether they may use it. Each statement checks that an operator runs it. */
import type { SQL } from 'bun';
import { z } from 'zod';
import { createAccountAs, suspendAccountAs, updateAccountAs } from '../../accounts/changes.ts';
import { ApiError } from '../../errors.ts';
import { typicalHoldOfAccount } from '../../generations/typical-hold.ts';
import { lookUp } from '../../http/lookup.ts';
import { readQuery } from '../../http/query.ts';
import { amountFrom, bodyOf, line, nothing, readBody, uuid } from '../../json/fields.ts';
import { formatMoney, type Money, moneyFromDatabase } from '../../lib/money.ts';
import { requirePriceGroup } from '../../models/access.ts';
import type { ActiveCatalog } from '../../routing/active-catalog.ts';
import {
  accountIn,
  asOperator,
  type Found,
  type OperatorReader,
  operatorOnly,
  rowsForOperator,
} from '../access.ts';
import { boundedRead } from '../bounded-read.ts';
import type { Unsent } from '../contract.ts';
import type { ConsoleContext, ConsoleHandler, Routes } from '../guard.ts';
import type { OperatorAccount, OperatorAccountDetail, OperatorAccounts } from '../operator-contract.ts';
import { runwayOf } from '../runway.ts';
import { findSpentHours } from '../spent-hours.ts';
import { type ListQuery, pageOf, readListQuery } from './list.ts';

const accountDraft = bodyOf({
  name: line(200),
  credit: amountFrom(0n).optional(),
  reference: uuid('a UUID that is new for each account'),
});

const accountPriceGroup = bodyOf({ price_group: z.string('the name of a price group, or null').nullable() });

type AccountsServices = Readonly<{ sql: SQL; reads: () => SQL; catalog: () => ActiveCatalog }>;

export function accountsPage({ sql, reads, catalog }: AccountsServices): Routes<ConsoleHandler> {
  async function showAccount({ signedIn }: ConsoleContext, accountId: string): Promise<Response> {
    const account = await boundedRead(sql, (read) => findAccount(read, signedIn, accountId));
    if (account === null) throw new ApiError('account_not_found');
    return Response.json(account satisfies Unsent<OperatorAccount>);
  }

  const suspension =
    (isSuspended: boolean): ConsoleHandler =>
    async (request, context) => {
      const accountId = accountIn(context.params);
      await readBody(request, nothing);
      await asOperator(sql, context, (transaction) =>
        suspendAccountAs(transaction, context.actor, accountId, isSuspended),
      );
      return await showAccount(context, accountId);
    };

  return {
    '/accounts': {
      GET: async (request, { signedIn }) => {
        const query = readListQuery(request.url);
        const accounts = await boundedRead(sql, (read) => findAccounts(read, signedIn, query));
        return Response.json(pageOf(accounts, query.limit) satisfies Unsent<OperatorAccounts>);
      },
      POST: async (request, context) => {
        const { credit = 0n, ...draft } = await readBody(request, accountDraft);
        const accountId = await asOperator(sql, context, (transaction) =>
          createAccountAs(transaction, context.actor, { ...draft, credit }),
        );
        return await showAccount(context, accountId);
      },
    },
    '/accounts/:account': {
      GET: async (request, { params, signedIn }) => {
        readQuery(request.url, []);
        const accountId = accountIn(params);
        const account = await boundedRead(sql, (read) => findAccount(read, signedIn, accountId));
        if (account === null) throw new ApiError('account_not_found');
        const { use } = await lookUp('usage_lookup_failed', () =>
          findSpentHours(reads(), accountId, (replica) => operatorOnly(replica, signedIn)),
        );
        const typicalHold = await boundedRead(sql, (read) => findTypicalHold(read, signedIn, accountId));
        const available = moneyFromDatabase(account.balance) - moneyFromDatabase(account.held);
        return Response.json({
          ...account,
          runway: runwayOf(use, { available, typicalHold }, Date.now()),
          typical_hold: typicalHold === null ? null : formatMoney(typicalHold),
        } satisfies Unsent<OperatorAccountDetail>);
      },
    },
    '/accounts/:account/price-group': {
      POST: async (request, context) => {
        const accountId = accountIn(context.params);
        const { price_group: priceGroup } = await readBody(request, accountPriceGroup);
        requirePriceGroup(catalog(), priceGroup);
        await asOperator(sql, context, (transaction) =>
          updateAccountAs(transaction, context.actor, accountId, { priceGroup }),
        );
        return await showAccount(context, accountId);
      },
    },
    '/accounts/:account/suspend': { POST: suspension(true) },
    '/accounts/:account/resume': { POST: suspension(false) },
  };
}

type AccountRow = Unsent<OperatorAccount>;

/** One more than the limit, if there are that many. */
export async function findAccounts(
  sql: SQL,
  reader: OperatorReader,
  { search, limit, before }: ListQuery,
): Promise<AccountRow[]> {
  const rows = await sql<Found<AccountRow, 'id'>[]>`
    select account.* from ${operatorOnly(sql, reader)} as allowed left join lateral (
      select * from account_overviews
      where id < ${before}
        and (${search.pattern}::text is null or name ~ ${search.pattern} or id = ${search.id}::uuid)
      order by id desc limit ${limit + 1}
    ) as account on true
    order by account.id desc`;
  return rowsForOperator(rows, 'id');
}

export async function findAccount(sql: SQL, reader: OperatorReader, id: string): Promise<AccountRow | null> {
  const rows = await sql<Found<AccountRow, 'id'>[]>`
    select account.* from ${operatorOnly(sql, reader)} as allowed left join account_overviews as account on account.id = ${id}`;
  return rowsForOperator(rows, 'id')[0] ?? null;
}

async function findTypicalHold(sql: SQL, reader: OperatorReader, id: string): Promise<Money | null> {
  const [row] = await sql<[{ hold: string | null }?]>`
    select ${typicalHoldOfAccount(sql, sql`${id}::uuid`)}::text as hold from ${operatorOnly(sql, reader)} as allowed`;
  return row === undefined || row.hold === null ? null : moneyFromDatabase(row.hold);
}
