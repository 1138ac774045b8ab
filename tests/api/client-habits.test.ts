/** What SDKs and agent frameworks send beyond the letter of the contract. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import { zodFunction } from 'openai/helpers/zod';
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions';
import { z } from 'zod';
import {
  type ChatFixture,
  type Chunk,
  chatCatalog,
  type ErrorBody,
  eventsOf,
  openChatFixture,
} from '../support/chat-fixture.ts';
import { delta, startScriptedProvider, usageEvent } from '../support/scripted-provider.ts';

const scripted = startScriptedProvider();
const everything = '[text_input, text_output, streaming, function_calling, structured_output]';
const formats = {
  strict: 'adapter: openai, base_url: URL/v1, dialect: { strict_tools: supported }',
  lax: 'adapter: openai, base_url: URL/v1',
  anthropic: 'adapter: anthropic, base_url: URL/v1',
  google: 'adapter: google, base_url: URL/v1beta',
  scripted: `adapter: openai, base_url: ${scripted.url}/v1`,
};
const model = (id: string, providers: string) =>
  `  ${id}: { workload: chat, max_output_tokens: 1000, capabilities: ${everything}, pricing: { billing_type: token, input: "1", output: "2" }, providers: [${providers}] }`;

let fixture: ChatFixture;
let key: string;
let openai: OpenAI;

beforeAll(async () => {
  fixture = await openChatFixture((url) =>
    chatCatalog(url, {
      providers: Object.entries(formats)
        .map(([id, fields]) => `  ${id}: { ${fields.replace('URL', url)}, api_key_env: MAIN_KEY }`)
        .join('\n'),
      models: [
        ...Object.keys(formats).map((id) => model(`m-${id}`, id)),
        model('m-both', 'lax, strict'),
        model('m-none', 'lax, { provider: main, upstream_model: x }'),
      ].join('\n'),
    }),
  );
  ({ key } = await fixture.customer('100', '--rpm', '100000'));
  openai = new OpenAI({ baseURL: `${fixture.gateway.origin}/v1`, apiKey: key, maxRetries: 0 });
});

afterAll(async () => {
  await fixture.close();
  await scripted.stop();
});

const user = (content: string) => ({ role: 'user' as const, content });

const post = (body: object) =>
  fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

const closed = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const weather = (strict: boolean | null) => ({
  type: 'function' as const,
  function: { name: 'weather', parameters: closed, strict },
});

/** What the provider received for the request with this mark in it. */
const received = (mark: string) => {
  const found = fixture.sandbox.entries.filter(({ body }) => JSON.stringify(body).includes(mark));
  expect(found).toHaveLength(1);
  return found[0]?.body as Readonly<Record<string, unknown>>;
};

describe('strict tools', () => {
  const ask = (id: string, strict: boolean | null, mark: string) =>
    post({ model: id, messages: [user(`${mark} [[tool weather]]`)], tools: [weather(strict)] });

  test.each([
    ['m-strict', { tools: [{ type: 'function', function: { strict: true } }] }],
    ['m-anthropic', { tools: [{ name: 'weather', strict: true, input_schema: closed }] }],
    ['m-google', { toolConfig: { functionCallingConfig: { mode: 'VALIDATED' } } }],
    // A candidate that cannot honour it is skipped.
    ['m-both', { tools: [{ type: 'function', function: { strict: true } }] }],
  ])('%s gets them in its own format', async (id, expected) => {
    const mark = `strict-${id}`;
    const response = await ask(id, true, mark);
    expect(response.status).toBe(200);
    expect(received(mark)).toMatchObject(expected);
    expect(await response.text()).toContain('"finish_reason":"tool_calls"');
  });

  test('are refused by name when no candidate honours them, before anything is held', async () => {
    for (const id of ['m-lax', 'm-none', 'full']) {
      const response = await ask(id, true, `refused-${id}`);
      expect(response.status).toBe(400);
      expect((await response.json()) as ErrorBody).toMatchObject({
        error: { code: 'unsupported_parameter', param: 'tools' },
      });
    }
  });

  test.each([false, null])('that are not (%p) go to every candidate, without the field', async (strict) => {
    for (const id of ['m-lax', 'm-anthropic', 'm-google']) {
      const mark = `lax-${id}-${strict}`;
      expect((await ask(id, strict, mark)).status).toBe(200);
      expect(JSON.stringify(received(mark))).not.toContain('"strict":');
    }
  });
});

