/** How long the money of an account lasts, by what it spends while it is used. */
import type { Money } from '../lib/money.ts';

/**
 * The hours of use that are left: what is available, by the average of the hours in which anything was spent. Hours without
 * requests say nothing about the next one with some; counting them would call a balance long that one evening uses up. Rounded
 * down to tenths. Null if nothing was spent, because then nothing is known.
 */
export function hoursLeft(spentByHour: readonly Money[], available: Money): number | null {
  const used = spentByHour.filter((spent) => spent > 0n);
  const total = used.reduce((sum, spent) => sum + spent, 0n);
  if (total === 0n) return null;
  if (available <= 0n) return 0;
  return Number((available * BigInt(used.length) * 10n) / total) / 10;
}
