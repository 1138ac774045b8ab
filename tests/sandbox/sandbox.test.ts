import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { constants, gunzipSync, inflateSync } from 'node:zlib';
import fc from 'fast-check';
import OpenAI from 'openai';
import { answerChat } from '../../sandbox/chat-answer.ts';
import { gzipWrites } from '../../sandbox/gzip.ts';
import { readOpenaiChat } from '../../sandbox/openai-request.ts';
import { openai } from '../../sandbox/openai-wire.ts';
import { sample } from '../../sandbox/sample.ts';
import { directives, readDirectives } from '../../sandbox/scenario.ts';
import { startSandbox } from '../../sandbox/server.ts';
import { planStream } from '../../sandbox/stream-plan.ts';
import { padText } from '../../sandbox/transfer.ts';
import { countUsage, spoilUsage } from '../../sandbox/usage.ts';
import { eventually } from '../support/eventually.ts';

const sandbox = startSandbox({ keepEntries: 1000 });
afterAll(() => sandbox.stop());

const key = { authorization: 'Bearer any-key' };

type Body = Record<string, unknown>;

function post(path: string, body: unknown, init: RequestInit = {}): Promise<Response> {
  const headers = { ...key, 'content-type': 'application/json', ...init.headers };
  return fetch(`${sandbox.url}${path}`, { ...init, method: 'POST', headers, body: JSON.stringify(body) });
}

function chat(content: unknown, more: Body = {}, init: RequestInit = {}): Promise<Response> {
  const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content }], ...more };
  return post('/v1/chat/completions', body, init);
}

const streamed = { stream: true, stream_options: { include_usage: true } };

async function answer(content: unknown, more: Body = {}) {
  const response = await chat(content, more);
  expect(response.status).toBe(200);
  return (await response.json()) as OpenAI.ChatCompletion;
}

/** The data of each event, by the rules of the event stream format. */
function eventsOf(text: string): string[] {
  return text
    .replaceAll('\r\n', '\n')
    .split('\n\n')
    .slice(0, -1)
    .map((event) =>
      event
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).replace(/^ /, ''))
        .join('\n'),
    );
}

async function events(content: unknown, more: Body = {}): Promise<string[]> {
  const response = await chat(content, { ...streamed, ...more });
  expect(response.status).toBe(200);
  return eventsOf(await response.text());
}

function chunksOf(payloads: string[]): OpenAI.ChatCompletionChunk[] {
  return payloads
    .filter((payload) => payload.startsWith('{"') || payload.startsWith('{\n'))
    .map((payload) => JSON.parse(payload));
}

function contentOf(payloads: string[]): string {
  return chunksOf(payloads)
    .map((chunk) => chunk.choices[0]?.delta.content ?? '')
    .join('');
}

function fails(promise: Promise<unknown>): Promise<boolean> {
  return promise.then(
    () => false,
    () => true,
  );
}

type Seen = { text: string; reads: string[]; closed: 'end' | 'reset' | 'open' };

/** Speaks HTTP by hand, to see what is really on the wire. */
function connect(
  content: string,
  more: Body,
  handler: Bun.SocketHandler<unknown>,
): Promise<Bun.Socket<unknown>> {
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content }], ...more });
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    'host: sandbox',
    'authorization: Bearer any-key',
    'connection: close',
    `content-length: ${Buffer.byteLength(body)}`,
  ].join('\r\n');
  const open = (socket: Bun.Socket<unknown>) => void socket.write(`${head}\r\n\r\n${body}`);
  return Bun.connect({ hostname: '127.0.0.1', port: sandbox.port, socket: { data() {}, ...handler, open } });
}

/** Until the connection is closed, or until this much has come and nothing more does for a while. */
async function raw(content: string, more: Body = {}, isAll?: (text: string) => boolean): Promise<Seen> {
  const reads: string[] = [];
  const { promise, resolve } = Promise.withResolvers<Seen['closed']>();
  const socket = await connect(content, more, {
    data: (_, data) => void reads.push(data.toString()),
    close: (_, error) => resolve(error ? 'reset' : 'end'),
  });
  const silence = async () => {
    if (isAll === undefined) return await promise;
    await eventually('the answer has come as far as it goes', () => isAll(reads.join('')));
    await Bun.sleep(quietMs);
    return 'open' as const;
  };
  const closed = await Promise.race([promise, silence()]);
  // In order: a reset would overtake a request that has not been read yet.
  socket.end();
  return { text: reads.join(''), reads, closed };
}

/** Long enough for a connection on this machine to be closed by mistake. */
const quietMs = 100;
const isAnything = () => true;

async function lastEntry(matches: string) {
  const find = () => sandbox.entries.findLast(({ body }) => JSON.stringify(body)?.includes(matches));
  await eventually(`an entry with ${matches} is logged`, () => find() !== undefined);
  const entry = find();
  if (entry === undefined) throw new Error('The entry has gone.');
  return entry;
}

