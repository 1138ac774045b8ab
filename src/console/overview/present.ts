/** The overview in the words of the console's contract. */
import { formatMoney } from '../../lib/money.ts';
import { everyDay } from '../../usage/days.ts';
import type { Overview } from '../contract.ts';
import type { DayRange } from '../usage/parse.ts';
import type { RecentRequests, UsedDay } from './overview-queries.ts';

/** Every day of the range, whether anything was used on it or not. */
export function presentDays({ from, to }: DayRange, used: readonly UsedDay[]): Overview['days'] {
  const byDay = new Map(used.map((day) => [day.day, day]));
  return everyDay(from, to).map((day) => ({
    day,
    cost: formatMoney(byDay.get(day)?.cost ?? 0n),
    requests: Number(byDay.get(day)?.requests ?? 0n),
  }));
}

/** A request that its client gave up is neither a success nor a failure. */
export function presentRecent(recent: RecentRequests | null): Overview['recent'] {
  const { completed = 0, failed = 0, cancelled = 0 } = recent ?? {};
  return {
    requests: completed + failed + cancelled,
    completed,
    failed,
    cancelled,
    success_share: completed + failed === 0 ? null : completed / (completed + failed),
    latency_ms_p50: recent?.latencyMsP50 ?? null,
    latency_ms_p95: recent?.latencyMsP95 ?? null,
    time_to_first_token_ms_p50: recent?.timeToFirstTokenMsP50 ?? null,
  };
}
