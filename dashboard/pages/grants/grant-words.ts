/** Grants and what was drawn from them, in words. */
import type { GrantCategory, GrantDraw } from '../../../src/console/contract.ts';
import type { Allowance, Grant } from '../../../src/console/grant-contract.ts';
import type { BadgeTone } from '../../kit/badge.tsx';
import { formatCount } from '../../kit/format-figures.ts';

/** What is spent first has the lower number. */
export const defaultPriority = 50;

export const categories: Readonly<
  Record<GrantCategory, Readonly<{ label: string; total: string; tone: BadgeTone }>>
> = {
  paid: { label: 'Paid', total: 'Paid credit', tone: 'plain' },
  promotional: { label: 'Promotional', total: 'Promotional credit', tone: 'accent' },
  allowance: { label: 'Allowance', total: 'Allowances', tone: 'good' },
};

const earlierBalance = 'Balance before the first grant';

export function nameOfGrant({ entry_number: number, memo, category }: Grant): string {
  if (number === null) return earlierBalance;
  return memo ?? (category === 'allowance' ? 'Allowance' : `${categories[category].label} credit`);
}

/** Such as `promotional credit (entry 3)`. */
export function sourceOf({ number, category }: Pick<GrantDraw, 'number' | 'category'>): string {
  if (number === 0) return 'the balance before the first grant';
  const what = category === 'allowance' ? 'the allowance' : `${category} credit`;
  return `${what} (entry ${formatCount(number)})`;
}

export const periods: Readonly<Record<Allowance['every'], string>> = {
  day: 'each day',
  week: 'each week',
  month: 'each month',
};
