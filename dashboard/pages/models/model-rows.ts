/** The rows of the table of models: what they cost, how they served this account, and their order. */
import type { RequestGroups } from '../../../src/console/request-contract.ts';
import { unitsOf } from '../../kit/amounts.ts';
import type { ListedModel, Pricing } from './models.ts';
import { priceTableOf } from './pricing.ts';

type Figures = RequestGroups['data'][number];

/** The lowest price where there are several. If there is only one, it is `input`. */
export type LowestPrice = Readonly<{ input: string; output: string | null; unit: string; isLowest: boolean }>;

export type ModelRow = Readonly<{
  model: ListedModel;
  price: LowestPrice;
  /** Null without requests of this account, or before they are known. */
  figures: Figures | null;
  /** Of those that completed or failed. */
  success: number | null;
}>;

export function lowestPriceOf(pricing: Pricing): LowestPrice {
  const { unit, lines } = priceTableOf(pricing, 'UTC', new Date(0));
  const lowest = (amounts: readonly string[]) =>
    amounts.reduce((least, amount) => (unitsOf(amount) < unitsOf(least) ? amount : least));
  const outputs = lines.flatMap(({ output }) => (output === null ? [] : [output]));
  return {
    input: lowest(lines.map(({ input }) => input)),
    output: outputs.length === 0 ? null : lowest(outputs),
    unit,
    isLowest: lines.length > 1,
  };
}

export function rowsOf(
  models: readonly ListedModel[],
  figures: readonly Figures[] | undefined,
): readonly ModelRow[] {
  const byModel = new Map(figures?.map((one) => [one.value, one]));
  return models.map((model) => {
    const own = byModel.get(model.id) ?? null;
    const served = own === null ? 0 : own.completed + own.failed;
    return {
      model,
      price: lowestPriceOf(model.pricing),
      figures: own,
      success: own === null || served === 0 ? null : own.completed / served,
    };
  });
}

export const sortKeys = ['name', 'input', 'output', 'context', 'p50', 'success', 'spend'] as const;
export type SortKey = (typeof sortKeys)[number];
export type Sort = Readonly<{ key: SortKey; isDown: boolean }>;

/** A minus in front means the highest first. Null is the order of the catalogue. */
export function sortIn(text: string): Sort | null {
  const isDown = text.startsWith('-');
  const key = sortKeys.find((known) => known === (isDown ? text.slice(1) : text));
  return key === undefined ? null : { key, isDown };
}

/** The first press sorts by what is best, the next the other way round, and the third as before. */
export function nextSort(sort: Sort | null, key: SortKey): string {
  const isDownFirst = key === 'context' || key === 'success' || key === 'spend';
  const first = isDownFirst ? `-${key}` : key;
  const second = isDownFirst ? key : `-${key}`;
  if (sort?.key !== key) return first;
  return sort.isDown === isDownFirst ? second : '';
}

type Sortable = bigint | number | null;

const sortableOf: Readonly<Record<Exclude<SortKey, 'name'>, (row: ModelRow) => Sortable>> = {
  // Prices of images are for something else, so they come last.
  input: ({ price }) => (price.output === null ? null : unitsOf(price.input)),
  output: ({ price }) => (price.output === null ? null : unitsOf(price.output)),
  context: ({ model }) => model.context_window,
  p50: ({ figures }) => figures?.duration_ms_p50 ?? null,
  success: ({ success }) => success,
  spend: ({ figures }) => (figures === null ? null : unitsOf(figures.cost)),
};

const names = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });

/** Rows without a value come last in either order. */
export function sortRows(rows: readonly ModelRow[], sort: Sort | null): readonly ModelRow[] {
  if (sort === null) return rows;
  const { key, isDown } = sort;
  const sign = isDown ? -1 : 1;
  if (key === 'name')
    return rows.toSorted((one, other) => sign * names.compare(one.model.name, other.model.name));
  return rows.toSorted((one, other) => {
    const [left, right] = [sortableOf[key](one), sortableOf[key](other)];
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    return left < right ? -sign : left > right ? sign : 0;
  });
}
