/** An endpoint as the document and its page show it. */
import type { z } from 'zod';
import type { ErrorCode } from '../../errors.ts';
import { maxEndUserCharacters, maxTags } from '../../lib/labels.ts';
import type { JsonSchema } from '../json-schema.ts';

export type Examples = Readonly<Record<string, Readonly<{ summary: string; value: unknown }>>>;

export type Parameter = Readonly<{
  name: string;
  in: 'query' | 'path' | 'header';
  required: boolean;
  description: string;
  schema: JsonSchema;
  example?: unknown;
}>;

export function queryParameter(
  name: string,
  description: string,
  schema: JsonSchema,
  example?: string,
): Parameter {
  const shown = example === undefined ? {} : { example };
  return { name, in: 'query', required: false, description, schema, ...shown };
}

/** A body: a schema with an ID, and examples. */
export type Content = Readonly<{ schema: z.core.$ZodType; examples: Examples }>;

export type Endpoint = Readonly<{
  method: 'get' | 'post';
  path: string;
  operationId: string;
  tag: string;
  summary: string;
  description: string;
  parameters: readonly Parameter[];
  body: Content | null;
  response: Content & Readonly<{ description: string }>;
  /** The data of each event, where the response can be a stream. */
  events: (Content & Readonly<{ description: string }>) | null;
  /** Whether it counts towards the key's requests per minute and takes an Idempotency-Key. */
  isInference: boolean;
  /** Whose form its errors have. Left out: our own. */
  errorForm?: 'messages';
  errors: readonly ErrorCode[];
}>;

/** What can be wrong with any request: its Host header, its key, its query, requests before it, the gateway. */
export const commonErrors = [
  'invalid_request',
  'unsupported_parameter',
  'invalid_api_key',
  'expired_api_key',
  'rate_limit_exceeded',
  'internal_error',
  'server_overloaded',
] as const satisfies readonly ErrorCode[];

/** What can be wrong with an inference request. */
export const inferenceErrors = [
  ...commonErrors,
  'invalid_json',
  'missing_required_parameter',
  'invalid_parameter',
  'invalid_model',
  'model_pricing_not_configured',
  'insufficient_balance',
  'model_not_allowed',
  'monthly_spend_limit_exceeded',
  'spend_limit_exceeded',
  'model_not_found',
  'provider_rate_limit',
  'server_not_configured',
  'api_keys_lookup_failed',
  'balance_lookup_failed',
  'monthly_spend_lookup_failed',
  'model_pricing_lookup_failed',
  'billing_consistency_error',
  'provider_attempt_create_failed',
  'configuration_error',
  'provider_authentication_error',
  'provider_bad_request',
  'provider_unavailable',
  'limits_changed',
  'provider_not_configured',
  'all_providers_unavailable',
  'provider_timeout',
] as const satisfies readonly ErrorCode[];

/** Of every inference endpoint. */
export const attributionHeaders: readonly Parameter[] = [
  {
    name: 'x-end-user',
    in: 'header',
    required: false,
    description:
      'Your own name for the person behind this request, as UTF-8. It is stored with the Generation, to be shown and filtered. ' +
      'Providers get a keyed hash of it, never the name.',
    schema: { type: 'string', minLength: 1, maxLength: maxEndUserCharacters },
    example: 'user-1842',
  },
  {
    name: 'x-tags',
    in: 'header',
    required: false,
    description: `Up to ${maxTags} \`name=value\` pairs, separated by commas. They are stored with the Generation, to be shown and filtered.`,
    schema: { type: 'string', minLength: 3 },
    example: 'team=search, env=prod',
  },
];

export const idempotencyKey: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Your own identifier for this one operation, remembered for 24 hours per API key. The same request with the same ' +
    'key runs and is charged once: a retry gets the first response again, byte for byte, with ' +
    '`idempotent-replayed: true`. What was not charged is not stored, and a retry runs it again. Another body with the ' +
    'same key is rejected with `invalid_parameter`.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x20-\\x7e]+$' },
  example: 'order-7421-summary',
};