describe('chat', () => {
  test('answers JSON in the wire format, extras included', async () => {
    const completion = await answer('Hello, world');
    expect(completion).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-/),
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'gpt-4o-mini',
      system_fingerprint: 'fp_sandbox',
      service_tier: 'default',
      choices: [
        {
          index: 0,
          finish_reason: 'stop',
          logprobs: null,
          message: { role: 'assistant', content: 'You said: Hello, world' },
        },
      ],
    });
    // 12 bytes of text are 3 tokens, and the message 4 more; the reply has four words.
    expect(completion.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 4, total_tokens: 11 });
  });

  test('streams the same text, one piece an event, then finish, usage and [DONE]', async () => {
    const payloads = await events('Hello, world');
    const chunks = chunksOf(payloads);
    expect(payloads.at(-1)).toBe('[DONE]');
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content)).toEqual([
      '',
      'You',
      ' said:',
      ' Hello,',
      ' world',
      undefined,
      undefined,
    ]);
    expect(chunks[0]?.choices[0]?.delta.role).toBe('assistant');
    expect(chunks.map((chunk) => chunk.choices[0]?.finish_reason)).toEqual([
      ...Array<null>(5).fill(null),
      'stop',
      undefined,
    ]);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 4 } });
  });

  test('streams no usage unless asked', async () => {
    const payloads = await events('Hello', { stream_options: null });
    expect(payloads.join()).not.toContain('usage');
    expect(payloads.at(-1)).toBe('[DONE]');
  });

  test('writes each event apart', async () => {
    const { reads, closed } = await raw('[[long 50]] [[chunk-delay 2]]', { stream: true });
    expect(closed).toBe('end');
    expect(reads.length).toBeGreaterThan(45);
  });

  test('honours max_tokens and stop', async () => {
    const short = await answer('one two three', { max_tokens: 3 });
    expect(short.choices[0]).toMatchObject({
      finish_reason: 'length',
      message: { content: 'You said: one' },
    });
    expect(short.usage?.completion_tokens).toBe(3);
    expect((await answer('one two three', { max_completion_tokens: 3 })).choices).toEqual(short.choices);
    const stopped = await answer('one two three', { stop: ['three', 'two'] });
    expect(stopped.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: 'You said: one ' },
    });
  });

  test('counts images and tool results', async () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } };
    const seen = await answer([{ type: 'text', text: 'What?' }, image, image]);
    expect(seen.choices[0]?.message.content).toBe('You said: What? I see 2 images.');
    expect(seen.usage?.prompt_tokens).toBe(2 * 85 + 2 + 4);
    const messages = [
      { role: 'user', content: '[[tool weather]]' },
      {
        role: 'assistant',
        content: null,
        tool_calls: ['a', 'b'].map((id) => ({
          id,
          type: 'function',
          function: { name: 'weather', arguments: '{}' },
        })),
      },
      { role: 'tool', tool_call_id: 'a', content: '21 degrees' },
      { role: 'tool', tool_call_id: 'b', content: 'rain' },
    ];
    const told = await answer('', { messages, tools });
    expect(told.choices[0]?.message.content).toBe('The tools returned: 21 degrees; rain');
  });

  test('answers JSON when told to', async () => {
    const object = await answer('Hi', { response_format: { type: 'json_object' } });
    expect(JSON.parse(object.choices[0]?.message.content ?? '')).toEqual({ reply: 'You said: Hi' });
    const schema = { type: 'object', properties: { kind: { enum: ['a', 'b'] }, count: { type: 'integer' } } };
    const made = await answer('Hi', {
      response_format: { type: 'json_schema', json_schema: { name: 's', schema } },
    });
    expect(JSON.parse(made.choices[0]?.message.content ?? '')).toEqual({ kind: 'a', count: 1 });
  });

  test('the OpenAI SDK reads it', async () => {
    const client = new OpenAI({ baseURL: `${sandbox.url}/v1`, apiKey: 'any-key', maxRetries: 0 });
    const stream = client.chat.completions.stream({
      model: 'sandbox-chat',
      messages: [{ role: 'user', content: 'Hello [[crlf]] [[bytes 3]]' }],
    });
    expect(await stream.finalContent()).toBe('You said: Hello');
  });

  test.each([
    ['no key', {}, '{}', 401],
    ['an invalid key', { authorization: 'Bearer sk-invalid' }, '{}', 401],
    ['no JSON', key, '{', 400],
    ['no messages', key, '{"model":"m","messages":[]}', 400],
    ['a bad message', key, '{"model":"m","messages":[null]}', 400],
    ['no model', key, '{"messages":[{"role":"user","content":"x"}]}', 400],
  ])('refuses %s', async (_, headers, body, status) => {
    const response = await fetch(`${sandbox.url}/v1/chat/completions`, { method: 'POST', headers, body });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({
      error: { type: 'invalid_request_error', message: expect.any(String) },
    });
  });
});

