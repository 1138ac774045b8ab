/** Reads a model of the catalogue. */
import type { z } from 'zod';
import { parseTime } from '../lib/calendar.ts';
import type { BillingType, Price } from '../pricing/price.ts';
import { efforts, type ReasoningSupport } from '../providers/effort.ts';
import type { Path } from './catalog-yaml.ts';
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
  trueOrFalse,
  wholeNumber,
  withoutRepeats,
} from './fields.ts';
import {
  type Adapter,
  type ImageTokens,
  type Model,
  type ModelRoute,
  routeApis,
  type Workload,
  workloads,
} from './model.ts';
import { pricing, providerCost, tierName } from './pricing-schema.ts';
import { unsupportedParameters } from './provider-schema.ts';

// No comma, because lists of model IDs are comma-separated; no space or control character, because IDs are logged.
export const modelId = matching(
  /^[A-Za-z0-9_][\w.:/@+-]{0,199}$/,
  'a model ID without spaces or commas, of at most 200 characters',
);

const capabilityNames = [
  'text_input',
  'image_input',
  'text_output',
  'streaming',
  'function_calling',
  'structured_output',
] as const;
type CapabilityName = (typeof capabilityNames)[number];

const defaultCapabilities: Readonly<Record<Workload, readonly CapabilityName[]>> = {
  chat: ['text_input', 'text_output', 'streaming'],
  image: ['text_input'],
  video: ['text_input'],
};
const billingTypes: Readonly<Record<Workload, BillingType>> = {
  chat: 'token',
  image: 'image',
  video: 'second',
};

const size = matching(/^[1-9]\d{0,4}x[1-9]\d{0,4}$/, 'a size such as "1024x1024"');
const tierOfSize = field<string | null>((input) => {
  if (input === null) return { value: null };
  const tier = tierName.safeParse(input);
  return tier.success
    ? { value: tier.data }
    : { expected: 'the name of a tier in quotes such as "1k", or null' };
});
const sizeMapping = namedEntries('sizes to tiers', size, tierOfSize);
const sizeList = withoutRepeats('sizes', size).transform(
  (names): ReadonlyMap<string, string | null> => new Map(names.map((name) => [name, null])),
);

/** Both forms become a map: `{ "1024x1024": 1k }`, or `["1024x1024"]` where every size has the same price. */
const sizes = field<unknown>((input) =>
  input instanceof Map || Array.isArray(input)
    ? { value: input }
    : { expected: 'a mapping of sizes to tiers, or a list of sizes' },
).transform((input, context): ReadonlyMap<string, string | null> => {
  const read: ReadonlyMap<string, string | null> = readWith(
    Array.isArray(input) ? sizeList : sizeMapping,
    input,
    context,
  );
  if (read.size === 0) report(context, [], 'expected at least one size');
  return read;
});

const created = field<number>((input) => {
  const seconds = typeof input === 'string' ? secondsOfDate(input) : null;
  return seconds === null ? { expected: 'a date such as 2024-07-18' } : { value: seconds };
});

const limit = field<number | null>((input) => {
  if (input === null) return { value: null };
  const tokens = wholeNumber(1).safeParse(input);
  return tokens.success ? { value: tokens.data } : { expected: 'a whole number of at least 1, or null' };
});

/** More than an image costs under nearly every vendor's documented rule; the exceptions are in the catalogue. */
const defaultImageTokens = 16_000;
const imageTokenCount = wholeNumber(1, 1_000_000);
const imageTokens = fields({ low: imageTokenCount.optional(), high: imageTokenCount }).transform(
  ({ low, high }, context): ImageTokens => {
    if (low !== undefined && low > high)
      report(context, ['low'], `expected at most as many as for high, ${high}, got the number ${low}`);
    return { low: low ?? high, high };
  },
);

const effortList = withoutRepeats('efforts', oneOf(...efforts)).transform((names) =>
  efforts.filter((effort) => names.includes(effort)),
);
const reasoning = fields({
  efforts: effortList,
  efforts_with_tools: effortList.optional(),
  control: oneOf('effort', 'budget').optional(),
}).transform((wire, context): ReasoningSupport => {
  const { efforts: known, efforts_with_tools: withTools = known, control = 'effort' } = wire;
  if (known.length === 0) report(context, ['efforts'], 'expected at least one effort, got an empty list');
  const unknown = withTools.find((effort) => !known.includes(effort));
  if (unknown !== undefined)
    report(
      context,
      ['efforts_with_tools'],
      `expected some of the efforts ${known.join(', ')}, got "${unknown}"`,
    );
  return { efforts: known, effortsWithTools: withTools, control };
});

/** The most images that a request may ask for. */
const maxImagesLimit = 4;

/**
 * What the catalogue says about a model. One schema reads all of them: making it takes longer than using it. The adapter of
 * a provider that has problems of its own is null.
 */
