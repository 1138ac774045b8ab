/** The clients of the Responses format that customers use, unmodified: the OpenAI SDK and the AI SDK. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createOpenAI } from '@ai-sdk/openai';
import { dynamicTool, generateText, jsonSchema, Output, stepCountIs, streamText } from 'ai';
import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import type { ResponseInputItem } from 'openai/resources/responses/responses';
import { z } from 'zod';
import { type ChatFixture, finishedGeneration } from '../support/chat-fixture.ts';
import { openResponses, otherFormats } from '../support/responses-fixture.ts';

let fixture: ChatFixture;
let key: string;
let openai: OpenAI;

beforeAll(async () => {
  fixture = await openResponses();
  ({ key } = await fixture.customer('100', '--rpm', '100000'));
  openai = new OpenAI({ baseURL: `${fixture.gateway.origin}/v1`, apiKey: key, maxRetries: 0 });
});

afterAll(() => fixture.close());

const parameters = {
  type: 'object' as const,
  properties: { city: { type: 'string' as const } },
  required: ['city'],
  additionalProperties: false,
};
const weather = { type: 'function' as const, name: 'weather', parameters, strict: true };
const models = otherFormats.map((format) => `speaks-${format}`);

describe.each(models)('the OpenAI SDK, %s', (model) => {
  test('asks, and its request ID finds the Generation', async () => {
    const response = await openai.responses.create({ model, input: 'Hello' });
    expect(response).toMatchObject({ output_text: 'You said: Hello', status: 'completed', store: false });
    const requestId = String(response._request_id);
    expect(await finishedGeneration(fixture.gateway.origin, key, requestId)).toMatchObject({
      status: 'completed',
      usage: { input_tokens: response.usage?.input_tokens },
    });
  });

  test('streams, and its helper assembles the same response', async () => {
    const deltas: string[] = [];
    const stream = openai.responses.stream({ model, input: 'one two three' });
    stream.on('response.output_text.delta', ({ delta }) => deltas.push(delta));
    const response = await stream.finalResponse();
    expect([deltas.join(''), response.output_text]).toEqual([
      'You said: one two three',
      'You said: one two three',
    ]);
    expect(deltas.length).toBeGreaterThan(1);
  });

  test('runs tools in a loop, streamed, with parallel calls', async () => {
    const input: ResponseInputItem[] = [{ role: 'user', content: 'Both [[tools 2]]' }];
    const traffic = { ...weather, name: 'traffic' };
    const stream = openai.responses.stream({ model, input, tools: [weather, traffic] });
    const response = await stream.finalResponse();
    const calls = response.output.filter((item) => item.type === 'function_call');
    expect(calls).toHaveLength(2);
    // As it came, with what the helper added.
    input.push(...(response.output as ResponseInputItem[]));
    for (const { call_id } of calls) input.push({ type: 'function_call_output', call_id, output: 'fine' });
    const answer = await openai.responses.create({ model, input, tools: [weather, traffic] });
    expect(answer.output_text).toContain('fine');
  });

  test('parses what has a given shape', async () => {
    const text = { format: zodTextFormat(z.object({ city: z.string() }), 'place') };
    const response = await openai.responses.parse({ model, input: 'Name one', text });
    expect(response.output_parsed).toEqual({ city: expect.any(String) });
  });

  test('counts', async () => {
    const { input_tokens } = await openai.responses.inputTokens.count({ model, input: 'Hello' });
    expect(input_tokens).toBeGreaterThan(0);
  });
});

describe('the OpenAI SDK', () => {
  test('throws on what is refused, with the code and the param', async () => {
    const body = { model: 'full', input: 'x', previous_response_id: 'resp_1' };
    const thrown: unknown = await openai.responses.create(body).catch((error: unknown) => error);
    expect(thrown).toMatchObject({
      status: 400,
      code: 'unsupported_parameter',
      param: 'previous_response_id',
    });
  });

  test('sees that a stream failed', async () => {
    const stream = openai.responses.stream({ model: 'full', input: 'one two three [[error-event 2]]' });
    const response = await stream.finalResponse();
    expect([response.status, response.error?.code as string]).toEqual(['failed', 'server_error']);
    const empty = openai.responses.stream({ model: 'full', input: 'x [[empty]]' });
    expect((await empty.finalResponse()).status).toBe('failed');
  });

  test('sees that a response is incomplete', async () => {
    const response = await openai.responses.create({ model: 'full', input: 'x [[finish length]]' });
    expect([response.status, response.incomplete_details?.reason]).toEqual([
      'incomplete',
      'max_output_tokens',
    ]);
  });
});

describe.each(models)('the AI SDK, %s', (id) => {
  const modelOf = () => createOpenAI({ baseURL: `${fixture.gateway.origin}/v1`, apiKey: key })(id);
  const providerOptions = { openai: { store: false } };
  const tools = {
    weather: dynamicTool({
      description: 'Weather',
      inputSchema: jsonSchema(parameters),
      execute: () => Promise.resolve('four degrees'),
    }),
  };

  test('generates and streams text', async () => {
    const { text, usage } = await generateText({
      model: modelOf(),
      system: 'Be brief.',
      prompt: 'Hello',
      providerOptions,
    });
    expect([text, usage.outputTokens]).toEqual(['You said: Hello', 3]);
    const streamed = streamText({ model: modelOf(), prompt: 'Hello', providerOptions });
    expect([await streamed.text, await streamed.finishReason]).toEqual(['You said: Hello', 'stop']);
  });

  test('runs a tool and goes on, streamed and not', async () => {
    const asked = {
      model: modelOf(),
      prompt: 'Weather? [[tool weather]]',
      tools,
      stopWhen: stepCountIs(3),
      providerOptions,
    };
    const { text, steps } = await generateText(asked);
    expect([steps.length, text.includes('four degrees')]).toEqual([2, true]);
    const streamed = streamText(asked);
    expect(await streamed.text).toContain('four degrees');
  });

  test('gets what has a given shape', async () => {
    const { output } = await generateText({
      model: modelOf(),
      prompt: 'Name one',
      output: Output.object({ schema: z.object({ city: z.string() }) }),
      providerOptions,
    });
    expect(output).toEqual({ city: expect.any(String) });
  });

  test('shows an image', async () => {
    const image = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    );
    const content = [
      { type: 'text' as const, text: 'What is this?' },
      { type: 'file' as const, data: image, mediaType: 'image/png' },
    ];
    const { text } = await generateText({
      model: modelOf(),
      messages: [{ role: 'user', content }],
      providerOptions,
    });
    expect(text).toContain('What is this?');
  });
});

test('the AI SDK is told what to set when it refers to stored items', async () => {
  const model = createOpenAI({ baseURL: `${fixture.gateway.origin}/v1`, apiKey: key })('full');
  const first = await generateText({ model, prompt: 'Hello' });
  const second = generateText({
    model,
    messages: [
      { role: 'user', content: 'Hello' },
      ...first.response.messages,
      { role: 'user', content: 'And?' },
    ],
    maxRetries: 0,
  });
  const thrown = await second.catch((error: Error) => error);
  expect(thrown).toBeInstanceOf(Error);
  expect((thrown as Error).message).toContain('store: false under providerOptions.openai');
});
