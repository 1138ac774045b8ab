/** POST /v1/responses towards a provider that speaks the same format: what is passed on, and what never is. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type ChatFixture, finishedGeneration, openChatFixture } from '../support/chat-fixture.ts';
import {
  callsOf,
  clientOf,
  type Item,
  type Json,
  type ResponsesClient,
  readEvents,
  responsesCatalog,
  textOf,
} from '../support/responses-fixture.ts';

const everything = '[text_input, image_input, text_output, streaming, function_calling, structured_output]';
const model = (name: string, providers: string) =>
  `  ${name}: { workload: chat, capabilities: ${everything}, max_output_tokens: 1000, context_window: 100000, pricing: { billing_type: token, input: "1", output: "2" }, providers: [${providers}] }\n`;

let fixture: ChatFixture;
let key: string;
let client: ResponsesClient;

beforeAll(async () => {
  fixture = await openChatFixture((url) =>
    responsesCatalog(url).replace(
      /^ {2}full:/m,
      `${model('same', '{ provider: main, api: responses }')}${model('away', 'gone, { provider: main, api: responses }')}  full:`,
    ),
  );
  ({ key } = await fixture.customer('100', '--rpm', '100000'));
  client = clientOf(fixture.gateway.origin, key);
});

afterAll(() => fixture.close());

function received(text: string): Json {
  const entry = fixture.sandbox.entries.findLast(({ body }) => JSON.stringify(body).includes(text));
  return entry?.body as Json;
}

const weather = {
  type: 'function',
  name: 'weather',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
  strict: true,
};

describe.each([false, true])('streamed: %p', (stream) => {
  test('a text comes as it was written, with our IDs, and is charged', async () => {
    const input = `passed-${stream} [[usage 100 20]]`;
    const response = await client.ask({
      model: 'same',
      stream,
      input,
      metadata: { a: 'b' },
      user: 'ann',
      store: true,
      max_output_tokens: 128_000,
      client_metadata: { x: 'y' },
    });
    expect(response).toMatchObject({
      status: 'completed',
      model: 'same',
      store: false,
      metadata: { a: 'b' },
      user: 'ann',
    });
    expect(response.usage).toMatchObject({ input_tokens: 100, output_tokens: 20, cost: '0.000140000000' });
    expect(textOf(response)).toContain(`passed-${stream}`);
    const id = response.id.replace('resp', 'req');
    expect(await finishedGeneration(fixture.gateway.origin, key, id)).toMatchObject({
      status: 'completed',
      cost: { total: '0.000140000000' },
    });
    const sent = received(`passed-${stream}`);
    expect(sent).toMatchObject({ input, max_output_tokens: 1000, store: false });
    expect(Object.keys(sent)).not.toContain('user');
    expect(Object.keys(sent)).not.toContain('client_metadata');
  });

  test('functions are called, and their results come back', async () => {
    const input: Json[] = [{ role: 'user', content: 'How? [[tools 2]]' }];
    const tools = [weather, { ...weather, name: 'traffic' }];
    const first = await client.ask({ model: 'same', stream, input, tools });
    const calls = callsOf(first) as Item[];
    expect(calls).toHaveLength(2);
    input.push(...first.output);
    for (const { call_id } of calls) input.push({ type: 'function_call_output', call_id, output: 'fine' });
    expect(textOf(await client.ask({ model: 'same', stream, input, tools }))).toContain('fine');
  });

  test('reasoning comes back sealed, and is taken again', async () => {
    const input: Json[] = [{ role: 'user', content: 'Think [[reasoning 5]]' }];
    const asked = {
      model: 'same',
      stream,
      include: ['reasoning.encrypted_content'],
      reasoning: { summary: 'auto' },
    };
    const first = await client.ask({ ...asked, input });
    const thought = first.output.find(({ type }) => type === 'reasoning');
    expect(String(thought?.encrypted_content)).toStartWith('tg1_');
    input.push(...first.output, { role: 'user', content: `replay-${stream}` });
    await client.ask({ ...asked, input });
    const sent = received(`replay-${stream}`).input as Json[];
    expect(sent.filter(({ type }) => type === 'reasoning')).toHaveLength(1);
    expect(JSON.stringify(sent)).not.toContain('tg1_');
    const { key: other } = await fixture.customer('1');
    await clientOf(fixture.gateway.origin, other).ask({
      ...asked,
      input: [...input, { role: 'user', content: `other-${stream}` }],
    });
    expect(
      (received(`other-${stream}`).input as Json[]).filter(({ type }) => type === 'reasoning'),
    ).toHaveLength(0);
  });

  test('an answer that was cut is incomplete', async () => {
    const response = await client.ask({ model: 'same', stream, input: 'x [[finish length]]' });
    expect([response.status, response.incomplete_details]).toEqual([
      'incomplete',
      { reason: 'max_output_tokens' },
    ]);
    expect(response.usage?.cost).toMatch(/^\d+\.\d{12}$/);
  });

  test('a fallback to it passes on as well', async () => {
    const response = await client.ask({ model: 'away', stream, input: 'Hello' });
    expect(textOf(response)).toBe('You said: Hello');
  });
});

test('a stream that breaks fails with the next number', async () => {
  const response = await client.send({
    model: 'same',
    stream: true,
    input: 'one two three four [[error-event 3]]',
  });
  const events = readEvents(await response.text());
  expect(events.at(-1)).toMatchObject({
    type: 'response.failed',
    response: { error: { gateway_code: 'provider_stream_error' } },
  });
  expect(events.some(({ type }) => type === 'response.completed')).toBe(false);
});
