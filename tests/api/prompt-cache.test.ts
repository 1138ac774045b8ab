/**
 * What reaches providers for the sake of their caches, through a real gateway: the same bytes for the same request,
 * breakpoints, cache keys, and a conversation that stays with the provider that took over.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type ChatFixture, finishedGeneration, openChatFixture } from '../support/chat-fixture.ts';

type Received = Readonly<{ provider: string; body: string; headers: Headers }>;

const received: Received[] = [];
/** The providers that fail at the moment. */
const failing = new Set<string>();

/** Keeps what it gets and says hello, in the format of the path. The first part of the path names the provider. */
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const path = new URL(request.url).pathname;
    const provider = path.split('/')[1] ?? '';
    const body = await request.text();
    received.push({ provider, body, headers: request.headers });
    if (failing.has(provider)) return new Response('{}', { status: 503 });
    if (path.endsWith('/messages'))
      return Response.json({
        content: [{ type: 'text', text: 'Hello' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 10, output_tokens: 1 },
      });
    if (path.includes('generateContent'))
      return Response.json({
        candidates: [{ content: { parts: [{ text: 'Hello' }] }, finishReason: 'STOP' }],
        usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 1, totalTokenCount: 11 },
      });
    const usage = { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 };
    if ((JSON.parse(body) as { stream?: boolean }).stream !== true)
      return Response.json({
        choices: [{ index: 0, message: { content: 'Hello' }, finish_reason: 'stop' }],
        usage,
      });
    const chunks = [
      { choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: 'stop' }] },
      { choices: [], usage },
    ];
    const events = [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'];
    return new Response(events.map((data) => `data: ${data}\n\n`).join(''), {
      headers: { 'content-type': 'text/event-stream' },
    });
  },
});

const everything = 'capabilities: [text_input, image_input, text_output, streaming, function_calling]';
const price = 'pricing: { billing_type: token, input: "1", output: "2", cache_write: "1.25" }';
const at = (provider: string, version = 'v1') =>
  `base_url: ${server.url.origin}/${provider}/${version}, circuit: { failures: 1000 }`;

const catalog = () => `
price_version: "2026-11"
providers:
  anthropic: { adapter: anthropic, ${at('anthropic')}, prompt_cache: auto }
  unmarked:  { adapter: anthropic, ${at('unmarked')} }
  qwen:      { adapter: openai, ${at('qwen')}, prompt_cache: auto }
  openai:    { adapter: openai, ${at('openai')}, dialect: { cache_key: prompt_cache_key } }
  xai:       { adapter: openai, ${at('xai')}, dialect: { cache_key: x-grok-conv-id } }
  google:    { adapter: google, ${at('google', 'v1beta')} }
  first:     { adapter: openai, ${at('first')}, dialect: { cache_key: prompt_cache_key } }
  second:    { adapter: openai, ${at('second')} }
models:
  anthropic: { workload: chat, ${everything}, ${price}, providers: [anthropic] }
  unmarked:  { workload: chat, ${everything}, ${price}, providers: [unmarked] }
  unpriced:  { workload: chat, ${everything}, pricing: { billing_type: token, input: "1", output: "2" }, providers: [anthropic] }
  qwen:      { workload: chat, ${everything}, ${price}, providers: [qwen] }
  openai:    { workload: chat, ${everything}, ${price}, providers: [openai] }
  xai:       { workload: chat, ${everything}, ${price}, providers: [xai] }
  google:    { workload: chat, ${everything}, ${price}, providers: [google] }
  twofold:   { workload: chat, ${everything}, ${price}, providers: [first, second] }
`;

let fixture: ChatFixture;
let key: string;
let otherKey: string;

beforeAll(async () => {
  fixture = await openChatFixture(catalog);
  key = (await fixture.customer('100')).key;
  otherKey = (await fixture.customer('100')).key;
});

afterAll(async () => {
  await fixture.close();
  await server.stop(true);
});

type Fields = Readonly<Record<string, unknown>>;