const tools = ['weather', 'time'].map((name) => ({
  type: 'function',
  function: {
    name,
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer' } },
      required: ['city'],
    },
  },
}));
const expectedArguments = '{"city":"sample","days":1}';

describe('tools', () => {
  test('are called by directive or by tool_choice', async () => {
    const choice = { type: 'function', function: { name: 'time' } };
    for (const [text, more, name] of [
      ['[[tool weather]]', {}, 'weather'],
      ['Hi', { tool_choice: choice }, 'time'],
      ['Hi', { tool_choice: 'required' }, 'weather'],
    ] as const) {
      const completion = await answer(text, { tools, ...more });
      expect(completion.choices[0]).toMatchObject({
        finish_reason: 'tool_calls',
        message: {
          content: null,
          tool_calls: [{ type: 'function', function: { name, arguments: expectedArguments } }],
        },
      });
    }
  });

  test('are not called without a reason', async () => {
    for (const [text, more] of [
      ['Hi', { tools }],
      ['[[tool weather]]', {}],
      ['[[tool weather]]', { tools, tool_choice: 'none' }],
    ] as const) {
      expect((await answer(text, more)).choices[0]?.message.tool_calls).toBeUndefined();
    }
  });

  test('are called in parallel, once only if that is asked', async () => {
    const both = await answer('[[tools 3]]', { tools });
    const names = both.choices[0]?.message.tool_calls?.map(
      (call) => 'function' in call && call.function.name,
    );
    expect(names).toEqual(['weather', 'time', 'weather']);
    expect(new Set(both.choices[0]?.message.tool_calls?.map(({ id }) => id)).size).toBe(3);
    const one = await answer('[[tools 3]]', { tools, parallel_tool_calls: false });
    expect(one.choices[0]?.message.tool_calls).toHaveLength(1);
  });

  test('a tool that was not declared can be called', async () => {
    const completion = await answer('[[tool unheard-of]]', { tools });
    expect(completion.choices[0]?.message.tool_calls?.[0]).toMatchObject({
      function: { name: 'unheard-of', arguments: '{}' },
    });
  });

  test.each([
    ['in order', '[[tools 2]]', [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]],
    ['interleaved', '[[tools 2]] [[interleave]]', [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]],
  ])('stream %s', async (_, text, order) => {
    const payloads = await events(text, { tools });
    const deltas = chunksOf(payloads).flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []);
    expect(deltas.map(({ index }) => index)).toEqual(order);
    for (const [index, name] of ['weather', 'time'].entries()) {
      const own = deltas.filter((delta) => delta.index === index);
      expect(own[0]).toMatchObject({
        id: expect.stringMatching(/^call_/),
        type: 'function',
        function: { name, arguments: '' },
      });
      expect(own.slice(1).every((delta) => delta.id === undefined)).toBe(true);
      expect(own.map((delta) => delta.function?.arguments).join('')).toBe(expectedArguments);
    }
    const finish = chunksOf(payloads).at(-2);
    expect(finish?.choices[0]?.finish_reason).toBe('tool_calls');
    expect(chunksOf(payloads).at(-1)?.usage?.completion_tokens).toBe(10);
  });
});

describe('instead of an answer', () => {
  test('status, retry-after', async () => {
    const response = await chat('[[status 429]] [[retry-after 7]]');
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('7');
    expect(await response.json()).toMatchObject({ error: { code: 'rate_limit_exceeded' } });
    expect((await chat('[[status 204]]')).status).toBe(204);
  });

  test('flaky', async () => {
    const statuses = [];
    for (let time = 0; time < 3; time += 1) statuses.push((await chat('[[flaky 2 503 mine]]')).status);
    expect(statuses).toEqual([503, 503, 200]);
    expect((await chat('[[flaky 2 503 other]]')).status).toBe(503);
  });

  test('fail-first, once for each request of a gateway’s client', async () => {
    const status = async (id: string | null) => {
      const headers = id === null ? {} : { 'x-client-request-id': id };
      return (await chat('[[fail-first 503]]', {}, { headers })).status;
    };
    expect([await status('a'), await status('b'), await status('a'), await status('b')]).toEqual([
      503, 503, 200, 200,
    ]);
    expect([await status(null), await status(null)]).toEqual([503, 503]);
  });

  test('html, error-body, not-json, redirect', async () => {
    const page = await chat('[[html 502]]');
    expect([page.status, page.headers.get('content-type')]).toEqual([502, 'text/html']);
    expect(await (await chat('[[error-body]]')).json()).toMatchObject({ error: { type: 'server_error' } });
    const text = await chat('[[not-json]]');
    expect(text.status).toBe(200);
    expect(await fails(text.json())).toBe(true);
    const redirect = await chat('[[redirect]]', {}, { redirect: 'manual' });
    expect([redirect.status, redirect.headers.get('location')]).toEqual([302, '/v1/redirected']);
  });

  test.each([true, false])('close resets before any byte (stream: %p)', async (stream) => {
    expect(await raw('[[close]]', { stream })).toEqual({ text: '', reads: [], closed: 'reset' });
    expect(await fails(chat('[[close]]', { stream }))).toBe(true);
  });

  test('hang says nothing until the client leaves', async () => {
    expect(await raw('[[hang]] unique-hang', {}, isAnything)).toEqual({
      text: '',
      reads: [],
      closed: 'open',
    });
    expect(await lastEntry('unique-hang')).toMatchObject({ status: null, ended: 'client_gone', usage: null });
  });

  test('an unknown directive or a bad value is refused', async () => {
    for (const text of [
      '[[statsu 429]]',
      '[[status abc]]',
      '[[cut]]',
      '[[hang 1]]',
      '[[bad-usage odd]]',
      '[[bytes 0]]',
      '[[cached]]',
      '[[cached -1]]',
      '[[cache-write]]',
      '[[cache-write 900 2h]]',
      '[[cache-write 1h]]',
      '[[cache-write 9.5]]',
      '[[usage-contradiction 1]]',
      '[[huge 0]]',
      '[[cut somewhere]]',
      '[[chunk-delay finish]]',
    ]) {
      expect((await chat(text)).status).toBe(400);
    }
  });
});