export function modelSchema(providers: ReadonlyMap<string, Adapter | null>) {
  const providerIds = [...providers.keys()];
  return fields({
    name: plainText(200).optional(),
    owned_by: plainText(100).optional(),
    maker: plainText(100).optional(),
    workload: oneOf(...workloads),
    created: created.optional(),
    enabled: trueOrFalse.optional(),
    context_window: limit.optional(),
    max_output_tokens: limit.optional(),
    capabilities: withoutRepeats('capabilities', oneOf(...capabilityNames)).optional(),
    image_tokens: imageTokens.optional(),
    unsupported_parameters: unsupportedParameters.optional(),
    reasoning: reasoning.optional(),
    verbosity: trueOrFalse.optional(),
    sizes: sizes.optional(),
    max_images: wholeNumber(1, maxImagesLimit).optional(),
    pricing: pricing.optional(),
    providers: routesSchema(providerIds).optional(),
  }).transform((wire, context) => {
    checkWorkload(wire, context);
    checkSizesAndPrice(wire, context);
    checkCosts(wire, context);
    checkApis(wire, providers, context);
    const capabilities = new Set(wire.capabilities ?? defaultCapabilities[wire.workload]);
    if (wire.image_tokens !== undefined && !capabilities.has('image_input'))
      report(context, ['image_tokens'], 'only a model with the capability image_input is sent images');
    return { ...wire, capabilities };
  });
}

/** `priceVersion` is the catalogue's: a model without a date is as old as its prices. */
export function modelOf(
  id: string,
  wire: z.infer<ReturnType<typeof modelSchema>>,
  providerIds: readonly string[],
  priceVersion: string,
): Model {
  const { capabilities } = wire;
  const routes =
    wire.providers?.map(({ upstreamModel, ...route }) => ({
      ...route,
      upstreamModel: upstreamModel ?? id,
    })) ?? defaultRoutes(id, wire.owned_by, providerIds);
  return {
    id,
    name: wire.name ?? id,
    ownedBy: wire.owned_by ?? routes[0]?.providerId ?? 'unknown',
    maker: wire.maker ?? null,
    workload: wire.workload,
    createdSeconds: wire.created ?? secondsOfMonth(priceVersion) ?? Date.UTC(2026, 0, 1) / 1000,
    enabled: wire.enabled ?? true,
    contextWindow: wire.context_window ?? null,
    maxOutputTokens: wire.max_output_tokens ?? null,
    capabilities: {
      textInput: capabilities.has('text_input'),
      imageInput: capabilities.has('image_input'),
      textOutput: capabilities.has('text_output'),
      streaming: capabilities.has('streaming'),
      functionCalling: capabilities.has('function_calling'),
      structuredOutput: capabilities.has('structured_output'),
    },
    imageTokens: wire.image_tokens ?? { low: defaultImageTokens, high: defaultImageTokens },
    unsupportedParameters: wire.unsupported_parameters ?? new Set(),
    reasoning: wire.reasoning ?? null,
    takesVerbosity: wire.verbosity ?? false,
    sizes: wire.sizes ?? new Map(),
    maxImages: wire.workload === 'image' ? (wire.max_images ?? maxImagesLimit) : 0,
    price: wire.pricing ?? null,
    routes,
  };
}

/** Fields that mean something for one workload only. */
const fieldsOfWorkload = [
  { name: 'sizes', workload: 'image', text: 'only an image model has sizes' },
  { name: 'max_images', workload: 'image', text: 'only an image model makes images' },
  { name: 'image_tokens', workload: 'chat', text: 'only a chat model is charged for images by tokens' },
  { name: 'unsupported_parameters', workload: 'chat', text: 'only a chat model has these parameters' },
  { name: 'reasoning', workload: 'chat', text: 'only a chat model reasons' },
  { name: 'verbosity', workload: 'chat', text: 'only a chat model can be told how much to write' },
] as const;

function checkWorkload(
  wire: Readonly<{ workload: Workload } & { [Name in (typeof fieldsOfWorkload)[number]['name']]?: unknown }>,
  context: z.core.$RefinementCtx,
): void {
  for (const { name, workload, text } of fieldsOfWorkload) {
    if (wire[name] !== undefined && wire.workload !== workload)
      report(context, [name], `${text}, and the workload here is ${wire.workload}`);
  }
}

type PricedWire = Readonly<{
  workload: Workload;
  sizes?: ReadonlyMap<string, string | null> | undefined;
  pricing?: Price | undefined;
  providers?: readonly RouteEntry[] | undefined;
}>;

