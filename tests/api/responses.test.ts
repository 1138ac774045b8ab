/** POST /v1/responses towards a provider of each format: what clients get, what providers got, and what was charged. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { formatMoney } from '../../src/lib/money.ts';
import { type ChatFixture, type ErrorBody, finishedGeneration } from '../support/chat-fixture.ts';
import { openRawClient } from '../support/raw-socket.ts';
import {
  assembled,
  callsOf,
  clientOf,
  type Item,
  type Json,
  openResponses,
  otherFormats,
  price,
  type ResponsesClient,
  readEvents,
  textOf,
} from '../support/responses-fixture.ts';

let fixture: ChatFixture;
let key: string;
let client: ResponsesClient;

beforeAll(async () => {
  fixture = await openResponses();
  ({ key } = await fixture.customer('100', '--rpm', '100000'));
  client = clientOf(fixture.gateway.origin, key);
});

afterAll(() => fixture.close());

const ways = otherFormats.flatMap((format) => [
  { format, stream: false, model: `speaks-${format}` },
  { format, stream: true, model: `speaks-${format}` },
]);

const weather = {
  type: 'function',
  name: 'weather',
  description: 'Weather',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
  strict: false,
};
const patch = {
  type: 'custom',
  name: 'apply_patch',
  description: 'Edits files.',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' },
};
const team = {
  type: 'namespace',
  name: 'team',
  description: 'Works with others.',
  tools: [{ ...weather, name: 'ask' }],
};
const said = (content: string) => ({ role: 'user', content });

/** What the sandbox received last with this text in it. */
function received(text: string): Json {
  const entry = fixture.sandbox.entries.findLast(({ body }) => JSON.stringify(body).includes(text));
  return entry?.body as Json;
}