describe('time', () => {
  test('delay comes before the headers, chunk-delay between chunks', async () => {
    let started = performance.now();
    await chat('[[delay 60]]', streamed);
    expect(performance.now() - started).toBeGreaterThan(55);
    started = performance.now();
    const response = await chat('[[chunk-delay 20]] [[long 4]]', streamed);
    const headersMs = performance.now() - started;
    await response.text();
    expect(performance.now() - started - headersMs).toBeGreaterThan(90);
  });

  test('a client that leaves during a delay is noticed', async () => {
    await raw('[[delay 60000]] unique-delay', {}, isAnything);
    expect(await lastEntry('unique-delay')).toMatchObject({ status: null, ended: 'client_gone' });
  });
});

describe('what is said', () => {
  test('say, long, repeat, finish', async () => {
    expect(contentOf(await events('a [[say Exactly  this, é\n]] b'))).toBe('Exactly  this, é\n');
    const long = await answer('[[long 500]]');
    expect(long.usage?.completion_tokens).toBe(500);
    expect(long.choices[0]?.message.content).toStartWith('The quick brown fox');
    const repeated = chunksOf(await events('[[repeat 200]]')).map((chunk) => chunk.choices[0]?.delta.content);
    expect(repeated.filter((content) => content === ' again')).toHaveLength(200);
    expect((await answer('[[finish content_filter]]')).choices[0]?.finish_reason as string).toBe(
      'content_filter',
    );
  });
});

describe('usage', () => {
  test.each([
    ['[[usage 10 20]]', { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 }],
    ['[[zero-usage]]', { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }],
    [
      '[[long 5]] [[reasoning 50]]',
      { completion_tokens: 55, completion_tokens_details: { reasoning_tokens: 50 } },
    ],
    ['[[usage 3 4]] [[bad-usage negative]]', { prompt_tokens: -3 }],
    ['[[usage 3 4]] [[bad-usage fraction]]', { completion_tokens: 4.5 }],
    ['[[usage 3 4]] [[bad-usage string]]', { completion_tokens: '4' }],
    ['[[usage 3 4]] [[bad-usage total]]', { total_tokens: 8 }],
  ])('%s', async (text, usage) => {
    expect((await answer(text)).usage as unknown).toMatchObject(usage);
    expect(chunksOf(await events(text)).at(-1)?.usage as unknown).toMatchObject(usage);
  });

  test('can be missing, whole or in part', async () => {
    expect(await answer('[[no-usage]]')).not.toHaveProperty('usage');
    expect((await events('[[no-usage]]')).join()).not.toContain('"usage"');
    expect((await answer('[[usage 3 4]] [[bad-usage partial]]')).usage as unknown).toEqual({
      prompt_tokens: 3,
    });
  });
});

