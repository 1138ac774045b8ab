import type { SQL, TransactionSQL } from 'bun';
import { credit } from '../ledger/credit.ts';
import type { Actor } from '../ledger/movements.ts';
import { newId } from '../lib/ids.ts';
import { type Money, moneyFromDatabase } from '../lib/money.ts';

export type Account = Readonly<{
  id: string;
  name: string;
  balance: Money;
  held: Money;
  isSuspended: boolean;
  createdAt: Date;
}>;

type NewAccount = Readonly<{ id: string; balance: Money }>;

export async function createAccount(sql: SQL, name: string, openingCredit: Money): Promise<NewAccount> {
  return await sql.begin((transaction) => insertAccount(transaction, name, openingCredit));
}

export async function insertAccount(
  transaction: TransactionSQL,
  name: string,
  openingCredit: Money,
  id: string = newId(),
): Promise<NewAccount> {
  await transaction`insert into accounts (id, name) values (${id}, ${name})`;
  if (openingCredit > 0n) await credit(transaction, id, openingCredit, 'Opening credit');
  return { id, balance: openingCredit };
}

export async function listAccounts(sql: SQL): Promise<Account[]> {
  const rows = await sql<(Omit<Account, 'balance' | 'held'> & { balance: string; held: string })[]>`
    select id, name, balance, held, suspended_at is not null as "isSuspended", created_at as "createdAt"
    from accounts order by id`;
  return rows.map((row) => ({
    ...row,
    balance: moneyFromDatabase(row.balance),
    held: moneyFromDatabase(row.held),
  }));
}

export async function accountExists(sql: SQL, id: string): Promise<boolean> {
  return (await sql`select 1 from accounts where id = ${id}`).length > 0;
}

/**
 * The database notifies every node of the change. One statement, because requests of the account wait while its row is
 * locked. False when there is no such account.
 */
export async function setSuspended(
  sql: SQL,
  shellUser: string,
  id: string,
  isSuspended: boolean,
): Promise<boolean> {
  const found = await sql`
    with changed as (
      update accounts set suspended_at = case when ${isSuspended}::boolean then now() end
      where id = ${id} and (suspended_at is not null) <> ${isSuspended}::boolean
      returning id
    ), noted as (
      insert into operator_actions (id, shell_user, action, account_id)
      select ${newId()}, ${shellUser}, ${isSuspended ? 'suspend_account' : 'resume_account'}, id from changed
    )
    select id from accounts where id = ${id}`;
  return found.length > 0;
}

/**
 * The catalogue has to have the group; null is for list prices. The database notifies every node, so the next request is
 * charged by them. One statement, because requests of the account wait while its row is locked.
 */
export async function setPriceGroup(
  sql: SQL,
  actor: Actor,
  id: string,
  group: string | null,
): Promise<'set' | 'missing' | 'denied'> {
  const operatorId = actor.kind === 'operator' ? actor.userId : null;
  const shellUser = actor.kind === 'shell' ? actor.user : null;
  const [row] = await sql<[{ is_permitted: boolean; is_found: boolean }]>`
    with operator as materialized (
      select id from users where id = ${operatorId}::uuid and is_operator for share
    ), permitted as (
      select 1 where ${operatorId}::uuid is null or exists (select 1 from operator)
    ), changed as (
      update accounts set price_group = ${group}::text from permitted
      where id = ${id} and price_group is distinct from ${group}::text
      returning id
    ), noted as (
      insert into operator_actions (id, operator_id, shell_user, action, account_id)
      select ${newId()}, ${operatorId}::uuid, ${shellUser}::text, 'set_price_group', id from changed
      where ${actor.kind !== 'token'}::boolean
    )
    select exists (select 1 from permitted) as is_permitted,
           exists (select 1 from accounts where id = ${id}) as is_found`;
  if (!row.is_permitted) return 'denied';
  return row.is_found ? 'set' : 'missing';
}
