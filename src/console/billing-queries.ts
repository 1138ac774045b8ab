/**
 * An account's money by month, from the sums of its ledger entries. Each query has one snapshot of what was added up and of
 * the entries that were not yet, so what it returns adds up. It also checks who reads.
 */
import type { SQL } from 'bun';
import type { EntryKind } from '../ledger/entries.ts';
import { type Money, moneyFromDatabase } from '../lib/money.ts';
import { type AccountReader, type Found, readableAccount, rowsForReader } from './access.ts';
import type { GrantCategory } from './contract.ts';

export type MonthBalance = Readonly<{ month: string; closing: Money; isOpen: boolean; isArchived: boolean }>;

type MonthRow = { month: string; closing: string; isOpen: boolean; isArchived: boolean };

/** As many as a query can read besides, while somebody waits. */
export const maxEntriesLeft = 100_000;

/** Whether too many entries have not been added up yet. */
async function isBehind(sql: SQL, reader: AccountReader): Promise<boolean> {
  const rows = await sql<Found<{ left: number }, 'left'>[]>`
    select (entry_count - greatest(coalesce(entry_number, 0), coalesce(
             (select max(last_number) from ledger_archive_accounts where account_id = accounts.id), 0)))::float8 as left
    from ${readableAccount(sql, reader)} as readable join accounts on accounts.id = readable.account_id
    left join statement_progress on statement_progress.account_id = accounts.id`;
  return rowsForReader(rows, 'left').some(({ left }) => left > maxEntriesLeft);
}

/**
 * All months from the first that is known to the current one, the newest first; without a movement, too. Null while they are
 * being added up.
 */
export async function findMonths(sql: SQL, reader: AccountReader): Promise<MonthBalance[] | null> {
  if (await isBehind(sql, reader)) return null;
  const rows = await sql<Found<MonthRow, 'month'>[]>`
    select to_char(month, 'YYYY-MM') as month,
           balance_before(accounts.id, (month + interval '1 month') at time zone 'UTC') as closing,
           month = ${thisMonth(sql)} as "isOpen", ${isArchived(sql)} as "isArchived"
    from ${readableAccount(sql, reader)} as readable join accounts on accounts.id = readable.account_id
    left join lateral generate_series(${firstMonth(sql)}, ${thisMonth(sql)}, interval '1 month') as month on true
    order by month desc`;
  return rowsForReader(rows, 'month').map((row) => ({ ...row, closing: moneyFromDatabase(row.closing) }));
}

function thisMonth(sql: SQL) {
  return sql`date_trunc('month', now() at time zone 'UTC')`;
}

/**
 * Of the oldest entry that is stored, added up or archived. The oldest archive may be of several months, of which only the last
 * balance is known.
 */
function firstMonth(sql: SQL) {
  return sql`least(
    (select date_trunc('month', created_at at time zone 'UTC') from ledger_entries
     where account_id = accounts.id order by number limit 1),
    (select min(month)::timestamp from statement_months where account_id = accounts.id),
    (select min(ends_on) - interval '1 month' from ledger_archive_accounts
     join ledger_archives on ledger_archives.id = archive_id where account_id = accounts.id),
    ${thisMonth(sql)})`;
}

/**
 * Whether entries of `month` may have left before they were added up. An earlier version, which knows of no statements, may still
 * archive while this one adds up, so those of a month may be known in part, which is of no use to a statement.
 */
function isArchived(sql: SQL) {
  return sql`exists (
    select 1 from ledger_archive_accounts as archived join ledger_archives on ledger_archives.id = archive_id
    where account_id = accounts.id and (begins_on is null or begins_on <= month) and ends_on > month
      and last_number > coalesce((
        select max(added_up.last_number) from statement_months as added_up
        where added_up.account_id = accounts.id and added_up.month < ends_on), 0))`;
}

/** Days of a month in UTC: the first, and the first of the next. */
export type MonthDays = Readonly<{ from: string; end: string }>;

