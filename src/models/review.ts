/** What an operator should know about the prices of a valid catalogue. Costs are in it: it is for operators only. */
import { formatMoneyShort } from '../lib/money.ts';
import { type PricedMeter, soldBelowCost, type Underpriced } from '../pricing/below-cost.ts';
import type { Band } from '../pricing/cost.ts';
import { type CacheField, cacheFields } from '../pricing/present.ts';
import { chargedRates, type Price } from '../pricing/price.ts';
import { cachePricesOf } from './cache-vendors.ts';
import type { Catalog, Model } from './model.ts';

/** One sentence for each provider of a model that can charge more than the model's price, at list prices and in each group. */
export function soldBelowCostIn(catalog: Catalog): readonly string[] {
  const inGroups = [...catalog.priceGroups].flatMap(([name, group]) =>
    belowCostIn(group).map((sentence) => `In the price group ${name}, ${sentence}`),
  );
  return [...belowCostIn(catalog), ...inGroups];
}

function belowCostIn(catalog: Catalog): readonly string[] {
  return pricedModels(catalog).flatMap(({ id, price, routes }) =>
    routes.flatMap(({ providerId, cost }) => {
      const underpriced = cost === null ? [] : soldBelowCost(price, cost);
      return underpriced.length === 0
        ? []
        : [
            `${id} can be sold below its cost at ${providerId}: ${underpriced.map(describeUnderpriced).join('; ')}.`,
          ];
    }),
  );
}

/** One sentence for each model without a cache price that a provider of it has. */
export function chargedAsInputIn(catalog: Catalog): readonly string[] {
  return pricedModels(catalog).flatMap(({ id, price, routes }) => {
    const known = routes.flatMap((route) => {
      const provider = catalog.providers.get(route.providerId);
      return provider === undefined ? [] : cachePricesOf(provider, route);
    });
    const missing = missingCachePrices(price).filter((name) => known.includes(name));
    return missing.length === 0
      ? []
      : [
          `${id} has no ${missing.join(', ')}: such tokens are charged as input. Its vendor has cache prices.`,
        ];
  });
}

type PricedModel = Model & Readonly<{ price: Price }>;

/** Those that can be sold. */
function pricedModels({ models }: Catalog): readonly PricedModel[] {
  return [...models.values()].filter((model): model is PricedModel => model.enabled && model.price !== null);
}

/** A price that one tier lacks is missing. */
function missingCachePrices(price: Price): readonly CacheField[] {
  if (price.billingType !== 'token') return [];
  const rates = chargedRates(price);
  return cacheFields.flatMap(([name, rate]) =>
    rates.some(({ [rate]: own }) => own === undefined) ? [name] : [],
  );
}

const meterNames: Readonly<Record<PricedMeter, string>> = {
  input: 'input',
  output: 'output',
  cacheRead: 'cache_read',
  cacheWrite: 'cache_write',
  cacheWriteLong: 'cache_write_long',
  unit: 'unit_price',
};

function describeUnderpriced(underpriced: Underpriced): string {
  const { meter, price, cost, isChargedAsInput, fromInputTokens, unitTier } = underpriced;
  const what = unitTier === null ? meterNames[meter] : `the tier ${unitTier}`;
  const where = [
    fromInputTokens === 0 ? '' : `from ${fromInputTokens} input tokens on`,
    describeBands(underpriced),
  ].filter(Boolean);
  const sold = `${what} is sold at ${formatMoneyShort(price)} USD${isChargedAsInput ? ' (as input)' : ''}`;
  return [`${sold} and costs ${formatMoneyShort(cost)} USD`, ...where].join(' ');
}

const bandNames: Readonly<Record<Band, string>> = { peak: 'at peak', offPeak: 'off-peak' };

function describeBands({ priceBand, costBand }: Underpriced): string {
  if (priceBand === null || costBand === null || priceBand === costBand) {
    const band = priceBand ?? costBand;
    return band === null ? '' : bandNames[band];
  }
  return `while the price is ${bandNames[priceBand]} and the cost ${bandNames[costBand]}`;
}
