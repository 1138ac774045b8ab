import { schemaOf } from '../json-schema.ts';
import { generationListSchema, generationSchema, generationStatus } from '../schemas/generations.ts';
import { commonErrors, type Endpoint, queryParameter } from './endpoint.ts';

const nonEmptyString = { type: 'string', minLength: 1 };
const id = 'req_0199a3f2c4d57e8a9b0c1d2e3f405162';

const summary = {
  id,
  object: 'generation',
  created_at: '2026-11-01T09:30:00.125Z',
  status: 'completed',
  workload: 'chat',
  model: 'sandbox-chat',
  provider: 'Sandbox',
  latency_ms: 812,
  usage: { input_tokens: 11, output_tokens: 4, total_tokens: 15, units: '15', unit: 'tokens' },
  cost: { input: '0.000005500000', output: '0.000006000000', total: '0.000011500000', currency: 'USD' },
  fallback: false,
  completed_at: '2026-11-01T09:30:00.937Z',
};

const completed = {
  ...summary,
  streaming: false,
  time_to_first_token_ms: null,
  tokens_per_second: 4.93,
  routing: { selected_provider: 'Sandbox', fallback: false, attempt_count: 1 },
  attempts: [
    {
      index: 1,
      provider: 'Sandbox',
      status: 'succeeded',
      started_at: '2026-11-01T09:30:00.126Z',
      completed_at: '2026-11-01T09:30:00.930Z',
      latency_ms: 804,
      upstream_status: 200,
      error: null,
    },
  ],
  error: null,
};

const failed = {
  ...completed,
  status: 'failed',
  usage: null,
  cost: null,
  tokens_per_second: null,
  attempts: [
    { ...completed.attempts[0], status: 'failed', upstream_status: 503, error: 'provider_unavailable' },
  ],
  error: { type: 'provider_error', code: 'provider_unavailable', message: 'The provider is unavailable.' },
};

export const listGenerations: Endpoint = {
  method: 'get',
  path: '/v1/generations',
  operationId: 'listGenerations',
  tag: 'Generations',
  summary: 'List Generations',
  description:
    'The inference requests that this key made, newest first. While `has_more` is true, get the next page with ' +
    '`cursor` set to `next_cursor` and the same filters. A cursor is valid for 24 hours.',
  parameters: [
    queryParameter('limit', 'How many to return.', {
      type: 'integer',
      minimum: 1,
      maximum: 100,
      default: 20,
    }),
    queryParameter('cursor', 'The `next_cursor` of the previous page, unchanged.', nonEmptyString),
    queryParameter('status', 'Only those with this status.', schemaOf(generationStatus), 'failed'),
    queryParameter('model', 'Only those of this model, by its exact ID.', nonEmptyString, 'sandbox-chat'),
  ],
  body: null,
  response: {
    description: 'A page of summaries.',
    schema: generationListSchema,
    examples: {
      page: {
        summary: 'The last page',
        value: { object: 'list', data: [summary], has_more: false, next_cursor: null },
      },
    },
  },
  events: null,
  isInference: false,
  errors: [...commonErrors, 'invalid_parameter', 'invalid_cursor', 'generation_lookup_failed'],
};

export const getGeneration: Endpoint = {
  method: 'get',
  path: '/v1/generations/{request_id}',
  operationId: 'getGeneration',
  tag: 'Generations',
  summary: 'Look up a Generation',
  description:
    'The outcome of one inference request: status, usage, cost to 12 digits, and every provider attempt. It never ' +
    'contains prompts, answers or any other content. Only the key that made a request finds it. The lookup has its own ' +
    'request ID in its headers.',
  parameters: [
    {
      name: 'request_id',
      in: 'path',
      required: true,
      description: 'The `x-service-request-id` of the inference request.',
      schema: { type: 'string' },
      example: id,
    },
  ],
  body: null,
  response: {
    description: 'The Generation. One that failed is found as well: its `error` has the reason.',
    schema: generationSchema,
    examples: {
      completed: { summary: 'A completed request', value: completed },
      failed: { summary: 'A failed request', value: failed },
    },
  },
  events: null,
  isInference: false,
  errors: [...commonErrors, 'generation_not_found', 'generation_lookup_failed'],
};
