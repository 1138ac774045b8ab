/**
 * Reads the `price_groups` of the catalogue: for each, a discount on every price, prices of single models, or both. A group is
 * the same catalogue with other prices.
 */
import type { z } from 'zod';
import { discounted, parseDiscount } from '../pricing/discount.ts';
import type { Price } from '../pricing/price.ts';
import type { Path } from './catalog-yaml.ts';
import { field, fields, matching, namedEntries, report } from './fields.ts';
import type { Model } from './model.ts';
import { modelId } from './model-schema.ts';
import { pricing } from './pricing-schema.ts';

export const priceGroupName = matching(
  /^[a-z0-9][a-z0-9_-]{0,39}$/,
  'a name of lower-case letters, digits, - and _, such as partner',
);

const discount = field<bigint>((input) => {
  const value = typeof input === 'string' ? parseDiscount(input) : null;
  return value === null
    ? { expected: 'a percentage in quotes such as "12.5", above 0 and up to 100, with at most 4 decimals' }
    : { value };
});

export const priceGroup = fields({
  discount: discount.optional(),
  models: namedEntries('models to prices', modelId, pricing).optional(),
}).transform((wire, context) => {
  if (wire.discount === undefined && (wire.models?.size ?? 0) === 0)
    report(context, [], 'expected a discount, or models with prices');
  return { discount: wire.discount ?? null, prices: wire.models ?? new Map<string, Price>() };
});

export type PriceGroupEntry = z.infer<typeof priceGroup>;

/** The models with the prices of a group. What is wrong with one is reported at its place within the group. */
export function modelsOfGroup(
  models: ReadonlyMap<string, Model>,
  { discount: less, prices }: PriceGroupEntry,
  add: (path: Path, text: string) => void,
): ReadonlyMap<string, Model> {
  for (const [id, price] of prices) checkPrice(id, price, models.get(id), add);
  return new Map(
    [...models].map(([id, model]) => {
      const price =
        prices.get(id) ??
        (less === null || model.price === null ? model.price : discounted(model.price, less));
      if (price === null && model.price !== null)
        add(
          ['discount'],
          `the price of ${id} less this would have more than 12 decimals or 15 significant digits. Give it a price under models`,
        );
      return [id, { ...model, price }] as const;
    }),
  );
}

function checkPrice(
  id: string,
  price: Price,
  model: Model | undefined,
  add: (path: Path, text: string) => void,
): void {
  const path = ['models', id];
  if (model === undefined) add(path, 'the catalogue has no such model');
  else if (model.price === null) add(path, 'this model has no price, so it cannot have another one here');
  else if (model.price.billingType !== price.billingType)
    add([...path, 'billing_type'], `expected ${model.price.billingType}, as in the price of the model`);
  else if (price.billingType === 'image')
    for (const tier of new Set(model.sizes.values()))
      if (tier !== null && !price.tierRates?.has(tier))
        add([...path, 'tier_rates'], `missing the tier ${tier}, which a size names`);
}
