import type { SQL } from 'bun';
import { formatMoney, type Money, moneyFromDatabase } from '../lib/money.ts';

/** The opening credit of an account. Returns its balance; null when there is no such account. */
export async function credit(
  sql: SQL,
  accountId: string,
  amount: Money,
  memo: string | null,
): Promise<Money | null> {
  const [entry] = await sql<{ balance_after: string }[]>`
    with credited as (
      update accounts set balance = balance + ${formatMoney(amount)}::numeric, entry_count = entry_count + 1
      where id = ${accountId}
      returning id, balance, entry_count
    )
    insert into ledger_entries (account_id, number, kind, amount, balance_after, memo)
    select id, entry_count, 'credit', ${formatMoney(amount)}::numeric, balance, ${memo} from credited
    returning balance_after`;
  return entry ? moneyFromDatabase(entry.balance_after) : null;
}
