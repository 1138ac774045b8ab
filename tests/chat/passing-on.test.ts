/**
 * A request whose provider speaks the client's own format: its events reach the client as they came, and the last of them
 * after the charge. The format here is made up, so that nothing but the gateway's own rules is tested.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import type { ChatDialect, ChatWriter } from '../../src/chat/dialect.ts';
import type { ChatRequest } from '../../src/chat/request.ts';
import { Calls } from '../../src/providers/call.ts';
import type { ChatAdapter, ChatEvent, Original } from '../../src/providers/chat.ts';
import { streamChat } from '../../src/providers/chat-call.ts';
import { ConnectWatchdog } from '../../src/providers/connect-watchdog.ts';
import { openai } from '../../src/providers/openai.ts';
import { defaultDialect } from '../../src/providers/upstream.ts';
import { orderOf } from '../support/chat-messages.ts';
import { eventually } from '../support/eventually.ts';
import { emptyCall, testProvider } from '../support/provider.ts';
import { reported } from '../support/reported-usage.ts';
import { delta, type Exchange, startScriptedProvider, usageEvent } from '../support/scripted-provider.ts';
import { type ServedStream, type StreamToServe, serveStream } from '../support/served-stream.ts';

const provider = startScriptedProvider();
afterAll(() => provider.stop());

type Sent = Readonly<{ type: string; text?: string }>;

/** Events are sent as `TYPE:TEXT` to clients. */
const wireOf = ({ type, text = '' }: Sent) => `${type}:${text}\n\n`;

function read(data: string): readonly ChatEvent[] {
  const sent = JSON.parse(data) as Sent;
  const wire = wireOf(sent);
  switch (sent.type) {
    case 'start':
      return [{ type: 'usage', usage: reported(20, 0), wire }];
    case 'word':
      return [{ type: 'text', text: sent.text ?? '', wire }];
    case 'last':
      return [
        { type: 'finish', reason: 'stop', wire },
        { type: 'usage', usage: reported(20, 5) },
        { type: 'end' },
      ];
    default:
      return [{ type: 'wire', wire }];
  }
}

const speaking: ChatAdapter = {
  ...openai,
  format: 'messages',
  passOn: {
    request: ({ body }, { baseUrl, model, maxOutputTokens }, stream) => ({
      url: baseUrl,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, model, limit: maxOutputTokens, stream }),
    }),
    readAnswer: () => {
      throw new TypeError('not asked');
    },
    openReader: () => read,
  },
};

class Writer implements ChatWriter {
  readonly close = 'close\n\n';
  readonly #isPassedOn: boolean;
  #last = '';

  constructor(isPassedOn: boolean) {
    this.#isPassedOn = isPassedOn;
  }

