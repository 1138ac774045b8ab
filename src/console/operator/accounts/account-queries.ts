/** Accounts as operators see and change them. What changes something asks again whether it is an operator who does. */
import type { SQL } from 'bun';
import { insertAccount } from '../../../accounts/account-store.ts';
import { newId } from '../../../lib/ids.ts';
import type { Money } from '../../../lib/money.ts';
import { formatMoney } from '../../../lib/money.ts';
import type { ListQuery } from '../list.ts';
import { requireOperator } from '../operator-queries.ts';

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
  { search, limit, before }: ListQuery,
): Promise<AccountOverview[]> {
  return await sql<AccountOverview[]>`
    select * from account_overviews
    where id < ${before}
      and (${search.pattern}::text is null or name ~ ${search.pattern} or id = ${search.id}::uuid)
    order by id desc limit ${limit + 1}`;
}

export async function findAccount(sql: SQL, id: string): Promise<AccountOverview | null> {
  const [account] = await sql<AccountOverview[]>`select * from account_overviews where id = ${id}`;
  return account ?? null;
}

/** Returns the ID of the new account. */
export async function createAccountAs(
  sql: SQL,
  operatorId: string,
  name: string,
  credit: Money,
): Promise<string> {
  return await sql.begin(async (transaction) => {
    await requireOperator(transaction, operatorId);
    const { id } = await insertAccount(transaction, name, credit, operatorId);
    await transaction`
      insert into operator_actions (id, operator_id, action, account_id, amount)
      values (${newId()}, ${operatorId}, 'create_account', ${id}, ${credit === 0n ? null : formatMoney(credit)}::numeric)`;
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
  await sql`
    with changed as (
      update accounts set suspended_at = case when ${isSuspended}::boolean then now() end
      where id = ${accountId} and (suspended_at is not null) <> ${isSuspended}::boolean
        and exists (select 1 from users where id = ${operatorId} and is_operator)
      returning id
    )
    insert into operator_actions (id, operator_id, action, account_id)
    select ${newId()}, ${operatorId}, ${isSuspended ? 'suspend_account' : 'resume_account'}, id from changed`;
}
