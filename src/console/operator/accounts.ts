/** All accounts, their money, and whether they may use it. Each statement checks that an operator runs it. */
import type { SQL } from 'bun';
import { z } from 'zod';
import { createAccountAs, suspendAccountAs } from '../../accounts/changes.ts';
import { ApiError } from '../../errors.ts';
import { amountFrom, bodyOf, line, nothing, readBody, uuid } from '../../json/fields.ts';
import { giveCredit } from '../../ledger/credit.ts';
import {
  accountIn,
  asOperator,
  type Found,
  type OperatorReader,
  operatorOnly,
  rowsForOperator,
} from '../access.ts';
import type { Unsent } from '../contract.ts';
import type { ConsoleContext, ConsoleHandler, Routes } from '../guard.ts';
import type { OperatorAccount, OperatorAccounts } from '../operator-contract.ts';
import { type ListQuery, pageOf, readListQuery } from './list.ts';

const accountDraft = bodyOf({
  name: line(200),
  credit: amountFrom(0n).optional(),
  reference: uuid('a UUID that is new for each account'),
});

const maxMemoLength = 500;
const memoWords = `a line of at most ${maxMemoLength} characters, or null`;

const accountCredit = bodyOf({
  amount: amountFrom(1n),
  memo: z
    .string(memoWords)
    .transform((text) => text.trim())
    .refine((text) => text.length <= maxMemoLength && !/\p{Cc}/u.test(text), memoWords)
    .transform((text) => (text === '' ? null : text))
    .nullable(),
  reference: uuid('a UUID that is new for each credit'),
});

export function accountsPage({ sql }: Readonly<{ sql: SQL }>): Routes<ConsoleHandler> {
  async function showAccount({ signedIn }: ConsoleContext, accountId: string): Promise<Response> {
    const account = await findAccount(sql, signedIn, accountId);
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
        const accounts = await findAccounts(sql, signedIn, query);
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
    '/accounts/:account/credit': {
      POST: async (request, context) => {
        const accountId = accountIn(context.params);
        const credit = await readBody(request, accountCredit);
        const outcome = await asOperator(sql, context, (transaction) =>
          giveCredit(transaction, context.actor, { accountId, ...credit }),
        );
        if (outcome.kind === 'missing') throw new ApiError('account_not_found');
        if (
          outcome.kind === 'different' ||
          (outcome.kind === 'repeated' && outcome.earlierMemo !== credit.memo)
        )
          throw new ApiError('invalid_parameter', {
            param: 'reference',
            message: 'This reference has been used for another credit. A new credit needs a new one.',
          });
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
