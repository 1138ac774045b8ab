/** Providers of the client's own format that send anything at all: what a client never sees of it, and what it can rely on. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  type ChatFixture,
  chatCatalog,
  finishedGeneration,
  openChatFixture,
} from '../support/chat-fixture.ts';
import { runCommand } from '../support/commands.ts';
import { eventually } from '../support/eventually.ts';
import { blocksOf, eventsOf, type MessageBody, messagesClient, user } from '../support/messages-fixture.ts';
import { eventStream, type RawProvider, startRawProvider } from '../support/raw-provider.ts';
import { clientOf, type Json, readEvents } from '../support/responses-fixture.ts';

const everything = '[text_input, image_input, text_output, streaming, function_calling, structured_output]';
const able = `capabilities: ${everything}, max_output_tokens: 1000, context_window: 100000, pricing: { billing_type: token, input: "1", output: "2" }`;

let provider: RawProvider;
let fixture: ChatFixture;
let key: string;

beforeAll(async () => {
  provider = startRawProvider();
  fixture = await openChatFixture((url) =>
    chatCatalog(url, {
      providers: `
  raw-messages:  { adapter: anthropic, base_url: "${provider.url}/v1", api_key_env: MAIN_KEY, circuit: { failures: 1000 } }
  raw-responses: { adapter: openai, base_url: "${provider.url}/v1", api_key_env: MAIN_KEY, circuit: { failures: 1000 } }`,
      models: `
  m: { workload: chat, ${able}, providers: [raw-messages] }
  m-backed: { workload: chat, ${able}, providers: [raw-messages, main] }
  r-backed: { workload: chat, ${able}, providers: [{ provider: raw-responses, api: responses }, main] }
  c-backed: { workload: chat, ${able}, providers: [raw-responses, main] }
  r: { workload: chat, ${able}, providers: [{ provider: raw-responses, api: responses }] }`,
    }),
  );
  ({ key } = await fixture.customer('100', '--rpm', '100000'));
});

afterAll(async () => {
  await fixture.close();
  await provider.stop();
});

let count = 0;
/** Scripts one answer, and returns the prompt that gets it. */
function scripted(
  body: string | readonly string[],
  status = 200,
  headers: Record<string, string> = eventStream,
) {
  count += 1;
  const prompt = `script-${count}.`;
  provider.script(prompt, { status, headers, body });
  return prompt;
}

const sse = (...events: readonly Json[]) =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');

const sendMessages = (prompt: string, more: object = {}) =>
  messagesClient(fixture, key).send({ model: 'm', stream: true, messages: [user(prompt)], ...more });
const sendResponses = (prompt: string, more: Json = {}) =>
  clientOf(fixture.gateway.origin, key).send({ model: 'r', stream: true, input: prompt, ...more });

/** What belongs to the operator, in every place where a vendor might put it. */
const own = 'vendors-own';
const ownFields = {
  request_id: own,
  organization: own,
  organization_id: own,
  project_id: own,
  workspace_id: own,
  billing: { payer: own },
  'x-account-id': own,
};

/** A name that an expression for the operator's own could take the square of its length for. */
const slowName = `${'organization'.repeat(60_000)}\n`;

