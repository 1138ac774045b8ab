/** Revenue, cost and margin of whole days, next to as many days before. */
import type { SQL } from 'bun';
import { formatMoney } from '../../lib/money.ts';
import { addDays } from '../../usage/days.ts';
import type { HomeMoney, OperatorHome } from '../home-contract.ts';
import { findMargins, type MarginRow } from './margin-queries.ts';
import { addMargins, marginOf, noMargin } from './margins.ts';

export async function findHomeMoney(
  sql: SQL,
  operatorId: string,
  today: string,
  days: number,
): Promise<OperatorHome['money']> {
  const from = addDays(today, 1 - days);
  const rows = await findMargins(
    sql,
    operatorId,
    { from: addDays(today, 1 - 2 * days), to: today },
    'day',
    2 * days,
  );
  const sumOf = (isWanted: (day: string) => boolean) =>
    presentMoney(rows.filter(({ name }) => isWanted(name ?? '')));
  return { from, to: today, now: sumOf((day) => day >= from), before: sumOf((day) => day < from) };
}

function presentMoney(rows: readonly MarginRow[]): HomeMoney {
  const sum = rows.reduce(addMargins, noMargin);
  return {
    revenue: formatMoney(sum.revenue),
    cost: formatMoney(sum.cost + sum.unchargedCost),
    margin: formatMoney(marginOf(sum)),
    unpriced_revenue: formatMoney(sum.unpricedRevenue),
  };
}