  readonly begin = () => (this.#isPassedOn ? '' : 'begin\n\n');
  readonly text = ({ text, wire }: { text: string; wire?: string }) => wire ?? wireOf({ type: 'word', text });
  readonly wire = ({ wire }: { wire?: string }) => wire ?? '';
  readonly reasoning = () => '';
  readonly reasoningEnd = () => '';
  readonly toolCall = () => '';
  readonly toolArguments = () => '';
  readonly finish = ({ wire }: { wire?: string }) => {
    this.#last = wire ?? 'last:\n\n';
    return '';
  };
  readonly complete = ({ cost }: { cost: { total: bigint } }) => `${this.#last}cost:${cost.total}\n\n`;
  readonly failure = ({ code }: { code: string }) => `failure:${code}\n\n`;
}

const dialect: ChatDialect<null> = {
  api: 'chat_completions',
  route: 'made-up',
  parse: () => {
    throw new TypeError('not asked');
  },
  present: () => {
    throw new TypeError('not asked');
  },
  openWriter: (_facts, isPassedOn) => new Writer(isPassedOn),
  showsReasoning: false,
};

const original = (mark: string): Original => ({
  format: 'messages',
  body: { model: 'm', novelty: mark },
  headers: {},
  model: 'm',
  untranslatable: null,
  signatures: new Map(),
  seal: ({ value }) => value,
});

const asking = (mark: string): ChatRequest<null> => ({
  ...orderOf({ ...emptyCall, messages: [{ role: 'user', content: `translated ${mark}` }] }),
  model: 'm',
  stream: true,
  original: original(mark),
  asked: null,
});

const here = { baseUrl: provider.url, adapter: speaking };
const other = { baseUrl: provider.url, adapter: openai };

/** Serves one request whose body has `mark` in it, and returns it as its provider gets it. */
async function start(
  mark: string,
  options: Partial<StreamToServe<null>> = {},
): Promise<{ served: ServedStream; response: Promise<Response>; exchange: Exchange }> {
  const served = serveStream({
    path: '/made-up',
    chat: asking(mark),
    dialect,
    providers: [here],
    ...options,
  });
  const response = fetch(served.url, { method: 'POST' });
  return { served, response, exchange: await provider.received(mark) };
}

const events = (...sent: Sent[]) => sent.map(wireOf).join('');
const ended = { type: 'last', text: 'fin' };

test('the provider gets the request as it came, with its own name of the model and the bound of the hold', async () => {
  const { served, response, exchange } = await start('as-it-came');
  expect(JSON.parse(exchange.body)).toEqual({
    model: 'upstream-m',
    novelty: 'as-it-came',
    limit: 1_000,
    stream: true,
  });
  exchange.send({ type: 'word', text: 'a' });
  exchange.send(ended);
  await (await response).text();
  await served.stop();
});

describe('events of the same format', () => {
  test('reach the client in their order, also those before the first word', async () => {
    const { served, response, exchange } = await start('in-order');
    const early = [{ type: 'start' }, { type: 'ping', text: '1' }, { type: 'ping', text: '2' }];
    const words = [
      { type: 'word', text: 'a' },
      { type: 'ping', text: '3' },
      { type: 'word', text: 'b' },
    ];
    for (const event of [...early, ...words, ended]) exchange.send(event);
    const text = await (await response).text();
    await served.stop();
    expect(text).toBe(`${events(...early, ...words, ended)}cost:25\n\nclose\n\n`);
    expect(served.settled).toMatchObject([
      { status: 'completed', usage: { inputTokens: 20, outputTokens: 5 }, cost: { total: 25n } },
    ]);
  });

  test('are held back, each read on its own, until one of them is usable', async () => {
    const { served, response, exchange } = await start('one-by-one');
    exchange.open();
    // What a provider sends in one turn arrives in one read, so the pieces are sent in several.
    const early = [
      { type: 'start' },
      ...Array.from({ length: 99 }, (_, index) => ({ type: 'ping', text: `${index}` })),
    ];
    for (const event of early) {
      exchange.send(event);
      await Bun.sleep(0);
    }
    exchange.send({ type: 'word', text: 'a' });
    exchange.send(ended);
    const text = await (await response).text();
    await served.stop();
    expect(text).toBe(`${events(...early, { type: 'word', text: 'a' }, ended)}cost:25\n\nclose\n\n`);
  });
});

describe('too much before the first word', () => {
  const pings = Array.from({ length: 1_001 }, (_, index) => ({ type: 'ping', text: `${index}` }));
  const long = [1, 2, 3, 4, 5].map((index) => ({ type: 'ping', text: `${index}`.repeat(900_000) }));

  test.each([
    ['many events', pings],
    ['long ones', long],
  ])('fails the attempt: %s', async (name, sent) => {
    const { served, response, exchange } = await start(name);
    exchange.send({ type: 'start' });
    for (const event of sent) exchange.send(event);
    const text = await (await response).text();
    await served.stop();
    expect(text).toBe('failure:malformed_stream_chunk\n\nclose\n\n');
    expect(served.settled).toMatchObject([
      {
        status: 'failed',
        errorCode: 'malformed_stream_chunk',
        cost: null,
        attempts: [{ errorCode: 'malformed_stream_chunk', upstreamStatus: 200 }],
      },
    ]);
  });

  test('and nothing of it reaches a client that another provider serves, in another format', async () => {
    const { served, response, exchange } = await start('falls-back', { providers: [here, other] });
    for (const event of pings) exchange.send(event);
    const translated = await provider.received('translated falls-back');
    translated.send(delta({ content: 'Hello' }));
    translated.send(delta({}, 'stop'));
    translated.send(usageEvent(20, 5));
    translated.send('[DONE]');
    const text = await (await response).text();
    await served.stop();
    expect(text).toBe(
      `begin\n\n${events({ type: 'word', text: 'Hello' }, { type: 'last' })}cost:25\n\nclose\n\n`,
    );
    expect(served.settled).toMatchObject([
      { status: 'completed', provider: 'p1', attempts: [{ provider: 'p0' }, { provider: 'p1' }] },
    ]);
  });
});

describe('the event that ends a response', () => {
  test('waits for the charge', async () => {
    const elsewhere = Bun.serve({ port: 0, fetch: () => new Response('') });
    const charge = Promise.withResolvers<'settled'>();
    const { served, response, exchange } = await start('waits', { settle: () => charge.promise });
    for (const event of [{ type: 'word', text: 'a' }, ended]) exchange.send(event);
    const reader = (await response).body?.getReader();
    const first = await reader?.read();
    expect(new TextDecoder().decode(first?.value)).toBe(events({ type: 'word', text: 'a' }));
    const rest = reader?.read();
    await eventually('the settlement', () => served.settled.length > 0);
    // Whatever was written before has arrived by the time that others have been served.
    for (let round = 0; round < 5; round += 1) await (await fetch(elsewhere.url)).text();
    expect(Bun.peek.status(rest)).toBe('pending');
    charge.resolve('settled');
    expect(new TextDecoder().decode((await rest)?.value)).toStartWith(`${events(ended)}cost:25\n\n`);
    await reader?.cancel();
    await served.stop();
    await elsewhere.stop();
  });

  test('is not sent when the balance does not cover the charge', async () => {
    const { served, response, exchange } = await start('short', { settle: () => Promise.resolve('short') });
    for (const event of [{ type: 'word', text: 'a' }, ended]) exchange.send(event);
    expect(await (await response).text()).toBe('word:a\n\nfailure:insufficient_balance\n\nclose\n\n');
    await served.stop();
  });

  test('is not sent for a stream that broke', async () => {
    const { served, response, exchange } = await start('broken');
    exchange.send({ type: 'word', text: 'a' });
    exchange.end();
    expect(await (await response).text()).toBe('word:a\n\nfailure:provider_stream_error\n\nclose\n\n');
    await served.stop();
  });
});

/** Engines free what nothing refers to any more, and say so. */
test.each([
  ['a translated request', other, null],
  ['one that is passed on', here, 'freed'],
])(
  'neither the conversation nor the original of %s is kept while its answer streams',
  async (_name, { adapter }, mark) => {
    const { timeouts } = testProvider();
    const link = { calls: new Calls(), watchdog: new ConnectWatchdog(provider.url, true), timeouts };
    const upstream = {
      baseUrl: provider.url,
      apiKey: null,
      model: 'm',
      maxOutputTokens: 1,
      dialect: defaultDialect,
      requestId: 'req_1',
    };
    const opened = () => {
      const chat = asking('freed');
      const refs = [new WeakRef(chat.call.messages), new WeakRef(chat.original?.body ?? {})];
      const order = mark === null ? { ...chat, original: null } : chat;
      return { refs, stream: streamChat({ chat: adapter, connection: { link } }, order, upstream) };
    };
    const { refs, stream } = opened();
    const exchange = await provider.received('freed');
    exchange.send({ type: 'ping' });
    const open = await stream;
    await eventually('the conversation to be freed', () => {
      Bun.gc(true);
      return refs.every((ref) => ref.deref() === undefined);
    });
    open.close();
  },
);
