import type { SQL } from 'bun';
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

type ShellCredit = Readonly<{
  actionId: string;
  /** Who gives it, for the operators' log. */
  shellUser: string;
  accountId: string;
  amount: Money;
  memo: string | null;
  /** With one, a repeated credit is booked once. */
  reference: string | null;
}>;

type ShellCreditOutcome =
  | Readonly<{ kind: 'credited' | 'repeated'; balance: Money }>
  | Readonly<{ kind: 'different'; earlier: Money }>
  | Readonly<{ kind: 'missing' }>;

type ShellCreditRow = {
  outcome: ShellCreditOutcome['kind'];
  new_balance: string | null;
  earlier_amount: string | null;
};

/** A credit that is given from a shell. `different`: another amount was credited with this reference. */
export async function creditFromShell(sql: SQL, order: ShellCredit): Promise<ShellCreditOutcome> {
  const { actionId, shellUser, accountId, amount, memo, reference } = order;
  const [row] = await sql<[ShellCreditRow]>`
    select * from credit_from_shell(${shellUser}::text, ${accountId}::uuid, ${formatMoney(amount)}::numeric, ${memo}::text,
      ${reference}::uuid, ${actionId}::uuid)`;
  const { outcome: kind } = row;
  if (kind === 'missing') return { kind };
  if (kind === 'different') return { kind, earlier: moneyFromDatabase(row.earlier_amount ?? '0') };
  return { kind, balance: moneyFromDatabase(row.new_balance ?? '0') };
}

type ReferencedCredit = Readonly<{
  actionId: string;
  operatorId: string;
  accountId: string;
  amount: Money;
  memo: string | null;
  /** A credit that is sent again with the same reference is not credited twice. */
  reference: string;
}>;

/**
 * `repeated`: it was credited before. `different`: another credit has this reference. `denied`: the caller is not an operator.
 */
type CreditOutcome = 'credited' | 'repeated' | 'different' | 'missing' | 'denied';

/** A credit that an operator gives in the dashboard, recorded as their action. */
export async function creditOnce(sql: SQL, given: ReferencedCredit): Promise<CreditOutcome> {
  const { actionId, operatorId, accountId, amount, memo, reference } = given;
  const [row] = await sql<[{ outcome: CreditOutcome }]>`
    select credit_by_operator(${operatorId}::uuid, ${accountId}::uuid, ${formatMoney(amount)}::numeric, ${memo}::text,
      ${reference}::uuid, ${actionId}::uuid) as outcome`;
  return row.outcome;
}
