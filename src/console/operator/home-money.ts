/** Revenue, cost and margin of whole days, next to as many days before, and who was charged too little. */
import type { SQL } from 'bun';
import { formatMoney } from '../../lib/money.ts';
import { addDays } from '../../usage/days.ts';
import type { HomeMoney, OperatorHome } from '../home-contract.ts';
import { findBelowCost, findMargins, type MarginRow } from './margin-queries.ts';
import { addMargins, marginOf, noMargin } from './margins.ts';

const maxBelowCost = 5;
/** A day has hardly begun when it is looked at first. */
const leastDays = 7;

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
  const lossesFrom = addDays(today, 1 - Math.max(days, leastDays));
  const belowCost = await findBelowCost(sql, operatorId, { from: lossesFrom, to: today }, maxBelowCost);
  return {
    from,
    to: today,
    now: sumOf((day) => day >= from),
    before: sumOf((day) => day < from),
    below_cost: {
      from: lossesFrom,
      data: belowCost.map((row) => ({
        account: { id: row.id, name: row.name },
        revenue: formatMoney(row.revenue),
        margin: formatMoney(row.margin),
      })),
    },
  };
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