/** What one kind of entries comes to, in total or for one model, key or day; what it is not grouped by is null. */
export type StatementSum = Readonly<{
  kind: EntryKind;
  category: GrantCategory | '' | null;
  model: string | null;
  keyId: string | null;
  keyName: string | null;
  day: string | null;
  entries: number;
  amount: Money;
}>;

export type FoundStatement = Readonly<{ opening: Money; closing: Money; sums: readonly StatementSum[] }>;

type BalanceRow = { opening: string; closing: string };
type SumRow = Omit<StatementSum, 'amount'> & BalanceRow & { amount: string };

/** The sums by kind and category, by model, by key, and by day. */
export async function findStatement(
  sql: SQL,
  reader: AccountReader,
  month: MonthDays,
): Promise<FoundStatement> {
  const grouping = sql`grouping sets ((kind, category), (kind, model), (kind, key_id), (kind, day))`;
  return await findSums(sql, reader, month, month, grouping);
}

/** The sums by everything at once, in order: for some days of a month, with the balances of the month. */
export async function findStatementDays(
  sql: SQL,
  reader: AccountReader,
  month: MonthDays,
  days: MonthDays,
): Promise<FoundStatement> {
  return await findSums(sql, reader, month, days, sql`kind, category, model, key_id, day`);
}

async function findSums(
  sql: SQL,
  reader: AccountReader,
  month: MonthDays,
  days: MonthDays,
  grouping: SQL.Query<unknown>,
): Promise<FoundStatement> {
  return foundIn(
    await sql<Found<SumRow, 'kind'>[]>`
      with account as materialized (${balancesOf(sql, reader, month)})
      select ${columnsOf(sql)}
      from account left join lateral (
        select kind, category, model, key_id, day, sum(entries) as entries, sum(amount) as amount
        from (${linesOf(sql, days)}) as lines group by ${grouping}
      ) as sums on true
      order by sums.day, sums.kind, sums.category, sums.model, sums.key_id`,
  );
}

/** One row for whoever may read the account. */
function balancesOf(sql: SQL, reader: AccountReader, { from, end }: MonthDays) {
  return sql`
    select accounts.id, entry_count, coalesce(entry_number, 0) as added_up,
           balance_before(accounts.id, ${from}::text::timestamp at time zone 'UTC') as opening,
           balance_before(accounts.id, ${end}::text::timestamp at time zone 'UTC') as closing
    from ${readableAccount(sql, reader)} as readable join accounts on accounts.id = readable.account_id
    left join statement_progress on statement_progress.account_id = accounts.id`;
}

/** What was added up, and each entry that was not. */
function linesOf(sql: SQL, { from, end }: MonthDays) {
  return sql`
    select day, kind, category, model, key_id, entries, amount from statement_days
    where account_id = account.id and day >= ${from}::text::date and day < ${end}::text::date
    union all
    select day, kind, category, model, key_id, 1, amount
    from entry_statement(account.id, added_up + 1, entry_count, ${from}::text::timestamp at time zone 'UTC',
      ${end}::text::timestamp at time zone 'UTC')`;
}

function columnsOf(sql: SQL) {
  return sql`opening, closing, kind, category, model, key_id as "keyId",
    (select name from api_keys where api_keys.id = key_id) as "keyName", to_char(day, 'YYYY-MM-DD') as day,
    entries::int as entries, amount`;
}

function foundIn(rows: readonly Found<SumRow, 'kind'>[]): FoundStatement {
  const sums = rowsForReader(rows, 'kind');
  const { opening, closing } = rows[0] as BalanceRow;
  return {
    opening: moneyFromDatabase(opening),
    closing: moneyFromDatabase(closing),
    sums: sums.map(({ opening: _, closing: __, ...sum }) => ({
      ...sum,
      amount: moneyFromDatabase(sum.amount),
    })),
  };
}
