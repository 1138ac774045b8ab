/** Stores bills in all their versions, what comparisons found, and each attempt to read a bill. */
import type { SQL, TransactionSQL } from 'bun';
import { newId } from '../lib/ids.ts';
import { formatMoney, type Money, moneyFromDatabase } from '../lib/money.ts';
import { type Bill, type BillLine, type BillSource, sumOf } from './bill.ts';
import type { BilledDay } from './compare.ts';
import { type ComparedDay, type ComparedModel, type Explanation, preliminaryHours } from './compared.ts';

const billLock = 7_012_018_008;

type StoredLine = Readonly<{
  name: string;
  is_model: boolean;
  meter: string | null;
  amount: string;
  list_amount: string | null;
  quantity: string | null;
}>;

/** One at a time, so that two readers of the same figures do not store them as two versions. */
export async function storeBill(sql: SQL, provider: string, bill: Bill): Promise<void> {
  await sql.begin(async (transaction) => {
    await transaction`select pg_advisory_xact_lock(${billLock})`;
    for (const [day, lines] of bill.days) await storeDay(transaction, provider, day, bill, lines);
  });
}

async function storeDay(
  transaction: TransactionSQL,
  provider: string,
  day: string,
  { source, refreshedAt }: Bill,
  lines: readonly BillLine[],
): Promise<void> {
  const text = JSON.stringify(lines.map(presentLine));
  await transaction`
    with newest as (
      select version, lines from bill_versions where provider = ${provider} and day = ${day}::text::date
      order by version desc limit 1
    ), same as (
      update bill_versions set last_read_at = now(), refreshed_at = ${refreshedAt}
      where provider = ${provider} and day = ${day}::text::date
        and version = (select version from newest where lines = ${text}::text::jsonb)
      returning version
    )
    insert into bill_versions (provider, day, version, source, billed, lines, refreshed_at)
    select ${provider}, ${day}::text::date, coalesce((select version from newest), 0) + 1, ${source},
           ${formatMoney(sumOf(lines))}::numeric, ${text}::text::jsonb, ${refreshedAt}
    where not exists (select 1 from same)`;
}

function presentLine(line: BillLine): StoredLine {
  return {
    name: line.name,
    is_model: line.isModel,
    meter: line.meter,
    amount: formatMoney(line.amount),
    list_amount: line.listAmount === null ? null : formatMoney(line.listAmount),
    quantity: line.quantity,
  };
}

/** The newest version of each day that was read. Both days are included. */
export async function readBills(
  sql: SQL,
  provider: string,
  from: string,
  to: string,
): Promise<Map<string, BilledDay>> {
  const rows = await sql<{ day: string; lines: StoredLine[]; refreshed_at: Date | null }[]>`
    select distinct on (bill_versions.day) bill_versions.day::text as day, lines, refreshed_at from bill_versions
    where provider = ${provider} and day >= ${from}::text::date and day <= ${to}::text::date
    order by bill_versions.day, version desc`;
  return new Map(
    rows.map((row) => [row.day, { lines: row.lines.map(readLine), refreshedAt: row.refreshed_at }]),
  );
}

function readLine(line: StoredLine): BillLine {
  return {
    name: line.name,
    isModel: line.is_model,
    meter: line.meter,
    amount: moneyFromDatabase(line.amount),
    listAmount: line.list_amount === null ? null : moneyFromDatabase(line.list_amount),
    quantity: line.quantity,
  };
}

/** The newest day of which there is a bill. */
export async function newestBilledDay(sql: SQL, provider: string): Promise<string | null> {
  const [{ day }] = await sql<[{ day: string | null }]>`
    select max(day)::text as day from bill_versions where provider = ${provider}`;
  return day;
}

export async function storeComparison(
  sql: SQL,
  provider: string,
  days: readonly ComparedDay[],
): Promise<void> {
  await sql.begin(async (transaction) => {
    for (const day of days) {
      const models = JSON.stringify(day.models.map(presentModel));
      const explanations = JSON.stringify(day.explanations.map(presentExplanation));
      await transaction`
        insert into reconciled_days (provider, day, charged, metered, uncharged, billed, difference, tolerance,
          is_within, is_preliminary, models, explanations)
        values (${provider}, ${day.day}::text::date, ${formatMoney(day.charged)}::numeric,
          ${formatMoney(day.metered)}::numeric, ${formatMoney(day.uncharged)}::numeric,
          ${amountOrNull(day.billed)}::numeric, ${amountOrNull(day.difference)}::numeric,
          ${formatMoney(day.tolerance)}::numeric, ${day.isWithin}, ${day.isPreliminary}, ${models}::text::jsonb,
          ${explanations}::text::jsonb)
        on conflict (provider, day) do update
        set charged = excluded.charged, metered = excluded.metered, uncharged = excluded.uncharged,
            billed = excluded.billed, difference = excluded.difference, tolerance = excluded.tolerance,
            is_within = excluded.is_within, is_preliminary = excluded.is_preliminary, models = excluded.models,
            explanations = excluded.explanations, compared_at = now()`;
    }
  });
}

/**
 * Whether the provider may still correct a row of `reconciled_days as days`, where `newest` is the last version of its bill.
 * A day that was compared early does not stay preliminary: it may come from a file that nobody reads again.
 */
export function isPreliminary(sql: SQL) {
  return sql`
    days.is_preliminary and (
      now() < (days.day + 1)::timestamp at time zone 'UTC' + make_interval(hours => ${preliminaryHours}::int)
      or coalesce(newest.refreshed_at < (days.day + 1)::timestamp at time zone 'UTC', false))`;
}

const amountOrNull = (money: Money | null) => (money === null ? null : formatMoney(money));

/** As stored, and as programs get it. */
export type PresentedModel = Readonly<{
  name: string;
  kind: ComparedModel['kind'];
  metered: string;
  billed: string;
  difference: string;
  is_within: boolean;
}>;
export type PresentedExplanation = Readonly<{
  kind: Explanation['kind'];
  count: number | null;
  amount: string | null;
  day: string | null;
  names: readonly string[];
}>;

export function presentModel({ isWithin, ...model }: ComparedModel): PresentedModel {
  return {
    name: model.name,
    kind: model.kind,
    metered: formatMoney(model.metered),
    billed: formatMoney(model.billed),
    difference: formatMoney(model.difference),
    is_within: isWithin,
  };
}

export function presentExplanation(explanation: Explanation): PresentedExplanation {
  return { ...explanation, amount: amountOrNull(explanation.amount) };
}

/** Returns the ID of the run. */
export async function startRun(
  sql: SQL,
  provider: string,
  from: string,
  to: string,
  requestedBy: string | null,
): Promise<string> {
  const id = newId();
  await sql`
    insert into reconciliation_runs (id, provider, from_day, to_day, requested_by)
    values (${id}, ${provider}, ${from}::text::date, ${to}::text::date, ${requestedBy})`;
  return id;
}

type RunResult =
  | Readonly<{ source: BillSource; daysRead: number; notes: readonly string[] }>
  | Readonly<{ error: string }>;

export async function finishRun(sql: SQL, id: string, result: RunResult): Promise<void> {
  const done =
    'error' in result ? { source: null, daysRead: null, notes: [], ...result } : { error: null, ...result };
  await sql`
    update reconciliation_runs
    set finished_at = now(), source = ${done.source}, days_read = ${done.daysRead}::int, error = ${done.error},
        notes = ${sql.array([...done.notes], 'text')}
    where id = ${id}`;
}
