/** The sandbox in its formats: the same conversation, the same faults, and each vendor's own strictness. */
import { afterAll, describe, expect, test } from 'bun:test';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { readAnthropicChat } from '../../sandbox/anthropic-request.ts';
import { answerChat } from '../../sandbox/chat-answer.ts';
import { lastUserText } from '../../sandbox/chat-request.ts';
import { readGoogleChat } from '../../sandbox/google-request.ts';
import { readOpenaiChat } from '../../sandbox/openai-request.ts';
import { readResponses } from '../../sandbox/responses-request.ts';
import { type directives, readDirectives } from '../../sandbox/scenario.ts';
import { startSandbox } from '../../sandbox/server.ts';
import { countPromptTokens } from '../../sandbox/usage.ts';
import { eventually } from '../support/eventually.ts';
import {
  anthropic,
  args,
  deep,
  google,
  type Heard,
  type Json,
  list,
  openai,
  parameters,
  responses,
  results,
  type Speaker,
  saying,
  type Talk,
  type Turn,
  tools,
} from '../support/wire-speakers.ts';

const sandbox = startSandbox({ keepEntries: 2000 });
afterAll(() => sandbox.stop());

const speakers = [openai, anthropic, google, responses];
type Frame = { event: string | null; data: string };

function ask(
  speaker: Speaker,
  talk: Talk | string,
  stream = false,
  init: BunFetchRequestInit = {},
  url = sandbox.url,
) {
  const said = typeof talk === 'string' ? saying(talk) : talk;
  return fetch(`${url}${speaker.path(said, stream)}`, {
    method: 'POST',
    headers: speaker.key,
    body: JSON.stringify(speaker.write(said, stream)),
    ...init,
  });
}

/** By the rules of the event stream format. */
function framesOf(text: string): Frame[] {
  const frames: Frame[] = [];
  for (const block of text.split(/\r?\n\r?\n/).slice(0, -1)) {
    const values = (field: string) =>
      block
        .split(/\r?\n/)
        .filter((line) => line.startsWith(`${field}:`))
        .map((line) => line.slice(field.length + 1).replace(/^ /, ''));
    frames.push({ event: values('event')[0] ?? null, data: values('data').join('\n') });
  }
  return frames;
}

function chunksOf(frames: Frame[]): Json[] {
  return frames.flatMap(({ data }) => {
    try {
      return [JSON.parse(data) as Json];
    } catch {
      return [];
    }
  });
}

async function whole(speaker: Speaker, talk: Talk | string): Promise<Heard> {
  const response = await ask(speaker, talk);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
  return speaker.hear(await response.json());
}

async function frames(speaker: Speaker, talk: Talk | string): Promise<Frame[]> {
  const response = await ask(speaker, talk, true);
  expect(response.headers.get('content-type')).toStartWith('text/event-stream');
  return framesOf(await response.text());
}

async function streamed(speaker: Speaker, talk: Talk | string): Promise<Heard> {
  return speaker.hearAll(chunksOf(await frames(speaker, talk)));
}

/** As much of a stream as arrives before it breaks off. */
async function untilBroken(response: Response): Promise<{ text: string; broken: boolean }> {
  let text = '';
  const decoder = new TextDecoder();
  try {
    for await (const bytes of response.body ?? []) text += decoder.decode(bytes, { stream: true });
    return { text, broken: false };
  } catch {
    return { text, broken: true };
  }
}

/** Reads enough, checks that nothing more comes, and leaves. */
async function untilSilent(response: Response, isEnough: (text: string) => boolean): Promise<string> {
  const reader = response.body?.getReader();
  let text = '';
  while (!isEnough(text)) text += Buffer.from((await reader?.read())?.value ?? []).toString();
  const more = await Promise.race([reader?.read(), Bun.sleep(30)]);
  expect(more).toBeUndefined();
  await reader?.cancel();
  return text;
}

function contentCount(speaker: Speaker, text: string): number {
  return chunksOf(framesOf(text)).filter(speaker.isContent).length;
}

async function entryOf(mark: string) {
  const find = () => sandbox.entries.findLast(({ body }) => JSON.stringify(body)?.includes(mark));
  await eventually(`an entry with ${mark} is logged`, () => find() !== undefined);
  const entry = find();
  if (entry === undefined) throw new Error('The entry has gone.');
  return entry;
}

