/** All accounts, their money, and whether they may use it. Each statement checks that an operator runs it. */
import type { SQL } from 'bun';
import { z } from 'zod';
import { insertAccount, setPriceGroup } from '../../accounts/account-store.ts';
import { ApiError } from '../../errors.ts';
import { newId } from '../../lib/ids.ts';
import { formatMoney, type Money } from '../../lib/money.ts';
import type { ActiveCatalog } from '../../routing/active-catalog.ts';
import { accountIn, type Found, requireOperator, rowsForOperator } from '../access.ts';
import type { Unsent } from '../contract.ts';
import { amountFrom, bodyOf, line, nothing, readBody, uuid } from '../fields.ts';
import type { ConsoleContext, ConsoleHandler, Routes } from '../guard.ts';
import type { OperatorAccount, OperatorAccounts } from '../operator-contract.ts';
import { type ListQuery, pageOf, readListQuery } from './list.ts';

const accountDraft = bodyOf({
  name: line(200),
  credit: amountFrom(0n).optional(),
  reference: uuid('a UUID that is new for each account'),
});

const accountPriceGroup = bodyOf({ price_group: z.string('the name of a price group, or null').nullable() });

type AccountsServices = Readonly<{ sql: SQL; catalog: () => ActiveCatalog }>;

export function accountsPage({ sql, catalog }: AccountsServices): Routes<ConsoleHandler> {
  async function showAccount({ signedIn }: ConsoleContext, accountId: string): Promise<Response> {
    const account = await findAccount(sql, signedIn.userId, accountId);
    if (account === null) throw new ApiError('account_not_found');
    return Response.json(account satisfies Unsent<OperatorAccount>);
  }

  const suspension =
    (isSuspended: boolean): ConsoleHandler =>
    async (request, context) => {
      const accountId = accountIn(context.params);
      await readBody(request, nothing);
      await suspendAccountAs(sql, context.signedIn.userId, accountId, isSuspended);
      return await showAccount(context, accountId);
    };

  return {
    '/accounts': {
      GET: async (request, { signedIn }) => {
        const query = readListQuery(request.url);
        const accounts = await findAccounts(sql, signedIn.userId, query);
        return Response.json(pageOf(accounts, query.limit) satisfies Unsent<OperatorAccounts>);
      },
      POST: async (request, context) => {
        const { credit = 0n, ...draft } = await readBody(request, accountDraft);
        const accountId = await createAccountAs(sql, context.signedIn.userId, { ...draft, credit });
        return await showAccount(context, accountId);
      },
    },
    '/accounts/:account/price-group': {
      POST: async (request, context) => {
        const accountId = accountIn(context.params);
        const { price_group: group } = await readBody(request, accountPriceGroup);
        if (group !== null && !catalog().catalog.priceGroups.has(group))
          throw new ApiError('invalid_parameter', {
            param: 'price_group',
            message: 'The catalogue has no such price group.',
          });
        const actor = { kind: 'operator', userId: context.signedIn.userId } as const;
        const outcome = await setPriceGroup(sql, actor, accountId, group);
        if (outcome === 'denied') throw new ApiError('permission_denied');
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
  operatorId: string,
  { search, limit, before }: ListQuery,
): Promise<AccountRow[]> {
  const rows = await sql<Found<AccountRow, 'id'>[]>`
    select account.* from users left join lateral (
      select * from account_overviews
      where id < ${before}
        and (${search.pattern}::text is null or name ~ ${search.pattern} or id = ${search.id}::uuid)
      order by id desc limit ${limit + 1}
    ) as account on true
    where users.id = ${operatorId} and is_operator
    order by account.id desc`;
  return rowsForOperator(rows, 'id');
}

export async function findAccount(sql: SQL, operatorId: string, id: string): Promise<AccountRow | null> {
  const rows = await sql<Found<AccountRow, 'id'>[]>`
    select account.* from users left join account_overviews as account on account.id = ${id}
    where users.id = ${operatorId} and is_operator`;
  return rowsForOperator(rows, 'id')[0] ?? null;
}

type NewAccount = Readonly<{
  name: string;
  credit: Money;
  /** A draft that is sent twice with the same reference creates one account. */
  reference: string;
}>;

/** Returns the ID of the new account, or of the one that was created with this reference. */
export async function createAccountAs(
  sql: SQL,
  operatorId: string,
  { name, credit, reference }: NewAccount,
): Promise<string> {
  return await sql.begin(async (transaction) => {
    await requireOperator(transaction, operatorId);
    // A duplicate that is sent at the same moment waits here, and then finds the account.
    await transaction`select pg_advisory_xact_lock(hashtextextended(${reference}, 0))`;
    const [earlier] = await transaction<{ id: string; is_same: boolean }[]>`
      select accounts.id, name = ${name} and coalesce(amount, 0) = ${formatMoney(credit)}::numeric as is_same
      from operator_actions join accounts on accounts.id = account_id where reference = ${reference}`;
    if (earlier?.is_same === false)
      throw new ApiError('invalid_parameter', {
        param: 'reference',
        message: 'This reference has been used for another account. A new account needs a new one.',
      });
    if (earlier !== undefined) return earlier.id;
    const { id } = await insertAccount(transaction, name, credit);
    await transaction`
      insert into operator_actions (id, operator_id, action, account_id, amount, reference)
      values (${newId()}, ${operatorId}, 'create_account', ${id}, ${credit === 0n ? null : formatMoney(credit)}::numeric, ${reference})`;
    return id;
  });
}

/** One statement, because requests of the account wait while its row is locked. The database notifies every node. */
export async function suspendAccountAs(
  sql: SQL,
  operatorId: string,
  accountId: string,
  isSuspended: boolean,
): Promise<void> {
  const operators = await sql<{ id: string }[]>`
    with operator as (
      select id from users where id = ${operatorId} and is_operator for share
    ), changed as (
      update accounts set suspended_at = case when ${isSuspended}::boolean then now() end
      from operator
      where accounts.id = ${accountId} and (suspended_at is not null) <> ${isSuspended}::boolean
      returning accounts.id
    ), noted as (
      insert into operator_actions (id, operator_id, action, account_id)
      select ${newId()}, ${operatorId}, ${isSuspended ? 'suspend_account' : 'resume_account'}, id from changed
    )
    select id from operator`;
  rowsForOperator(operators, 'id');
}
