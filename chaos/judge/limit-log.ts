/** What the database has about limits, once all is quiet. */
import type { SQL } from 'bun';
import { moneyFromDatabase } from '../../src/lib/money.ts';
import type { SteadyLimit } from '../trials/steady-limits.ts';

/** One meter of a steady limit of spend, in the current window. */
export type SpendMeter = Readonly<{
  limitId: string;
  endUser: string | null;
  amount: bigint;
  /** What the meter says. */
  used: bigint;
  /** What the ledger says: charges of the window less refunds. */
  charged: bigint;
  /** How much of that no hold had reserved: charges beyond their hold, and those whose hold had been released. */
  unheld: bigint;
}>;

/** How many requests a steady limit admitted in one minute of the database's clock. */
export type MinuteCount = Readonly<{
  limitId: string;
  endUser: string | null;
  amount: bigint;
  minute: string;
  admitted: number;
}>;

export type LimitLog = Readonly<{
  /** The amount of each limit that is in force, by its ID. */
  inForce: ReadonlyMap<string, bigint>;
  /** Those that were there from the beginning. */
  steadyIds: readonly string[];
  spend: readonly SpendMeter[];
  minutes: readonly MinuteCount[];
}>;

export async function readLimits(sql: SQL, steady: readonly SteadyLimit[]): Promise<LimitLog> {
  const rows = await sql<{ id: string; amount: string }[]>`select id, amount from limits`;
  const ids = steady.map(({ id }) => id);
  return {
    inForce: new Map(rows.map(({ id, amount }) => [id, moneyFromDatabase(amount)])),
    steadyIds: ids,
    spend: await readSpend(sql, ids),
    minutes: await readMinutes(sql, ids),
  };
}

type SpendRow = { limit_id: string; end_user: string | null } & Record<
  'amount' | 'used' | 'charged' | 'unheld',
  string
>;

/** A charge counts when it is booked, by the clock of the database. */
async function readSpend(sql: SQL, steadyIds: readonly string[]): Promise<SpendMeter[]> {
  const rows = await sql<SpendRow[]>`
    select limits.id as limit_id, meter.end_user, amount::numeric(38,12),
           case when window_start = limit_window(kind, now()) then used else 0 end::numeric(38,12) as used,
           charged::numeric(38,12), unheld::numeric(38,12)
    from limits join limit_meters as meter on meter.limit_id = limits.id
      cross join lateral (
        select coalesce(sum(kept), 0) as charged, coalesce(sum(greatest(kept - coalesce(hold, 0), 0)), 0) as unheld
        from (
          select case when refunded_at is null then cost - refunded else 0 end as kept, hold
          from ledger_entries as entry join usage_records as record on record.id = entry.generation_id
            join generations on generations.id = record.id
            left join generation_attributions as attribution
              on attribution.generation_id = record.id and attribution.kind = 'end_user'
          where entry.account_id = limits.account_id and entry.kind = 'charge'
            and entry.created_at at time zone 'UTC' >= limit_window(limits.kind, now())
            and (limits.key_id is null or record.key_id = limits.key_id)
            and (meter.end_user is null or attribution.label = meter.end_user)
        ) as charges
      ) as counted
    where limits.id in ${sql(steadyIds)} and limits.kind like 'spend%'`;
  return rows.map((row) => ({
    limitId: row.limit_id,
    endUser: row.end_user,
    amount: moneyFromDatabase(row.amount),
    used: moneyFromDatabase(row.used),
    charged: moneyFromDatabase(row.charged),
    unheld: moneyFromDatabase(row.unheld),
  }));
}

type MinuteRow = {
  limit_id: string;
  end_user: string | null;
  amount: string;
  minute: string;
  admitted: bigint;
};

/** Without the few that may have counted in the minute before the one in which they were noted. */
async function readMinutes(sql: SQL, steadyIds: readonly string[]): Promise<MinuteCount[]> {
  const rows = await sql<MinuteRow[]>`
    select limits.id as limit_id, amount::numeric(38,12), date_trunc('minute', noted_at)::text as minute,
           count(distinct generations.id) as admitted,
           case limits.scope when 'each_end_user' then attribution.label end as end_user
    from limits join generations on generations.account_id = limits.account_id
      join chaos.holds on chaos.holds.generation_id = generations.id
      left join generation_attributions as attribution
        on attribution.generation_id = generations.id and attribution.kind = 'end_user'
    where limits.id in ${sql(steadyIds)} and limits.kind = 'requests_per_minute'
      and (limits.scope = 'account' or attribution.label is not null)
      and date_trunc('minute', begun_at) = date_trunc('minute', noted_at)
    group by 1, 2, 3, 5`;
  return rows.map((row) => ({
    limitId: row.limit_id,
    endUser: row.end_user,
    amount: moneyFromDatabase(row.amount),
    minute: row.minute,
    admitted: Number(row.admitted),
  }));
}
