/**
 * Reads the `pricing` of a model in the catalogue, and the `cost` of its providers: the contract's pricing fields, decimals
 * as quoted strings.
 */
import { z } from 'zod';
import { type Money, parseMoney } from '../lib/money.ts';
import { type CacheField, cacheFields } from '../pricing/present.ts';
import type {
  ImagePrice,
  InputTokenTier,
  NonEmpty,
  Price,
  SecondPrice,
  TokenPrice,
  TokenRates,
} from '../pricing/price.ts';
import {
  faultsOf,
  field,
  fields,
  listOf,
  matching,
  mismatch,
  namedEntries,
  oneOf,
  plainText,
  readWith,
  report,
  wholeNumber,
  withoutValue,
} from './fields.ts';

const decimalExpectation = 'a decimal in quotes such as "0.15"';

/** A price must print as a JSON number exactly as written, and a float keeps 15 significant digits. */
const decimal = field<Money>((input) => {
  // Unquoted, it would already be a float.
  if (typeof input !== 'string') return { expected: decimalExpectation };
  if (/^-\d/.test(input)) return { expected: 'a price that is not negative' };
  if (!/^\d+(\.\d+)?$/.test(input)) return { expected: decimalExpectation };
  const significant = input.replace('.', '').replace(/^0+/, '').replace(/0+$/, '');
  const money = parseMoney(input);
  return money === null || significant.length > 15
    ? { expected: 'at most 12 decimals and 15 significant digits' }
    : { value: money };
});

const decimalOrNull = field<Money | null>((input) => {
  if (input === null) return { value: null };
  const money = decimal.safeParse(input);
  return money.success ? { value: money.data } : { expected: `${decimalExpectation}, or null` };
});

export const tierName = matching(/^[\w.:@/+-]{1,40}$/, 'the name of a tier in quotes, such as "1k"');
const tierRates = namedEntries('tiers to prices', tierName, decimal);

const timezone = field<string>((input) =>
  typeof input === 'string' && isTimezone(input)
    ? { value: input }
    : { expected: 'a timezone such as Asia/Shanghai' },
);
const timeOfDay = matching(/^([01]\d|2[0-3]):[0-5]\d$/, 'a time of day such as "16:30"');

const cacheRates = {
  cache_read: decimal.optional(),
  cache_write: decimal.optional(),
  cache_write_long: decimal.optional(),
};
const rates = { input: decimal, output: decimal, ...cacheRates };
const rateFields = ['input', 'output', ...cacheFields.map(([name]) => name)] as const;
const remarks = {
  currency: oneOf('USD').optional(),
  region: plainText(100).optional(),
  note: plainText(500).optional(),
};

const timeBands = fields({
  timezone,
  off_peak_start: timeOfDay,
  off_peak_end: timeOfDay,
  peak: fields({ name: plainText(100), ...rates }),
  off_peak: fields(rates),
}).transform((wire, context) => {
  if (wire.off_peak_start === wire.off_peak_end)
    report(
      context,
      ['off_peak_end'],
      `expected another time than off_peak_start, got "${wire.off_peak_end}"`,
    );
  for (const name of rateFields) {
    const { [name]: peak } = wire.peak;
    const { [name]: offPeak } = wire.off_peak;
    if (peak !== undefined && offPeak !== undefined && offPeak * 2n !== peak)
      report(context, ['off_peak', name], `expected exactly half of the peak's ${name}`);
    if ((peak === undefined) !== (offPeak === undefined))
      report(
        context,
        [peak === undefined ? 'peak' : 'off_peak', name],
        'missing, expected a price in both bands or in neither',
      );
  }
  return {
    timezone: wire.timezone,
    offPeakStart: wire.off_peak_start,
    offPeakEnd: wire.off_peak_end,
    peak: { name: wire.peak.name, ...ratesOf(wire.peak) },
    offPeak: ratesOf(wire.off_peak),
  };
});

const inputTokenTiers = listOf('tiers', fields({ max_input_tokens: wholeNumber(1), ...rates })).transform(
  (wire, context): NonEmpty<InputTokenTier> => {
    const tiers = wire.map(({ max_input_tokens, ...given }) => ({
      maxInputTokens: max_input_tokens,
      ...ratesOf(given),
    }));
    tiers.forEach((tier, index) => {
      const before = tiers[index - 1];
      if (before !== undefined && tier.maxInputTokens <= before.maxInputTokens) {
        report(
          context,
          [index, 'max_input_tokens'],
          `expected more than the ${before.maxInputTokens} of the tier before it, got the number ${tier.maxInputTokens}`,
        );
      }
    });
    const [first, ...rest] = tiers;
    if (first === undefined) {
      report(context, [], 'expected at least one tier, got an empty list');
      return z.NEVER;
    }
    return [first, ...rest];
  },
);