describe.each(ways)('$format, streamed: $stream', ({ format, stream, model }) => {
  test('a text has exactly the fields of the format, with the values in effect', async () => {
    const { id, created_at, completed_at, usage, ...rest } = await client.ask({
      model,
      stream,
      input: 'Hello',
      instructions: 'Be brief.',
      max_output_tokens: 500,
      temperature: 0.5,
      metadata: { order: '7' },
      store: true,
      user: 'ann',
    });
    expect(id).toMatch(/^resp_[0-9a-f]{32}$/);
    expect(completed_at as number).toBeGreaterThanOrEqual(created_at as number);
    expect(rest).toEqual({
      object: 'response',
      status: 'completed',
      error: null,
      incomplete_details: null,
      model,
      output: [
        {
          id: `${id.replace('resp', 'msg')}_0`,
          type: 'message',
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'You said: Hello', annotations: [], logprobs: [] }],
        },
      ],
      background: false,
      conversation: null,
      instructions: 'Be brief.',
      max_output_tokens: 500,
      max_tool_calls: null,
      metadata: { order: '7' },
      parallel_tool_calls: true,
      previous_response_id: null,
      prompt: null,
      prompt_cache_key: null,
      reasoning: { effort: null, summary: null },
      safety_identifier: null,
      service_tier: 'default',
      store: false,
      temperature: 0.5,
      text: { format: { type: 'text' }, verbosity: 'medium' },
      tool_choice: 'auto',
      tools: [],
      top_logprobs: 0,
      top_p: 1,
      truncation: 'disabled',
      user: 'ann',
    });
    expect(Object.keys(usage ?? {})).toEqual([
      'input_tokens',
      'input_tokens_details',
      'output_tokens',
      'output_tokens_details',
      'total_tokens',
      'cost',
    ]);
  });

  test('is charged to the last digit, with cached and reasoning tokens', async () => {
    const { usage, id } = await client.ask({
      model,
      stream,
      input: `Hello [[usage 1000 77]] [[cached 600]] [[reasoning 30]]`,
    });
    // Input and output are rounded to the last digit, half up, and then added.
    const rounded = (amount: bigint) => (amount + 500_000n) / 1_000_000n;
    const cost = formatMoney(rounded(400n * price.input + 600n * price.read) + rounded(77n * price.output));
    expect(usage).toEqual({
      input_tokens: 1000,
      input_tokens_details: { cached_tokens: 600, cache_write_tokens: 0 },
      output_tokens: 77,
      output_tokens_details: { reasoning_tokens: 30 },
      total_tokens: 1077,
      cost,
    });
    const generation = await finishedGeneration(fixture.gateway.origin, key, id.replace('resp', 'req'));
    expect(generation).toMatchObject({ status: 'completed', streaming: stream, cost: { total: cost } });
  });

  test('a function is called, and its result comes back', async () => {
    const input: Json[] = [said('How is it? [[tool weather]]')];
    const first = await client.ask({ model, stream, input, tools: [weather], tool_choice: 'auto' });
    const [call] = callsOf(first) as [Item];
    expect(call).toMatchObject({ type: 'function_call', status: 'completed', name: 'weather' });
    expect(JSON.parse(String(call.arguments))).toBeObject();
    input.push(...first.output, {
      type: 'function_call_output',
      id: 'fco_1',
      status: 'completed',
      call_id: call.call_id,
      output: 'four degrees',
    });
    const second = await client.ask({ model, stream, input, tools: [weather] });
    expect([second.status, callsOf(second)]).toEqual(['completed', []]);
    expect(textOf(second)).toContain('four degrees');
  });

  test('several functions are called at once, each as its own item', async () => {
    const { output } = await client.ask({
      model,
      stream,
      input: [said('Both [[tools 2]] [[interleave]]')],
      tools: [weather, { ...weather, name: 'traffic' }],
    });
    const calls = output.filter(({ type }) => type === 'function_call');
    expect(calls).toHaveLength(2);
    expect(new Set(calls.map(({ call_id }) => call_id)).size).toBe(2);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
    for (const { arguments: written } of calls) expect(JSON.parse(String(written))).toBeObject();
  });

  test('a free-form tool and one of a namespace are called by the names that the client knows', async () => {
    const tools = [patch, team, weather];
    const first = await client.ask({ model, stream, input: [said('[[tool apply_patch]]')], tools });
    const [edit] = callsOf(first) as [Item];
    expect(edit).toMatchObject({ type: 'custom_tool_call', name: 'apply_patch' });
    expect([typeof edit.input, edit.arguments]).toEqual(['string', undefined]);
    const second = await client.ask({ model, stream, input: [said('[[tool team__ask]]')], tools });
    const [question] = callsOf(second) as [Item];
    expect(question).toMatchObject({ type: 'function_call', namespace: 'team', name: 'ask' });
    const third = await client.ask({
      model,
      stream,
      input: [
        said('one'),
        edit,
        { type: 'custom_tool_call_output', call_id: edit.call_id, output: 'edited' },
        question,
        { type: 'function_call_output', call_id: question.call_id, output: 'asked' },
        said('Done?'),
      ],
      tools,
    });
    expect(textOf(third)).toContain('Done?');
  });

  test('JSON of a given shape', async () => {
    const schema = {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    };
    const format_ = { type: 'json_schema', name: 'place', schema, strict: true };
    const response = await client.ask({ model, stream, input: 'Name one', text: { format: format_ } });
    expect(JSON.parse(textOf(response))).toEqual({ city: expect.any(String) });
    expect(response.text).toEqual({ format: format_, verbosity: 'medium' });
  });

  test('images of a user', async () => {
    const image = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'auto' };
    const content = [{ type: 'input_text', text: `Look ${format} ${stream}` }, image];
    const response = await client.ask({ model, stream, input: [{ role: 'user', content }] });
    expect(textOf(response)).toContain(`Look ${format} ${stream}`);
    expect(JSON.stringify(received(`Look ${format} ${stream}`))).toContain('iVBORw0KGgo=');
  });

  test('a developer may speak in the middle of a conversation', async () => {
    const response = await client.ask({
      model,
      stream,
      input: [
        { role: 'developer', content: 'Be brief.' },
        said('one'),
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'two' }] },
        { role: 'developer', content: [{ type: 'input_text', text: 'Be kind.' }] },
        said('three'),
      ],
    });
    expect(textOf(response)).toContain('three');
  });

  test('an answer that reached its limit is incomplete, and so is one that was filtered', async () => {
    const cut = await client.ask({ model, stream, input: 'x [[finish length]]' });
    expect([cut.status, cut.incomplete_details]).toEqual(['incomplete', { reason: 'max_output_tokens' }]);
    expect(cut.output.at(-1)?.status).toBe('incomplete');
    expect(cut.usage).not.toBeNull();
    const filtered = await client.ask({ model, stream, input: 'x [[finish content_filter]]' });
    expect([filtered.status, filtered.incomplete_details]).toEqual([
      'incomplete',
      { reason: 'content_filter' },
    ]);
  });
});

