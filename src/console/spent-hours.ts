/** In which hours of the last week an account spent something, and which models it asked for. */
import type { SQL } from 'bun';
import { type Money, moneyFromDatabase } from '../lib/money.ts';
import { hourMs } from '../lib/time-units.ts';
import { figuresQuery, readProgress } from '../rollups/figures.ts';
import { type Span, widened } from '../rollups/range.ts';
import { inSnapshot } from './figures-snapshot.ts';
import type { Use } from './runway.ts';

/** Seven days. The hour that has begun is one of them. */
const hourCount = 168;

export type SpentHours = Readonly<{
  /** Null if nothing was spent. */
  use: Use | null;
  models: ReadonlySet<string>;
}>;

export function lastHours(nowMs: number): Span {
  const { toMs } = widened({ fromMs: nowMs, toMs: nowMs + 1 }, hourMs);
  return { fromMs: toMs - hourCount * hourMs, toMs };
}

/** The hour in which a request arrived counts, as in its list. `allowed` has a row if the caller may know. */
export async function findSpentHours(
  sql: SQL,
  accountId: string,
  allowed: (sql: SQL) => SQL.Query<unknown>,
): Promise<SpentHours> {
  const steps = { ...lastHours(Date.now()), stepMs: hourMs };
  const filter = { status: null, errorCode: null, model: null, provider: null };
  const scope = { accountId, keyId: null };
  const rows = await inSnapshot(sql, accountId, async (transaction) => {
    const progress = await readProgress(transaction, steps);
    return await transaction<{ step: number; spent: string; models: string[] }[]>`
      select step, sum(cost)::text as spent, array_agg(value) as models
      from ${allowed(transaction)} as allowed
      cross join lateral (${figuresQuery(transaction, { scope, filter, by: 'model' }, steps, progress)}) as figures
      group by step`;
  });
  const hours = rows.map(({ step, spent }) => ({
    atMs: steps.fromMs + step * hourMs,
    spent: moneyFromDatabase(spent),
  }));
  return {
    use: usageOf(hours.filter(({ spent }) => spent > 0n)),
    // Of a request that was refused for a model that there is not, none is known.
    models: new Set(rows.flatMap(({ models }) => models).filter((model) => model !== '')),
  };
}

function usageOf(hours: readonly Readonly<{ atMs: number; spent: Money }>[]): Use | null {
  if (hours.length === 0) return null;
  return {
    hours: hours.length,
    spent: hours.reduce((sum, { spent }) => sum + spent, 0n),
    firstHourMs: Math.min(...hours.map(({ atMs }) => atMs)),
  };
}