describe('what a helper of the SDK returned is sent back', () => {
  test('a message as it came, with null for what is absent', async () => {
    const first = await openai.chat.completions.parse({ model: 'm-strict', messages: [user('Hello')] });
    const message = first.choices[0]?.message;
    expect(message).toHaveProperty('parsed', null);
    const messages = [user('Hello'), message, user('And now?')] as ChatCompletionMessageParam[];
    const second = await openai.chat.completions.create({ model: 'm-strict', messages });
    expect(second.choices[0]?.message.content).toBe('You said: And now?');
  });

  test('a streamed message', async () => {
    const first = await openai.chat.completions
      .stream({ model: 'm-strict', messages: [user('Hello')] })
      .finalMessage();
    const messages = [user('Hello'), first, user('And now?')];
    const second = await openai.chat.completions.create({ model: 'm-strict', messages });
    expect(second.choices[0]?.message.content).toBe('You said: And now?');
  });

  test('a loop over tools, in both modes', async () => {
    for (const stream of [false, true]) {
      const tools = [
        zodFunction({
          name: 'weather',
          parameters: z.object({ city: z.string() }),
          function: ({ city }: { city: string }) => `sunny in ${city}`,
        }),
      ];
      const messages = [user('[[tool weather]] go')];
      const runner = stream
        ? openai.chat.completions.runTools({ model: 'm-strict', messages, tools, stream: true })
        : openai.chat.completions.runTools({ model: 'm-strict', messages, tools });
      expect(await runner.finalContent()).toContain('sunny');
    }
  });

  test('a call with the arguments that a helper parsed, which are dropped', async () => {
    const tools = [zodFunction({ name: 'weather', parameters: z.object({ city: z.string() }) })];
    const messages = [user('[[tool weather]] parsed-arguments')];
    const first = await openai.chat.completions.parse({ model: 'm-strict', messages, tools });
    const message = first.choices[0]?.message;
    const [call] = message?.tool_calls ?? [];
    expect(call).toMatchObject({ function: { parsed_arguments: { city: 'sample' } } });
    const answer = await openai.chat.completions.create({
      model: 'm-strict',
      tools,
      messages: [
        user('parsed-arguments, second turn'),
        message as ChatCompletionMessageParam,
        { role: 'tool', tool_call_id: call?.id ?? '', content: 'sunny' },
      ],
    });
    expect(answer.choices[0]?.message.content).toContain('sunny');
    expect(JSON.stringify(received('parsed-arguments, second turn'))).not.toContain('parsed_arguments');
  });

  test('a streamed call with its place in the stream, which is dropped', async () => {
    const called = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } };
    const ask = (index: unknown) =>
      post({
        model: 'm-strict',
        messages: [
          user('call-index'),
          { role: 'assistant', content: null, tool_calls: [{ index, ...called }] },
          { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
        ],
        tools: [weather(null)],
      });
    expect((await ask(0)).status).toBe(200);
    expect(JSON.stringify(received('call-index'))).not.toContain('"index"');
    expect((await (await ask('first')).json()) as ErrorBody).toMatchObject({
      error: { code: 'invalid_parameter', param: 'messages[1].tool_calls[0].index' },
    });
  });

  test('what is not null is still refused by name', async () => {
    const message = { role: 'assistant', content: 'Hi', refusal: 'No.' };
    const response = await post({ model: 'full', messages: [user('x'), message, user('y')] });
    expect((await response.json()) as ErrorBody).toMatchObject({
      error: { code: 'unsupported_parameter', param: 'messages[1].refusal' },
    });
  });
});

test('an empty list of tools counts as none, and tool_choice then has no effect', async () => {
  for (const [index, fields] of [
    { tools: [] },
    { tools: [], tool_choice: 'auto' },
    { tool_choice: 'none' },
    { tool_choice: 'auto', parallel_tool_calls: false },
  ].entries()) {
    const mark = `toolless-${index}-`;
    const response = await post({ model: 'm-strict', messages: [user(mark)], ...fields });
    expect(response.status).toBe(200);
    expect(Object.keys(received(mark)).toSorted()).toEqual(['max_tokens', 'messages', 'model']);
  }
});

describe('text next to a tool call', () => {
  const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'weather', arguments: '' } };

  async function ask(stream: boolean, mark: string): Promise<string> {
    const pending = post({ model: 'm-scripted', stream, messages: [user(mark)], tools: [weather(null)] });
    const exchange = await scripted.received(mark);
    if (!stream) {
      exchange.reply({
        ...usageEvent(10, 5),
        choices: [
          {
            index: 0,
            finish_reason: 'tool_calls',
            message: { content: 'Let me look. One moment.', tool_calls: [{ ...call, index: undefined }] },
          },
        ],
      });
      return await (await pending).text();
    }
    exchange.send(delta({ role: 'assistant', content: 'Let me look.' }));
    exchange.send(delta({ tool_calls: [call] }));
    exchange.send(delta({ content: ' One moment.' }));
    exchange.send(delta({ tool_calls: [{ index: 0, function: { arguments: '{}' } }] }));
    exchange.send(delta({ content: ' Done.' }, 'tool_calls'));
    exchange.send(usageEvent(10, 5));
    exchange.send('[DONE]');
    exchange.end();
    return await (await pending).text();
  }

  test('is left out of a non-streamed response', async () => {
    const { choices } = JSON.parse(await ask(false, 'beside-1')) as OpenAI.ChatCompletion;
    expect(choices[0]?.message).toMatchObject({ content: null, tool_calls: [{ id: 'call_1' }] });
  });

  test('is left out of a stream from the first call on', async () => {
    const chunks = eventsOf(await ask(true, 'beside-2'))
      .slice(0, -1)
      .map((data) => JSON.parse(data) as Chunk);
    const texts = chunks.map(({ choices }) => choices[0]?.delta.content ?? '');
    expect(texts.join('')).toBe('Let me look.');
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('tool_calls');
  });
});
