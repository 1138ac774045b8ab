import { modelListSchema, modelSchema } from '../schemas/models.ts';
import { commonErrors, type Endpoint } from './endpoint.ts';

const chatModel = {
  id: 'sandbox-chat',
  object: 'model',
  created: 1735689600,
  owned_by: 'sandbox',
  name: 'Sandbox Chat',
  workload: 'chat',
  availability: 'available',
  pricing: {
    currency: 'USD',
    input: 0.5,
    output: 1.5,
    cache_read: 0.05,
    cache_write: 0.625,
    cache_write_long: 1,
    unit_price: null,
    unit: 'per_1m_tokens',
    billing_type: 'token',
    price_version: '2026-11',
  },
  capabilities: {
    text_input: true,
    image_input: true,
    text_output: true,
    streaming: true,
    function_calling: true,
    structured_output: true,
  },
  context_window: 128000,
  max_output_tokens: 16384,
};

const imageModel = {
  id: 'sandbox-image',
  object: 'model',
  created: 1735689600,
  owned_by: 'sandbox',
  name: 'Sandbox Image',
  workload: 'image',
  availability: 'available',
  pricing: {
    currency: 'USD',
    input: null,
    output: null,
    unit_price: 0.04,
    unit: 'per_image',
    billing_type: 'image',
    price_version: '2026-11',
    tier_rates: { '1k': 0.04, '2k': 0.08 },
  },
  capabilities: {
    text_input: false,
    image_input: false,
    text_output: false,
    streaming: false,
    function_calling: false,
    structured_output: false,
  },
  context_window: null,
  max_output_tokens: null,
};

export const listModels: Endpoint = {
  method: 'get',
  path: '/v1/models',
  operationId: 'listModels',
  tag: 'Models',
  summary: 'List models',
  description:
    'The models that are enabled and that this key may call, at the prices of its account. Nothing else can be called. Models with the workload ' +
    '`video` are listed for their prices: there is no endpoint for videos yet.\n\n' +
    'With an `anthropic-version` header the response has the form of Anthropic’s API instead, with `limit`, `after_id` and ' +
    '`before_id`.',
  parameters: [],
  body: null,
  response: {
    description: 'The callable models, in the order of the catalogue.',
    schema: modelListSchema,
    examples: {
      models: { summary: 'Two models', value: { object: 'list', data: [chatModel, imageModel] } },
    },
  },
  events: null,
  isInference: false,
  errors: [...commonErrors, 'invalid_parameter', 'model_pricing_not_configured', 'model_list_failed'],
};

export const getModel: Endpoint = {
  method: 'get',
  path: '/v1/models/{model}',
  operationId: 'getModel',
  tag: 'Models',
  summary: 'Look up a model',
  description:
    'One of the models that this key may call, as in the list. Slashes in an ID may be sent encoded or as they are.',
  parameters: [
    {
      name: 'model',
      in: 'path',
      required: true,
      description: 'The ID of the model.',
      schema: { type: 'string', minLength: 1 },
      example: 'sandbox-chat',
    },
  ],
  body: null,
  response: {
    description: 'The model.',
    schema: modelSchema,
    examples: { model: { summary: 'A model', value: chatModel } },
  },
  events: null,
  isInference: false,
  errors: [...commonErrors, 'model_pricing_not_configured', 'model_not_found', 'model_list_failed'],
};
