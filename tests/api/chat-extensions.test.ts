/**
 * Two gateways on one database, with and without what an operator may allow beyond the contract. Each allowed parameter
 * reaches the provider in its own words, or is refused by name.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import OpenAI from 'openai';
import {
  type ChatFixture,
  type ErrorBody,
  finishedGeneration,
  openChatFixture,
} from '../support/chat-fixture.ts';
import { type Gateway, launchGateway, startGateway, temporaryFolder } from '../support/gateway.ts';

const everything = 'capabilities: [text_input, image_input, text_output, streaming, function_calling]';
const price = 'pricing: { billing_type: token, input: "1", output: "2" }';
const efforts = 'reasoning: { efforts: [none, low, high], efforts_with_tools: [none] }';
const budget = 'reasoning: { efforts: [none, low, high], control: budget }';
const levels = 'reasoning: { efforts: [low, high] }';

const catalog = (url: string) => `
price_version: "2026-11"
providers:
  openai:    { adapter: openai, base_url: ${url}/v1, api_key_env: MAIN_KEY, dialect: { max_tokens: max_completion_tokens } }
  deaf:      { adapter: openai, base_url: ${url}/v1, api_key_env: MAIN_KEY, unsupported_parameters: [reasoning_effort] }
  anthropic: { adapter: anthropic, base_url: ${url}/v1, api_key_env: MAIN_KEY }
  google:    { adapter: google, base_url: ${url}/v1beta, api_key_env: MAIN_KEY }
models:
  plain:    { workload: chat, ${everything}, ${price}, providers: [openai] }
  stubborn: { workload: chat, ${everything}, unsupported_parameters: [tool_choice], ${price}, providers: [openai] }
  gpt:      { workload: chat, max_output_tokens: 8192, ${everything}, ${efforts}, ${price}, providers: [openai] }
  deaf:     { workload: chat, ${everything}, ${efforts}, ${price}, providers: [deaf] }
  either:   { workload: chat, ${everything}, ${efforts}, ${price}, providers: [deaf, anthropic] }
  claude:   { workload: chat, max_output_tokens: 8192, ${everything}, ${levels}, ${price}, providers: [anthropic] }
  older:    { workload: chat, max_output_tokens: 8192, ${everything}, ${budget}, ${price}, providers: [anthropic] }
  gemini:   { workload: chat, max_output_tokens: 8192, ${everything}, ${levels}, ${price}, providers: [google] }
`;

let fixture: ChatFixture;
let extended: Gateway;
let key: string;

beforeAll(async () => {
  fixture = await openChatFixture(catalog);
  extended = await startGateway({
    ...fixture.environment,
    TOLLGATE_DATA: temporaryFolder(),
    CHAT_EXTENSIONS: 'max_completion_tokens,reasoning_effort,user,tool_choice_required,developer',
  });
  ({ key } = await fixture.customer('100', '--rpm', '100000'));
});

afterAll(async () => {
  await extended.stop();
  await fixture.close();
});

type Fields = Readonly<Record<string, unknown>>;
const hello = { role: 'user', content: 'Hello' };
const look = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } };

const post = (origin: string, fields: Fields) =>
  fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [hello], ...fields }),
  });

/** What the provider got for a request that succeeds and is charged. */
async function sent(model: string, fields: Fields): Promise<Fields> {
  const count = fixture.sandbox.entries.length;
  const response = await post(extended.origin, { model, ...fields });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status}: ${text}`);
  const id = response.headers.get('x-service-request-id') ?? '';
  expect((await finishedGeneration(extended.origin, key, id)).status).toBe('completed');
  const calls = fixture.sandbox.entries.slice(count);
  expect(calls).toHaveLength(1);
  return calls[0]?.body as Fields;
}

async function refusal(model: string, fields: Fields, origin = extended.origin) {
  const response = await post(origin, { model, ...fields });
  const { error } = (await response.json()) as ErrorBody;
  return { status: response.status, ...error };
}

describe('without them', () => {
  const refused: readonly Fields[] = [
    { max_completion_tokens: 5 },
    { max_completion_tokens: null },
    { reasoning_effort: 'low' },
    { reasoning_effort: null },
    { user: 'ada' },
    { tools: [look], tool_choice: 'required' },
    { messages: [{ role: 'developer', content: 'Be brief.' }, hello] },
    { n: 1 },
    { frequency_penalty: 0 },
    { logprobs: false },
  ];

  /** All that a client sees, but for what differs from one request to the next. */
  const seen = async (response: Response) => [
    response.status,
    [...response.headers.keys()].filter((name) => name !== 'date').toSorted(),
    await response.text(),
  ];

  test.each(refused)('%j is refused as the contract says', async (fields) => {
    const { status, code, message } = await refusal('plain', fields, fixture.gateway.origin);
    const isRole = 'messages' in fields;
    expect([status, code]).toEqual([400, isRole ? 'invalid_parameter' : 'unsupported_parameter']);
    expect(message).toMatch(/is not supported[.:]/);
  });

  test.each([
    { n: 2 },
    { frequency_penalty: 1 },
    { logprobs: true },
    { top_logprobs: 3 },
    { reasoning: { effort: 'low' } },
    { temperature: 9 },
    { tool_choice: 'any', tools: [look] },
    { messages: [{ role: 'critic', content: 'x' }] },
    { messages: [] },
    { max_tokens: 0 },
  ] as readonly Fields[])('%j is refused in the same words with and without', async (fields) => {
    const [plain, more] = await Promise.all(
      [fixture.gateway, extended].map(
        async ({ origin }) => await seen(await post(origin, { model: 'plain', ...fields })),
      ),
    );
    expect(more).toEqual(plain);
    expect(more?.[0]).toBe(400);
  });
});

describe('max_completion_tokens', () => {
  test('is the limit that the provider gets', async () => {
    expect(await sent('plain', { max_completion_tokens: 7 })).toMatchObject({ max_completion_tokens: 7 });
    expect(await sent('claude', { max_completion_tokens: 7 })).toMatchObject({ max_tokens: 7 });
  });

  test('is refused next to max_tokens', async () => {
    expect(await refusal('plain', { max_completion_tokens: 7, max_tokens: 7 })).toMatchObject({
      status: 400,
      code: 'invalid_parameter',
      param: 'max_completion_tokens',
    });
  });
});

describe('reasoning_effort', () => {
  test('is said in the words of each provider, or the nearest that the model takes', async () => {
    expect(await sent('gpt', { reasoning_effort: 'max' })).toHaveProperty('reasoning_effort', 'high');
    expect(await sent('claude', { reasoning_effort: 'medium' })).toMatchObject({
      output_config: { effort: 'low' },
      thinking: { type: 'adaptive' },
    });
    expect(await sent('older', { reasoning_effort: 'low' })).toMatchObject({
      thinking: { type: 'enabled', budget_tokens: 1_024 },
    });
    expect(await sent('older', { reasoning_effort: 'none' })).toMatchObject({
      thinking: { type: 'disabled' },
    });
    expect(await sent('gemini', { reasoning_effort: 'high' })).toMatchObject({
      generationConfig: { thinkingConfig: { thinkingLevel: 'high' } },
    });
  });

  test('goes to a provider that can pass it on', async () => {
    expect(await sent('either', { reasoning_effort: 'low' })).toHaveProperty('output_config', {
      effort: 'low',
    });
    expect(await sent('either', {})).toHaveProperty('max_tokens');
  });

  test('says nothing when it is null', async () => {
    expect(await sent('gpt', { reasoning_effort: null })).not.toHaveProperty('reasoning_effort');
    expect(await sent('plain', { reasoning_effort: null })).not.toHaveProperty('reasoning_effort');
  });

  test.each([
    ['plain', {}],
    ['deaf', {}],
    ['gpt', { tools: [look] }],
    ['older', { temperature: 0.5 }],
    ['older', { tools: [look], tool_choice: 'required' }],
  ] as const)('is refused by name where %s cannot honour it with %j', async (model, fields) => {
    expect(await refusal(model, { reasoning_effort: 'low', ...fields })).toMatchObject({
      status: 400,
      code: 'unsupported_parameter',
      param: 'reasoning_effort',
    });
  });
});

describe('tool_choice', () => {
  test('can be required', async () => {
    const fields = { tools: [look], tool_choice: 'required' };
    expect(await sent('plain', fields)).toMatchObject({ tool_choice: 'required' });
    expect(await sent('claude', fields)).toMatchObject({ tool_choice: { type: 'any' } });
    expect(await sent('gemini', fields)).toMatchObject({
      toolConfig: { functionCallingConfig: { mode: 'ANY' } },
    });
  });

  test('is refused by name where it cannot be, and without tools', async () => {
    const required = { tool_choice: 'required' };
    expect(await refusal('stubborn', { ...required, tools: [look] })).toMatchObject({
      code: 'unsupported_parameter',
      param: 'tool_choice',
    });
    expect(await refusal('plain', required)).toMatchObject({
      code: 'invalid_parameter',
      param: 'tool_choice',
    });
  });
});

test('a developer writes what a system message says', async () => {
  const messages = [{ role: 'developer', content: 'Be brief.' }, hello];
  expect((await sent('plain', { messages })).messages).toEqual([
    { role: 'system', content: 'Be brief.' },
    hello,
  ]);
  expect(await sent('claude', { messages })).toMatchObject({ system: [{ type: 'text', text: 'Be brief.' }] });
});

test('the text of user stays here', async () => {
  const body = JSON.stringify(await sent('plain', { user: 'ada-canary' }));
  expect(body).not.toContain('ada-canary');
  expect(await refusal('plain', { user: 7 })).toMatchObject({ code: 'invalid_parameter', param: 'user' });
});

test('the SDK gets all of them at once, streamed', async () => {
  const client = new OpenAI({ baseURL: `${extended.origin}/v1`, apiKey: key, maxRetries: 0 });
  const stream = await client.chat.completions.create({
    model: 'claude',
    messages: [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: '[[reasoning 20]] Hello' },
    ],
    max_completion_tokens: 200,
    reasoning_effort: 'high',
    user: 'ada',
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = '';
  let reasoningTokens = 0;
  for await (const chunk of stream) {
    expect(JSON.stringify(chunk)).not.toContain('reasoning_content');
    text += chunk.choices[0]?.delta.content ?? '';
    reasoningTokens = chunk.usage?.completion_tokens_details?.reasoning_tokens ?? reasoningTokens;
  }
  expect(text).not.toBe('');
  expect(reasoningTokens).toBe(20);
});

test('a name that cannot be served stops the gateway, with those that can', async () => {
  const { ended, output } = launchGateway({ ...fixture.environment, CHAT_EXTENSIONS: 'user,logprobs' });
  expect(await ended()).not.toBe(0);
  expect(output()).toContain(
    'CHAT_EXTENSIONS must be one of max_completion_tokens, reasoning_effort, user, tool_choice_required, developer, but is "logprobs".',
  );
});
