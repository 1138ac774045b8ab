/** Grants that repeat, as a plan does: each lasts until the next day, week or month begins, in UTC. */
import type { SQL, TransactionSQL } from 'bun';
import { type Actor, recordChange } from '../audit-log/audit-log.ts';
import { newId } from '../lib/ids.ts';
import { formatMoney, type Money, moneyFromDatabase } from '../lib/money.ts';

export const allowancePeriods = ['day', 'week', 'month'] as const;
export type AllowancePeriod = (typeof allowancePeriods)[number];

/** Each is settled with its account, so there cannot be very many. */
export const maxAllowances = 20;

export type AllowanceDraft = Readonly<{
  accountId: string;
  amount: Money;
  every: AllowancePeriod;
  priority: number;
  /** The customer sees it. */
  note: string | null;
}>;

export type Allowance = AllowanceDraft &
  Readonly<{
    id: string;
    /** When it is given the next time. */
    nextAt: Date;
    createdAt: Date;
    endedAt: Date | null;
  }>;

type AllowanceRow = Omit<Allowance, 'amount'> & Readonly<{ amount: string }>;

/** The first one is given at once, in full. A word instead when the account does not exist or has as many as it can. */
export async function createAllowanceAs(
  transaction: TransactionSQL,
  actor: Actor,
  { accountId, amount, every, priority, note }: AllowanceDraft,
): Promise<Allowance | 'no_account' | 'too_many'> {
  const [account] = await transaction`select 1 from accounts where id = ${accountId} for no key update`;
  if (account === undefined) return 'no_account';
  const [counted] = await transaction<[{ count: number }]>`
    select count(*)::int as count from allowances where account_id = ${accountId} and ended_at is null`;
  if (counted.count >= maxAllowances) return 'too_many';
  const id = newId();
  await transaction`select begin_grants(${accountId}::uuid)`;
  await transaction`
    insert into allowances (id, account_id, amount, every, priority, note, next_at)
    values (${id}, ${accountId}, ${formatMoney(amount)}::numeric, ${every}, ${priority}, ${note}::text, clock_timestamp())`;
  await recordChange(transaction, actor, {
    action: 'create_allowance',
    accountId,
    object: { type: 'allowance', id },
    after: { amount: formatMoney(amount), every, priority, note },
  });
  await transaction`select settle_grants(${accountId}::uuid)`;
  return (await findAllowance(transaction, { id, accountId })) as Allowance;
}

/** What was given of it stays until its end. Null when there is no such allowance. */
export async function endAllowanceAs(
  transaction: TransactionSQL,
  actor: Actor,
  { id, accountId }: Readonly<{ id: string; accountId: string }>,
): Promise<Allowance | null> {
  const ended = await transaction`
    update allowances set ended_at = now() where id = ${id} and account_id = ${accountId} and ended_at is null returning 1`;
  const allowance = await findAllowance(transaction, { id, accountId });
  if (allowance !== null && ended.length > 0)
    await recordChange(transaction, actor, {
      action: 'end_allowance',
      accountId,
      object: { type: 'allowance', id },
      after: { amount: formatMoney(allowance.amount), every: allowance.every },
    });
  return allowance;
}

export async function findAllowance(
  sql: SQL,
  { id, accountId }: Readonly<{ id: string; accountId: string }>,
): Promise<Allowance | null> {
  const [row] = await sql<AllowanceRow[]>`
    ${allowanceRows(sql)} where id = ${id} and account_id = ${accountId}`;
  return row === undefined ? null : allowanceFrom(row);
}

/** Null when there is no such allowance. */
export async function findAccountOfAllowance(sql: SQL, id: string): Promise<string | null> {
  const [row] = await sql<{ account_id: string }[]>`select account_id from allowances where id = ${id}`;
  return row?.account_id ?? null;
}

/** Those that have not ended come first. At most 100. */
export async function findAllowances(sql: SQL, accountId: string): Promise<Allowance[]> {
  const rows = await sql<AllowanceRow[]>`
    ${allowanceRows(sql)} where account_id = ${accountId} order by ended_at is not null, id desc limit 100`;
  return rows.map(allowanceFrom);
}

function allowanceRows(sql: SQL) {
  return sql`
    select id, account_id as "accountId", amount, every, priority, note, next_at as "nextAt", created_at as "createdAt",
           ended_at as "endedAt"
    from allowances`;
}

function allowanceFrom(row: AllowanceRow): Allowance {
  return { ...row, amount: moneyFromDatabase(row.amount) };
}
