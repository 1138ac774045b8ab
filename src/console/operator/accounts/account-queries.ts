/** Accounts as operators see and change them. Each statement asks whether it is an operator who does. */
import type { SQL } from 'bun';
import { insertAccount } from '../../../accounts/account-store.ts';
import { ApiError } from '../../../errors.ts';
import { newId } from '../../../lib/ids.ts';
import { formatMoney, type Money } from '../../../lib/money.ts';
import type { ListQuery } from '../list.ts';
import { type Found, refuseNobody, requireOperator, rowsFound } from '../operator-queries.ts';

export type AccountOverview = {
  id: string;
  name: string;
  balance: string;
  held: string;
  is_suspended: boolean;
  keys_in_force: number;
  members: number;
  month_spent: string;
  created_at: Date;
};

/** One more than the limit, where there are that many. */
export async function findAccounts(
  sql: SQL,
  operatorId: string,
  { search, limit, before }: ListQuery,
): Promise<AccountOverview[]> {
  const rows = await sql<Found<AccountOverview, 'id'>[]>`
    select account.* from users left join lateral (
      select * from account_overviews
      where id < ${before}
        and (${search.pattern}::text is null or name ~ ${search.pattern} or id = ${search.id}::uuid)
      order by id desc limit ${limit + 1}
    ) as account on true
    where users.id = ${operatorId} and is_operator
    order by account.id desc`;
  return rowsFound(rows, 'id');
}

export async function findAccount(sql: SQL, operatorId: string, id: string): Promise<AccountOverview | null> {
  const rows = await sql<Found<AccountOverview, 'id'>[]>`
    select account.* from users left join account_overviews as account on account.id = ${id}
    where users.id = ${operatorId} and is_operator`;
  return rowsFound(rows, 'id')[0] ?? null;
}

type NewAccount = Readonly<{
  name: string;
  credit: Money;
  /** What makes a draft that is sent twice the same account. */
  reference: string;
}>;

/** Returns the ID of the new account, or of the one that was made with this reference. */
export async function createAccountAs(
  sql: SQL,
  operatorId: string,
  { name, credit, reference }: NewAccount,
): Promise<string> {
  return await sql.begin(async (transaction) => {
    await requireOperator(transaction, operatorId);
    // Whoever sends the same at the same moment waits here, and then finds what was made.
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

/** One statement: requests of the account wait while its row is locked. The database tells every node of the change. */
export async function suspendAccountAs(
  sql: SQL,
  operatorId: string,
  accountId: string,
  isSuspended: boolean,
): Promise<void> {
  const operators = await sql`
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
  refuseNobody(operators);
}