describe('the same conversation is answered the same in each format', () => {
  test.each<[string, Talk, Partial<Heard>]>([
    ['text', saying('Hello, world'), { text: 'You said: Hello, world', calls: [], finish: 'stop' }],
    ['system', { ...saying('Hi'), system: ['Be brief.', 'Be kind.'] }, { text: 'You said: Hi' }],
    ['images', { turns: [{ user: 'What?', images: 2 }] }, { text: 'You said: What? I see 2 images.' }],
    ['cut short', { ...saying('one two three'), maxTokens: 3 }, { text: 'You said: one', finish: 'length' }],
    [
      'a forced call',
      { ...saying('Hi'), tools, force: 'time' },
      { calls: [{ name: 'time', args }], text: '' },
    ],
    [
      'parallel calls',
      { ...saying('[[tools 2]]'), tools },
      {
        calls: [
          { name: 'weather', args },
          { name: 'time', args },
        ],
        finish: 'tool_calls',
      },
    ],
    ['results', { turns: results, tools }, { text: 'The tools returned: 21 degrees; {"hour":7}' }],
    ['JSON', { ...saying('Hi'), schema: parameters }, { text: '{"city":"sample","days":1}' }],
    [
      'earlier words',
      { turns: [{ user: 'a' }, { said: 'b', calls: [] }, { user: 'c' }] },
      { text: 'You said: c' },
    ],
  ])('%s', async (_, talk, expected) => {
    const heard = await Promise.all(
      speakers.map(async (speaker) => {
        const [one, two] = [await whole(speaker, talk), await streamed(speaker, talk)];
        expect(two).toEqual(one);
        const reason = (expected.finish ?? 'stop') as keyof Speaker['finish'];
        if (one.calls.length === 0 || expected.finish) expect(one.finish).toBe(speaker.finish[reason]);
        return { ...one, finish: '' };
      }),
    );
    const { finish: _finish, ...rest } = expected;
    for (const one of heard) expect(one).toMatchObject(rest);
    for (const one of heard) expect(one).toEqual(heard[0] as Heard);
    expect(heard[0]?.usage?.input).toBeGreaterThan(0);
  });

  test('any conversation, by the pure functions', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1 }).map((words) => `.${words}`);
    const calls = fc.uniqueArray(fc.constantFrom('weather', 'time'), { minLength: 1 });
    const turn = fc.oneof(
      fc.record({ user: text, images: fc.nat(2) }).map((user): Turn[] => [user]),
      fc.record({ said: text }).map(({ said }): Turn[] => [{ said, calls: [] }]),
      fc
        .tuple(calls, text, fc.dictionary(fc.string(), fc.jsonValue()))
        .map(([names, result, input]): Turn[] => [
          { user: 'Ask.' },
          { calls: names.map((name) => ({ id: `id-${name}`, name, args: input })) },
          { results: names.map((name) => ({ id: `id-${name}`, name, result })) },
        ]),
    );
    const talk = fc.record({
      // IDs may be used only once, so calls occur in one place only.
      turns: fc
        .tuple(text, turn, text)
        .map(([first, middle, last]): Turn[] => [{ user: first }, ...middle, { user: last }]),
      system: fc.array(text, { maxLength: 2 }),
      tools: fc.constantFrom(undefined, tools),
      maxTokens: fc.integer({ min: 1, max: 9 }),
    });
    fc.assert(
      fc.property(talk, ({ tools: declared, system, ...rest }) => {
        const said: Talk = { ...rest, system, ...(declared && { tools: declared }) };
        const wire = (speaker: Speaker) => JSON.parse(JSON.stringify(speaker.write(said, false)));
        const read = [
          readOpenaiChat(wire(openai)),
          readAnthropicChat(wire(anthropic)),
          // An empty list of instructions is none, but this format has no way to say so.
          readGoogleChat(
            {
              ...wire(google),
              systemInstruction: system.length ? wire(google).systemInstruction : undefined,
            },
            'm',
            false,
          ),
          readResponses(wire(responses)),
        ].map((request) => [
          countPromptTokens(request),
          answerChat(request, readDirectives(lastUserText(request))),
        ]);
        for (const one of read) expect(one).toEqual(read[0] as (typeof read)[1]);
      }),
    );
  });

  test('a stop sequence is named where the vendor names it', async () => {
    const talk = { ...saying('one two three'), stop: ['three', 'two'] };
    for (const speaker of [openai, anthropic, google]) {
      for (const stop of [talk.stop, talk.stop.toReversed()]) {
        expect((await whole(speaker, { ...talk, stop })).text).toBe('You said: one ');
      }
    }
    const body = (await (await ask(anthropic, talk)).json()) as Json;
    expect(body).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'two' });
    expect((await whole(google, talk)).finish).toBe('STOP');
    const short = (await (await ask(anthropic, { ...talk, maxTokens: 1 })).json()) as Json;
    expect(short).toMatchObject({ stop_reason: 'max_tokens', stop_sequence: null });
    const cut = { ...talk, turns: saying('one two three [[finish stop]]').turns, maxTokens: 1 };
    expect(await (await ask(anthropic, cut)).json()).toMatchObject({ stop_reason: 'end_turn' });
  });
});

