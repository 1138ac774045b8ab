/** The life of a request in every dialect: clients that leave at any stage, retries, and providers that take over. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type ChatFixture, chatCatalog, type ErrorBody, openChatFixture } from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { type FaultDialect, faultDialects } from '../support/fault-dialects.ts';
import { openLeavingClient } from '../support/leaving-client.ts';
import { delta, type Exchange, startScriptedProvider, usageEvent } from '../support/scripted-provider.ts';

const provider = startScriptedProvider();
const able =
  'capabilities: [text_input, text_output, streaming, function_calling], max_output_tokens: 1000, context_window: 100000, pricing: { billing_type: token, input: "1", output: "2" }';

let fixture: ChatFixture;
let key: string;

beforeAll(async () => {
  const at = (adapter: string, more = '') =>
    `{ adapter: ${adapter}, base_url: "${provider.url}/v1", api_key_env: MAIN_KEY, circuit: { failures: 1000 }${more} }`;
  fixture = await openChatFixture((url) =>
    chatCatalog(url, {
      providers: `
  in-openai:     ${at('openai')}
  in-messages:   ${at('anthropic')}
  twin-openai:   ${at('openai')}
  twin-messages: ${at('anthropic')}
  hasty-openai:   ${at('openai', ', timeouts: { total_ms: 1500 }')}
  hasty-messages: ${at('anthropic', ', timeouts: { total_ms: 1500 }')}`,
      models: `
  openai:    { workload: chat, ${able}, providers: [in-openai] }
  messages:  { workload: chat, ${able}, providers: [in-messages] }
  responses: { workload: chat, ${able}, providers: [{ provider: in-openai, api: responses }] }
  from-messages:  { workload: chat, ${able}, providers: [in-messages, in-openai] }
  to-messages:    { workload: chat, ${able}, providers: [in-openai, in-messages] }
  twin-messages:  { workload: chat, ${able}, providers: [in-messages, twin-messages] }
  from-responses: { workload: chat, ${able}, providers: [{ provider: in-openai, api: responses }, in-messages] }
  to-responses:   { workload: chat, ${able}, providers: [in-messages, { provider: in-openai, api: responses }] }
  twin-responses: { workload: chat, ${able}, providers: [{ provider: in-openai, api: responses }, { provider: twin-openai, api: responses }] }
  hasty-openai:    { workload: chat, ${able}, providers: [hasty-openai] }
  hasty-messages:  { workload: chat, ${able}, providers: [hasty-messages] }
  hasty-responses: { workload: chat, ${able}, providers: [{ provider: hasty-openai, api: responses }] }`,
    }),
  );
  ({ key } = await fixture.customer('100', '--rpm', '100000'));
});

afterAll(async () => {
  await fixture.close();
  await provider.stop();
});

/** How a provider of each format answers, in the steps of a stream. */
type Speech = Readonly<{
  begin: (exchange: Exchange) => void;
  say: (exchange: Exchange, text: string) => void;
  end: (exchange: Exchange) => void;
  whole: (text: string) => object;
}>;
const counts = { input_tokens: 10, output_tokens: 5 };
const response = (status: string, more: object = {}) => ({
  id: 'resp_theirs',
  object: 'response',
  created_at: 1,
  status,
  error: null,
  incomplete_details: null,
  output: [],
  usage: null,
  store: false,
  ...more,
});

const speeches: Readonly<Record<string, Speech>> = {
  openai: {
    begin: ({ send }) => send(delta({ role: 'assistant', content: '' })),
    say: ({ send }, text) => send(delta({ content: text })),
    end: ({ send, end }) => {
      send(delta({}, 'stop'));
      send(usageEvent(10, 5));
      send('[DONE]');
      end();
    },
    whole: (content) => ({
      choices: [{ index: 0, message: { content }, finish_reason: 'stop' }],
      usage: usageEvent(10, 5).usage,
    }),
  },
  messages: {
    begin: ({ send }) => {
      send({ type: 'message_start', message: { content: [], usage: { input_tokens: 10 } } });
      send({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } });
    },
    say: ({ send }, text) =>
      send({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
    end: ({ send, end }) => {
      send({ type: 'content_block_stop', index: 0 });
      send({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: counts });
      send({ type: 'message_stop' });
      end();
    },
    whole: (text) => ({ content: [{ type: 'text', text }], stop_reason: 'end_turn', usage: counts }),
  },
  responses: {
    begin: ({ send }) => send({ type: 'response.created', response: response('in_progress') }),
    say: ({ send }, text) =>
      send({
        type: 'response.output_text.delta',
        item_id: 'msg_theirs',
        output_index: 0,
        content_index: 0,
        sequence_number: 1,
        delta: text,
      }),
    end: ({ send, end }) => {
      send({ type: 'response.completed', response: response('completed', { usage: counts }) });
      end();
    },
    whole: (text) =>
      response('completed', {
        output: [
          { id: 'msg_theirs', type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] },
        ],
        usage: counts,
      }),
  },
};

