/**
 * One conversation in every wire format, non-streamed and streamed: a system message, an image, two tools called at once,
 * their results, a second question and its answer. A client cannot tell which provider served it.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionMessageParam,
  ChatCompletionTool,
} from 'openai/resources/chat/completions';
import { type ChatFixture, openChatFixture } from '../support/chat-fixture.ts';
import { adapterOf, formats, pathOf, routeTo } from '../support/provider-faults.ts';

const everything = '[text_input, image_input, text_output, streaming, function_calling, structured_output]';

const catalog = (url: string) => `
price_version: "2026-11"
providers:
${formats
  .map(
    (name) =>
      `  ${name}: { adapter: ${adapterOf(name)}, base_url: ${url}${pathOf[name]}, api_key_env: MAIN_KEY }`,
  )
  .join('\n')}
models:
${formats
  .map(
    (name) =>
      `  m-${name}: { workload: chat, max_output_tokens: 1000, capabilities: ${everything}, pricing: { billing_type: token, input: "1", output: "2" }, providers: [${routeTo(name, name)}] }`,
  )
  .join('\n')}
`;

let fixture: ChatFixture;
let client: OpenAI;

beforeAll(async () => {
  fixture = await openChatFixture(catalog);
  fixture.canaries.add('conversation-canary');
  const { key } = await fixture.customer('10');
  client = new OpenAI({ baseURL: `${fixture.gateway.origin}/v1`, apiKey: key, maxRetries: 0 });
});

afterAll(() => fixture.close());

const pixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const tools: ChatCompletionTool[] = ['get_weather', 'get_time'].map((name) => ({
  type: 'function',
  function: {
    name,
    description: `Tells the ${name.slice(4)} of a city.`,
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 2 } },
      required: ['city'],
    },
  },
}));

type Exchange = (messages: ChatCompletionMessageParam[]) => Promise<ChatCompletion>;

/** The three calls of the conversation: the client's messages at the end, and each answer. */
async function converse(ask: Exchange): Promise<readonly ChatCompletion[]> {
  const messages: ChatCompletionMessageParam[] = [
    { role: 'system', content: 'Be brief. conversation-canary' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is the weather and the time there? [[tools 2]]' },
        { type: 'image_url', image_url: { url: pixel, detail: 'auto' } },
      ],
    },
  ];
  const called = await ask(messages);
  const calls = called.choices[0]?.message;
  if (!calls?.tool_calls) throw new Error('The tools were not called.');
  messages.push({ role: 'assistant', content: calls.content, tool_calls: calls.tool_calls });
  for (const [index, call] of calls.tool_calls.entries())
    messages.push({ role: 'tool', tool_call_id: call.id, content: ['{"degrees":21}', 'noon'][index] ?? '' });
  const told = await ask(messages);
  messages.push({ role: 'assistant', content: told.choices[0]?.message.content ?? '' });
  messages.push({ role: 'user', content: 'Thank you, that was all.' });
  return [called, told, await ask(messages)];
}

const whole =
  (model: string): Exchange =>
  (messages) =>
    client.chat.completions.create({ model, messages, tools, max_tokens: 200 });

/** The stream as the SDK assembles it, and its chunks. */
const streamed =
  (model: string, chunks: ChatCompletionChunk[]): Exchange =>
  async (messages) => {
    const stream = client.chat.completions.stream({
      model,
      messages,
      tools,
      max_tokens: 200,
      stream_options: { include_usage: true },
    });
    stream.on('chunk', (chunk) => {
      chunks.push(chunk);
    });
    const completion = await stream.finalChatCompletion();
    return { ...completion, usage: await stream.totalUsage() };
  };

/** What naturally differs from call to call is replaced by its kind. */
function shapeOf(completions: readonly ChatCompletion[], model: string) {
  return completions.map(({ choices, usage, ...rest }, index) => ({
    fields: Object.keys(rest).toSorted(),
    isOwnModel: rest.model === model,
    isRequestId: /^req_[0-9a-f]{32}$/.test(rest.id),
    choices: choices.map(({ message, finish_reason }) => ({
      finish_reason,
      role: message.role,
      content: message.content,
      calls: message.tool_calls?.map((call) =>
        call.type === 'function'
          ? {
              type: call.type,
              isNamed: /^[\w-]+$/.test(call.id),
              name: call.function.name,
              arguments: JSON.parse(call.function.arguments),
            }
          : call,
      ),
    })),
    usage: usage && {
      // From the second call on, the prompt contains the IDs of the tool calls, whose length differs by vendor.
      prompt_tokens: index === 0 ? usage.prompt_tokens : typeof usage.prompt_tokens,
      completion_tokens: usage.completion_tokens,
      isSum: usage.total_tokens === usage.prompt_tokens + usage.completion_tokens,
    },
  }));
}

/** The shapes of the chunks: every text and number is replaced by its type. */
function formsOf(chunks: readonly ChatCompletionChunk[]): string[] {
  const forms = chunks.map((chunk) =>
    JSON.stringify(chunk, (name, value: unknown) => {
      if (['object', 'role', 'type', 'finish_reason'].includes(name)) return value;
      return typeof value === 'string' || typeof value === 'number' ? typeof value : value;
    }),
  );
  return [...new Set(forms)].toSorted();
}

describe('the same conversation in every format', () => {
  test('non-streamed answers are equal except for their IDs', async () => {
    const shapes = [];
    for (const name of formats) shapes.push(shapeOf(await converse(whole(`m-${name}`)), `m-${name}`));
    expect(shapes[0]?.[0]?.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      content: null,
      calls: [
        { type: 'function', name: 'get_weather', arguments: { city: 'sample', days: 2 } },
        { type: 'function', name: 'get_time', arguments: { city: 'sample', days: 2 } },
      ],
    });
    expect(shapes[0]?.[1]?.choices[0]?.content).toBe('The tools returned: {"degrees":21}; noon');
    expect(shapes[0]?.[2]?.choices[0]?.content).toBe('You said: Thank you, that was all. I see 1 image.');
    expect(shapes[1]).toEqual(shapes[0] as never);
    expect(shapes[2]).toEqual(shapes[0] as never);
  });

  test('streams have the same shapes and add up to the non-streamed answers', async () => {
    const forms = [];
    for (const name of formats) {
      const chunks: ChatCompletionChunk[] = [];
      const model = `m-${name}`;
      const completions = await converse(streamed(model, chunks));
      const pick = (list: readonly ChatCompletion[]) =>
        shapeOf(list, model).map(({ choices, usage, isRequestId }) => ({ choices, usage, isRequestId }));
      expect(pick(completions)).toEqual(pick(await converse(whole(model))));
      forms.push(formsOf(chunks));
    }
    expect(forms[0]?.length).toBeGreaterThan(4);
    expect(forms[1]).toEqual(forms[0] as never);
    expect(forms[2]).toEqual(forms[0] as never);
  });
});