describe('on the wire', () => {
  test('an Anthropic message and its events, in the documented order', async () => {
    const message = (await (
      await ask(anthropic, { ...saying('Hi [[reasoning 5]] [[cached 2]]') })
    ).json()) as Json;
    expect(message).toMatchObject({
      id: expect.stringMatching(/^msg_/),
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [
        {
          type: 'thinking',
          thinking: expect.stringContaining('sandbox-private-thought'),
          signature: expect.any(String),
        },
        { type: 'text', text: 'You said: Hi' },
      ],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: {
        input_tokens: 10,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 2,
        output_tokens: 8,
        output_tokens_details: { thinking_tokens: 5 },
      },
    });
    const parts = await frames(anthropic, { ...saying('[[tools 1]] [[reasoning 5]]'), tools });
    expect(parts.map(({ event, data }) => [event, deep(JSON.parse(data), 'delta', 'type')])).toEqual([
      ['message_start', undefined],
      ['ping', undefined],
      ['content_block_start', undefined],
      ['content_block_delta', 'thinking_delta'],
      ['content_block_delta', 'thinking_delta'],
      ['content_block_delta', 'signature_delta'],
      ['content_block_stop', undefined],
      ['content_block_start', undefined],
      ...Array<[string, string]>(5).fill(['content_block_delta', 'input_json_delta']),
      ['content_block_stop', undefined],
      ['message_delta', undefined],
      ['message_stop', undefined],
    ]);
    for (const { event, data } of parts) expect(JSON.parse(data).type).toBe(event);
    const [start] = chunksOf(parts);
    expect(deep(start, 'message')).toMatchObject({
      content: [],
      stop_reason: null,
      usage: { output_tokens: 1 },
    });
    expect(deep(chunksOf(parts), 7)).toMatchObject({
      index: 1,
      content_block: {
        type: 'tool_use',
        id: expect.stringMatching(/^toolu_[\w-]+$/),
        name: 'weather',
        input: {},
      },
    });
    expect(chunksOf(parts).at(-2)).toEqual({
      type: 'message_delta',
      delta: { stop_reason: 'tool_use', stop_sequence: null },
      usage: { output_tokens: 10, output_tokens_details: { thinking_tokens: 5 } },
    });
    const text = await (await ask(anthropic, 'Hi', true)).text();
    expect(text).toContain('\n\nevent: ping\ndata: {"type":"ping"}\n\nevent: content_block_start\ndata: {');
    expect(text).toEndWith('event: message_stop\ndata: {"type":"message_stop"}\n\n');
  });

  test('a Gemini answer and its chunks', async () => {
    const answer = (await (await ask(google, 'Hi [[reasoning 5]] [[cached 2]]')).json()) as Json;
    expect(answer).toMatchObject({
      candidates: [
        {
          content: {
            parts: [
              { text: expect.stringContaining('sandbox-private-thought'), thought: true },
              { text: 'You said: Hi' },
            ],
            role: 'model',
          },
          finishReason: 'STOP',
          index: 0,
        },
      ],
      usageMetadata: {
        promptTokenCount: 12,
        candidatesTokenCount: 3,
        thoughtsTokenCount: 5,
        cachedContentTokenCount: 2,
        totalTokenCount: 20,
      },
      modelVersion: 'm',
      responseId: expect.any(String),
    });
    const text = await (await ask(google, 'Hi', true)).text();
    expect(text).toMatch(/^(data: \{[^\r\n]*\}\r\n\r\n)+$/);
    const chunks = chunksOf(framesOf(text));
    // Every chunk has usage, and only that of the last one is complete.
    expect(chunks.map((chunk) => deep(chunk, 'usageMetadata', 'totalTokenCount'))).toEqual([5, 5, 5, 5, 8]);
    expect(chunks.map((chunk) => deep(chunk, 'candidates', 0, 'finishReason'))).toEqual([
      ...Array<undefined>(4).fill(undefined),
      'STOP',
    ]);
    // A count of zero and a list without parts are left out.
    const silent = (await (await ask(google, '[[long 0]]')).json()) as Json;
    expect(deep(silent, 'candidates', 0, 'content')).toEqual({ role: 'model' });
    expect(silent.usageMetadata).not.toHaveProperty('candidatesTokenCount');
  });

  test('calls in Gemini answers come whole; some models sign them and want that back', async () => {
    const talk: Talk = { ...saying('[[tools 2]]'), tools };
    const partsOf = async (said: Talk) =>
      chunksOf(await frames(google, said)).flatMap((chunk) =>
        list(deep(chunk, 'candidates', 0, 'content', 'parts')),
      );
    expect((await partsOf(talk)).slice(1, 3)).toEqual([
      { functionCall: { name: 'weather', args } },
      { functionCall: { name: 'time', args } },
    ]);
    const signed = (await partsOf({ ...talk, model: 'gemini-3-pro' })).slice(1, 3);
    expect(signed).toEqual([
      {
        functionCall: { id: expect.any(String), name: 'weather', args },
        thoughtSignature: expect.any(String),
      },
      { functionCall: { id: expect.any(String), name: 'time', args } },
    ]);
    const thinking = await partsOf({ ...saying('[[tools 2]] [[reasoning 1]]'), tools });
    expect(thinking[2]).toMatchObject({ thoughtSignature: expect.any(String) });

    const followUp = google.write({ turns: results, tools }, false);
    const send = (model: string, contents: unknown) =>
      fetch(`${sandbox.url}/v1beta/models/${model}:generateContent`, {
        method: 'POST',
        headers: google.key,
        body: JSON.stringify({ contents }),
      });
    expect((await send('gemini-2.5-pro', followUp.contents)).status).toBe(200);
    expect((await send('gemini-3-pro', followUp.contents)).status).toBe(400);
    const [asked, called, answered] = followUp.contents as [Json, { parts: Json[] }, Json];
    const [first, ...others] = called.parts;
    const withSignature = { ...called, parts: [{ ...first, thoughtSignature: 'x' }, ...others] };
    expect((await send('gemini-3-pro', [asked, withSignature, answered])).status).toBe(200);
    // Calls of earlier turns are not looked at.
    const later = { role: 'user', parts: [{ text: 'And now?' }] };
    expect((await send('gemini-3-pro', [asked, called, answered, later])).status).toBe(200);
  });
});