/** The end of a complete stream, in any dialect. */
const isOver = /data: \[DONE\]|event: message_stop|event: response\.completed/;

let count = 0;
const nextPrompt = () => {
  count += 1;
  return `life-${count}.`;
};

const send = (dialect: FaultDialect, body: object, headers: Record<string, string> = {}, own = key) =>
  fetch(`${fixture.gateway.origin}${dialect.path}`, {
    method: 'POST',
    headers: { ...dialect.headers(own), 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

/** What every dialect passes on or translates, and chat completions for comparison. */
const pairs = faultDialects.flatMap((dialect) =>
  Object.keys(speeches).flatMap((format) =>
    format === 'openai' || dialect.ownFormat === null || isOwn(dialect, format)
      ? [[`${dialect.name} to ${format}`, dialect, format, speeches[format] as Speech] as const]
      : [],
  ),
);

function isOwn({ ownFormat }: FaultDialect, format: string): boolean {
  return ownFormat === (format === 'messages' ? 'anthropic' : format);
}

async function endOf(account: string) {
  const { sql } = fixture.database;
  return await eventually('the end of the request', async () => {
    const [row] = await sql`
      select status, error_code, output_tokens::int as output, cost_total::text as cost from generations
      where account_id = ${account}`;
    const [left] = await sql`
      select held::text as held, (select count(*)::int from open_generations where account_id = ${account}) as open
      from accounts where id = ${account}`;
    return row === undefined ? null : { ...row, ...left };
  });
}

const nothingHeld = { held: '0.000000000000', open: 0 };
const charged = { output: 5, cost: '0.000020000000', ...nothingHeld };

describe.each(pairs)('%s: a client that leaves', (_, dialect, format, { begin, say, end, whole }) => {
  async function leaving(stream: boolean) {
    const { key: own, account } = await fixture.customer('1');
    const prompt = nextPrompt();
    const client = openLeavingClient(
      fixture.gateway.origin,
      dialect.path,
      dialect.headers(own),
      dialect.body(format, stream, prompt),
    );
    return { account, client, exchange: await provider.received(prompt) };
  }

  test('before the first byte is charged for what the provider does', async () => {
    const { account, client, exchange } = await leaving(true);
    await client.leave();
    begin(exchange);
    say(exchange, 'Hello');
    end(exchange);
    expect(await endOf(account)).toEqual({ status: 'cancelled', error_code: null, ...charged });
  });

  test('in the middle is charged for all of it', async () => {
    const { account, client, exchange } = await leaving(true);
    begin(exchange);
    say(exchange, 'Hello');
    await client.until((received) => received.includes('Hello'));
    await client.leave();
    say(exchange, ' there');
    end(exchange);
    expect(await endOf(account)).toEqual({ status: 'cancelled', error_code: null, ...charged });
  });

  test('in the middle of a stream that breaks is not charged', async () => {
    const { account, client, exchange } = await leaving(true);
    begin(exchange);
    say(exchange, 'Hello');
    await client.until((received) => received.includes('Hello'));
    await client.leave();
    exchange.end();
    expect(await endOf(account)).toEqual({
      status: 'cancelled',
      error_code: null,
      output: null,
      cost: null,
      ...nothingHeld,
    });
  });

  test('after the last event has a complete answer', async () => {
    const { account, client, exchange } = await leaving(true);
    begin(exchange);
    say(exchange, 'Hello');
    end(exchange);
    await client.until((received) => isOver.test(received));
    // Committed before it was sent.
    expect(await endOf(account)).toEqual({ status: 'completed', error_code: null, ...charged });
    await client.leave();
    expect(await endOf(account)).toEqual({ status: 'completed', error_code: null, ...charged });
  });

  test('while the provider works on a whole answer is charged', async () => {
    const { account, client, exchange } = await leaving(false);
    await client.leave();
    exchange.reply(whole('Hello'));
    expect(await endOf(account)).toEqual({ status: 'cancelled', error_code: null, ...charged });
  });
});

async function bytesOf(answer: Response) {
  const { status, headers } = answer;
  const kept = ['content-type', 'x-service-request-id', 'x-request-id', 'request-id', 'x-service-cost-usd'];
  return [status, kept.map((name) => headers.get(name)), await answer.text()];
}

describe.each(pairs)('%s: a retry', (_, dialect, format, { begin, say, end, whole }) => {
  const answer = (exchange: Exchange, stream: boolean) => {
    if (!stream) return exchange.reply(whole('Hello'));
    begin(exchange);
    say(exchange, 'Hello');
    end(exchange);
  };

  test.each([true, false])(
    'gets the first answer, while it is made and later; streamed: %p',
    async (stream) => {
      const { key: own, account } = await fixture.customer('1');
      const prompt = nextPrompt();
      const name = { 'idempotency-key': prompt };
      const body = dialect.body(format, stream, prompt);
      const first = send(dialect, body, name, own);
      const exchange = await provider.received(prompt);
      const during = send(dialect, body, name, own);
      const changed = await send(dialect, { ...body, temperature: 0.5 }, name, own);
      expect([changed.status, ((await changed.json()) as ErrorBody).error.code]).toEqual([
        400,
        'invalid_parameter',
      ]);
      answer(exchange, stream);
      const bytes = await bytesOf(await first);
      expect(bytes).toEqual([200, expect.anything(), expect.stringContaining('Hello')]);
      expect(await bytesOf(await during)).toEqual(bytes);
      expect(await bytesOf(await send(dialect, body, name, own))).toEqual(bytes);
      expect((await send(dialect, { ...body, temperature: 0.5 }, name, own)).status).toBe(400);
      expect(await endOf(account)).toEqual({ status: 'completed', error_code: null, ...charged });
      // Another account with the same key and body has its own.
      const other = send(dialect, body, name);
      answer(await provider.received(prompt), stream);
      const others = await bytesOf(await other);
      expect(others[1]).not.toEqual(bytes[1]);
    },
  );
});

test.each(faultDialects.map((dialect) => [dialect.name, dialect] as const))(
  'a retry of an answer that could not be stored learns so in the form of %s',
  async (_, dialect) => {
    const { sql } = fixture.database;
    const prompt = nextPrompt();
    const name = { 'idempotency-key': prompt };
    const body = dialect.body('openai', false, prompt);
    const first = send(dialect, body, name);
    const exchange = await provider.received(prompt);
    await sql`alter table idempotent_requests add constraint nothing_staged check (staged is null) not valid`;
    exchange.reply((speeches.openai as Speech).whole('long '.repeat(20_000)));
    const { status, headers } = await first;
    await sql`alter table idempotent_requests drop constraint nothing_staged`;
    expect([status, headers.get('idempotency-stored')]).toEqual([200, 'false']);
    const again = await send(dialect, body, name);
    const text = await again.text();
    expect([again.status, again.headers.get('x-should-retry'), text]).toEqual([
      500,
      'false',
      expect.stringContaining('"code":"billing_consistency_error"'),
    ]);
    const id = headers.get('x-service-request-id');
    const isMessages = dialect.name === 'Messages';
    expect(JSON.parse(text)).toEqual({
      error: expect.anything(),
      ...(isMessages ? { type: 'error', request_id: id } : {}),
    });
  },
);

test('a key is for one route', async () => {
  const prompt = nextPrompt();
  const name = { 'idempotency-key': prompt };
  const [completions, responses, messages] = faultDialects as [FaultDialect, FaultDialect, FaultDialect];
  const first = send(messages, messages.body('openai', false, prompt), name);
  (await provider.received(prompt)).reply((speeches.openai as Speech).whole('Hello'));
  expect((await first).status).toBe(200);
  for (const dialect of [completions, responses]) {
    const other = await send(dialect, dialect.body('openai', false, prompt), name);
    expect([other.status, ((await other.json()) as ErrorBody).error.param]).toEqual([400, 'Idempotency-Key']);
  }
});

/** Where each model goes first, and where then. */
const crossings = [
  ['from-messages', 'messages', 'openai'],
  ['to-messages', 'openai', 'messages'],
  ['twin-messages', 'messages', 'messages'],
  ['from-responses', 'responses', 'messages'],
  ['to-responses', 'messages', 'responses'],
  ['twin-responses', 'responses', 'responses'],
] as const;

describe.each(crossings)('%s: a provider that takes over', (model, from, to) => {
  const [first, second] = [speeches[from] as Speech, speeches[to] as Speech];

  test.each(faultDialects.map((dialect) => [dialect.name, dialect] as const))(
    'from one that began and said nothing, in %s',
    async (_, dialect) => {
      const { key: own, account } = await fixture.customer('1');
      const prompt = nextPrompt();
      const pending = send(dialect, dialect.body(model, true, prompt), {}, own);
      const failing = await provider.received(prompt);
      first.begin(failing);
      failing.end();
      const taking = await provider.received(prompt);
      second.begin(taking);
      second.say(taking, 'Hello');
      second.end(taking);
      const text = await (await pending).text();
      expect(text).toContain('Hello');
      expect(text).toMatch(isOver);
      expect(await endOf(account)).toEqual({ status: 'completed', error_code: null, ...charged });
    },
  );
});

/** The reasoning of an answer, as a provider of the format writes it. */
const signature = 'signature-of-the-first';
const thought = 'thought-of-the-first';

test.each(['from-messages', 'twin-messages'])('%s: signatures stay with their maker', async (model) => {
  const messages = faultDialects[2] as FaultDialect;
  const ask = (prompt: string, more: object[]) => ({
    ...messages.body(model, false, prompt),
    thinking: { type: 'enabled', budget_tokens: 1_024 },
    messages: [...more, { role: 'user', content: prompt }],
  });
  const prompt = nextPrompt();
  const pending = send(messages, ask(prompt, []));
  const text = { type: 'text', text: 'Hello' };
  const content = [{ type: 'thinking', thinking: thought, signature }, text];
  (await provider.received(prompt)).reply({ content, stop_reason: 'end_turn', usage: counts });
  const answer = (await (await pending).json()) as { content: Record<string, string>[] };
  expect(answer.content[0]?.signature).toStartWith('tg1_');
  const next = nextPrompt();
  const { content: sealed } = answer;
  const again = send(
    messages,
    ask(next, [
      { role: 'user', content: 'Go' },
      { role: 'assistant', content: sealed },
    ]),
  );
  const maker = await provider.received(next);
  expect(maker.body).toContain(signature);
  maker.open(503);
  const other = await provider.received(next);
  for (const secret of [signature, thought, 'tg1_']) expect(other.body).not.toContain(secret);
  const { whole } = speeches[model === 'twin-messages' ? 'messages' : 'openai'] as Speech;
  other.reply(whole('Hello'));
  expect((await again).status).toBe(200);
});

test.each(['from-responses', 'twin-responses'])('%s: signatures stay with their maker', async (model) => {
  const responses = faultDialects[1] as FaultDialect;
  const ask = (prompt: string, more: object[]) => ({
    ...responses.body(model, false, prompt),
    include: ['reasoning.encrypted_content'],
    input: [...more, { role: 'user', content: prompt }],
  });
  const prompt = nextPrompt();
  const pending = send(responses, ask(prompt, []));
  const reasoning = {
    id: 'rs_theirs',
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: thought }],
    encrypted_content: signature,
  };
  const whole = (speeches.responses as Speech).whole('Hello') as { output: object[] };
  (await provider.received(prompt)).reply({ ...whole, output: [reasoning, ...whole.output] });
  const answer = (await (await pending).json()) as { output: Record<string, string>[] };
  expect(answer.output[0]?.encrypted_content).toStartWith('tg1_');
  const next = nextPrompt();
  const again = send(responses, ask(next, [{ role: 'user', content: 'Go' }, ...answer.output]));
  const maker = await provider.received(next);
  expect(maker.body).toContain(signature);
  maker.open(503);
  const other = await provider.received(next);
  for (const secret of [signature, thought, 'tg1_', 'rs_theirs']) expect(other.body).not.toContain(secret);
  other.reply((speeches[model === 'twin-responses' ? 'responses' : 'messages'] as Speech).whole('Hello'));
  expect((await again).status).toBe(200);
});

/** What a provider can send forever. */
const endless: readonly (readonly [string, (exchange: Exchange, index: number, speech: Speech) => void])[] = [
  ['the same event', ({ send: write }) => write({ type: 'ping' })],
  ['unknown events', ({ send: write }, index) => write({ type: 'brand_new', index })],
  ['text', (exchange, index, { say }) => say(exchange, `word ${index} `)],
];

test('streams without an end are cut off, whatever they hold, in every dialect', async () => {
  const cases = pairs.flatMap((pair) => endless.map((flood) => [pair, flood] as const));
  await Promise.all(
    cases.map(async ([[name, dialect, format, speech], [what, step]]) => {
      const { key: own, account } = await fixture.customer('1');
      const prompt = nextPrompt();
      const pending = send(dialect, dialect.body(`hasty-${format}`, true, prompt), {}, own);
      const exchange = await provider.received(prompt);
      speech.begin(exchange);
      let index = 0;
      const sending = setInterval(() => {
        index += 1;
        step(exchange, index, speech);
      }, 20);
      const answer = await pending;
      const text = await answer.text();
      clearInterval(sending);
      const { open, held } = await endOf(account);
      expect([name, what, open, held, text]).toEqual([
        name,
        what,
        0,
        nothingHeld.held,
        expect.stringMatching(/error|failed/),
      ]);
    }),
  );
});
