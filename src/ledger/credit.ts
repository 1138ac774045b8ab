import type { SQL } from 'bun';
import { type Actor, type Change, changeColumns, changeValues } from '../audit-log/audit-log.ts';
import { formatMoney, type Money, moneyFromDatabase } from '../lib/money.ts';

/** Credits an account in one statement and returns its balance; null when there is no such account. */
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

export type Credit = Readonly<{
  accountId: string;
  amount: Money;
  memo: string | null;
  /** With one, a repeated credit is booked once. */
  reference: string | null;
}>;

/** `repeated`: it was credited before. `different`: another amount was credited with this reference. */
export type CreditOutcome =
  | Readonly<{ kind: 'credited'; balance: Money }>
  | Readonly<{ kind: 'repeated'; balance: Money; earlierMemo: string | null }>
  | Readonly<{ kind: 'different'; earlier: Money }>
  | Readonly<{ kind: 'missing' }>;

type CreditRow = {
  outcome: CreditOutcome['kind'];
  new_balance: string | null;
  earlier_amount: string | null;
  earlier_memo: string | null;
};

/** Someone gives a credit. One statement, because requests of the account wait while its row is locked. */
export async function giveCredit(sql: SQL, actor: Actor, given: Credit): Promise<CreditOutcome> {
  const { accountId, memo, reference } = given;
  const amount = formatMoney(given.amount);
  const change: Change = { action: 'credit_account', accountId, after: { amount, memo, reference } };
  const [row] = await sql<[CreditRow]>`
    with booked as (
      select * from book_credit(${accountId}::uuid, ${amount}::numeric, ${memo}::text, ${reference}::uuid)
    ), noted as (
      insert into audit_log (${changeColumns(sql)})
      select ${changeValues(sql, actor, change)} from booked where outcome = 'credited'
    )
    select outcome, new_balance, earlier_amount, earlier_memo from booked`;
  const { outcome: kind } = row;
  if (kind === 'missing') return { kind };
  if (kind === 'different') return { kind, earlier: moneyFromDatabase(row.earlier_amount ?? '0') };
  const balance = moneyFromDatabase(row.new_balance ?? '0');
  return kind === 'repeated' ? { kind, balance, earlierMemo: row.earlier_memo } : { kind, balance };
}