const usageOf = (heard: Heard) => heard.usage;
type Check = (speaker: Speaker) => Promise<void>;

/** Each of these broken off in one way and the same place; `finish` and `usage` are checked below. */
const breaks =
  (directive: string, broken: boolean): Check =>
  async (speaker) => {
    const cut = await untilBroken(await ask(speaker, `[[${directive} 3]] [[long 9]]`, true));
    expect(cut.broken).toBe(broken);
    expect(contentCount(speaker, cut.text)).toBe(3);
    const start = await untilBroken(await ask(speaker, `[[${directive} 0]] [[reasoning 9]]`, true));
    expect(start.text).not.toContain('thought');
    expect(framesOf(start.text).length).toBeGreaterThan(0);
    expect(contentCount(speaker, start.text)).toBe(0);
  };

const sameEvents =
  (how: string): Check =>
  async (speaker) => {
    const usual = await streamed(speaker, 'Grüße 👋');
    // The directive is part of the prompt, so the input differs.
    const { usage: _, ...heard } = await streamed(speaker, `Grüße 👋 ${how}`);
    expect({ ...heard, usage: usual.usage }).toEqual(usual);
  };

const reports =
  (text: string, ...expected: Json[]): Check =>
  async (speaker) => {
    // The Responses format has other names for what chat completions report.
    const renamed = JSON.stringify(expected[0])
      .replaceAll('prompt_', 'input_')
      .replaceAll('completion_', 'output_');
    const wanted = (speaker === responses ? JSON.parse(renamed) : expected[speakers.indexOf(speaker)]) ?? {};
    const mark = `${text} ${crypto.randomUUID()}`;
    const body = (await (await ask(speaker, mark)).json()) as Json;
    expect(body.usage ?? body.usageMetadata).toMatchObject(wanted);
    expect((await entryOf(mark)).usage).toEqual((body.usage ?? body.usageMetadata) as Json);
    const again = `${text} ${crypto.randomUUID()}`;
    const chunks = chunksOf(await frames(speaker, again));
    const ended = deep(chunks.at(-1), 'response', 'usage') ?? deep(chunks.at(-1), 'usage');
    const told = Object.assign({}, deep(chunks[0], 'message', 'usage'), ended);
    const last = chunks.findLast((chunk) => chunk.usage ?? chunk.usageMetadata);
    expect({ ...told, ...((last?.usage ?? last?.usageMetadata) as Json) }).toMatchObject(wanted);
    expect((await entryOf(again)).usage).toMatchObject(wanted);
  };

