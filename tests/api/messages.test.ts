/** POST /v1/messages through a real gateway, in front of providers of every format. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type ChatFixture, finishedGeneration, openChatFixture } from '../support/chat-fixture.ts';
import {
  assistant,
  blocksOf,
  eventsOf,
  type MessageBody,
  type MessagesClient,
  type MessagesErrorBody,
  messagesCatalog,
  messagesClient,
  user,
} from '../support/messages-fixture.ts';

let fixture: ChatFixture;
let client: MessagesClient;
const formats = ['openai', 'anthropic', 'google'] as const;

beforeAll(async () => {
  fixture = await openChatFixture(messagesCatalog);
  client = messagesClient(fixture, (await fixture.customer('100')).key);
  fixture.canaries.add('prompt-canary');
});

afterAll(() => fixture.close());

type Answer = Readonly<{ content: MessageBody['content']; stop: unknown; usage: Record<string, unknown> }>;

/** The same, whether it was streamed or not. */
async function answerTo(body: object, isStreamed: boolean): Promise<Answer & { id: string }> {
  const response = await client.send({ ...body, stream: isStreamed });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status}: ${text}`);
  const id = response.headers.get('request-id') ?? '';
  if (!isStreamed) {
    const { content, stop_reason: stop, usage } = JSON.parse(text) as MessageBody;
    return { id, content, stop, usage };
  }
  const events = eventsOf(text);
  const { delta, usage } = events.at(-2) as unknown as {
    delta: { stop_reason: string };
    usage: Answer['usage'];
  };
  return { id, content: blocksOf(events), stop: delta.stop_reason, usage };
}

async function refusalOf(response: Response | Promise<Response>) {
  const answered = await response;
  const { error, request_id: id, type } = (await answered.json()) as MessagesErrorBody;
  expect([type, id]).toEqual(['error', answered.headers.get('request-id') ?? '']);
  return { status: answered.status, ...error };
}

/** What the provider got for a request, as the sandbox logged it. */
function receivedFor(id: string): Record<string, unknown> {
  const entry = fixture.sandbox.entries.find(({ client_request_id: calledFor }) => calledFor === id);
  return entry?.body as Record<string, unknown>;
}

const tools = ['get_weather', 'get_time'].map((name) => ({
  name,
  description: 'Looks something up',
  input_schema: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
  cache_control: { type: 'ephemeral' },
}));

describe.each(formats)('a provider in the format of %s', (model) => {
  describe.each([false, true])('streamed: %p', (isStreamed) => {
    test('answers with text, usage and cost', async () => {
      const { id, ...answer } = await answerTo(
        { model, messages: [user('prompt-canary [[say one "two" three]] [[usage 20 5]]')] },
        isStreamed,
      );
      expect(answer).toMatchObject({
        content: [{ type: 'text', text: 'one "two" three' }],
        stop: 'end_turn',
        usage: { input_tokens: 20, output_tokens: 5, cost: '0.000135000000' },
      });
      const { cost, status, streaming } = await finishedGeneration(fixture.gateway.origin, client.key, id);
      expect([status, cost?.total, streaming]).toEqual(['completed', '0.000135000000', isStreamed]);
    });

    test('calls tools, and answers once they have results', async () => {
      const question = user([{ type: 'text', text: 'Weather and time? [[tools 2]]' }]);
      const asked = { model, tools, system: 'Be brief.', metadata: { user_id: 'user-canary' } };
      const { content, stop } = await answerTo({ ...asked, messages: [question] }, isStreamed);
      expect(stop).toBe('tool_use');
      const calls = content.filter(({ type }) => type === 'tool_use');
      expect(calls.map(({ name }) => name)).toEqual(['get_weather', 'get_time']);
      for (const { id, input } of calls) {
        expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
        expect(Object.keys(input as object)).toEqual(['city']);
      }
      const results = calls.map(({ id }, index) => ({
        type: 'tool_result',
        tool_use_id: id,
        ...(index === 0
          ? { content: 'Clear', is_error: false }
          : { content: [{ type: 'text', text: 'Noon' }] }),
      }));
      const second = await answerTo(
        {
          ...asked,
          messages: [
            question,
            assistant(content),
            user([...results, { type: 'text', text: '[[say It is noon.]]' }]),
          ],
        },
        isStreamed,
      );
      expect([second.content, second.stop]).toMatchObject([
        [{ type: 'text', text: 'It is noon.' }],
        'end_turn',
      ]);
      expect(JSON.stringify(receivedFor(second.id))).not.toContain('user-canary');
    });

    test('writes JSON of a given shape', async () => {
      const schema = {
        type: 'object',
        properties: { title: { type: 'string' } },
        required: ['title'],
        additionalProperties: false,
      };
      const { content } = await answerTo(
        { model, output_config: { format: { type: 'json_schema', schema } }, messages: [user('A title.')] },
        isStreamed,
      );
      expect(Object.keys(JSON.parse(String(content[0]?.text)) as object)).toEqual(['title']);
    });

    test('sees images', async () => {
      const image = {
        type: 'image',
        source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
      };
      const { id } = await answerTo(
        { model, messages: [user([image, { type: 'text', text: 'What is it?' }])] },
        isStreamed,
      );
      expect(JSON.stringify(receivedFor(id))).toContain('iVBORw0KGgo=');
    });

    test('is charged for what a cache was involved in, to the last digit', async () => {
      const written = model === 'google' ? 0 : 300;
      const directive = written === 0 ? '' : `[[cache-write ${written}]]`;
      const { id, usage } = await answerTo(
        {
          model,
          cache_control: { type: 'ephemeral' },
          messages: [
            user(`word [[usage 1000 7]] [[cached 600]] ${directive}`.repeat(1).concat(' word'.repeat(1200))),
          ],
        },
        isStreamed,
      );
      const fresh = 400 - written;
      // In dollars per million tokens: 3 fresh, 0.3 read, 3.75 written, 15 output.
      const cost = (fresh * 3 + 600 * 0.3 + written * 3.75 + 7 * 15) / 1e6;
      expect(usage).toMatchObject({
        input_tokens: fresh,
        cache_read_input_tokens: 600,
        cache_creation_input_tokens: written,
        output_tokens: 7,
        cost: cost.toFixed(12),
      });
      const generation = await finishedGeneration(fixture.gateway.origin, client.key, id);
      expect(generation.cost?.total).toBe(cost.toFixed(12));
    });
  });
});

describe('a provider of the same format', () => {
  test('gets what the gateway does not know, and our limit', async () => {
    const { id } = await answerTo(
      {
        model: 'anthropic',
        top_k: 5,
        system: [
          { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.325; cc_entrypoint=cli;' },
          { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } },
        ],
        thinking: { type: 'adaptive', display: 'omitted' },
        messages: [user([{ type: 'text', text: 'Hi', cache_control: { type: 'ephemeral', ttl: '1h' } }])],
      },
      false,
    );
    expect(receivedFor(id)).toMatchObject({
      model: 'anthropic',
      max_tokens: 8_000,
      top_k: 5,
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      thinking: { type: 'adaptive', display: 'omitted' },
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: { ttl: '1h' } }] }],
    });
  });

  test.each([false, true])(
    'gets its own thinking back, and nobody else does (streamed: %p)',
    async (isStreamed) => {
      const messages = [user('[[reasoning 5]] [[say Yes.]]')];
      const thinking = { type: 'enabled', budget_tokens: 2_000 };
      const first = await answerTo({ model: 'anthropic', thinking, messages }, isStreamed);
      const [thought] = first.content;
      expect([thought?.type, String(thought?.signature).slice(0, 4)]).toEqual(['thinking', 'tg1_']);
      const next = [...messages, assistant(first.content), user('Sure?')];
      const sentBy = async (from: MessagesClient, model: string) => {
        const response = await from.send({ model, thinking, messages: next });
        expect(response.status).toBe(200);
        return JSON.stringify(receivedFor(response.headers.get('request-id') ?? ''));
      };
      const signature = Buffer.from('A signature of the sandbox.').toString('base64');
      expect(await sentBy(client, 'anthropic')).toContain(`"signature":"${signature}"`);
      const stranger = messagesClient(fixture, (await fixture.customer('1')).key);
      for (const sent of [await sentBy(stranger, 'anthropic'), await sentBy(client, 'unbounded')])
        expect(sent).not.toMatch(/signature|"thinking":"/);
      expect(await sentBy(client, 'openai')).not.toMatch(/signature|Let me think/);
    },
  );

  test('holds the long price for what is kept for an hour', async () => {
    const poor = messagesClient(fixture, (await fixture.customer('0.000001')).key);
    const needed = async (mark: object | null) => {
      const text = { type: 'text', text: 'word '.repeat(20_000), cache_control: mark };
      const { status, message } = await refusalOf(
        poor.send({ model: 'anthropic', max_tokens: 1, messages: [user([text])] }),
      );
      expect(status).toBe(402);
      return Number(/may cost up to \$([\d.]+);/.exec(message)?.[1]);
    };
    const plain = await needed(null);
    expect((await needed({ type: 'ephemeral' })) / plain).toBeCloseTo(1.25, 1);
    expect((await needed({ type: 'ephemeral', ttl: '1h' })) / plain).toBeCloseTo(2, 1);
  });

  test('takes a document, for which the whole window is held, if there is one', async () => {
    const source = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' };
    const messages = [
      user([
        { type: 'document', source },
        { type: 'text', text: 'Sum it up.' },
      ]),
    ];
    const poor = messagesClient(fixture, (await fixture.customer('0.1')).key);
    const short = await refusalOf(poor.send({ model: 'anthropic', messages }));
    // 200,000 tokens at 3 dollars per million.
    expect([short.status, short.message]).toEqual([402, expect.stringMatching(/\$0\.6.* Add credit to the/)]);
    expect(await refusalOf(client.send({ model: 'unbounded', messages }))).toMatchObject({
      status: 400,
      code: 'unsupported_parameter',
      param: 'messages[0].content[0]',
    });
    expect(await refusalOf(client.send({ model: 'openai', messages }))).toMatchObject({
      status: 400,
      code: 'unsupported_parameter',
      param: 'messages[0].content[0].type',
    });
  });

  test('is left out of what others cannot do, and the other way round', async () => {
    expect(
      await refusalOf(client.send({ model: 'crossing', top_k: 5, messages: [user('Hi')] })),
    ).toMatchObject({
      status: 502,
      code: 'provider_unavailable',
    });
    const { content } = await answerTo({ model: 'crossing', messages: [user('[[say Hi]]')] }, true);
    expect(content).toEqual([{ type: 'text', text: 'Hi' }]);
  });
});

describe('errors', () => {
  const messages = [user('Hi')];
  test.each([
    [
      'no version',
      {},
      { 'anthropic-version': '' },
      400,
      'invalid_request_error',
      'invalid_parameter',
      'anthropic-version',
    ],
    ['no limit', { max_tokens: null }, {}, 400, 'invalid_request_error', 'invalid_parameter', 'max_tokens'],
    [
      'a price of its own',
      { speed: 'fast' },
      {},
      400,
      'invalid_request_error',
      'unsupported_parameter',
      'speed',
    ],
    ['an unknown model', { model: 'nothing' }, {}, 404, 'not_found_error', 'model_not_found', 'model'],
    ['a model for images', { model: 'picture' }, {}, 400, 'invalid_request_error', 'invalid_model', 'model'],
    [
      'an unknown key',
      {},
      { 'x-api-key': `svc_sk_${'x'.repeat(43)}` },
      401,
      'authentication_error',
      'invalid_api_key',
      null,
    ],
    [
      'an unknown field',
      { novelty: 1 },
      {},
      400,
      'invalid_request_error',
      'unsupported_parameter',
      'novelty',
    ],
    [
      'tools of a provider',
      { tools: [{ type: 'web_search_20260209', name: 'web_search' }] },
      {},
      400,
      'invalid_request_error',
      'unsupported_parameter',
      'tools[0].type',
    ],
  ])('%s', async (_, changes, headers, status, type, code, param) => {
    const refusal = await refusalOf(client.send({ model: 'openai', messages, ...changes }, headers as never));
    expect(refusal).toMatchObject({ status, type, code, param });
  });

  test('a body that is no JSON, another method, and another path', async () => {
    const post = (path: string, init: RequestInit) =>
      fetch(`${fixture.gateway.origin}${path}`, {
        ...init,
        headers: { 'x-api-key': client.key, 'content-type': 'application/json' },
      });
    expect(await refusalOf(post('/v1/messages', { method: 'POST', body: '{' }))).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      code: 'invalid_json',
    });
    for (const [path, method] of [
      ['/v1/messages', 'GET'],
      ['/v1/messages/batches', 'POST'],
    ] as const)
      expect(await refusalOf(post(path, { method }))).toMatchObject({
        status: 404,
        type: 'not_found_error',
        code: 'not_found',
      });
  });

  test('too little money, with what to do', async () => {
    const poor = messagesClient(fixture, (await fixture.customer('0.0001')).key);
    for (const stream of [false, true]) {
      const refusal = await refusalOf(poor.send({ model: 'openai', messages, stream }));
      expect(refusal).toMatchObject({ status: 402, type: 'billing_error', code: 'insufficient_balance' });
      expect(refusal.message).toContain('max_tokens');
    }
  });

  test('too many requests, with when to try again', async () => {
    const slow = messagesClient(fixture, (await fixture.customer('1', '--rpm', '1')).key);
    await (await slow.send({ model: 'openai', messages })).text();
    const response = await slow.send({ model: 'openai', messages });
    const seconds = Number(response.headers.get('retry-after'));
    expect(seconds).toBeGreaterThan(0);
    expect(await refusalOf(response)).toMatchObject({
      status: 429,
      type: 'rate_limit_error',
      message: `This API key has exceeded its limit of requests per minute. Try again in ${seconds} seconds.`,
    });
  });

  test('a broken stream ends with an error event, and nothing looks complete', async () => {
    for (const model of formats) {
      const response = await client.send({
        model,
        stream: true,
        messages: [user('[[long 9]] [[error-event 3]]')],
      });
      const events = eventsOf(await response.text());
      expect(events.at(-1)).toMatchObject({
        type: 'error',
        error: { type: 'api_error', code: 'provider_stream_error' },
        request_id: response.headers.get('request-id') ?? '',
      });
      expect(events.some(({ type }) => type === 'message_stop' || type === 'message_delta')).toBe(false);
    }
  });
});

describe('the limit on output', () => {
  test('is lowered to what the balance covers, silently', async () => {
    // Input and about 2,000 tokens of output at 15 dollars per million.
    const poor = messagesClient(fixture, (await fixture.customer('0.04')).key);
    const response = await poor.send({ model: 'anthropic', messages: [user('Hi')] });
    expect(response.status).toBe(200);
    const { max_tokens: sent } = receivedFor(response.headers.get('request-id') ?? '') as {
      max_tokens: number;
    };
    expect(sent).toBeGreaterThanOrEqual(1_024);
    expect(sent).toBeLessThan(3_000);
  });
});

describe('an idempotent request', () => {
  test('is replayed byte for byte, with its own ID', async () => {
    const body = { model: 'anthropic', stream: true, messages: [user('Once [[long 5]]')] };
    const headers = { 'idempotency-key': 'messages-1' };
    const [first, second] = [await client.send(body, headers), await client.send(body, headers)];
    expect(await second.text()).toBe(await first.text());
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect(second.headers.get('request-id')).toBe(first.headers.get('request-id') as string);
  });
});