function checkSizesAndPrice(wire: PricedWire, context: z.core.$RefinementCtx): void {
  const { workload, sizes: given, pricing: price } = wire;
  if (workload === 'image' && given === undefined) {
    const expected = 'the sizes that an image model offers, such as { "1024x1024": 1k }';
    report(context, ['sizes'], mismatch(expected, undefined));
  }
  if (price === undefined || !hasBillingType(price, workload, ['pricing'], context)) return;
  if (price.billingType !== 'image') return;
  const tiers = price.tierRates;
  const known = tiers === null ? 'there is no tier_rates' : `one of ${[...tiers.keys()].join(', ')}`;
  for (const [name, tier] of given ?? []) {
    if (tier !== null && !tiers?.has(tier))
      report(context, ['sizes', name], `expected a tier of pricing.tier_rates (${known}), got "${tier}"`);
  }
}

/** A cost says what every request costs that the price charges. */
function checkCosts({ workload, sizes: given, providers }: PricedWire, context: z.core.$RefinementCtx): void {
  providers?.forEach(({ cost }, index) => {
    const path = ['providers', index, 'cost'];
    if (cost === null || !hasBillingType(cost, workload, path, context)) return;
    if (cost.billingType !== 'image') return;
    for (const tier of new Set(given?.values())) {
      if (tier !== null && !cost.tierRates?.has(tier))
        report(context, [...path, 'tier_rates'], `missing the tier ${tier}, which a size names`);
    }
  });
}

/** Vendors have the Responses API next to chat completions, at the same address and with the same key. */
function checkApis(
  { workload, providers: routes }: PricedWire,
  providers: ReadonlyMap<string, Adapter | null>,
  context: z.core.$RefinementCtx,
): void {
  routes?.forEach(({ api, providerId }, index) => {
    if (api === null) return;
    const path = ['providers', index, 'api'];
    const adapter = providers.get(providerId) ?? 'openai';
    if (workload !== 'chat')
      report(context, path, `only a chat model has a choice of APIs, and the workload here is ${workload}`);
    else if (adapter !== 'openai' && adapter !== 'sandbox')
      report(
        context,
        path,
        `only providers with the adapter openai or sandbox have the API ${api}, and the adapter of ${providerId} is ${adapter}`,
      );
  });
}

function hasBillingType(
  { billingType }: Price,
  workload: Workload,
  path: Path,
  context: z.core.$RefinementCtx,
): boolean {
  const expected = billingTypes[workload];
  if (billingType !== expected)
    report(
      context,
      [...path, 'billing_type'],
      `expected ${expected} for the workload ${workload}, got "${billingType}"`,
    );
  return billingType === expected;
}

type RouteEntry = Omit<ModelRoute, 'upstreamModel'> & Readonly<{ upstreamModel: string | null }>;

function routesSchema(providerIds: readonly string[]) {
  const known = field<string>((input) => {
    const value = providerIds.find((candidate) => candidate === input);
    return value === undefined ? { expected: `one of the providers ${providerIds.join(', ')}` } : { value };
  });
  const detailed = fields({
    provider: known,
    upstream_model: plainText(200).optional(),
    api: oneOf(...routeApis).optional(),
    weight: wholeNumber(1, 1000).optional(),
    cost: providerCost.optional(),
  });
  const route = field<unknown>((input) => ({ value: input })).transform((input, context): RouteEntry => {
    const result = detailed.safeParse(typeof input === 'string' ? { provider: input } : input);
    if (result.success) {
      const { provider, upstream_model, api, weight, cost } = result.data;
      return {
        providerId: provider,
        upstreamModel: upstream_model ?? null,
        api: api ?? null,
        weight: weight ?? null,
        cost: cost ?? null,
      };
    }
    for (const fault of faultsOf(result.error)) {
      // The short form has no field to point at.
      report(context, typeof input === 'string' ? [] : fault.path, fault.message);
    }
    return { providerId: '', upstreamModel: null, api: null, weight: null, cost: null };
  });
  return listOf('providers', route).transform((routes, context) => {
    routes.forEach((one, index) => {
      const isRepeated = routes.findIndex((other) => other.providerId === one.providerId) < index;
      if (isRepeated) report(context, [index], `the provider ${one.providerId} is listed twice`);
    });
    if (routes.length === 0) report(context, [], 'expected at least one provider, got an empty list');
    return routes;
  });
}

/** Without a list of providers: the owner when it is one of them, or the only provider there is. */
function defaultRoutes(
  model: string,
  owner: string | undefined,
  providerIds: readonly string[],
): readonly ModelRoute[] {
  const provider =
    providerIds.find((candidate) => candidate === owner) ??
    (providerIds.length === 1 ? providerIds[0] : undefined);
  return provider === undefined
    ? []
    : [{ providerId: provider, upstreamModel: model, api: null, weight: null, cost: null }];
}

/** Of a label that is a month or a day. */
function secondsOfMonth(label: string): number | null {
  const [, month] = /^(\d{4}-\d\d)(?:-\d\d)?$/.exec(label) ?? [];
  return month === undefined ? null : secondsOfDate(`${month}-01`);
}

function secondsOfDate(text: string): number | null {
  const time = parseTime(text);
  return time === null ? null : Math.floor(time.getTime() / 1000);
}
