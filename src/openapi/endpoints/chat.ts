import { z } from 'zod';
import { chatRequestSchema } from '../requests.ts';
import { chatChunkSchema, chatCompletionSchema } from '../schemas/chat.ts';
import { errorEventSchema } from '../schemas/errors.ts';
import { attributionHeaders, type Endpoint, idempotencyKey, inferenceErrors } from './endpoint.ts';

const id = 'req_0199a3f2c4d57e8a9b0c1d2e3f405162';
const created = 1793520000;
const model = 'sandbox-chat';
const usage = { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 };

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather in a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};
const weatherCall = {
  id: 'call_1',
  type: 'function',
  function: { name: 'get_weather', arguments: '{"city":"Oslo"}' },
};

const completion = (finish_reason: string, message: object) => ({
  id,
  object: 'chat.completion',
  created,
  model,
  choices: [{ index: 0, finish_reason, message }],
  usage,
});

const chunk = (delta: object, finish_reason: string | null = null) => ({
  id,
  object: 'chat.completion.chunk',
  created,
  model,
  choices: [{ index: 0, delta, finish_reason }],
});

const requests = {
  plain: {
    summary: 'A question',
    value: { model, messages: [{ role: 'user', content: 'Say hello in three words.' }] },
  },
  stream: {
    summary: 'A streamed response, with usage at the end',
    value: {
      model,
      messages: [
        { role: 'system', content: 'You are brief.' },
        { role: 'user', content: 'Say hello in three words.' },
      ],
      stream: true,
      stream_options: { include_usage: true },
    },
  },
  tools: {
    summary: 'A function that the model may ask for',
    value: { model, messages: [{ role: 'user', content: 'How is the weather in Oslo?' }], tools: [weather] },
  },
  tool_results: {
    summary: 'The result of that function',
    value: {
      model,
      messages: [
        { role: 'user', content: 'How is the weather in Oslo?' },
        { role: 'assistant', content: null, tool_calls: [weatherCall] },
        { role: 'tool', tool_call_id: 'call_1', content: '{"celsius": 4, "sky": "clear"}' },
      ],
      tools: [weather],
    },
  },
  image: {
    summary: 'A question about an image',
    value: {
      model,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is in this picture?' },
            { type: 'image_url', image_url: { url: 'https://example.com/cat.png', detail: 'auto' } },
          ],
        },
      ],
      max_tokens: 200,
    },
  },
  structured: {
    summary: 'JSON of a given shape',
    value: {
      model,
      messages: [{ role: 'user', content: 'Name a city and its country.' }],
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'city',
          schema: {
            type: 'object',
            properties: { city: { type: 'string' }, country: { type: 'string' } },
            required: ['city', 'country'],
            additionalProperties: false,
          },
          strict: true,
        },
      },
    },
  },
};

const responses = {
  plain: {
    summary: 'Text',
    value: completion('stop', { role: 'assistant', content: 'Hello, dear friend.' }),
  },
  tools: {
    summary: 'A function call',
    value: completion('tool_calls', { role: 'assistant', content: null, tool_calls: [weatherCall] }),
  },
};

const piece = (fields: object) => ({ tool_calls: [{ index: 0, ...fields }] });

const events = {
  first: { summary: 'The first chunk', value: chunk({ role: 'assistant', content: '' }) },
  text: { summary: 'A piece of text', value: chunk({ content: 'Hello' }) },
  tool_call: {
    summary: 'A call begins',
    value: chunk(piece({ id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '' } })),
  },
  tool_arguments: {
    summary: 'Its arguments follow',
    value: chunk(piece({ function: { arguments: '{"city":' } })),
  },
  finish: { summary: 'The last chunk with a choice', value: chunk({}, 'stop') },
  usage: {
    summary: 'Usage, if asked for',
    value: { id, object: 'chat.completion.chunk', created, model, choices: [], usage },
  },
  error: {
    summary: 'A failure after the headers',
    value: {
      error: {
        message: 'The stream from the provider failed.',
        type: 'provider_error',
        code: 'provider_stream_error',
      },
    },
  },
};

export const createChatCompletion: Endpoint = {
  method: 'post',
  path: '/v1/chat/completions',
  operationId: 'createChatCompletion',
  tag: 'Chat',
  summary: 'Create a chat completion',
  description:
    'Works with OpenAI-compatible SDKs: set the base URL to the address of this gateway with `/v1`, and give them a key. ' +
    'Parameters that are not listed here are rejected by name, never ignored.\n\n' +
    'Before the call, the highest possible cost of the request is held on the balance. Afterwards, what was used is ' +
    'charged and the rest of the hold is released.',
  parameters: [idempotencyKey, ...attributionHeaders],
  body: { schema: chatRequestSchema, examples: requests },
  response: { description: 'The complete response.', schema: chatCompletionSchema, examples: responses },
  events: {
    description:
      'With `"stream": true`. Each event is a line `data: ` and JSON, then an empty line. The stream ends with ' +
      '`data: [DONE]`; if no error event came before it, the charge is committed. A failure after the headers is an event ' +
      'with an `error`. While the model is silent, comments (`: keep-alive`) come before the first event; SSE parsers skip ' +
      'them. This document describes the data of the events as `x-event-stream` of the response, so that generated ' +
      'clients have one type for its body.',
    schema: z.union([chatChunkSchema, errorEventSchema]),
    examples: events,
  },
  isInference: true,
  errors: [...inferenceErrors, 'provider_unknown_error', 'provider_stream_error'],
};
