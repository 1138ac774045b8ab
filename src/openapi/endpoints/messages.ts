import { z } from 'zod';
import { countRequestSchema, messagesRequestSchema } from '../requests.ts';
import {
  anyMessagesErrorSchema,
  messageEventSchema,
  messageSchema,
  tokenCountSchema,
} from '../schemas/messages.ts';
import {
  attributionHeaders,
  commonErrors,
  type Endpoint,
  idempotencyKey,
  inferenceErrors,
  type Parameter,
} from './endpoint.ts';

const id = 'req_0199a3f2c4d57e8a9b0c1d2e3f405162';
const model = 'sandbox-chat';
const question = [{ role: 'user', content: 'Say hello in three words.' }];

const anthropicVersion: Parameter = {
  name: 'anthropic-version',
  in: 'header',
  required: true,
  description: 'The version of the format.',
  schema: { type: 'string', enum: ['2023-06-01', '2026-10-21'] },
  example: '2023-06-01',
};

const anthropicBeta: Parameter = {
  name: 'anthropic-beta',
  in: 'header',
  required: false,
  description:
    'Names of features, separated by commas. A provider of the same format gets them. Those that change prices are refused.',
  schema: { type: 'string' },
};

const message = (content: readonly object[], stop_reason: string) => ({
  id,
  type: 'message',
  role: 'assistant',
  model,
  content,
  stop_reason,
  stop_sequence: null,
  usage: {
    input_tokens: 11,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 4,
    cost: '0.000011500000',
  },
});

const call = { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Oslo' } };

const events = {
  start: {
    summary: 'The first event',
    value: {
      type: 'message_start',
      message: {
        ...message([], 'end_turn'),
        stop_reason: null,
        usage: { input_tokens: 0, output_tokens: 0 },
      },
    },
  },
  text: {
    summary: 'A piece of text',
    value: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
  },
  end: {
    summary: 'Why the answer ended, and what it cost',
    value: {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { input_tokens: 11, output_tokens: 4, cost: '0.000011500000' },
    },
  },
  error: {
    summary: 'A failure after the headers',
    value: {
      type: 'error',
      error: {
        type: 'api_error',
        message: 'The stream from the provider failed.',
        code: 'provider_stream_error',
        param: null,
      },
      request_id: id,
    },
  },
};

export const createMessage: Endpoint = {
  method: 'post',
  path: '/v1/messages',
  operationId: 'createMessage',
  tag: 'Messages',
  summary: 'Create a message',
  description:
    'Anthropic’s Messages API, for its SDKs and for Claude Code: their base URL is the address of this gateway without ' +
    '`/v1`. A provider that speaks the same format gets the request as it is; for others it is translated, and what they ' +
    'cannot express is refused by name. The key may come as `x-api-key` too.\n\n' +
    '`max_tokens` is an upper limit: it is lowered to what the model can write and the balance covers.',
  parameters: [anthropicVersion, anthropicBeta, idempotencyKey, ...attributionHeaders],
  body: {
    schema: messagesRequestSchema,
    examples: {
      plain: { summary: 'A question', value: { model, max_tokens: 1024, messages: question } },
      tools: {
        summary: 'A tool, its call and the result',
        value: {
          model,
          max_tokens: 1024,
          messages: [
            { role: 'user', content: 'How is the weather in Oslo?' },
            { role: 'assistant', content: [call] },
            {
              role: 'user',
              content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: '4 °C, clear' }],
            },
          ],
          tools: [
            {
              name: 'get_weather',
              description: 'The weather in a city',
              input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
            },
          ],
        },
      },
    },
  },
  response: {
    description: 'The complete response.',
    schema: messageSchema,
    examples: {
      plain: {
        summary: 'Text',
        value: message([{ type: 'text', text: 'Hello, dear friend.' }], 'end_turn'),
      },
      tools: { summary: 'A call', value: message([call], 'tool_use') },
    },
  },
  events: {
    description:
      'With `"stream": true`. Each event has a name and JSON data. The charge is committed before `message_delta` and ' +
      '`message_stop` are sent. A failure after the headers is an event `error`, and nothing follows it.',
    schema: z.union([messageEventSchema, anyMessagesErrorSchema]),
    examples: events,
  },
  isInference: true,
  errorForm: 'messages',
  errors: [...inferenceErrors, 'provider_unknown_error', 'provider_stream_error'],
};

export const countMessageTokens: Endpoint = {
  method: 'post',
  path: '/v1/messages/count_tokens',
  operationId: 'countMessageTokens',
  tag: 'Messages',
  summary: 'Count the tokens of a message',
  description:
    'Costs nothing, and has a rate limit of its own. Where a provider of the model counts tokens in this format, it is ' +
    'asked; otherwise the count is an estimate.',
  parameters: [anthropicVersion, anthropicBeta],
  body: {
    schema: countRequestSchema,
    examples: { plain: { summary: 'A question', value: { model, messages: question } } },
  },
  response: {
    description: 'The count.',
    schema: tokenCountSchema,
    examples: { plain: { summary: 'A count', value: { input_tokens: 14 } } },
  },
  events: null,
  isInference: false,
  errorForm: 'messages',
  errors: [
    ...commonErrors,
    'invalid_json',
    'missing_required_parameter',
    'invalid_parameter',
    'invalid_model',
    'model_pricing_not_configured',
    'model_not_allowed',
    'model_not_found',
    'api_keys_lookup_failed',
    'configuration_error',
    'provider_not_configured',
  ],
};
