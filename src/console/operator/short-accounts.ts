/** Accounts whose requests are refused because too little is available, and would be again. */
import type { SQL } from 'bun';
import { formatMoney, moneyFromDatabase } from '../../lib/money.ts';
import { dayMs, minuteMs } from '../../lib/time-units.ts';
import { widened } from '../../rollups/range.ts';
import { type Found, type OperatorReader, operatorOnly, rowsForOperator } from '../access.ts';
import type { OperatorHome } from '../home-contract.ts';
import { countRefused } from '../request-figures.ts';

const maxShown = 5;
const code = 'insufficient_balance';

type Row = Readonly<{ id: string; name: string; available: string; needed: string | null }>;

export async function findShortAccounts(
  snapshot: SQL,
  reader: OperatorReader,
  nowMs: number,
): Promise<OperatorHome['short_accounts']> {
  const span = widened({ fromMs: nowMs - dayMs, toMs: nowMs }, minuteMs);
  const accounts = await countRefused(snapshot, reader, span, 'account', code);
  const refused = new Map(accounts.map(({ value, refused: count }) => [value ?? '', count]));
  const rows = await findShort(snapshot, reader, [...refused.keys()]);
  const data = rows
    .map(({ id, name, available, needed }) => ({
      account: { id, name },
      refused: refused.get(id) ?? 0,
      needed: needed === null ? null : formatMoney(moneyFromDatabase(needed)),
      available: formatMoney(moneyFromDatabase(available)),
    }))
    .sort((one, other) => other.refused - one.refused || (one.account.id < other.account.id ? -1 : 1));
  return { count: data.length, data: data.slice(0, maxShown) };
}

/** Those that have not got enough since. One that is suspended is refused anyway. */
async function findShort(sql: SQL, reader: OperatorReader, ids: readonly string[]): Promise<Row[]> {
  if (ids.length === 0) return [];
  const rows = await sql<Found<Row, 'id'>[]>`
    select short.* from ${operatorOnly(sql, reader)} as allowed left join lateral (
      select id, name, (balance - held)::text as available, needed::text as needed
      from accounts left join lateral (
        select case when short_of = 'balance' then needed::numeric end as needed from refusals
        where account_id = accounts.id and refusals.code = ${code}
        order by account_id desc, refusals.code desc, refusals.id desc limit 1
      ) as last on true
      where id = any (${sql.array([...ids], 'text')}::uuid[]) and suspended_at is null
        and coalesce(needed > balance - held, balance - held <= 0)
    ) as short on true`;
  return rowsForOperator(rows, 'id');
}
