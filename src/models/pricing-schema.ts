/** Reads the `pricing` of a model in the catalogue: the contract's pricing fields, decimals as quoted strings. */
import { z } from 'zod';
import { type Money, parseMoney } from '../lib/money.ts';
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
  for (const side of ['input', 'output'] as const)
    if (wire.off_peak[side] * 2n !== wire.peak[side])
      report(context, ['off_peak', side], `expected exactly half of the peak's ${side}`);
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
    const tiers = wire.map((tier) => ({ maxInputTokens: tier.max_input_tokens, ...ratesOf(tier) }));
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
  const headline: TokenRates | null =
    wire.input === undefined || wire.output === undefined
      ? null
      : ratesOf({ ...wire, input: wire.input, output: wire.output });

  const isPlain = tiers === undefined && bands === undefined;
  for (const side of ['input', 'output'] as const) {
    const other = side === 'input' ? wire.output : wire.input;
    if (wire[side] === undefined && (isPlain || other !== undefined)) {
      report(context, [side], mismatch(decimalExpectation, undefined));
    }
  }
  if (tiers !== undefined && bands !== undefined) {
    report(context, ['time_bands'], 'cannot be combined with input_token_tiers');
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

type RatesWire = Readonly<{
  input: Money;
  output: Money;
  cache_read?: Money | undefined;
  cache_write?: Money | undefined;
  cache_write_long?: Money | undefined;
}>;

function ratesOf({ input, output, cache_read, cache_write, cache_write_long }: RatesWire): TokenRates {
  return {
    input,
    output,
    ...(cache_read !== undefined && { cacheRead: cache_read }),
    ...(cache_write !== undefined && { cacheWrite: cache_write }),
    ...(cache_write_long !== undefined && { cacheWriteLong: cache_write_long }),
  };
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