const tokenPricing = fields({
  billing_type: oneOf('token'),
  unit: oneOf('per_1m_tokens').optional(),
  input: decimal.optional(),
  output: decimal.optional(),
  ...cacheRates,
  input_token_tiers: inputTokenTiers.optional(),
  time_bands: timeBands.optional(),
  ...remarks,
}).transform((wire, context): TokenPrice => {
  const tiers = wire.input_token_tiers;
  const bands = wire.time_bands;
  const common = { billingType: 'token', ...remarksOf(wire) } as const;
  const { input, output } = wire;
  const headline = input === undefined || output === undefined ? null : ratesOf({ ...wire, input, output });

  const isPlain = tiers === undefined && bands === undefined;
  const hasHeadline = rateFields.some((name) => wire[name] !== undefined);
  for (const side of ['input', 'output'] as const) {
    if (wire[side] === undefined && (isPlain || hasHeadline))
      report(context, [side], mismatch(decimalExpectation, undefined));
  }
  if (tiers !== undefined && bands !== undefined) {
    report(context, ['time_bands'], 'cannot be combined with input_token_tiers');
  }

  // A headline is not charged. One with other cache prices would promise, or hide, what is.
  const charged = tiers?.[0] ?? bands?.peak;
  if (charged !== undefined && headline !== null) {
    const what = tiers === undefined ? 'the peak' : 'the first tier';
    for (const [name, rate] of cacheFields)
      if ((headline[rate] === undefined) !== (charged[rate] === undefined))
        report(context, [name], `expected a price here if ${what} has one, and only then`);
  }

  if (tiers !== undefined) return { ...common, form: 'tiers', headline, inputTokenTiers: tiers };
  if (bands !== undefined) return { ...common, form: 'bands', headline, timeBands: bands };
  return headline === null ? z.NEVER : { ...common, form: 'flat', rates: headline };
});

const unitFields = { unit_price: decimal, tier_rates: tierRates.optional(), ...remarks };

const imagePricing = fields({
  billing_type: oneOf('image'),
  unit: oneOf('per_image').optional(),
  ...unitFields,
  basis: fields({ kind: oneOf('image'), rates: tierRates.optional(), inputPrice: decimal }).optional(),
}).transform((wire, context): ImagePrice => {
  const basisRates = basisRatesOf(wire, context);
  return {
    billingType: 'image',
    unitPrice: wire.unit_price,
    tierRates: wire.tier_rates ?? null,
    basis: wire.basis ? { kind: 'image', rates: basisRates, inputPrice: wire.basis.inputPrice } : null,
    ...remarksOf(wire),
  };
});

const secondPricing = fields({
  billing_type: oneOf('second'),
  unit: oneOf('per_second').optional(),
  ...unitFields,
  basis: fields({ kind: oneOf('video'), rates: tierRates.optional(), inputCap: decimalOrNull }).optional(),
}).transform((wire, context): SecondPrice => {
  const basisRates = basisRatesOf(wire, context);
  return {
    billingType: 'second',
    unitPrice: wire.unit_price,
    tierRates: wire.tier_rates ?? null,
    basis: wire.basis ? { kind: 'video', rates: basisRates, inputCap: wire.basis.inputCap } : null,
    ...remarksOf(wire),
  };
});

const billingType = fields(
  { billing_type: oneOf('token', 'image', 'second') },
  'a mapping such as { billing_type: token, input: "0.15", output: "0.60" }',
).loose();

/** The billing type is read first, so that a fault is reported once and not once for each form. */
export const pricing = billingType.transform((wire, context): Price => {
  const schemas = { token: tokenPricing, image: imagePricing, second: secondPricing };
  return readWith<Price>(schemas[wire.billing_type], wire, context);
});

/**
 * What a provider charges the operator: like `pricing`, but the billing type may be left out. A cost is nobody else's
 * business, and faults are logged, so they do not repeat it.
 */
export const providerCost = z.unknown().transform((input, context): Price => {
  const result = pricing.safeParse(withBillingType(input));
  if (result.success) return result.data;
  for (const { path, message } of faultsOf(result.error)) report(context, path, withoutValue(message));
  return z.NEVER;
});

function withBillingType(input: unknown): unknown {
  if (typeof input !== 'object' || input === null || 'billing_type' in input) return input;
  return { ...input, billing_type: 'unit_price' in input ? 'image' : 'token' };
}

type RatesWire = Readonly<{ input: Money; output: Money }> &
  Readonly<{ [Name in CacheField]?: Money | undefined }>;

/** Only what is given: a price without cache prices is read, and its digest made, as if there were none. */
function ratesOf(wire: RatesWire): TokenRates {
  const given = cacheFields.flatMap(([name, rate]) => (wire[name] === undefined ? [] : [[rate, wire[name]]]));
  return { input: wire.input, output: wire.output, ...Object.fromEntries(given) };
}

type Rates = ReadonlyMap<string, Money>;
type UnitWire = Readonly<{
  tier_rates?: Rates | undefined;
  basis?: { rates?: Rates | undefined } | undefined;
}>;

/** The contract has `basis.rates` repeat `tier_rates`; giving either is enough, and both must agree. */
function basisRatesOf(wire: UnitWire, context: z.core.$RefinementCtx): Rates {
  if (wire.tier_rates?.size === 0)
    report(context, ['tier_rates'], 'expected at least one tier, got an empty mapping');
  const own = wire.basis?.rates;
  const tiers = wire.tier_rates;
  if (wire.basis !== undefined && own === undefined && tiers === undefined) {
    const expected = 'a mapping of tiers to prices, here or as tier_rates';
    report(context, ['basis', 'rates'], mismatch(expected, undefined));
  }
  if (own !== undefined && tiers !== undefined && !haveSameRates(own, tiers)) {
    report(context, ['basis', 'rates'], 'expected the same rates as in tier_rates');
  }
  return own ?? tiers ?? new Map();
}

function haveSameRates(one: Rates, other: Rates): boolean {
  return one.size === other.size && [...one].every(([tier, rate]) => other.get(tier) === rate);
}

function remarksOf(wire: Readonly<{ region?: string | undefined; note?: string | undefined }>) {
  return { region: wire.region ?? null, note: wire.note ?? null };
}

function isTimezone(name: string): boolean {
  // An offset such as +08:00 would be accepted too, but knows no daylight saving time.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en-GB', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