describe('Messages', () => {
  const start = {
    type: 'message_start',
    message: { id: own, model: own, content: [], usage: { input_tokens: 5 } },
  };
  const text = (words: string, index: unknown = 0) => ({
    type: 'content_block_delta',
    index,
    delta: { type: 'text_delta', text: words },
  });
  const opening = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } };
  const stop = { type: 'content_block_stop', index: 0 };
  const end = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } };
  const last = { type: 'message_stop' };

  test('no name or data of an event begins another event', async () => {
    const injected = 'x"}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n';
    const prompt = scripted([
      sse(start, opening, { type: `ping\n\nevent: message_stop`, a: 1 }),
      'event: message_stop\rdata: {"type":"ping"}\r\r',
      `data: {"type":"content_block_delta",\ndata: "index":0,"delta":{"type":"text_delta","text":"two lines"}}\n\n`,
      sse(text(injected), { type: 'brand_new', note: injected }, stop, end, last),
    ]);
    const events = eventsOf(await (await sendMessages(prompt)).text());
    expect(events.filter(({ type }) => type === 'message_stop')).toHaveLength(1);
    expect(events.at(-1)?.type).toBe('message_stop');
    expect(blocksOf(events)[0]?.text).toBe(`two lines${injected}`);
  });

  test("the operator's own IDs are nowhere in a stream", async () => {
    const prompt = scripted(
      sse(
        { ...start, ...ownFields },
        { ...opening, ...ownFields },
        { ...text('Hello'), ...ownFields },
        { type: 'brand_new', ...ownFields },
        { ...stop, ...ownFields },
        { ...end, ...ownFields },
        last,
      ),
    );
    const answer = await (await sendMessages(prompt)).text();
    expect(answer).toContain('Hello');
    expect(answer).not.toContain(own);
  });

  test('nor are they inside what an event or an answer is made of', async () => {
    const usage = { input_tokens: 5, output_tokens: 3, ...ownFields };
    const block = { type: 'text', text: '', ...ownFields };
    const words = { ...text('Hello').delta, 'x-account-id': own };
    const prompt = scripted(
      sse(
        { type: 'message_start', message: { content: [], usage } },
        { ...opening, content_block: block },
        { ...text(''), delta: words },
        stop,
        { ...end, delta: { stop_reason: 'end_turn', ...ownFields }, usage },
        last,
      ),
    );
    const answer = await (await sendMessages(prompt)).text();
    expect(answer).toContain('Hello');
    expect(answer).not.toContain(own);
    const message = { type: 'message', role: 'assistant', stop_reason: 'end_turn', ...ownFields };
    const input = { account: 'of the client', project_id: 'too' };
    const content = [
      { ...block, text: 'Hello' },
      { type: 'tool_use', id: 'a', name: 'f', input, ...ownFields },
    ];
    const whole = scripted(JSON.stringify({ ...message, content, usage }), 200, {
      'content-type': 'application/json',
    });
    const tools = [{ name: 'f', input_schema: { type: 'object' } }];
    const body = (await (await sendMessages(whole, { stream: false, tools })).json()) as MessageBody;
    expect(body.content[1]?.input).toEqual(input);
    expect(JSON.stringify(body)).not.toContain(own);
  });

  test('an answer begins once, and ends once, whatever its provider repeats', async () => {
    const later = { ...end, usage: { output_tokens: 1 } };
    const prompt = scripted(
      sse(
        start,
        opening,
        start,
        text('Hello'),
        stop,
        end,
        later,
        { type: 'message_delta', delta: {} },
        last,
        last,
        text('more'),
      ),
    );
    const response = await sendMessages(prompt);
    const events = eventsOf(await response.text());
    const types = events.map(({ type }) => type);
    for (const type of ['message_start', 'message_delta', 'message_stop'])
      expect([type, types.filter((one) => one === type).length]).toEqual([type, 1]);
    expect(JSON.stringify(events)).not.toContain('more');
    const id = response.headers.get('x-service-request-id') ?? '';
    expect(await finishedGeneration(fixture.gateway.origin, key, id)).toMatchObject({
      status: 'completed',
      usage: { output_tokens: 3 },
    });
  });

  test('an answer whose provider does not begin it begins all the same', async () => {
    const prompt = scripted(
      sse(opening, text('Hello'), stop, { ...end, usage: { input_tokens: 5, output_tokens: 3 } }, last),
    );
    const [first] = eventsOf(await (await sendMessages(prompt)).text());
    expect(first).toMatchObject({
      type: 'message_start',
      message: { model: 'm', role: 'assistant', content: [] },
    });
  });

  test.each([-1, 1.5, '0', null, 1e300, {}])('a block at index %p fails the stream', async (index) => {
    const prompt = scripted(sse(start, opening, text('Hello'), text('there', index), stop, end, last));
    const events = eventsOf(await (await sendMessages(prompt)).text());
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { code: 'malformed_stream_chunk' } });
  });

  test('unknown events by the thousand are passed on, but not before an answer has begun', async () => {
    const many = sse(...Array.from({ length: 20_000 }, (_, index) => ({ type: 'brand_new', index })));
    const prompt = scripted([sse(start, opening, text('Hello')), many, sse(stop, end, last)]);
    const events = eventsOf(await (await sendMessages(prompt)).text());
    expect(events.at(-1)?.type).toBe('message_stop');
    const early = scripted([sse(start), many, sse(opening, text('Hello'), stop, end, last)]);
    expect(eventsOf(await (await sendMessages(early)).text()).at(-1)).toMatchObject({ type: 'error' });
  });

  test('signs of life by the thousand may come before an answer', async () => {
    const many = sse({ type: 'ping' }).repeat(5_000);
    const prompt = scripted([sse(start), many, sse(opening, text('Hello'), stop, end, last)]);
    const events = eventsOf(await (await sendMessages(prompt)).text());
    expect(blocksOf(events)[0]?.text).toBe('Hello');
    expect(events.at(-1)?.type).toBe('message_stop');
  });

  test('no text takes the square of its length to be passed on', async () => {
    const words = `"${'organization'.repeat(60_000)} "`;
    const prompt = scripted([sse(start, opening, text(words)), sse(stop, end, last)]);
    const events = eventsOf(await (await sendMessages(prompt)).text());
    expect(blocksOf(events)[0]?.text).toBe(words);
    const odd = scripted(sse({ ...start, [slowName]: 1 }, opening, text('Hello'), stop, end, last));
    expect(eventsOf(await (await sendMessages(odd)).text()).at(-1)?.type).toBe('message_stop');
  }, 10_000);

  test.each([
    ['deep', `{"type":"brand_new","a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ['long', `{"type":"brand_new","a":"${'a'.repeat(2_000_000)}"}`],
  ])('a %s event fails the stream and nothing else', async (_, data) => {
    const prompt = scripted([sse(start, opening, text('Hello')), `data: ${data}\n\n`, sse(stop, end, last)]);
    expect(eventsOf(await (await sendMessages(prompt)).text()).at(-1)).toMatchObject({
      type: 'error',
      error: { code: 'malformed_stream_chunk' },
    });
  });

  const call = { type: 'tool_use', id: 'functions.Bash:0', name: 'Bash', input: {} };
  const tools = [{ name: 'Bash', input_schema: { type: 'object' } }];

  test.each([true, false])('any ID of a call can be sent back; streamed: %p', async (stream) => {
    const usage = { input_tokens: 5, output_tokens: 3 };
    const answer = { type: 'message', role: 'assistant', content: [call], stop_reason: 'tool_use', usage };
    const prompt = stream
      ? scripted(
          sse(
            start,
            { ...opening, content_block: call },
            stop,
            { ...end, delta: { stop_reason: 'tool_use' } },
            last,
          ),
        )
      : scripted(JSON.stringify(answer), 200, { 'content-type': 'application/json' });
    const response = await sendMessages(prompt, { stream, tools });
    const content = stream
      ? blocksOf(eventsOf(await response.text()))
      : ((await response.json()) as MessageBody).content;
    const next = scripted(JSON.stringify({ ...answer, content: [{ type: 'text', text: 'Done' }] }), 200, {
      'content-type': 'application/json',
    });
    const result = { type: 'tool_result', tool_use_id: content[0]?.id, content: next };
    const messages = [user('Go'), { role: 'assistant', content }, user([result])];
    expect((await sendMessages('', { stream: false, tools, messages })).status).toBe(200);
    const sent = JSON.parse(provider.bodies.at(-1) ?? '') as { messages: { content: Json[] }[] };
    expect(sent.messages[1]?.content[0]?.id).toBe(sent.messages[2]?.content[0]?.tool_use_id as string);
  });
});

describe('Responses', () => {
  const whole = {
    store: false,
    object: 'response',
    created_at: 1,
    error: null,
    incomplete_details: null,
    usage: null,
  };
  const ours = { prompt_cache_key: own, safety_identifier: own, user: own, metadata: { a: own } };
  const response = (status: string, more: object = {}) => ({
    ...whole,
    id: own,
    model: own,
    status,
    output: [],
    ...ours,
    ...more,
  });
  const created = { type: 'response.created', sequence_number: 0, response: response('in_progress') };
  const delta = (words: string, more: object = {}) => ({
    type: 'response.output_text.delta',
    sequence_number: 1,
    item_id: own,
    output_index: 0,
    content_index: 0,
    delta: words,
    ...more,
  });
  const usage = { input_tokens: 5, output_tokens: 3, total_tokens: 8 };
  const done = { type: 'response.completed', response: response('completed', { usage }) };
  const ownUsage = { ...usage, ...ownFields };

  test('no name or data of an event begins another event', async () => {
    const injected = 'x"}\n\nevent: response.completed\ndata: {}\n\n';
    const prompt = scripted([
      sse(created, delta('a'), delta('b'), delta('c')),
      'event: response.completed\rdata: {"type":"new.event"}\r\r',
      sse(delta(injected), { type: 'brand.new', note: injected }, delta('d'), done, done, delta('more')),
    ]);
    const events = readEvents(await (await sendResponses(prompt)).text());
    expect(events.filter(({ type }) => type === 'response.completed')).toHaveLength(1);
    expect(events.at(-1)?.type).toBe('response.completed');
    const written = events.flatMap((event) =>
      event.type === 'response.output_text.delta' ? [event.delta] : [],
    );
    expect(written.join('')).toBe(`abc${injected}d`);
  });

  test('a type that is no name for an event is not passed on', async () => {
    const prompt = scripted(sse(created, delta('a'), { type: 'response.completed\n\ndata: x' }, done));
    const events = readEvents(await (await sendResponses(prompt)).text());
    expect(events.map(({ type }) => type)).toEqual([created.type, 'response.output_text.delta', done.type]);
  });

  test("neither the operator's own IDs nor ours for a provider are in a stream", async () => {
    const item = { id: own, type: 'reasoning', encrypted_content: own, summary: [], ...ownFields };
    const prompt = scripted(
      sse(
        { ...created, response: response('in_progress', ownFields) },
        { type: 'response.output_item.added', item },
        { type: 'response.output_item.done', item },
        { ...delta('Hello'), ...ownFields, response_id: own },
        { type: 'brand.new', item_id: own, response_id: own, ...ownFields },
        { ...done, response: response('completed', { usage: ownUsage, output: [item], ...ownFields }) },
      ),
    );
    const asked = { metadata: { mine: 'yes' }, prompt_cache_key: 'my-key', safety_identifier: 'me' };
    const answer = await (await sendResponses(prompt, asked)).text();
    expect(answer).toContain('Hello');
    expect(answer).not.toContain(own);
    expect(readEvents(answer).at(-1)?.response).toMatchObject(asked);
  });

  test('the same of an answer in one piece', async () => {
    const item = {
      id: own,
      type: 'message',
      content: [{ type: 'output_text', text: 'Hello' }],
      ...ownFields,
    };
    const body = response('completed', { usage, output: [item], ...ownFields });
    const prompt = scripted(JSON.stringify(body), 200, { 'content-type': 'application/json' });
    const answer = await (await sendResponses(prompt, { stream: false, prompt_cache_key: 'my-key' })).text();
    expect(answer).toContain('Hello');
    expect(answer).toContain('my-key');
    expect(answer).not.toContain(own);
  });

  test('no name takes the square of its length to be passed on', async () => {
    const prompt = scripted(sse(created, delta('Hello'), { type: 'brand.new', [slowName]: 1 }, done));
    const events = readEvents(await (await sendResponses(prompt)).text());
    expect(events.at(-1)?.type).toBe('response.completed');
  }, 10_000);

  test.each([-1, 1.5, '0', null, 1e300])('an item at index %p fails the stream', async (index) => {
    const prompt = scripted(sse(created, delta('Hello'), delta('there', { output_index: index }), done));
    expect(readEvents(await (await sendResponses(prompt)).text()).at(-1)?.response?.error).toMatchObject({
      gateway_code: 'malformed_stream_chunk',
    });
  });

  test('unknown events by the thousand, and items at odd places, end the stream in order', async () => {
    const many = sse({ type: 'brand.new' }).repeat(20_000);
    const places = [0, 0, 9_007_199_254_740_991].map((place) => ({
      type: 'response.output_item.added',
      output_index: place,
      item: { id: own, type: 'message', content: [] },
    }));
    const prompt = scripted([sse(created, delta('Hello'), ...places), many, sse(done)]);
    const events = readEvents(await (await sendResponses(prompt)).text());
    expect(events.at(-1)?.type).toBe('response.completed');
    expect(JSON.stringify(events).includes(own)).toBe(false);
  });
});

test.each([400, 413, 422])('a request that its provider refuses with %d is refused, once', async (status) => {
  const refused = (prompt: string) => provider.bodies.filter((body) => body.includes(prompt)).length;
  const json = { 'content-type': 'application/json' };
  for (const stream of [true, false]) {
    const one = scripted(JSON.stringify({ error: { message: own } }), status, json);
    const messages = await sendMessages(one, { stream });
    expect(messages.status).toBe(400);
    const id = messages.headers.get('x-service-request-id') ?? '';
    const message = expect.stringContaining(` GET /v1/generations/${id} shows what was tried.`);
    expect(await messages.json()).toMatchObject({
      error: { type: 'invalid_request_error', code: 'invalid_request', message },
    });
    expect(await finishedGeneration(fixture.gateway.origin, key, id)).toMatchObject({ status: 'failed' });
    const other = scripted(JSON.stringify({ error: { message: own } }), status, json);
    const responses = await sendResponses(other, { stream });
    expect(responses.status).toBe(400);
    const text = await responses.text();
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'invalid_request' } });
    expect(text).not.toContain(own);
    expect([refused(one), refused(other)]).toEqual([1, 1]);
  }
});

describe("the operator's fault", () => {
  const noCredit = {
    type: 'error',
    error: {
      type: 'invalid_request_error',
      message:
        'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
    },
  };
  const unverified = {
    error: {
      message: 'Your organization must be verified to stream this model. Please go to: https://example.com',
      type: 'invalid_request_error',
      param: 'stream',
      code: 'unsupported_value',
    },
  };
  const json = { 'content-type': 'application/json' };
  const refusing = (body: object) => scripted(JSON.stringify(body), 400, json);
  const sendChat = (prompt: string, model: string) =>
    fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, ...json },
      body: JSON.stringify({ model, messages: [user(prompt)] }),
    });

  test.each([
    ['m-backed', 'credit', () => sendMessages(refusing(noCredit), { model: 'm-backed' })],
    ['r-backed', 'key', () => sendResponses(refusing(unverified), { model: 'r-backed' })],
    ['c-backed', 'key', () => sendChat(refusing(unverified), 'c-backed')],
  ] as const)('is not blamed on the client: %s', async (model, kind, send) => {
    const response = await send();
    expect(response.status).toBe(200);
    await response.text();
    const id = response.headers.get('x-service-request-id') ?? '';
    expect(await finishedGeneration(fixture.gateway.origin, key, id)).toMatchObject({
      status: 'completed',
      fallback: true,
      attempts: [{ status: 'failed', upstream_status: 400, error: 'provider_bad_request' }, {}],
    });
    await eventually('the setback in the report of the node', async () => {
      const [row] = await fixture.database.sql<[{ report: { circuits: Json[] } }]>`select report from nodes`;
      return row.report.circuits.find(
        (circuit) => circuit.model === model && (circuit.setback as { kind: string } | null)?.kind === kind,
      );
    });
  });

  test('is that of a provider where there is no other', async () => {
    const response = await sendMessages(refusing(noCredit));
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({ error: { code: 'provider_bad_request' } });
  });

  test('is not waited for when the body of an error does not come', async () => {
    const body = new ReadableStream<Uint8Array>({ start: (opened) => opened.enqueue(Buffer.from('{')) });
    count += 1;
    provider.script(`script-${count}.`, { status: 400, headers: json, body });
    const response = await sendMessages(`script-${count}.`);
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_request' } });
  }, 10_000);
});

test('an account may count so many tokens per minute, whichever keys and endpoints it uses', async () => {
  const { account, key: first } = await fixture.customer('1');
  const second = await runCommand<{ key: string }>(
    ['key', 'create', '--account', account],
    fixture.environment,
  );
  const { origin } = fixture.gateway;
  const count = async (index: number) => {
    const headers = {
      'anthropic-version': '2023-06-01',
      'x-api-key': index % 2 === 0 ? first : second.key,
      'content-type': 'application/json',
    };
    const [path, body] =
      index % 4 < 2
        ? ['messages/count_tokens', { model: 'r', messages: [user('Hello')] }]
        : ['responses/input_tokens', { model: 'r', input: 'Hello' }];
    const response = await fetch(`${origin}/v1/${path as string}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    await response.text();
    return response.status;
  };
  const statuses = await Promise.all(Array.from({ length: 1_000 }, (_, index) => count(index)));
  const served = statuses.filter((status) => status === 200).length;
  expect(served).toBeGreaterThanOrEqual(600);
  expect(served).toBeLessThan(900);
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
});
