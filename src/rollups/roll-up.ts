/**
 * Adds up requests by minute and by hour, from generations. Readers count what has not been added up yet, or no longer true,
 * themselves, so progress affects only what a query costs, never its result. Each step is a transaction of its own, and may be
 * the last one of this process: another one goes on from there.
 */
import type { SQL, TransactionSQL } from 'bun';
import { shortTransaction } from '../lib/short-transaction.ts';
import { hourMs, minuteMs } from '../lib/time-units.ts';
import { ceilTo, floorTo, hoursKeptMs, minutesKeptMs } from './range.ts';

export const rollupLock = 7_012_018_047;
/**
 * How far the frontier stays behind the clock of the database. Whoever writes a Generation compares with the frontier only if
 * it is older than 15 s (the trigger late_generation, ledger_write_batch), so it must be more than that, and the minute that clocks
 * may differ by, after a failover for instance.
 */
const frontierLagMs = 90_000;
/** A minute that changes again and again is added up less and less often. Meanwhile it is counted one by one. */
const firstRestMs = 10_000;
const longestRestMs = 300_000;
const maxDirtyHours = 20;
const maxDirtyMinutesAtOnce = 5;
const maxMinutesFilledAtOnce = 5;
const rowsRemovedAtOnce = 5_000;
const lateMs = 10 * minuteMs;

export type RollUpOptions = Readonly<{
  /** How long Generations are kept; null for ever. Without them a minute cannot be added up anew. */
  retentionDays?: number | null;
  isStopped?: () => boolean;
  /** How long one pass may work at what is old. */
  patienceMs?: number;
  /** Told in each pass while minutes that are long over have not been added up, and that has lasted for `lateForMs`. */
  onLate?: (late: Late) => void;
  lateForMs?: number;
}>;

/** How late it is, and what it waits for: a transaction that may still write into those minutes, or another node. */
type Late = Readonly<{ durationMs: number; reason: string }>;

type State = Readonly<{
  nowMs: number;
  frontierMs: number;
  rolledToMs: number;
  minutesFromMs: number;
  hoursFromMs: number;
}>;

/** What one query tells before anything is done. */
type Seen = State & Readonly<{ isAnyDirty: boolean; nextTransaction: string; oldestTransaction: string }>;

/** Returns whether there may be more to do. */
type Step = (transaction: TransactionSQL, state: State) => Promise<boolean>;

export class RollUp {
  readonly #sql: SQL;
  readonly #retentionMs: number;
  readonly #isStopped: () => boolean;
  readonly #patienceMs: number;
  readonly #onLate: (late: Late) => void;
  readonly #lateForMs: number;
  #lateSinceMs: number | null = null;
  /** The frontier, and the first transaction that has surely seen it. */
  #awaited: Readonly<{ frontierMs: number; transaction: string }> | null = null;
  /** The last hour in which everything that is old was removed. */
  #tidyHour: number | null = null;
  readonly #rests = new Map<number, Readonly<{ untilMs: number; nextMs: number }>>();

  constructor(sql: SQL, options: RollUpOptions = {}) {
    const { retentionDays = null, isStopped = () => false, patienceMs = 2_000 } = options;
    // After a start there may be much to do.
    const { onLate = () => undefined, lateForMs = minuteMs } = options;
    this.#sql = sql;
    this.#retentionMs = retentionDays === null ? Infinity : retentionDays * 24 * hourMs;
    this.#isStopped = isStopped;
    this.#patienceMs = patienceMs;
    this.#onLate = onLate;
    this.#lateForMs = lateForMs;
  }

