import { responsesRequestSchema } from '../requests.ts';
import { inputTokensSchema, modelResponseSchema, responseEventSchema } from '../schemas/responses.ts';
import {
  attributionHeaders,
  commonErrors,
  type Endpoint,
  idempotencyKey,
  inferenceErrors,
} from './endpoint.ts';

const digits = '0199a3f2c4d57e8a9b0c1d2e3f405162';
const model = 'sandbox-chat';

const weather = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather in a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const weatherCall = {
  id: `fc_${digits}_0`,
  type: 'function_call',
  status: 'completed',
  call_id: 'call_1',
  name: 'get_weather',
  arguments: '{"city":"Oslo"}',
};
const message = (text: string) => ({
  id: `msg_${digits}_0`,
  type: 'message',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
});
const usage = {
  input_tokens: 11,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 4,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 15,
  cost: '0.000019000000',
};

const response = (status: string, output: readonly object[], known: object | null) => ({
  id: `resp_${digits}`,
  object: 'response',
  created_at: 1793520000,
  status,
  error: null as object | null,
  incomplete_details: null,
  model,
  output,
  usage: known,
  instructions: null,
  store: false,
  tools: [],
});

const requests = {
  plain: { summary: 'A question', value: { model, input: 'Say hello in three words.' } },
  stream: {
    summary: 'A streamed response',
    value: {
      model,
      instructions: 'You are brief.',
      input: [{ role: 'user', content: 'Say hello in three words.' }],
      stream: true,
    },
  },
  tools: {
    summary: 'A function that the model may ask for',
    value: { model, input: 'How is the weather in Oslo?', tools: [weather] },
  },
  tool_results: {
    summary: 'The result of that function',
    value: {
      model,
      input: [
        { role: 'user', content: 'How is the weather in Oslo?' },
        weatherCall,
        { type: 'function_call_output', call_id: 'call_1', output: '{"celsius": 4, "sky": "clear"}' },
      ],
      tools: [weather],
    },
  },
};

export const createResponse: Endpoint = {
  method: 'post',
  path: '/v1/responses',
  operationId: 'createResponse',
  tag: 'Chat',
  summary: 'Create a response',
  description:
    'The Responses format of OpenAI, without anything that is stored: send the whole conversation with every request. ' +
    'What needs stored responses, and built-in tools, are rejected by name. Fields that only the newest models know are ' +
    'passed on to providers that speak this format, and rejected by name otherwise.\n\n' +
    'Before the call, the highest possible cost of the request is held on the balance. Afterwards, what was used is ' +
    'charged and the rest of the hold is released.',
  parameters: [idempotencyKey, ...attributionHeaders],
  body: { schema: responsesRequestSchema, examples: requests },
  response: {
    description: 'The complete response.',
    schema: modelResponseSchema,
    examples: {
      plain: { summary: 'Text', value: response('completed', [message('Hello, dear friend.')], usage) },
      tools: { summary: 'A function call', value: response('completed', [weatherCall], usage) },
    },
  },
  events: {
    description:
      'With `"stream": true`. Each event has a line `event: ` with its type, a line `data: ` with JSON, and an empty line. ' +
      '`response.completed` and `response.incomplete` are sent once the charge is committed, and end the stream. A failure ' +
      'after the headers is `response.failed`. While the model is silent, comments (`: keep-alive`) come before the first ' +
      'event; SSE parsers skip them.',
    schema: responseEventSchema,
    examples: {
      created: {
        summary: 'The first event',
        value: { type: 'response.created', sequence_number: 0, response: response('in_progress', [], null) },
      },
      text: {
        summary: 'A piece of text',
        value: {
          type: 'response.output_text.delta',
          item_id: `msg_${digits}_0`,
          output_index: 0,
          content_index: 0,
          logprobs: [],
          sequence_number: 4,
          delta: 'Hello',
        },
      },
      completed: {
        summary: 'The last event',
        value: {
          type: 'response.completed',
          sequence_number: 9,
          response: response('completed', [message('Hello, dear friend.')], usage),
        },
      },
      failed: {
        summary: 'A failure after the headers',
        value: {
          type: 'response.failed',
          sequence_number: 5,
          response: {
            ...response('failed', [], null),
            error: {
              code: 'server_error',
              message: 'The stream from the provider failed.',
              type: 'provider_error',
              gateway_code: 'provider_stream_error',
            },
          },
        },
      },
    },
  },
  isInference: true,
  errors: [...inferenceErrors, 'provider_unknown_error', 'provider_stream_error'],
};

export const countInputTokens: Endpoint = {
  method: 'post',
  path: '/v1/responses/input_tokens',
  operationId: 'countInputTokens',
  tag: 'Chat',
  summary: 'Count input tokens',
  description:
    'Estimates how many input tokens a request to `POST /v1/responses` has. Nothing is called, held or charged. These ' +
    'requests have a limit of their own: 600 per minute, or as many as the key may send if that is more.',
  parameters: [],
  body: {
    schema: responsesRequestSchema,
    examples: { plain: { summary: 'A question', value: { model, input: 'Say hello in three words.' } } },
  },
  response: {
    description: 'The estimate.',
    schema: inputTokensSchema,
    examples: { plain: { summary: 'Tokens', value: { object: 'response.input_tokens', input_tokens: 15 } } },
  },
  events: null,
  isInference: false,
  errors: [
    ...commonErrors,
    'invalid_json',
    'missing_required_parameter',
    'invalid_parameter',
    'invalid_model',
    'model_not_allowed',
    'model_not_found',
    'api_keys_lookup_failed',
    'configuration_error',
    'provider_not_configured',
  ],
};
