/**
 * How much of a monthly limit is used up, by what was spent and what is held for requests under way together: both count
 * when a request is refused. The amounts are exact texts; only the share, which is drawn, is a number.
 */
import { unitsOf } from './money-units.ts';

/** From here on a limit is near, as the overview of the gateway has it too. */
export const nearLimitPercent = 80;

const steps = 1_000_000n;

/** From 0 on; 1 and more is all of it. A limit of nothing is used up from the start. */
export function shareOfLimit(used: string, limit: string): number {
  const most = unitsOf(limit);
  return most === 0n ? 1 : Number((unitsOf(used) * steps) / most) / Number(steps);
}

/** Green says that all is well, which a bar that fills up should not: it is plain until it matters. */
export function toneOfShare(share: number): 'accent' | 'warn' | 'bad' {
  if (share >= 1) return 'bad';
  return share * 100 >= nearLimitPercent ? 'warn' : 'accent';
}
