/** The responses of GET /v1/models and GET /v1/models/{model}. */
import { z } from 'zod';
import { workloads } from '../../models/model.ts';
import { count, usdNumber } from './fields.ts';

const tierRates = z.record(z.string(), usdNumber);

const basis = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('image'),
    rates: tierRates.describe('USD for one image, by size tier.'),
    inputPrice: usdNumber.describe('USD for one input image.'),
  }),
  z.strictObject({
    kind: z.literal('video'),
    rates: tierRates.describe('USD for one second, by resolution tier.'),
    inputCap: usdNumber.nullable().describe('The most that input adds, in USD; null when there is no cap.'),
  }),
]);

/** Beyond the contract, and only where there are such prices. */
const cacheRates = {
  cache_read: usdNumber
    .optional()
    .describe(
      'Per 1M input tokens that the provider read from its cache. Absent: they cost as much as input.',
    ),
  cache_write: usdNumber
    .optional()
    .describe(
      'Per 1M input tokens that the provider wrote to its cache. Absent: they cost as much as input.',
    ),
  cache_write_long: usdNumber
    .optional()
    .describe(
      'Per 1M input tokens that it wrote to its cache for longer than usual. Absent: they cost as much as input.',
    ),
};

const inputTokenTier = z.strictObject({
  max_input_tokens: count.describe('The largest input that this tier is for, cached tokens included.'),
  input: usdNumber.describe('USD per 1M input tokens.'),
  output: usdNumber.describe('USD per 1M output tokens.'),
  ...cacheRates,
});

const time = z.string().regex(/^\d\d:\d\d$/);

const timeBands = z.strictObject({
  timezone: z.string().describe('The time zone of the two times.'),
  off_peak_start: time.describe('HH:MM.'),
  off_peak_end: time.describe('HH:MM.'),
  peak: z
    .strictObject({ name: z.string(), input: usdNumber, output: usdNumber, ...cacheRates })
    .describe('Rates in USD per 1M tokens outside of the off-peak time.'),
  off_peak: z
    .strictObject({ input: usdNumber, output: usdNumber, ...cacheRates })
    .describe('Half the peak rates.'),
});

const pricing = z
  .strictObject({
    currency: z.literal('USD'),
    input: usdNumber
      .nullable()
      .describe('Per 1M input tokens; null for models that are not billed by token.'),
    output: usdNumber
      .nullable()
      .describe('Per 1M output tokens, reasoning included; null for models that are not billed by token.'),
    ...cacheRates,
    unit_price: usdNumber.nullable().describe('Per image or per second; null for models billed by token.'),
    unit: z.enum(['per_1m_tokens', 'per_image', 'per_second']),
    billing_type: z.enum(['token', 'image', 'second']),
    price_version: z.string().optional().describe('The version of the price list.'),
    region: z.string().optional(),
    note: z.string().optional().describe('For people.'),
    tier_rates: tierRates.optional().describe('Unit price by size or resolution tier, such as 1k or 720p.'),
    basis: basis.optional().describe('What the unit price is made of.'),
    input_token_tiers: z
      .array(inputTokenTier)
      .optional()
      .describe('The tier of the request’s input size applies to all tokens of the request.'),
    time_bands: timeBands.optional().describe('The band at the time of billing applies.'),
  })
  .meta({ id: 'Pricing', description: 'What you pay, in USD.' });

const capabilities = z
  .strictObject({
    text_input: z.boolean(),
    image_input: z.boolean(),
    text_output: z.boolean(),
    streaming: z.boolean(),
    function_calling: z.boolean(),
    structured_output: z.boolean(),
  })
  .meta({ id: 'Capabilities', description: 'What this gateway can do with the model.' });

export const modelSchema = z
  .strictObject({
    id: z.string().min(1).describe('What requests name in `model`.'),
    object: z.literal('model'),
    created: count.describe('When the model was registered, in Unix seconds.'),
    owned_by: z.string().describe('The provider in the registry.'),
    name: z.string().describe('For people.'),
    workload: z.enum(workloads),
    availability: z.literal('available'),
    pricing,
    capabilities,
    context_window: count.nullable().describe('In tokens; null when unpublished.'),
    max_output_tokens: count.nullable().describe('In tokens; null when unpublished.'),
  })
  .meta({ id: 'Model', description: 'A model that this key may call.' });

export const modelListSchema = z
  .strictObject({ object: z.literal('list'), data: z.array(modelSchema) })
  .meta({ id: 'ModelList', description: 'Every model that this key may call.' });
