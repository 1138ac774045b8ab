/** Figures of margins as text. */
import type { MarginFigures, Margins } from '../../../../src/console/operator-contract.ts';
import { formatTotal, signOfMoney, unitsOf } from '../../../kit/amounts.ts';
import { formatCount } from '../../../kit/format-figures.ts';

export type MarginGroup = MarginFigures & Readonly<{ id: string; name: string; isOthers: boolean }>;

export function withOthers({ rows, others }: Pick<Margins, 'rows' | 'others'>): MarginGroup[] {
  const groups = rows.map((row) => ({ ...row, isOthers: false }));
  if (others === null) return groups;
  const name = others.groups === 1 ? '1 other' : `${formatCount(others.groups)} others`;
  return [...groups, { ...others, id: '', name, isOthers: true }];
}

/** The margin as a part of the revenue whose cost is known; null when there is no such revenue. */
export function formatMarginShare({
  revenue,
  unpriced_revenue: unpriced,
  margin,
}: Pick<MarginFigures, 'revenue' | 'unpriced_revenue' | 'margin'>): string | null {
  const known = unitsOf(revenue) - unitsOf(unpriced);
  if (known <= 0n) return null;
  const tenths = (unitsOf(margin) * 1_000n) / known;
  const size = tenths < 0n ? -tenths : tenths;
  return `${tenths < 0n ? '−' : ''}${size / 10n}.${size % 10n}%`;
}

/** What is known of each amount; null where nothing is, because zero would claim that it cost nothing. */
export function knownAmounts(
  figures: MarginFigures,
): Readonly<Record<'cost' | 'uncharged' | 'margin', string | null>> {
  const isCostUnknown = figures.unpriced_requests > 0 && figures.unpriced_requests === figures.requests;
  const isUnchargedUnknown =
    figures.unknown_attempts > 0 && figures.unknown_attempts === figures.uncharged_attempts;
  const isMarginUnknown = isCostUnknown && signOfMoney(figures.uncharged_cost) === 0;
  return {
    cost: isCostUnknown ? null : figures.cost,
    uncharged: isUnchargedUnknown ? null : figures.uncharged_cost,
    margin: isMarginUnknown ? null : figures.margin,
  };
}

export function countOf(count: number, noun: 'request' | 'attempt'): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** What the figures leave out, in sentences. */
export function unknownCosts(figures: MarginFigures): string[] {
  const { unpriced_requests: requests, unpriced_revenue: revenue, unknown_attempts: attempts } = figures;
  const sentences: string[] = [];
  if (requests !== 0)
    sentences.push(
      `The cost of ${countOf(requests, 'request')} is unknown: the provider has no cost in the catalogue, or the charge is an estimate. The revenue of ${formatTotal(revenue)} is not part of the margin.`,
    );
  if (attempts !== 0)
    sentences.push(
      `A provider may bill ${countOf(attempts, 'attempt')} that no customer was charged for. What it asks is unknown.`,
    );
  return sentences;
}