const byDirective: Record<Exclude<keyof typeof directives, 'bad-answer' | 'charge' | 'fewer'>, Check> = {
  status: async (speaker) => {
    const errors: [number, string, string, string][] = [
      [400, 'invalid_request_error', 'invalid_request_error', 'INVALID_ARGUMENT'],
      [401, 'invalid_request_error', 'authentication_error', 'UNAUTHENTICATED'],
      [403, 'invalid_request_error', 'permission_error', 'PERMISSION_DENIED'],
      [404, 'invalid_request_error', 'not_found_error', 'NOT_FOUND'],
      [429, 'requests', 'rate_limit_error', 'RESOURCE_EXHAUSTED'],
      [500, 'server_error', 'api_error', 'INTERNAL'],
      [503, 'server_error', 'api_error', 'UNAVAILABLE'],
      [529, 'overloaded_error', 'overloaded_error', 'UNKNOWN'],
    ];
    for (const [status, ...kinds] of errors) {
      const response = await ask(speaker, `[[status ${status}]]`);
      const body = (await response.json()) as Json;
      const kind = deep(body, 'error', 'type') ?? deep(body, 'error', 'status');
      expect([response.status, kind]).toEqual([
        status,
        kinds[speaker === responses ? 0 : speakers.indexOf(speaker)],
      ]);
      expect([speaker.isError(body), JSON.stringify(body)]).toEqual([
        true,
        expect.stringContaining('sandbox-private-detail'),
      ]);
    }
  },
  'retry-after': async (speaker) => {
    const response = await ask(speaker, '[[status 429]] [[retry-after 7]]');
    expect(response.headers.get('retry-after')).toBe('7');
    if (speaker === google) expect(await response.text()).toContain('"retryDelay":"7s"');
  },
  flaky: async (speaker) => {
    const text = `[[flaky 1 503 ${speaker.name}]]`;
    expect([(await ask(speaker, text)).status, (await ask(speaker, text)).status]).toEqual([503, 200]);
  },
  'fail-first': async (speaker) => {
    // Without the ID of a client's request, every call is the first.
    expect((await ask(speaker, '[[fail-first 503]]')).status).toBe(503);
  },
  html: async (speaker) => {
    const page = await ask(speaker, '[[html 502]]');
    expect([page.status, page.headers.get('content-type')]).toEqual([502, 'text/html']);
  },
  'error-body': async (speaker) => {
    const response = await ask(speaker, '[[error-body]]');
    expect([response.status, speaker.isError((await response.json()) as Json)]).toEqual([200, true]);
  },
  'not-json': async (speaker) => {
    expect(await (await ask(speaker, '[[not-json]]')).text()).toStartWith('Not JSON.');
  },
  redirect: async (speaker) => {
    expect((await ask(speaker, '[[redirect]]', false, { redirect: 'manual' })).status).toBe(302);
  },
  close: async (speaker) => {
    expect(await ask(speaker, '[[close]]').catch(() => 'reset')).toBe('reset');
  },
  hang: async (speaker) => {
    const signal = AbortSignal.timeout(50);
    expect(await ask(speaker, '[[hang]]', false, { signal }).catch(() => 'left')).toBe('left');
    expect(await entryOf('[[hang]]')).toMatchObject({ status: null, ended: 'client_gone' });
  },
  delay: async (speaker) => {
    const started = performance.now();
    await ask(speaker, '[[delay 40]]');
    expect(performance.now() - started).toBeGreaterThan(35);
  },
  'chunk-delay': async (speaker) => {
    const started = performance.now();
    await (await ask(speaker, '[[chunk-delay 20]] [[long 4]]', true)).text();
    expect(performance.now() - started).toBeGreaterThan(75);
  },
  say: async (speaker) => {
    expect((await streamed(speaker, 'a [[say Exactly  this, é\n]]')).text).toBe('Exactly  this, é\n');
  },
  long: async (speaker) => {
    const { text, usage } = await streamed(speaker, '[[long 50]]');
    expect([text.startsWith('The quick brown'), usage?.output]).toEqual([true, 50]);
  },
  repeat: async (speaker) => {
    expect((await whole(speaker, '[[repeat 3]]')).text).toBe(' again again again');
  },
  finish: async (speaker) => {
    for (const [reason, own] of [
      ...Object.entries(speaker.finish),
      // In the Responses format there is nothing but a status.
      ['RECITATION', speaker === responses ? 'completed' : 'RECITATION'],
    ]) {
      const text = `[[finish ${reason}]]`;
      expect([(await whole(speaker, text)).finish, (await streamed(speaker, text)).finish]).toEqual([
        own,
        own,
      ] as string[]);
    }
  },
  tool: async (speaker) => {
    const { calls } = await streamed(speaker, { ...saying('[[tool unheard-of]]'), tools });
    expect(calls).toEqual([{ name: 'unheard-of', args: {} }]);
  },
  'next-tool': async (speaker) => {
    const { calls } = await streamed(speaker, {
      ...saying('[[next-tool time]] [[tool weather {"a":1}]]'),
      tools,
    });
    expect(calls).toEqual([{ name: 'weather', args: { a: 1 } }]);
  },
  tools: async (speaker) => {
    const { calls } = await whole(speaker, { ...saying('[[tools 3]]'), tools });
    expect(calls.map(({ name }) => name)).toEqual(['weather', 'time', 'weather']);
  },
  interleave: async (speaker) => {
    const { calls } = await streamed(speaker, { ...saying('[[tools 2]] [[interleave]]'), tools });
    expect(calls.map((call) => call.args)).toEqual([args, args]);
  },
  usage: reports(
    '[[usage 10 20]]',
    { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 },
    { input_tokens: 10, output_tokens: 20, cache_read_input_tokens: 0 },
    { promptTokenCount: 10, candidatesTokenCount: 20, totalTokenCount: 30 },
  ),
  reasoning: reports(
    '[[usage 10 20]] [[reasoning 5]]',
    { completion_tokens: 20, completion_tokens_details: { reasoning_tokens: 5 } },
    { output_tokens: 20 },
    { candidatesTokenCount: 15, thoughtsTokenCount: 5, totalTokenCount: 30 },
  ),
  cached: reports(
    '[[usage 10 20]] [[cached 4]]',
    { prompt_tokens: 10, prompt_tokens_details: { cached_tokens: 4 } },
    { input_tokens: 6, cache_read_input_tokens: 4 },
    { promptTokenCount: 10, cachedContentTokenCount: 4, totalTokenCount: 30 },
  ),
  'cache-write': async (speaker) => {
    if (speaker === google) {
      for (const stream of [true, false]) {
        const refused = await ask(speaker, '[[cache-write 3]]', stream);
        expect([refused.status, await refused.text()]).toEqual([
          400,
          expect.stringContaining('This format cannot report [[cache-write]].'),
        ]);
      }
      return;
    }
    await reports(
      '[[usage 10 20]] [[cached 4]] [[cache-write 3]]',
      {
        prompt_tokens: 10,
        total_tokens: 30,
        prompt_tokens_details: {
          cached_tokens: 4,
          cache_write_tokens: 3,
          cache_write_tokens_details: { ttl_30m_tokens: 3, ttl_12h_tokens: 0 },
        },
      },
      {
        input_tokens: 3,
        cache_read_input_tokens: 4,
        cache_creation_input_tokens: 3,
        cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 0 },
      },
      {},
    )(speaker);
    await reports(
      '[[usage 10 20]] [[cache-write 6 1h]]',
      {
        prompt_tokens_details: {
          cached_tokens: 0,
          cache_write_tokens: 6,
          cache_write_tokens_details: { ttl_30m_tokens: 0, ttl_12h_tokens: 6 },
        },
      },
      {
        input_tokens: 4,
        cache_creation_input_tokens: 6,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 6 },
      },
      {},
    )(speaker);
  },
  'usage-contradiction': reports(
    '[[usage 10 20]] [[usage-contradiction]]',
    { prompt_tokens: 10, total_tokens: 30, prompt_tokens_details: { cached_tokens: 11 } },
    {
      input_tokens: 10,
      cache_creation_input_tokens: 1,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    },
    { promptTokenCount: 10, cachedContentTokenCount: 11, totalTokenCount: 30 },
  ),
  'no-usage': async (speaker) => {
    expect(usageOf(await whole(speaker, '[[no-usage]]'))).toBeNull();
    expect(usageOf(await streamed(speaker, '[[no-usage]]'))).toBeNull();
    // Every response has the field.
    if (speaker !== responses)
      expect(JSON.stringify(await frames(speaker, '[[no-usage]]'))).not.toMatch(/usage|okens/);
  },
  'zero-usage': async (speaker) => {
    const zero = reports(
      '[[zero-usage]]',
      { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
      { input_tokens: 0, output_tokens: 0 },
      { promptTokenCount: 0, candidatesTokenCount: 0, totalTokenCount: 0 },
    );
    await zero(speaker);
    expect(JSON.stringify(await frames(speaker, '[[zero-usage]]'))).not.toMatch(/oken\w*\\":[1-9]/);
  },
  'bad-usage': async (speaker) => {
    const bad = (how: string) => `[[usage 3 4]] [[bad-usage ${how}]]`;
    await reports(
      bad('negative'),
      { prompt_tokens: -3 },
      { input_tokens: -3 },
      { promptTokenCount: -3 },
    )(speaker);
    await reports(
      bad('fraction'),
      { completion_tokens: 4.5 },
      { output_tokens: 4.5 },
      { candidatesTokenCount: 4.5 },
    )(speaker);
    await reports(
      bad('string'),
      { completion_tokens: '4' },
      { output_tokens: '4' },
      { candidatesTokenCount: '4' },
    )(speaker);
    await reports(bad('total'), { total_tokens: 8 }, { output_tokens: 4 }, { totalTokenCount: 8 })(speaker);
    const partial = (await (await ask(speaker, bad('partial'))).json()) as Json;
    expect(Object.values((partial.usage ?? partial.usageMetadata) as Json)).toEqual([3]);
    expect(JSON.stringify(await frames(speaker, bad('partial')))).not.toMatch(
      /(?<!max_)(output|completion|candidates)_?[tT]oken/,
    );
  },
  cut: breaks('cut', true),
  end: breaks('end', false),
  stall: async (speaker) => {
    const mark = `[[stall 3]] [[long 9]] ${speaker.name}`;
    const text = await untilSilent(
      await ask(speaker, mark, true),
      (seen) => contentCount(speaker, seen) === 3,
    );
    expect(contentCount(speaker, text)).toBe(3);
    expect(await entryOf(mark)).toMatchObject({ ended: 'client_gone', usage: null });
  },
  malformed: async (speaker) => {
    const parts = await frames(speaker, '[[malformed 3]] [[long 9]]');
    const place = parts.findIndex(({ data }) => data === '{broken');
    expect(chunksOf(parts.slice(0, place)).filter(speaker.isContent)).toHaveLength(3);
    expect(chunksOf(parts).filter(speaker.isContent)).toHaveLength(9);
  },
  'error-event': async (speaker) => {
    const parts = await frames(speaker, '[[error-event 3]] [[long 9]]');
    const place = parts.findIndex(({ data }) => data.includes('sandbox-private-detail'));
    expect(speaker.isError(JSON.parse(parts[place]?.data ?? ''))).toBe(true);
    expect(parts[place]?.event).toBe(speaker === anthropic || speaker === responses ? 'error' : null);
    expect(chunksOf(parts).filter(speaker.isContent)).toHaveLength(3);
    expect(parts.slice(place + 1).map(({ data }) => data)).toEqual(speaker === openai ? ['[DONE]'] : []);
  },
  empty: async (speaker) => {
    for (const stream of [true, false]) {
      const response = await ask(speaker, '[[empty]]', stream);
      expect([response.status, await response.text()]).toEqual([200, '']);
    }
  },
  'no-done': async (speaker) => {
    const last = async (text: string) => (await frames(speaker, text)).at(-1)?.data ?? '';
    if (speaker.end) expect(await last('Hi')).toBe(speaker.end);
    expect(await last('Hi [[no-done]]')).toMatch(/usage/);
    expect((await entryOf('[[no-done]]')).ended).toBe(speaker.end ? 'ended_early' : 'complete');
  },
  'wrong-type': async (speaker) => {
    const types = [true, false].map(async (stream) =>
      (await ask(speaker, '[[wrong-type]]', stream)).headers.get('content-type'),
    );
    expect(await Promise.all(types)).toEqual(['application/json', 'text/event-stream']);
  },
  crlf: async (speaker) => {
    await sameEvents('[[crlf]]')(speaker);
    const text = await (await ask(speaker, '[[crlf]]', true)).text();
    const name = { anthropic: 'event:message_start\r\n', responses: 'event:response.created\r\n' };
    expect(text).toStartWith(
      `: a comment\r\n${name[speaker.name as keyof typeof name] ?? ''}data:{\r\ndata: "`,
    );
    expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
  },
  bytes: sameEvents('[[bytes 7]]'),
  burst: sameEvents('[[burst]]'),
  gzip: async (speaker) => {
    await sameEvents('[[gzip]]')(speaker);
    await sameEvents('[[gzip]] [[crlf]] [[bytes 3]]')(speaker);
    for (const stream of [true, false]) {
      const raw = await ask(speaker, 'Hi [[gzip]]', stream, { decompress: false });
      expect(raw.headers.get('content-encoding')).toBe('gzip');
      expect(gunzipSync(await raw.arrayBuffer()).toString()).toContain('said:');
    }
    expect((await whole(speaker, 'Hi [[gzip]]')).text).toBe('You said: Hi');
    expect(await untilBroken(await ask(speaker, '[[gzip]] [[cut 3]] [[long 9]]', true))).toMatchObject({
      broken: true,
    });
    expect(speaker.isError((await (await ask(speaker, '[[gzip]] [[status 500]]')).json()) as Json)).toBe(
      true,
    );
  },
  huge: async (speaker) => {
    for (const stream of [true, false]) {
      const mark = `[[huge 60]] ${crypto.randomUUID()}`;
      const reader = (await ask(speaker, mark, stream)).body?.getReader();
      await reader?.read();
      await reader?.cancel();
      expect(await entryOf(mark)).toMatchObject({ ended: 'client_gone', usage: null });
    }
    for (const how of ['', ' [[gzip]]']) {
      const body = await (await ask(speaker, `Hi [[huge 3]]${how}`)).text();
      expect([body.length > 3_000_000, speaker.hear(JSON.parse(body)).text]).toEqual([true, 'You said: Hi']);
      const text = await (await ask(speaker, `Hi [[huge 3]]${how}`, true)).text();
      const [first] = framesOf(text);
      expect([(first?.data.length ?? 0) > 3_000_000, contentCount(speaker, text)]).toEqual([true, 3]);
    }
  },
};

describe.each(speakers)('$name', (speaker) => {
  test.each(Object.keys(byDirective) as (keyof typeof byDirective)[])('[[%s]]', (name) =>
    byDirective[name](speaker),
  );

  test('breaks off after the finish or after the usage', async () => {
    const isOneEvent = speaker !== openai;
    for (const [place, hasUsage] of [
      ['finish', isOneEvent],
      ['usage', true],
    ] as const) {
      for (const [directive, ended] of [
        ['cut', 'cut'],
        ['end', 'ended_early'],
        ['stall', 'client_gone'],
        ['error-event', 'ended_early'],
      ] as const) {
        const mark = `[[${directive} ${place}]] [[usage 3 4]] ${crypto.randomUUID()}`;
        const hear = (text: string) =>
          speaker.hearAll(chunksOf(framesOf(text)).filter((chunk) => !chunk.error));
        const response = await ask(speaker, mark, true);
        const text =
          directive === 'stall'
            ? await untilSilent(
                response,
                (seen) => hear(seen).finish !== '' && (!hasUsage || !!hear(seen).usage),
              )
            : (await untilBroken(response)).text;
        expect(hear(text)).toMatchObject({
          finish: speaker.finish.stop,
          usage: hasUsage ? { input: 3, output: 4 } : null,
        });
        const { ended: logged, usage } = await entryOf(mark);
        expect([logged, usage !== null]).toEqual([ended, hasUsage]);
        if (speaker.end && directive !== 'error-event') expect(text).not.toContain(speaker.end);
      }
      const parts = await frames(speaker, `[[malformed ${place}]]`);
      const after = parts.slice(parts.findIndex(({ data }) => data === '{broken') + 1);
      expect(after).toHaveLength((hasUsage ? 0 : 1) + (speaker.end ? 1 : 0));
    }
  });

  test('logs what was reported before it leaves', async () => {
    // Long enough for the end to come by itself, on a busy machine too.
    const mark = `[[chunk-delay 200]] ${crypto.randomUUID()}`;
    const response = await ask(speaker, { ...saying(mark), model: 'logged' }, true);
    let seen = '';
    for await (const bytes of response.body ?? []) {
      seen += Buffer.from(bytes).toString();
      const { finish, usage } = speaker.hearAll(chunksOf(framesOf(seen)));
      if (finish === '' || usage === null) continue;
      const entry = sandbox.entries.findLast(({ body }) => JSON.stringify(body).includes(mark));
      expect(entry).toMatchObject({ model: 'logged', stream: true, status: 200, ended: 'complete' });
      expect(entry?.usage).toBeObject();
      break;
    }
    expect(seen).not.toContain(speaker.end ?? 'no end');
    await ask(speaker, { ...saying(`${mark} again`), model: 'logged' });
    expect(await entryOf(`${mark} again`)).toMatchObject({
      model: 'logged',
      stream: false,
      ended: 'complete',
    });
  });

  test('rejects invalid keys and invalid requests', async () => {
    const send = (headers: Record<string, string>, body: string) =>
      fetch(`${sandbox.url}${speaker.path(saying(''), false)}`, { method: 'POST', headers, body });
    const [name = '', key = ''] = Object.entries(speaker.key)[0] ?? [];
    for (const headers of [{}, { ...speaker.key, [name]: key.replace('any', 'invalid') }] as Record<
      string,
      string
    >[]) {
      const response = await send(headers, '{}');
      // A bad key is a bad request to Google.
      const status = name === 'x-goog-api-key' ? 400 : 401;
      expect([response.status, speaker.isError((await response.json()) as Json)]).toEqual([status, true]);
    }
    for (const body of ['{', '[]', '{}', 'null']) {
      const response = await send(speaker.key, body);
      expect([response.status, speaker.isError((await response.json()) as Json)]).toEqual([400, true]);
    }
  });

  test('has its private header on everything, and the vendor’s own', async () => {
    const texts = [
      'Hi',
      '[[status 500]]',
      '[[html 500]]',
      '[[redirect]]',
      '[[not-json]]',
      '[[empty]]',
      '[[wrong]]',
    ];
    for (const stream of [true, false]) {
      for (const text of texts) {
        const { headers } = await ask(speaker, text, stream, { redirect: 'manual' });
        expect(headers.get('x-sandbox-private')).toBe('sandbox-private-header');
        const own = ['x-request-id', 'request-id', 'server-timing'].filter((name) => headers.has(name));
        expect(own).toEqual([
          { openai: 'x-request-id', responses: 'x-request-id', anthropic: 'request-id' }[speaker.name] ??
            'server-timing',
        ]);
        expect(headers.has('anthropic-organization-id')).toBe(speaker === anthropic);
      }
    }
  });
});

test('paths that do not exist are refused in the format they look like, with the private header', async () => {
  for (const [method, path, speaker] of [
    ['POST', '/v1/other', openai],
    ['GET', '/v1/messages', anthropic],
    ['POST', '/v1beta/models/m:countTokens', google],
    ['POST', '/v1beta/models/m', google],
    ['GET', '/healthz', null],
    ['GET', '/images/none', null],
    ['GET', '/images/8x8-00000000.png', null],
  ] as const) {
    const response = await fetch(`${sandbox.url}${path}`, { method });
    expect(response.headers.get('x-sandbox-private')).toBe('sandbox-private-header');
    if (speaker)
      expect([response.status, speaker.isError((await response.json()) as Json)]).toEqual([404, true]);
  }
  const noEvents = await fetch(`${sandbox.url}/v1beta/models/m:streamGenerateContent`, {
    method: 'POST',
    headers: google.key,
    body: JSON.stringify(google.write(saying('Hi'), true)),
  });
  expect(noEvents.status).toBe(400);
});