describe('towards the provider', () => {
  test('everything that a model wrote in a row is one message, in its order', async () => {
    await client.ask({
      model: 'speaks-openai',
      instructions: 'first',
      input: [
        { role: 'developer', content: [{ type: 'input_text', text: 'second' }] },
        { type: 'message', id: 'msg_1', role: 'user', content: 'row-canary' },
        { type: 'reasoning', id: 'rs_1', summary: [], content: null, encrypted_content: 'of somebody else' },
        {
          type: 'message',
          id: 'msg_2',
          role: 'assistant',
          status: 'completed',
          phase: 'commentary',
          content: [
            { type: 'output_text', text: 'Let me see.', annotations: [], logprobs: [] },
            { type: 'refusal', refusal: ' No.' },
          ],
        },
        { type: 'function_call', id: 'fc_1', call_id: 'a', name: 'weather', arguments: '{"city":"Oslo"}' },
        { type: 'custom_tool_call', id: 'ctc_1', call_id: 'b', name: 'apply_patch', input: 'a "b"\n' },
        { type: 'function_call_output', call_id: 'a', output: 'cold' },
        { type: 'custom_tool_call_output', call_id: 'b', output: [{ type: 'input_text', text: 'done' }] },
        said('And now?'),
      ],
      tools: [weather, patch],
      tool_choice: {
        type: 'allowed_tools',
        mode: 'required',
        tools: [{ type: 'custom', name: 'apply_patch' }],
      },
      max_output_tokens: 128_000,
      parallel_tool_calls: false,
    });
    const { messages, tools, tool_choice, max_tokens, parallel_tool_calls } = received('row-canary');
    expect(messages).toEqual([
      { role: 'system', content: 'first' },
      { role: 'system', content: 'second' },
      { role: 'user', content: 'row-canary' },
      {
        role: 'assistant',
        content: 'Let me see. No.',
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
          {
            id: 'b',
            type: 'function',
            function: { name: 'apply_patch', arguments: '{"input":"a \\"b\\"\\n"}' },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'cold' },
      { role: 'tool', tool_call_id: 'b', content: 'done' },
      { role: 'user', content: 'And now?' },
    ]);
    expect(tools).toEqual([
      {
        type: 'function',
        function: {
          name: 'apply_patch',
          description: 'Edits files.\n\nThe input must match this Lark grammar:\nstart: /.+/',
          parameters: {
            type: 'object',
            properties: { input: { type: 'string' } },
            required: ['input'],
            additionalProperties: false,
          },
        },
      },
    ]);
    // What the client would take is more than the model can write.
    expect([tool_choice, max_tokens, parallel_tool_calls]).toEqual(['required', 1000, false]);
  });

  test('an upper limit is lowered to what the balance covers', async () => {
    const { key: poor } = await fixture.customer('0.006');
    const body = { model: 'twofold', input: 'poor-canary', max_output_tokens: 128_000 };
    const response = await clientOf(fixture.gateway.origin, poor).ask(body);
    expect(response).toMatchObject({ status: 'completed', max_output_tokens: 128_000 });
    // 4,096 without the limit of the balance.
    expect(received('poor-canary').max_tokens as number).toBeWithin(1_024, 3_000);
  });

  test('what Codex offers beside functions is left out', async () => {
    const { tools } = await client.ask({
      model: 'speaks-openai',
      input: 'codex-canary',
      tools: [
        weather,
        { type: 'web_search', external_web_access: false },
        { type: 'tool_search', execution: 'client' },
      ],
      client_metadata: { session: 'x' },
      include: ['reasoning.encrypted_content'],
      reasoning: { summary: 'auto', context: 'all_turns' },
      store: false,
      stream: true,
      stream_options: { include_obfuscation: false },
      prompt_cache_key: 'thread-1',
    });
    expect((received('codex-canary').tools as Json[]).length).toBe(1);
    expect(tools).toHaveLength(3);
  });
});

async function refusal(body: Json | string): Promise<{ status: number } & ErrorBody['error']> {
  const response = await client.send(body);
  const { error } = (await response.json()) as ErrorBody;
  return { status: response.status, ...error };
}

describe('refusals', () => {
  test('what is not stored is named, with what to do instead', async () => {
    const reference = await refusal({
      model: 'speaks-openai',
      input: [said('x'), { type: 'item_reference', id: 'msg_1' }],
    });
    expect(reference).toMatchObject({ status: 400, code: 'unsupported_parameter', param: 'input[1]' });
    expect(reference.message).toContain('store: false under providerOptions.openai');
    expect(
      await refusal({ model: 'speaks-openai', input: 'x', previous_response_id: 'resp_1' }),
    ).toMatchObject({
      status: 400,
      code: 'unsupported_parameter',
      param: 'previous_response_id',
    });
  });

  test('a field that no provider of the model knows is named', async () => {
    for (const format of otherFormats)
      expect(await refusal({ model: `speaks-${format}`, input: 'x', new_field: { a: 1 } })).toMatchObject({
        status: 400,
        code: 'unsupported_parameter',
        param: 'new_field',
      });
  });

  test('what a model cannot do is told in the words of this format', async () => {
    const image = { type: 'input_image', image_url: 'https://example.com/cat.png' };
    expect(await refusal({ model: 'plain', input: [{ role: 'user', content: [image] }] })).toMatchObject({
      status: 400,
      param: 'input',
    });
    const format = { type: 'json_schema', name: 'x', schema: {} };
    const shaped = await refusal({ model: 'plain', input: 'x', text: { format } });
    expect(shaped).toMatchObject({ status: 400, param: 'text.format' });
    const strict = await refusal({ model: 'full', input: 'x', tools: [{ ...weather, strict: true }] });
    expect(strict).toMatchObject({ status: 400, param: 'tools' });
  });

  test('a balance that does not suffice, with a limit that would', async () => {
    const { key: poor } = await fixture.customer('0.012');
    const response = await clientOf(fixture.gateway.origin, poor).send({
      model: 'speaks-openai',
      input: 'x'.repeat(5_000),
    });
    const { error } = (await response.json()) as ErrorBody;
    expect([response.status, error.code, error.type]).toEqual([
      402,
      'insufficient_balance',
      'insufficient_balance',
    ]);
    expect(error.message).toContain('Add credit to the account.');
    expect(error.message).toContain('max_output_tokens');
    expect(error.message).not.toContain('max_tokens ');
  });

  test('an unknown model, a wrong key, a body that is not JSON', async () => {
    expect(await refusal({ model: 'nothing', input: 'x' })).toMatchObject({
      status: 404,
      code: 'model_not_found',
      param: 'model',
    });
    expect(await refusal('{')).toMatchObject({ status: 400, code: 'invalid_json' });
    const response = await clientOf(fixture.gateway.origin, 'svc_sk_x').send({ model: 'full', input: 'x' });
    expect(response.status).toBe(401);
  });

  test('a rate that is exceeded says when to come back', async () => {
    const { key: slow } = await fixture.customer('1', '--rpm', '1');
    const hasty = clientOf(fixture.gateway.origin, slow);
    await hasty.ask({ model: 'full', input: 'x' });
    const response = await hasty.send({ model: 'full', input: 'x' });
    const { error } = (await response.json()) as ErrorBody;
    expect([response.status, error.code]).toEqual([429, 'rate_limit_exceeded']);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});

describe('streams that fail', () => {
  const failedStream = async (input: string, model = 'full') => {
    const response = await client.send({ model, input, stream: true });
    expect(response.status).toBe(200);
    const events = readEvents(await response.text());
    const last = events.at(-1);
    expect(last?.type).toBe('response.failed');
    expect(events[0]?.type).toBe('response.created');
    return { events, failed: last?.response };
  };

  test('after some text, with an error that names the Generation', async () => {
    const { events, failed } = await failedStream('one two three four [[error-event 2]]');
    expect(failed).toMatchObject({
      status: 'failed',
      usage: null,
      store: false,
      error: { code: 'server_error', type: 'provider_error', gateway_code: 'provider_stream_error' },
    });
    expect(failed?.error?.message).toContain(String(failed?.id.replace('resp', 'req')));
    expect(events.some(({ type }) => type === 'response.output_text.delta')).toBe(true);
    expect(events.some(({ type }) => type === 'response.completed')).toBe(false);
  });

  test('before any of it, as two events that SDKs understand', async () => {
    const { events, failed } = await failedStream('x [[empty]]');
    expect(events.map(({ type }) => type)).toEqual(['response.created', 'response.failed']);
    expect(failed?.error).toMatchObject({ code: 'server_error', gateway_code: 'empty_provider_stream' });
  });

  test('without a usage report, in a way that stops a retry, which would be charged again', async () => {
    const { failed } = await failedStream('x [[no-usage]]');
    expect(failed?.error).toMatchObject({ code: 'invalid_prompt', gateway_code: 'usage_missing' });
  });
});

describe('idempotent requests', () => {
  test.each([false, true])('are charged once and replayed byte for byte, streamed: %p', async (stream) => {
    const body = { model: 'speaks-anthropic', stream, input: 'again' };
    const headers = { 'idempotency-key': `responses-${stream}` };
    const first = await client.send(body, headers);
    const text = await first.text();
    const second = await client.send(body, headers);
    expect(await second.text()).toBe(text);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    if (stream) assembled(readEvents(text));
    const other = await fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'full', messages: [said('x')] }),
    });
    expect(other.status).toBe(400);
  });
});

