import type { SQL, TransactionSQL } from 'bun';
import { credit } from '../ledger/credit.ts';
import { newId } from '../lib/ids.ts';
import { type Money, moneyFromDatabase } from '../lib/money.ts';
import { shortTransaction } from '../lib/short-transaction.ts';

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
  return await shortTransaction(sql, (transaction) => insertAccount(transaction, name, openingCredit));
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