describe('transfer of a stream', () => {
  const contentCount = (text: string) => text.split('"delta":{"content"').length - 1;

  test('cut resets the connection after that many chunks', async () => {
    const { text, closed } = await raw('[[cut 3]] [[long 9]] unique-cut', streamed);
    expect(closed).toBe('reset');
    expect(contentCount(text)).toBe(3);
    expect(text).not.toEndWith('0\r\n\r\n');
    const response = await chat('[[cut 0]]', streamed);
    expect(response.status).toBe(200);
    expect(await fails(response.text())).toBe(true);
    expect(await lastEntry('unique-cut')).toMatchObject({ status: 200, ended: 'cut', usage: null });
  });

  test('end is a clean end without finish, usage or [DONE]', async () => {
    const { text, closed } = await raw('[[end 3]] [[long 9]]', streamed);
    expect(closed).toBe('end');
    expect(contentCount(text)).toBe(3);
    expect(text).toEndWith('0\r\n\r\n');
    expect(text).not.toMatch(/\[DONE\]|"usage"|"finish_reason":"/);
  });

  test('stall sends that many chunks, then nothing', async () => {
    const { text, closed } = await raw(
      '[[stall 2]] [[long 9]] unique-stall',
      streamed,
      (sent) => contentCount(sent) === 2,
    );
    expect(closed).toBe('open');
    expect(contentCount(text)).toBe(2);
    expect(await lastEntry('unique-stall')).toMatchObject({ ended: 'client_gone', usage: null });
  });

  test('malformed, error-event, empty, no-done', async () => {
    expect((await events('[[malformed 3]] [[long 9]]')).indexOf('{broken')).toBe(4);
    expect((await events('[[malformed 3 list]] [[long 9]]')).indexOf('["broken"]')).toBe(4);
    for (const more of ['', '[[burst]]', '[[crlf]]']) {
      const spoilt = Buffer.from(await (await chat(`[[malformed 3 utf-8]] ${more}`, streamed)).bytes());
      expect([more, spoilt.filter((byte) => byte === 0xff).length]).toEqual([more, 1]);
    }
    const failed = await events('[[error-event 3]] [[long 9]]');
    expect(failed).toHaveLength(6);
    expect(JSON.parse(failed[4] ?? '')).toMatchObject({ error: { type: 'server_error' } });
    const empty = await chat('[[empty]]', streamed);
    expect(empty.headers.get('content-type')).toStartWith('text/event-stream');
    expect([empty.status, await empty.text()]).toEqual([200, '']);
    const open = await events('[[no-done]]');
    expect(chunksOf(open.slice(-1))[0]?.usage).toBeDefined();
  });

  test('wrong-type', async () => {
    expect((await chat('[[wrong-type]]', streamed)).headers.get('content-type')).toBe('application/json');
    expect((await chat('[[wrong-type]]')).headers.get('content-type')).toBe('text/event-stream');
  });

  test.each(['[[crlf]]', '[[bytes 1]]', '[[burst]]', '[[crlf]] [[bytes 7]]'])(
    '%s carries the same events',
    async (how) => {
      const payloads = await events(`Grüße 👋 ${how}`);
      expect(contentOf(payloads)).toBe('You said: Grüße 👋');
      expect(chunksOf(payloads).at(-1)?.usage).toBeDefined();
      expect(payloads.at(-1)).toBe('[DONE]');
    },
  );

  test('crlf and bytes look as they should on the wire', async () => {
    const text = await (await chat('[[crlf]]', streamed)).text();
    expect(text).toStartWith(': a comment\r\ndata:{\r\ndata: "id"');
    const { text: wire } = await raw('[[bytes 1]]', streamed);
    expect(wire).toContain('\r\n1\r\nd\r\n1\r\na\r\n1\r\nt\r\n');
  });

  test('stops when the client leaves', async () => {
    await raw('[[chunk-delay 5]] [[long 100000]] unique-leaves', streamed, (text) => text !== '');
    expect(await lastEntry('unique-leaves')).toMatchObject({ ended: 'client_gone', usage: null });
  });

  test('waits for a client that does not read', async () => {
    // About 14 MB, far more than the buffers between the two hold.
    const reader = await connect('[[long 60000]] [[bytes 100000]] unique-reader', { stream: true }, {});
    reader.pause();
    await Bun.sleep(400);
    const isLogged = sandbox.entries.some(({ body }) => JSON.stringify(body)?.includes('unique-reader'));
    expect(isLogged).toBe(false);
    reader.terminate();
    expect(await lastEntry('unique-reader')).toMatchObject({ ended: 'client_gone' });
  });
});

describe('transfer of JSON', () => {
  test('cut, stall, end, malformed, empty, bytes', async () => {
    const cut = await raw('[[cut 1]]');
    expect(cut.closed).toBe('reset');
    expect(cut.text).toContain('{"id":"chatcmpl-');
    expect((await raw('[[stall 1]]', {}, (text) => text.includes('chatcmpl-'))).closed).toBe('open');
    expect(await fails((await chat('[[end 1]]')).json())).toBe(true);
    expect(await fails((await chat('[[malformed 1]]')).json())).toBe(true);
    expect(await (await chat('[[empty]]')).text()).toBe('');
    expect((await answer('Hi [[bytes 9]]')).choices[0]?.message.content).toBe('You said: Hi');
  });
});

describe('images', () => {
  async function generate(prompt: string, more: Body = {}): Promise<Response> {
    return post('/v1/images/generations', { model: 'sandbox-image', prompt, ...more });
  }

  test('are real PNG files of the size asked for, the same for the same prompt', async () => {
    const body = (await (
      await generate('A tree', { n: 2, size: '640x360' })
    ).json()) as OpenAI.ImagesResponse;
    const urls = body.data?.map(({ url }) => url ?? '') ?? [];
    expect(new Set(urls).size).toBe(2);
    const image = await fetch(urls[0] ?? '');
    expect(image.headers.get('content-type')).toBe('image/png');
    const png = Buffer.from(await image.arrayBuffer());
    expect(png.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([640, 360]);
    const dataStart = png.indexOf('IDAT');
    const pixels = inflateSync(png.subarray(dataStart + 4, dataStart + 4 + png.readUInt32BE(dataStart - 4)));
    expect(pixels).toHaveLength(641 * 360);
    const again = (await (
      await generate('A tree', { n: 2, size: '640x360' })
    ).json()) as OpenAI.ImagesResponse;
    expect(again.data?.map(({ url }) => url ?? '')).toEqual(urls);
    expect(await lastEntry('A tree')).toMatchObject({ path: '/v1/images/generations', usage: { images: 2 } });
  });

  test('obey directives, and refuse what is wrong', async () => {
    const fewer = (await (await generate('[[fewer 1]]', { n: 3 })).json()) as OpenAI.ImagesResponse;
    expect(fewer.data).toHaveLength(2);
    expect((await generate('[[status 500]]')).status).toBe(500);
    for (const wrong of [{ size: 'big' }, { size: '9999x1' }, { n: 0 }, { prompt: '' }]) {
      expect((await generate('A tree', wrong)).status).toBe(400);
    }
    expect((await fetch(`${sandbox.url}/images/other.png`)).status).toBe(404);
  });
});

describe('decisions', () => {
  const questions = {
    route: { type: 'choice', instructions: 'Where to?', criteria: { left: 'L', right: 'R', back: 'B' } },
    safe: { type: 'noul', instructions: 'It is safe.' },
    grade: { type: 'score', instructions: 'How good?', criteria: ['bad', 'fair', 'good'] },
  };
  type Answers = Record<
    string,
    { probabilities: Record<string, number>; noul: number; score: number; choice: string }
  >;

  function decide(more: Body = {}): Promise<Response> {
    return post('/v1/decisions', { model: 'decision-latest', state: { speed: 3 }, questions, ...more });
  }

  test('answer each question by its type, the same each time', async () => {
    const text = await (await decide()).text();
    expect(await (await decide()).text()).toBe(text);
    const body = JSON.parse(text) as { answers: Answers; usage: unknown; model: string };
    expect(body).toMatchObject({ model: 'sandbox-decision-2026-11-01', usage: { output_tokens: 24 } });
    expect(Object.keys(body.answers)).toEqual(['route', 'safe', 'grade']);
    const { route, safe, grade } = body.answers;
    for (const part of [route, grade]) {
      const sum = Object.values(part?.probabilities ?? {}).reduce((total, share) => total + share, 0);
      expect(sum).toBeCloseTo(1, 9);
    }
    expect(Object.keys(questions.route.criteria)).toContain(route?.choice ?? '');
    expect(safe?.noul).toBeWithin(0, 1.0001);
    expect(grade?.score).toBeWithin(0, 2.0001);
    expect(grade).toMatchObject({ legend: { 0: 'bad', 1: 'fair', 2: 'good' } });
  });

  test('obey directives, and refuse what is wrong', async () => {
    const asking = (directive: string) => ({ safe: { type: 'noul', instructions: `Is it? ${directive}` } });
    expect((await decide({ questions: asking('[[status 529]]') })).status).toBe(529);
    const missing = (await (await decide({ questions: asking('[[bad-answer missing]]') })).json()) as Body;
    expect(missing.answers).toEqual({});
    const type = (await (await decide({ questions: asking('[[bad-answer type]]') })).json()) as Body;
    expect(type.answers).toMatchObject({ safe: { type: 'other' } });
    const share = (await (await decide({ questions: asking('[[bad-answer probability]]') })).json()) as Body;
    expect(share.answers).toMatchObject({ safe: { noul: 1.5 } });
    const charged = (await (await decide({ questions: asking('[[charge 0.0012]]') })).json()) as Body;
    expect(charged.charge).toEqual({ amount: 0.0012, currency: 'USD' });
    expect(await (await decide()).json()).not.toHaveProperty('charge');
    for (const wrong of [
      { state: 'x' },
      { questions: {} },
      { questions: { a: { type: 'noul' } } },
      { questions: asking('[[charge -1]]') },
      { questions: { a: { type: 'noul', instructions: 'x', weight: 1 } } },
      { stream: true },
    ]) {
      expect((await decide(wrong)).status).toBe(400);
    }
  });
});

test('models, health, and paths that do not exist', async () => {
  const models = (await (await fetch(`${sandbox.url}/v1/models`, { headers: key })).json()) as {
    data: { id: string }[];
  };
  expect(models.data.map(({ id }) => id)).toEqual(['sandbox-chat', 'sandbox-image', 'sandbox-video']);
  expect(await (await fetch(`${sandbox.url}/healthz`)).json()).toEqual({ sandbox: true });
  expect((await fetch(`${sandbox.url}/v1/models`)).status).toBe(401);
  expect((await fetch(`${sandbox.url}/v1/other`)).status).toBe(404);
  expect((await fetch(`${sandbox.url}/v1/chat/completions`)).status).toBe(404);
});

describe('directives', () => {
  test('are all in the documentation, and no others', () => {
    const page = readFileSync(new URL('../../docs/sandbox.md', import.meta.url), 'utf8');
    const documented = [...page.matchAll(/^\| `\[\[([a-z-]+)/gm)].map(([, name]) => name);
    expect(documented.toSorted()).toEqual(Object.keys(directives).toSorted());
  });

  test('are read apart from the text around them', () => {
    expect(readDirectives('a [[cut 3]] b [[ [[delay 5]] c]] [[')).toEqual({
      scenario: { cut: 3, delay: 5 },
      written: ['cut 3', 'delay 5'],
      plainText: 'a  b [[  c]] [[',
    });
  });

  test('can hold for every request, and then those of a request take their place', async () => {
    const failing = startSandbox({ directives: '[[status 503]] [[say always]]', keepEntries: 10 });
    const ask = async (path: string, body: Body) => {
      const options = { method: 'POST', headers: key, body: JSON.stringify({ model: 'm', ...body }) };
      const response = await fetch(`${failing.url}${path}`, options);
      return { status: response.status, text: await response.text() };
    };
    const say = (content: string) => ask('/v1/chat/completions', { messages: [{ role: 'user', content }] });
    try {
      expect((await say('Hi')).status).toBe(503);
      expect((await ask('/v1/images/generations', { prompt: 'A tree' })).status).toBe(503);
      expect((await chat('Hi')).status).toBe(200);
      expect((await say('[[status 429]]')).status).toBe(429);
      expect(failing.entries.at(-1)?.directives).toEqual(['status 503', 'say always', 'status 429']);
      expect(() => {
        failing.directives = '[status 500]';
      }).toThrow('not a directive');
      expect(() => {
        failing.directives = '[[statsu 500]]';
      }).toThrow();
      expect(failing.directives).toBe('[[status 503]] [[say always]]');

      failing.directives = '[[say now and then]]';
      expect((await say('Hi')).text).toContain('"content":"now and then"');
      expect((await say('[[say this]]')).text).toContain('"content":"this"');
      failing.directives = '';
      expect((await say('Hi')).text).toContain('"content":"You said: Hi"');
    } finally {
      await failing.stop();
    }
  });

  test('are read in linear time: the square of this length would take hours', () => {
    expect(readDirectives('[[a '.repeat(500_000))).toBeDefined();
    expect(readDirectives(']]'.repeat(500_000))).toBeDefined();
  });
});

test('a megabyte of padding is kept in memory once', () => {
  const writes = padText('{"a":1}', 500);
  expect(writes).toHaveLength(502);
  expect(new Set(writes).size).toBe(3);
  const text = padText('data: {"a":1}\n\n', 2).map(String).join('');
  expect(JSON.parse(text.slice(6))).toEqual({ padding: 'x'.repeat(2_000_000), a: 1 });
});

test('what is compressed can be read as far as it has arrived', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1 }), fc.nat(), (texts, cut) => {
      const writes = gzipWrites(texts, true).map(Buffer.from);
      expect(gunzipSync(Buffer.concat(writes)).toString()).toBe(texts.join(''));
      const count = 1 + (cut % texts.length);
      const begun = gzipWrites(texts.slice(0, count), false).map(Buffer.from);
      const flush = { finishFlush: constants.Z_SYNC_FLUSH };
      expect(gunzipSync(Buffer.concat(begun), flush).toString()).toBe(texts.slice(0, count).join(''));
    }),
  );
});

test('of what is reported, a part is never more than the whole', () => {
  const request = readOpenaiChat({ model: 'm', messages: [{ role: 'user', content: 'x' }] });
  const counts = (text: string) => {
    const reading = readDirectives(text);
    return countUsage(request, answerChat(request, reading), reading.scenario);
  };
  const none = { writtenTokens: 0, writtenLongTokens: 0, reasoningTokens: 0 };
  expect(counts('[[usage 3 4]] [[cached 9]] [[cache-write 9]] [[reasoning 9]]')).toEqual({
    ...none,
    inputTokens: 3,
    outputTokens: 4,
    cachedTokens: 3,
    reasoningTokens: 4,
  });
  expect(counts('[[usage 9 4]] [[cached 2]] [[cache-write 9 1h]]')).toEqual({
    ...none,
    inputTokens: 9,
    outputTokens: 4,
    cachedTokens: 2,
    writtenLongTokens: 7,
  });
  const usage = { input_tokens: 1, output_tokens: 2 };
  expect(spoilUsage(usage, { input: 'input_tokens', output: 'output_tokens', total: null }, 'total')).toBe(
    usage,
  );
});

test.each([
  ['', 4, 'complete'],
  ['[[huge 5]]', 10, 'complete'],
  ['[[malformed 1]]', 5, 'complete'],
  ['[[malformed usage]]', 4, 'complete'],
  ['[[no-done]]', 4, 'ended_early'],
  ['[[burst]]', 0, 'complete'],
  ['[[bytes 5]]', 0, 'complete'],
  ['[[cut usage]]', 4, 'cut'],
  ['[[cut finish]]', null, 'cut'],
])('the write that tells the usage is known: %s', (text, index, ended) => {
  const { scenario } = readDirectives(text);
  const outline = {
    payloads: ['{"role":1}', '{"a":1}', '{"b":1}', '{"finish":1}', '{"usage":1}'],
    upToContent: (count: number) => 1 + count,
    upToFinish: 4,
    end: '[DONE]',
  };
  const { writes, usage, isComplete, ending } = planStream(openai, outline, { tokens: 1 }, scenario, 1);
  expect(usage?.writeIndex ?? null).toBe(index);
  if (index) expect(writes[index]).toBe('data: {"usage":1}\n\n');
  expect(ending === 'reset' ? 'cut' : isComplete ? 'complete' : 'ended_early').toBe(ended);
  // A cut also cuts the compressed data.
  const compressed = planStream(openai, outline, null, { ...scenario, gzip: true }, 1).writes.map(
    Buffer.from,
  );
  const unpack = () => gunzipSync(Buffer.concat(compressed));
  if (ended === 'cut') expect(unpack).toThrow();
  else expect(unpack().toString()).toBe(writes.map((write) => Buffer.from(write).toString()).join(''));
});

test('samples fit their schema, also one that refers to itself', () => {
  const node = {
    type: 'object',
    properties: { next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } },
    required: ['next'],
  };
  expect(JSON.stringify(sample({ $defs: { node }, $ref: '#/$defs/node' }))).toContain('null');
  const schema = {
    type: 'object',
    properties: {
      on: { type: 'string', format: 'date' },
      list: { type: 'array', items: { type: 'boolean' } },
      least: { type: 'number', minimum: 7 },
    },
  };
  expect(sample(schema)).toEqual({ on: '2026-11-01', list: [true], least: 7 });
});

describe('the program', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  test('says where it listens, logs a line a request, and goes with its parent', async () => {
    const logFile = join(folder, 'log.jsonl');
    const program = new URL('../../sandbox/main.ts', import.meta.url).pathname;
    const child = Bun.spawn([process.execPath, program, '--log', logFile, '--with-parent'], {
      stdin: 'pipe',
      stdout: 'pipe',
    });
    const { value } = await child.stdout.getReader().read();
    const { url, ...line } = JSON.parse(Buffer.from(value ?? []).toString());
    expect(line).toEqual({ sandbox: 'listening', port: Number(new URL(url).port) });

    const identifiers = {
      'x-request-id': 'req_1',
      'x-client-request-id': 'mine',
      'x-tollgate-generation': 'req_2',
    };
    const ask = (content: string, more: Body) =>
      fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { ...key, ...identifiers },
        body: JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content }], ...more }),
      });
    await (await ask('Hello', {})).text();
    const reader = (await ask('[[usage 8 9]] [[chunk-delay 40]]', streamed)).body?.getReader();
    // The line is there as soon as the client sees the usage, before the stream has ended.
    for (let seen = ''; !seen.includes('"usage":{'); ) {
      seen += Buffer.from((await reader?.read())?.value ?? []).toString();
    }
    const lines = readFileSync(logFile, 'utf8').trim().split('\n');
    const common = {
      request_id: 'req_1',
      client_request_id: 'mine',
      generation: 'req_2',
      model: 'sandbox-chat',
      status: 200,
      ended: 'complete',
    };
    expect(lines.map((entry) => JSON.parse(entry))).toEqual([
      expect.objectContaining({ ...common, stream: false, directives: [] }),
      expect.objectContaining({ ...common, stream: true, directives: ['usage 8 9', 'chunk-delay 40'] }),
    ]);
    expect(JSON.parse(lines[1] ?? '').usage).toMatchObject({ prompt_tokens: 8, completion_tokens: 9 });

    await child.stdin.end();
    expect(await child.exited).toBe(0);
  });
});
