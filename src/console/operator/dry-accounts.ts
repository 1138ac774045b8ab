/** The accounts whose money ends first, at the pace of the hours in which they were used. */
import type { SQL } from 'bun';
import { typicalHoldOfAccount } from '../../generations/typical-hold.ts';
import { formatMoney, moneyFromDatabase } from '../../lib/money.ts';
import { readProgress } from '../../rollups/figures.ts';
import { hourlySpendQuery } from '../../rollups/spend.ts';
import { type Found, type OperatorReader, operatorOnly, rowsForOperator } from '../access.ts';
import type { OperatorHome } from '../home-contract.ts';
import { lastHours } from '../spent-hours.ts';

const maxAccounts = 20;
/** What lasts for longer is nobody's concern yet. */
const soonHours = 168;

type Row = Readonly<{
  typical_hold: string | null;
  id: string;
  name: string;
  available: string;
  hours_used: number;
  hours_left: number;
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
    select dry.*, ${typicalHoldOfAccount(snapshot, snapshot`dry.id`)}::text as typical_hold
    from ${operatorOnly(snapshot, reader)} as allowed left join lateral (
      select id, name, available::text as available, hours_used, hours_left::float8 as hours_left from (
        select id, name, balance - held as available, hours_used::int as hours_used,
               trunc(greatest(balance - held, 0) * hours_used * 10 / spent) / 10 as hours_left
        from (
          select account_id, sum(spent) as spent, count(*) as hours_used
          from (${hourlySpendQuery(snapshot, span, progress)}) as hourly group by account_id
        ) as used join accounts on id = account_id
        where suspended_at is null
      ) as lasting
      where hours_left < ${soonHours}::int
      order by lasting.hours_left, lasting.available, id limit ${maxAccounts}::int
    ) as dry on true
    order by hours_left, available::numeric, id`;
  return rowsForOperator(rows, 'id').map(({ id, name, available, typical_hold: hold, ...runway }) => ({
    account: { id, name },
    available: formatMoney(moneyFromDatabase(available)),
    typical_hold: hold === null ? null : formatMoney(moneyFromDatabase(hold)),
    ...runway,
  }));
}