describe('POST /v1/responses/input_tokens', () => {
  const count = (body: Json, owner = key) =>
    fetch(`${fixture.gateway.origin}/v1/responses/input_tokens`, {
      method: 'POST',
      headers: { authorization: `Bearer ${owner}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  test('estimates, and neither calls nor charges', async () => {
    const before = fixture.sandbox.entries.length;
    const short = (await (await count({ model: 'full', input: 'Hello' })).json()) as Json;
    const long = (await (
      await count({ model: 'full', input: 'word '.repeat(1_000), tools: [weather] })
    ).json()) as Json;
    expect(short).toEqual({ object: 'response.input_tokens', input_tokens: expect.any(Number) });
    expect(short.input_tokens as number).toBeWithin(2, 30);
    expect(long.input_tokens as number).toBeWithin(1_000, 2_500);
    expect(fixture.sandbox.entries).toHaveLength(before);
  });

  test('takes a burst that a key with a low rate could not send, and has a limit of its own', async () => {
    const { key: slow } = await fixture.customer('1', '--rpm', '1');
    const statuses = await Promise.all(
      Array.from({ length: 26 }, async () => (await count({ model: 'full', input: 'x' }, slow)).status),
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
    const more = await Promise.all(
      Array.from({ length: 700 }, async () => (await count({ model: 'full', input: 'x' }, slow)).status),
    );
    expect(more).toContain(429);
  });

  test('refuses what /v1/responses refuses', async () => {
    const response = await count({ model: 'full', input: 'x', conversation: 'c' });
    expect([response.status, ((await response.json()) as ErrorBody).error.param]).toEqual([
      400,
      'conversation',
    ]);
    expect((await count({ model: 'nothing', input: 'x' })).status).toBe(404);
  });
});

test('a WebSocket is refused with a sentence', async () => {
  const { hostname } = new URL(fixture.gateway.origin);
  const socket = openRawClient(fixture.gateway.origin);
  socket.socket.write(
    `GET /v1/responses HTTP/1.1\r\nhost: ${hostname}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n` +
      'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n',
  );
  const answer = await socket.until((text) => text.includes('}}'));
  socket.socket.destroy();
  expect(answer).toStartWith('HTTP/1.1 426 ');
  expect(answer).toContain('use POST /v1/responses over HTTP');
});