  /** One pass. Any number of nodes may do this at once: they take turns, a step at a time. If there is nothing to do, it is one query. */
  async run(): Promise<void> {
    let seen = await this.#look();
    if (isFrontierDue(seen)) {
      await this.#step(advanceFrontier);
      seen = await this.#look();
    }
    if (seen.rolledToMs < seen.frontierMs && this.#isSettled(seen)) {
      const { frontierMs } = seen;
      while (await this.#step((transaction, state) => rollNext(transaction, state, frontierMs)));
      this.#awaited = null;
    }
    await this.#noteLateness(seen);
    if (seen.isAnyDirty) await this.#rollDirty();
    const untilMs = performance.now() + this.#patienceMs;
    if (!isFilled(seen)) while (performance.now() < untilMs && (await this.#step(fillBack)));
    // What is old is removed by the hour.
    const hour = floorTo(seen.nowMs, hourMs);
    if (this.#tidyHour === hour) return;
    const tidy: Step = async (transaction, state) => {
      if (await removeOld(transaction, state)) return true;
      this.#tidyHour = hour;
      return false;
    };
    while (performance.now() < untilMs && (await this.#step(tidy)));
  }

  async #look(): Promise<Seen> {
    const sql = this.#sql;
    const [row] = await sql<[Seen]>`
      select ${stateIn(sql)}, exists (select from dirty_minutes) as "isAnyDirty",
             pg_snapshot_xmax(pg_current_snapshot())::text as "nextTransaction",
             pg_snapshot_xmin(pg_current_snapshot())::text as "oldestTransaction"
      from rollup_progress`;
    return row;
  }

  async #noteLateness({ nowMs, rolledToMs }: Seen): Promise<void> {
    const isStillLate = nowMs - rolledToMs > lateMs && (await this.#look()).rolledToMs === rolledToMs;
    if (!isStillLate) this.#lateSinceMs = null;
    else this.#lateSinceMs ??= performance.now();
    if (this.#lateSinceMs === null || performance.now() - this.#lateSinceMs < this.#lateForMs) return;
    const [oldest] = await this.#sql<{ reason: string }[]>`
      select concat_ws(' ', 'waits for a transaction of', application_name, 'with ID', pid, 'since', xact_start) as reason
      from pg_stat_activity where backend_xid is not null order by age(backend_xid) desc limit 1`;
    const reason = this.#awaited === null ? 'waits for another node' : oldest?.reason;
    this.#onLate({ durationMs: nowMs - rolledToMs, reason: reason ?? 'waits for a prepared transaction' });
  }

  async #step(run: Step): Promise<boolean> {
    if (this.#isStopped()) return false;
    return await shortTransaction(this.#sql, async (transaction) => {
      const [{ is_mine: isMine }] = await transaction<[{ is_mine: boolean }]>`
        select pg_try_advisory_xact_lock(${rollupLock}) as is_mine`;
      return isMine && (await run(transaction, await readState(transaction)));
    });
  }

  /**
   * Whether every transaction has ended that may have compared with an earlier frontier: what they wrote is visible now, and all
   * others leave a mark.
   */
  #isSettled({ frontierMs, nextTransaction, oldestTransaction }: Seen): boolean {
    if (this.#awaited?.frontierMs !== frontierMs)
      this.#awaited = { frontierMs, transaction: nextTransaction };
    return BigInt(oldestTransaction) >= BigInt(this.#awaited.transaction);
  }

  async #rollDirty(): Promise<void> {
    const nowMs = performance.now();
    for (const [minute, rest] of this.#rests)
      if (rest.untilMs + longestRestMs < nowMs) this.#rests.delete(minute);
    const rows = await this.#sql<{ minute_ms: number }[]>`
      select distinct ${inMs(this.#sql, 'minute')} as minute_ms from dirty_minutes order by minute_ms desc limit 1000`;
    const due = rows
      .map((row) => row.minute_ms)
      .filter((minute) => (this.#rests.get(minute)?.untilMs ?? 0) <= nowMs);
    const byHour = [...Map.groupBy(due, (minute) => Math.floor(minute / hourMs))].slice(0, maxDirtyHours);
    for (const [, minutes] of byHour) {
      const some = minutes.slice(0, maxDirtyMinutesAtOnce);
      for (const minute of some) this.#rest(minute, nowMs);
      await this.#step(async (transaction, state) => {
        await rollAgain(transaction, state, some, state.nowMs - this.#retentionMs);
        return false;
      });
    }
  }

  #rest(minute: number, nowMs: number): void {
    const { nextMs } = this.#rests.get(minute) ?? { nextMs: firstRestMs };
    this.#rests.set(minute, { untilMs: nowMs + nextMs, nextMs: Math.min(2 * nextMs, longestRestMs) });
  }
}

/** In milliseconds; minus infinity as the number. */
function inMs(sql: SQL, column: 'frontier' | 'rolled_to' | 'minutes_from' | 'hours_from' | 'minute') {
  return sql`(extract(epoch from ${sql(column)}) * 1000)::float8`;
}

function at(sql: SQL, timeMs: number) {
  return sql`to_timestamp(${timeMs}::float8 / 1000)`;
}

function stateIn(sql: SQL) {
  return sql`
    (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs", ${inMs(sql, 'frontier')} as "frontierMs",
    ${inMs(sql, 'rolled_to')} as "rolledToMs", ${inMs(sql, 'minutes_from')} as "minutesFromMs",
    ${inMs(sql, 'hours_from')} as "hoursFromMs"`;
}

async function readState(sql: SQL): Promise<State> {
  const [row] = await sql<[State]>`select ${stateIn(sql)} from rollup_progress`;
  return row;
}

function nextFrontierMs(nowMs: number): number {
  return floorTo(nowMs - frontierLagMs, minuteMs);
}

function isFrontierDue({ nowMs, frontierMs, rolledToMs }: State): boolean {
  return rolledToMs >= frontierMs && nextFrontierMs(nowMs) > frontierMs;
}

async function advanceFrontier(sql: SQL, state: State): Promise<boolean> {
  if (!isFrontierDue(state)) return false;
  await sql`update rollup_progress set frontier = ${at(sql, nextFrontierMs(state.nowMs))}`;
  return true;
}

/** The next minute before `untilMs` that has Generations, or up to it; and the hour that this ends. */
async function rollNext(sql: SQL, { rolledToMs }: State, untilMs: number): Promise<boolean> {
  if (rolledToMs >= untilMs) return false;
  const [{ first_ms: firstMs }] = await sql<[{ first_ms: number | null }]>`
    select id_ms((
      select id from generations where id >= first_id_at(${at(sql, rolledToMs)}) and id < first_id_at(${at(sql, untilMs)})
      order by id limit 1
    ))::float8 as first_ms`;
  const emptyToMs = firstMs === null ? untilMs : floorTo(firstMs, minuteMs);
  let nextMs = rolledToMs + minuteMs;
  if (emptyToMs === rolledToMs) await sql`select roll_up_minute(${at(sql, rolledToMs)})`;
  // The hour has minutes that were added up before: it is ended first.
  else nextMs = rolledToMs % hourMs === 0 ? emptyToMs : Math.min(emptyToMs, ceilTo(rolledToMs, hourMs));
  if (nextMs % hourMs === 0) await sql`select roll_up_minutes_of_hour(${at(sql, nextMs - hourMs)})`;
  await sql`update rollup_progress set rolled_to = ${at(sql, nextMs)}`;
  return true;
}

/**
 * Some minutes of one hour. Their marks go first: whoever marks a minute after this has written what the next statement may
 * not see. What has not been added up yet will be, with what is written by now.
 */
async function rollAgain(
  sql: SQL,
  state: State,
  minutes: readonly number[],
  keptFromMs: number,
): Promise<void> {
  const hour = floorTo(minutes[0] ?? 0, hourMs);
  const times = sql.array(
    minutes.map((minute) => new Date(minute).toISOString()),
    'TEXT',
  );
  await sql`delete from dirty_minutes where minute = any (${times}::text[]::timestamptz[])`;
  if (hour < keptFromMs || !(await hasPartition(sql, hour))) return;
  for (const minute of minutes)
    if (minute >= state.minutesFromMs && minute < state.rolledToMs)
      await sql`select roll_up_minute(${at(sql, minute)})`;
  if (hour < state.hoursFromMs || hour + hourMs > state.rolledToMs) return;
  if (hour < state.minutesFromMs) await sql`select roll_up_hour(${at(sql, hour)})`;
  else await sql`select roll_up_minutes_of_hour(${at(sql, hour)})`;
}

/**
 * Whether the Generations of that month are there: another node may keep them for a shorter time, or this one did. The sums stay as
 * they were then. The lock keeps the partition until the end of the transaction.
 */
async function hasPartition(sql: SQL, timeMs: number): Promise<boolean> {
  await sql`lock table generations in access share mode`;
  const name = `generations_${new Date(timeMs).toISOString().slice(0, 7).replace('-', '_')}`;
  const found = await sql`
    select 1 from pg_inherits
    where inhparent = 'generations'::regclass and inhrelid = to_regclass(${name}::text) and not inhdetachpending`;
  return found.length > 0;
}

/** The first hour that is kept. */
function oldestHourMs(nowMs: number): number {
  return floorTo(nowMs - hoursKeptMs, hourMs);
}

/** Whether all that is kept has been added up, or all that there is. */
function isFilled({ nowMs, hoursFromMs }: State): boolean {
  return hoursFromMs <= oldestHourMs(nowMs);
}

/**
 * A part of what is from before all this began, the newest first, as far back as sums are kept. All of it is before the frontier, so
 * whatever changes it leaves a mark.
 */
async function fillBack(sql: SQL, state: State): Promise<boolean> {
  if (isFilled(state)) return false;
  const { nowMs, minutesFromMs, hoursFromMs } = state;
  const hour = hoursFromMs - hourMs;
  if (minutesFromMs < hoursFromMs) return await fillBackMinutes(sql, hour, minutesFromMs);
  const [{ last_ms: lastMs }] = await sql<[{ last_ms: number | null }]>`
    select id_ms((
      select id from generations where id < first_id_at(${at(sql, hoursFromMs)}) order by id desc limit 1
    ))::float8 as last_ms`;
  const emptyFromMs =
    lastMs === null ? -Infinity : Math.max(floorTo(lastMs, hourMs) + hourMs, oldestHourMs(nowMs));
  if (emptyFromMs < hoursFromMs) {
    const emptyFrom = lastMs === null ? sql`'-infinity'` : at(sql, emptyFromMs);
    await sql`
      update rollup_progress
      set hours_from = ${emptyFrom},
          minutes_from = case when minutes_from = hours_from then ${emptyFrom} else minutes_from end`;
    return true;
  }
  if (minutesFromMs === hoursFromMs && hour >= nowMs - minutesKeptMs)
    return await fillBackMinutes(sql, hour, minutesFromMs);
  await sql`select roll_up_hour(${at(sql, hour)})`;
  await sql`update rollup_progress set hours_from = ${at(sql, hour)}`;
  return true;
}

/** Some minutes of an hour, from its end, and the hour itself with the last of them. */
async function fillBackMinutes(sql: SQL, hour: number, minutesFromMs: number): Promise<boolean> {
  const fromMs = Math.max(hour, minutesFromMs - maxMinutesFilledAtOnce * minuteMs);
  for (let minute = fromMs; minute < minutesFromMs; minute += minuteMs)
    await sql`select roll_up_minute(${at(sql, minute)})`;
  await sql`update rollup_progress set minutes_from = ${at(sql, fromMs)}`;
  if (fromMs > hour) return true;
  await sql`select roll_up_minutes_of_hour(${at(sql, hour)})`;
  await sql`update rollup_progress set hours_from = ${at(sql, hour)}`;
  return true;
}

/** Readers are told before anything is removed. An hour that is not added up yet needs its minutes, however old they are. */
async function removeOld(sql: SQL, { nowMs, rolledToMs, hoursFromMs }: State): Promise<boolean> {
  const minutes = at(sql, floorTo(Math.min(nowMs - minutesKeptMs, rolledToMs), hourMs));
  const hours = at(sql, Math.min(oldestHourMs(nowMs), floorTo(rolledToMs, hourMs)));
  // As long as there is nothing to remove, everything is known, since ever.
  const isOldKnown =
    hoursFromMs === -Infinity &&
    (await sql`select 1 from request_hours where hour < ${hours} limit 1`).length === 0;
  await sql`
    update rollup_progress
    set minutes_from = greatest(minutes_from, ${minutes}),
        hours_from = case when ${isOldKnown}::boolean then hours_from else greatest(hours_from, ${hours}) end
    where minutes_from < ${minutes} or (hours_from < ${hours} and not ${isOldKnown}::boolean)`;
  const [{ removed }] = await sql<[{ removed: number }]>`
    with requests_by_minute as (
      delete from request_minutes where ctid = any (array(
        select ctid from request_minutes where minute < ${minutes} limit ${rowsRemovedAtOnce})) returning 1
    ), requests_by_hour as (
      delete from request_hours where ctid = any (array(
        select ctid from request_hours where hour < ${hours} limit ${rowsRemovedAtOnce})) returning 1
    ), attempts_by_minute as (
      delete from attempt_minutes where ctid = any (array(
        select ctid from attempt_minutes where minute < ${minutes} limit ${rowsRemovedAtOnce})) returning 1
    ), attempts_by_hour as (
      delete from attempt_hours where ctid = any (array(
        select ctid from attempt_hours where hour < ${hours} limit ${rowsRemovedAtOnce})) returning 1
    ), requests_by_day as (
      -- The hours of a day are taken from it as they are removed.
      delete from request_days where ctid = any (array(
        select ctid from request_days where day < (${hours} at time zone 'UTC')::date and count = 0
        limit ${rowsRemovedAtOnce})) returning 1
    )
    select (select count(*) from requests_by_minute)::int + (select count(*) from requests_by_hour)::int
      + (select count(*) from attempts_by_minute)::int + (select count(*) from attempts_by_hour)::int
      + (select count(*) from requests_by_day)::int as removed`;
  return removed > 0;
}
