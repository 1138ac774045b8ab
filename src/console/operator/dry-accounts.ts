/** The accounts whose money ends first, at the pace of the last 7 days. */
import type { SQL } from 'bun';
import { typicalHoldOfAccount } from '../../generations/typical-hold.ts';
import { formatMoney, moneyFromDatabase } from '../../lib/money.ts';
import { hourMs } from '../../lib/time-units.ts';
import { readProgress } from '../../rollups/figures.ts';
import { spendQuery } from '../../rollups/spend.ts';
import { type Found, type OperatorReader, operatorOnly, rowsForOperator } from '../access.ts';
import type { OperatorHome } from '../home-contract.ts';
import { leastWindowHours, runwayOf } from '../runway.ts';
import { lastHours } from '../spent-hours.ts';

const maxAccounts = 20;
/** What lasts for longer is nobody's concern yet. */
const soonHours = 30 * 24;
/** With little money, what requests hold may be more, however slowly it is spent. Only so many are asked for that. */
const maxPoor = 50;

type Row = Readonly<{
  id: string;
  name: string;
  available: string;
  typical_hold: string | null;
  spent: string;
  hours_used: number;
  first_hour: Date;
}>;

/** The same figures as the runway of each account, from one snapshot. Those that are suspended spend nothing. */
export async function findDryAccounts(
  snapshot: SQL,
  reader: OperatorReader,
  nowMs: number,
): Promise<OperatorHome['dry_accounts']> {
  const span = lastHours(nowMs);
  const progress = await readProgress(snapshot, span);
  const rows = await snapshot<Found<Row, 'id'>[]>`
    select dry.* from ${operatorOnly(snapshot, reader)} as allowed left join lateral (
      with lasting as materialized (
        select id, name, balance - held as available, spent, first_hour,
               greatest(balance - held, 0) * greatest(${leastWindowHours}::int, ${span.toMs / hourMs}::int - first_hour_number) / spent as hours_left
        from (
          select account_id, sum(spent) as spent, min(hour) as first_hour,
                 (extract(epoch from min(hour)) / 3600)::int as first_hour_number
          from (${spendQuery(snapshot, span, progress)}) as hourly group by account_id
        ) as used join accounts on id = account_id
        where suspended_at is null
      ), candidates as materialized (
        (select * from lasting where hours_left <= ${soonHours}::int order by hours_left, available, id limit ${maxAccounts}::int)
        union
        (select * from lasting order by available, id limit ${maxPoor}::int)
      ), judged as (
        select *, coalesce(available < typical_hold, false) or available <= 0 as is_out
        from (select *, ${typicalHoldOfAccount(snapshot, snapshot`candidates.id`)} as typical_hold from candidates) as asked
      )
      select id, name, available, typical_hold, spent, first_hour, is_out, hours_left, (
        select count(distinct hour)::int
        from (${spendQuery(snapshot, span, progress, snapshot`account_id = judged.id`)}) as hourly
      ) as hours_used from judged
      where is_out or hours_left <= ${soonHours}::int
      order by is_out desc, case when is_out then 0 else hours_left end, judged.available, id limit ${maxAccounts}::int
    ) as dry on true
    order by is_out desc, case when is_out then 0 else hours_left end, available, id`;
  return rowsForOperator(rows, 'id').map((row) => {
    const means = {
      available: moneyFromDatabase(row.available),
      typicalHold: row.typical_hold === null ? null : moneyFromDatabase(row.typical_hold),
    };
    const use = {
      hours: row.hours_used,
      spent: moneyFromDatabase(row.spent),
      firstHourMs: row.first_hour.getTime(),
    };
    return {
      account: { id: row.id, name: row.name },
      available: formatMoney(means.available),
      typical_hold: means.typicalHold === null ? null : formatMoney(means.typicalHold),
      runway: runwayOf(use, means, nowMs),
    };
  });
}
