/** new-api counts money in units of quota. How many of them are a dollar is a setting, and what its dollar is worth, too. */
import { type Money, moneyScaleDigits, parseMoney } from '../lib/money.ts';
import type { NewApiChoices } from './plan.ts';
import { amountOf } from './values.ts';

/** Both scaled as money is. */
export type Unit = Readonly<{ quotaPerUsd: bigint; rate: bigint; words: string }>;

const scale = 10n ** BigInt(moneyScaleDigits);
const usualQuotaPerUsd = '500000';

/** `isStored`: the file has the table of settings, which lacks those that were never changed. */
export function unitOf(
  isStored: boolean,
  stored: string | null,
  { quotaPerUsd: chosen, rate }: Pick<NewApiChoices, 'quotaPerUsd' | 'rate'>,
): Unit | Readonly<{ problem: string }> {
  if (chosen === null && !isStored)
    return {
      problem:
        'The file has no table options, so it is not known how many units of quota are a dollar: use --quota-per-usd.',
    };
  const text = chosen ?? stored ?? usualQuotaPerUsd;
  const quotaPerUsd = amountOf(text);
  const usd = parseMoney(rate);
  if (quotaPerUsd === null || quotaPerUsd <= 0n || usd === null || usd <= 0n)
    return { problem: 'QuotaPerUnit cannot be read: use --quota-per-usd.' };
  const worth = rate === '1' ? '' : ` at a rate of ${rate}`;
  return { quotaPerUsd, rate: usd, words: `${Number(text)} per dollar${worth}` };
}

/** Rounded down, where it does not come out even. */
export function usdOf(quota: bigint, { quotaPerUsd, rate }: Unit): Money {
  return (quota * rate * scale) / quotaPerUsd;
}
