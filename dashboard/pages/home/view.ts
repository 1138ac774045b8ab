/** The range that a home shows, which its address names as that of the explorer does. */
import { type Search, useSearchParameters } from '../../address.ts';
import type { Destination } from '../../links.ts';
import type { Scope } from '../requests/scope.ts';
import { type RangeKind, rangeKinds, type View, viewIn } from '../requests/view.ts';

export type HomeRange = Extract<RangeKind, '24h' | '7d' | '30d'>;

const isOfHome = (kind: RangeKind): kind is HomeRange => kind === '24h' || kind === '7d' || kind === '30d';

export const homeRanges = rangeKinds.flatMap(({ value, label, name }) =>
  isOfHome(value) ? [{ value, label, name }] : [],
);

/** The usual one for an address that names none, or one that is not offered. */
export function homeRangeIn({ range }: Search, usual: HomeRange = '24h'): HomeRange {
  return homeRanges.find(({ value }) => value === range)?.value ?? usual;
}

export type HomeView = Readonly<{ range: HomeRange; view: View }>;

export function useHomeView(isOperator: boolean, usual?: HomeRange): HomeView {
  const range = homeRangeIn(useSearchParameters(), usual);
  return { range, view: viewIn({ range }, isOperator) };
}

/** The requests of the same range in the explorer. */
export function inExplorer(
  { list, search: named }: Pick<Scope, 'list' | 'search'>,
  range: HomeRange,
  search: Readonly<Record<string, string>> = {},
): Destination {
  return { to: list, search: { ...named, ...search, range } };
}