/** Sends a request that has to succeed, and returns what providers received for it, one after the other. */
async function send(model: string, messages: readonly object[], more: Fields = {}, from = key) {
  const count = received.length;
  const response = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${from}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages, max_tokens: 50, ...more }),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status}: ${text}`);
  // Where a conversation was served is noted before its Generation ends.
  await finishedGeneration(fixture.gateway.origin, from, response.headers.get('x-service-request-id') ?? '');
  return received.slice(count);
}

const system = { role: 'system', content: 'You are an agent.' };
const user = (content: string) => ({ role: 'user', content });
const said = (content: string) => ({ role: 'assistant', content });
const tool = (name: string) => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: { z: { type: 'string' }, a: {} } } },
});
const tools = [tool('look'), tool('find')];
const calling = (id: string) => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name: 'look', arguments: '{"z": "1", "a": 2.50}' } }],
});
const step = [
  calling('functions.look:0'),
  { role: 'tool', tool_call_id: 'functions.look:0', content: '{"b":1,"a":2}' },
];

test.each(['openai', 'anthropic', 'google', 'qwen', 'xai'])(
  '%s: the same request is the same bytes',
  async (model) => {
    const messages = [system, user('Look at this.'), ...step, user('And now?')];
    const more = { tools, tool_choice: 'auto', temperature: 0.5 };
    const [first] = await send(model, messages, more);
    const [second] = await send(model, messages, more);
    expect(first?.body.length).toBeGreaterThan(100);
    expect(second?.body).toBe(first?.body as string);
  },
);

test.each([
  ['anthropic', 4],
  ['qwen', 3],
  ['google', 0],
  ['openai', 0],
  ['unmarked', 0],
  ['unpriced', 0],
])('%s: a conversation has %i breakpoints, and a first question has none', async (model, count) => {
  const marksIn = (calls: readonly Received[]) =>
    calls.map(({ body }) => [...body.matchAll(/"cache_control":\{"type":"ephemeral"\}/g)].length);
  expect(marksIn(await send(model, [system, user('Look.'), ...step], { tools }))).toEqual([count]);
  expect(marksIn(await send(model, [system, user('Look.')]))).toEqual([0]);
});

test('the price of writes is held where the request can cause them', async () => {
  const { key: poor } = await fixture.customer('0.000001');
  const needed = async (model: string, more: Fields) => {
    const messages = [user('word '.repeat(20_000))];
    const refusal = await send(model, messages, { max_tokens: 1, ...more }, poor).catch(String);
    const [, dollars = ''] = /^Error: 402: .*may cost up to \$([\d.]+);/.exec(String(refusal)) ?? [];
    return Number(dollars);
  };
  const [plain, withTools] = [await needed('unmarked', {}), await needed('unmarked', { tools })];
  expect(plain).toBeGreaterThan(0.01);
  expect(await needed('anthropic', {})).toBe(plain);
  expect((await needed('anthropic', { tools })) / withTools).toBeCloseTo(1.25, 2);
  expect((await needed('openai', {})) / plain).toBeCloseTo(1.25, 2);
});

describe.each(['openai', 'xai'])('the cache key for %s', (model) => {
  async function keyOf(...[messages, more, from]: DropFirst<Parameters<typeof send>>) {
    const [call] = await send(model, messages, more, from);
    const inBody = (JSON.parse(call?.body ?? '{}') as { prompt_cache_key?: string }).prompt_cache_key;
    const found = inBody ?? call?.headers.get('x-grok-conv-id') ?? null;
    // Neither the log nor the database may have it.
    if (found !== null) fixture.canaries.add(found);
    return found;
  }

  test('is that of the account and the conversation, in all its turns', async () => {
    const opening = [system, user('Look at this.')];
    const first = await keyOf(opening, { tools });
    expect(first).toMatch(/^[\w-]{43}$/);
    expect(await keyOf([...opening, ...step], { tools })).toBe(first);
    expect(await keyOf([...opening, ...step, said('Yes.'), user('Sure?')], { tools })).toBe(first);
    const others = [
      await keyOf([system, user('Look at that.')], { tools }),
      await keyOf([user('Look at this.')], { tools }),
      await keyOf([...opening, ...step], { tools: tools.slice(1) }),
      await keyOf(opening, { tools }, otherKey),
    ];
    expect(new Set([first, ...others]).size).toBe(5);
  });

  test('is left out of a single question, for which the vendor finds what many have in common', async () => {
    expect(await keyOf([system, user('Look at this.')])).toBeNull();
  });
});

type DropFirst<List extends unknown[]> = List extends [unknown, ...infer Rest] ? Rest : never;

describe('after a fallback', () => {
  const providersOf = (calls: readonly Received[]) => calls.map(({ provider }) => provider);

  test('a conversation stays with the provider that took over, and no other does', async () => {
    const turns: object[] = [system, user('Look at the first thing.')];
    failing.add('first');
    expect(providersOf(await send('twofold', turns, { tools }))).toEqual(['first', 'second']);
    failing.clear();

    turns.push(...step);
    const again = await send('twofold', turns, { tools });
    expect(providersOf(again)).toEqual(['second']);
    // Each provider gets what it takes, whichever order they are called in.
    expect(again[0]?.body).not.toContain('prompt_cache_key');
    turns.push(said('It is small.'), user('Are you sure?'));
    expect(providersOf(await send('twofold', turns, { tools, stream: true }))).toEqual(['second']);

    expect(providersOf(await send('twofold', turns, { tools }, otherKey))).toEqual(['first']);
    const another = [system, user('Look at the second thing.')];
    expect(providersOf(await send('twofold', another, { tools }))).toEqual(['first']);
    expect(providersOf(await send('twofold', turns.slice(0, 2)))).toEqual(['first']);

    failing.add('second');
    turns.push(said('Yes.'), user('Really?'));
    expect(providersOf(await send('twofold', turns, { tools }))).toEqual(['second', 'first']);
    failing.clear();
    expect(providersOf(await send('twofold', turns, { tools }))).toEqual(['first']);
  });

  test('so does a streamed one', async () => {
    const turns = [user('Tell me more.'), said('Of what?'), user('Of that.')];
    failing.add('first');
    expect(providersOf(await send('twofold', turns, { stream: true }))).toEqual(['first', 'second']);
    failing.clear();
    const next = [...turns, said('Well.'), user('Go on.')];
    expect(providersOf(await send('twofold', next, { stream: true }))).toEqual(['second']);
  });
});
