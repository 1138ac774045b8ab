/** Providers that are silent for long: what the client receives meanwhile, and what can still happen. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { streamText } from 'ai';
import OpenAI from 'openai';
import {
  type ChatFixture,
  chatCatalog,
  type ErrorBody,
  eventsOf,
  finishedGeneration,
  openChatFixture,
} from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { launchGateway, temporaryFolder } from '../support/gateway.ts';
import { readSamples } from '../support/metrics.ts';
import { quickGateway } from '../support/quick-lease.ts';
import { assembled, readEvents, textOf } from '../support/responses-fixture.ts';
import { delta, type Exchange, startScriptedProvider, usageEvent } from '../support/scripted-provider.ts';

const first = startScriptedProvider();
const second = startScriptedProvider();
const models = {
  silent: '[first]',
  pair: '[first, second]',
  hurried: '[hurried]',
};

let fixture: ChatFixture;
let key: string;

const metricsToken = crypto.randomUUID();

const launch = (environment: Readonly<Record<string, string>>) =>
  launchGateway(
    { ...environment, METRICS_TOKEN: metricsToken },
    { command: quickGateway('quick-keep-alive.ts') },
  ).listening;

async function abandonedStreams(): Promise<number | undefined> {
  const headers = { authorization: `Bearer ${metricsToken}` };
  const response = await fetch(`${fixture.gateway.origin}/metrics`, { headers });
  return readSamples(await response.text()).find(({ labels }) => labels.queue === 'abandoned_streams')?.value;
}

beforeAll(async () => {
  const provider = (url: string, more = '') =>
    `{ adapter: openai, base_url: ${url}/v1, circuit: { failures: 1000 }${more} }`;
  fixture = await openChatFixture(
    (url) =>
      chatCatalog(url, {
        providers: [
          `  first: ${provider(first.url)}`,
          `  second: ${provider(second.url)}`,
          `  hurried: ${provider(first.url, ', timeouts: { first_byte_ms: 1500 }')}`,
        ].join('\n'),
        models: Object.entries(models)
          .map(
            ([id, providers]) =>
              `  ${id}: { workload: chat, capabilities: [text_input, image_input, text_output, streaming, function_calling], pricing: { billing_type: token, input: "1", output: "2" }, providers: ${providers} }`,
          )
          .join('\n'),
      }),
    launch,
  );
  ({ key } = await fixture.customer('100', '--rpm', '100000'));
});

afterAll(async () => {
  await fixture.close();
  await first.stop();
  await second.stop();
});

const post = (model: string, text: string, init: RequestInit = {}, origin = fixture.gateway.origin) =>
  fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: text }] }),
    ...init,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...init.headers },
  });

/** A response of which only headers and comments have arrived. What follows is added as it arrives. */
async function untilComment(response: Response) {
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toStartWith('text/event-stream');
  const seen = { text: '' };
  const ended = (async () => {
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) seen.text += decoder.decode(bytes, { stream: true });
    return seen.text;
  })();
  await eventually('two comments', () => seen.text.startsWith(': keep-alive\n\n: keep-alive\n\n'));
  expect(seen.text).not.toContain('data:');
  return { ended };
}

function answer(exchange: Exchange, text = 'At last'): void {
  exchange.send(delta({ role: 'assistant', content: '' }));
  exchange.send(delta({ content: text }));
  exchange.send(delta({}, 'stop'));
  exchange.send(usageEvent(10, 5));
  exchange.send('[DONE]');
  exchange.end();
}

const idOf = (response: Response) => response.headers.get('x-service-request-id') ?? '';
const generationOf = (response: Response) => finishedGeneration(fixture.gateway.origin, key, idOf(response));

const lastError = (text: string) => {
  const events = eventsOf(text);
  expect(events.at(-1)).toBe('[DONE]');
  return (JSON.parse(events.at(-2) ?? '') as ErrorBody).error;
};

test('the headers and comments come while the provider is silent, then the response as usual', async () => {
  const response = await post('silent', 'patience-1');
  const { ended } = await untilComment(response);
  answer(await first.received('patience-1'));
  const text = await ended;
  expect(text.replaceAll(': keep-alive\n\n', '')).toStartWith('data: {"id":"req_');
  expect(eventsOf(text).at(-1)).toBe('[DONE]');
  expect(text).toContain('"content":"At last"');
  // There are no comments once there are events.
  expect(text.lastIndexOf(': keep-alive')).toBeLessThan(text.indexOf('data:'));
  expect(await generationOf(response)).toMatchObject({
    status: 'completed',
    usage: { input_tokens: 10, output_tokens: 5 },
    attempts: [{ status: 'succeeded' }],
  });
});

test('a stream that opens in time has no comments', async () => {
  const pending = post('silent', 'patience-0');
  answer(await first.received('patience-0'));
  expect(await (await pending).text()).toStartWith('data: {"id":"req_');
});

test('another provider still takes over after the headers', async () => {
  const response = await post('pair', 'patience-2');
  const { ended } = await untilComment(response);
  (await first.received('patience-2')).open(503);
  answer(await second.received('patience-2'), 'From the second');
  expect(await ended).toContain('"content":"From the second"');
  expect(await generationOf(response)).toMatchObject({
    status: 'completed',
    fallback: true,
    attempts: [
      { status: 'failed', error: 'provider_unavailable' },
      { provider: 'second', status: 'succeeded' },
    ],
  });
});

describe('a failure after the headers is an event', () => {
  test('with a code that a stream can have, while the Generation has the exact one', async () => {
    const response = await post('pair', 'patience-3');
    const { ended } = await untilComment(response);
    (await first.received('patience-3')).open(503);
    (await second.received('patience-3')).open(429);
    expect(lastError(await ended)).toEqual({
      code: 'provider_stream_error',
      type: 'provider_error',
      message: expect.stringMatching(
        /^The provider is limiting requests\. Try again later\. GET \/v1\/generations\/req_\w{32} shows what was tried\.$/,
      ),
    });
    expect(await generationOf(response)).toMatchObject({
      status: 'failed',
      cost: null,
      error: { code: 'provider_rate_limit' },
    });
  });

  test('a deadline keeps its code', async () => {
    const response = await post('hurried', 'patience-4');
    const { ended } = await untilComment(response);
    expect(lastError(await ended)).toMatchObject({ code: 'provider_timeout' });
    (await first.received('patience-4')).open();
    expect(await generationOf(response)).toMatchObject({ error: { code: 'provider_timeout' } });
  });

  test('and so is the end of the gateway', async () => {
    const other = await launch({
      ...fixture.environment,
      TOLLGATE_DATA: temporaryFolder(),
      DRAIN_SECONDS: '1',
    });
    const response = await post('silent', 'patience-5', {}, other.origin);
    const { ended } = await untilComment(response);
    const exchange = await first.received('patience-5');
    const stopped = other.stop();
    expect(lastError(await ended)).toMatchObject({ code: 'streaming_error' });
    expect(await stopped).toBe(0);
    exchange.open();
    expect(await generationOf(response)).toMatchObject({ status: 'failed', cost: null });
  });
});

describe('an idempotent request', () => {
  const headers = { 'idempotency-key': 'patience-6' };

  test('is stored without the comments, and replayed', async () => {
    const { ended } = await untilComment(await post('silent', 'patience-6', { headers }));
    answer(await first.received('patience-6'));
    const text = await ended;
    const again = await post('silent', 'patience-6', { headers });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await again.text()).toBe(text.replaceAll(': keep-alive\n\n', ''));
  });

  test('runs again after a failure', async () => {
    const own = { headers: { 'idempotency-key': 'patience-7' } };
    const { ended } = await untilComment(await post('silent', 'patience-7', own));
    (await first.received('patience-7')).open(503);
    expect(lastError(await ended)).toMatchObject({ code: 'provider_stream_error' });
    const again = post('silent', 'patience-7', own);
    answer(await first.received('patience-7'));
    expect(await (await again).text()).toContain('"content":"At last"');
  });
});

test('a client that leaves meanwhile is charged for what the provider goes on to do', async () => {
  const leaving = new AbortController();
  const response = await post('silent', 'patience-8', { signal: leaving.signal });
  const { ended } = await untilComment(response);
  leaving.abort();
  await ended.catch(() => undefined);
  const exchange = await first.received('patience-8');
  // The gateway notices when it has something to forward.
  await eventually('the gateway to notice', async () => {
    exchange.send(delta({ content: '.' }));
    return (await abandonedStreams()) === 1;
  });
  answer(exchange);
  expect(await generationOf(response)).toMatchObject({
    status: 'cancelled',
    usage: { input_tokens: 10, output_tokens: 5 },
  });
});

test('a large body keeps its room until no provider can need it', async () => {
  const small = await launch({
    ...fixture.environment,
    TOLLGATE_DATA: temporaryFolder(),
    BODY_BUDGET_MB: '80',
  });
  const url = `data:image/png;base64,${'A'.repeat(11 * 1024 * 1024)}`;
  const send = (mark: string) => {
    const content = [
      { type: 'text', text: mark },
      { type: 'image_url', image_url: { url } },
    ];
    const body = JSON.stringify({
      model: 'silent',
      stream: true,
      max_tokens: 9,
      messages: [{ role: 'user', content }],
    });
    return post('silent', mark, { body }, small.origin);
  };
  const { ended } = await untilComment(await send('patience-9'));
  expect((await send('patience-10')).status).toBe(503);
  answer(await first.received('patience-9'));
  await ended;
  const pending = send('patience-10');
  answer(await first.received('patience-10'));
  expect((await pending).status).toBe(200);
  await small.stop();
});

describe('SDKs skip the comments', () => {
  test('openai', async () => {
    const client = new OpenAI({ baseURL: `${fixture.gateway.origin}/v1`, apiKey: key, maxRetries: 0 });
    const stream = await client.chat.completions.create({
      model: 'silent',
      messages: [{ role: 'user', content: 'patience-11' }],
      stream: true,
    });
    // The stream is returned with the headers, which only the silence can have caused.
    answer(await first.received('patience-11'));
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    expect(text).toBe('At last');
  });

  test('ai', async () => {
    const provider = createOpenAICompatible({
      name: 'tollgate',
      baseURL: `${fixture.gateway.origin}/v1`,
      apiKey: key,
    });
    const raw = await post('silent', 'patience-12');
    const streamed = streamText({ model: provider('silent'), prompt: 'patience-13' });
    const text = Array.fromAsync(streamed.textStream);
    const exchange = await first.received('patience-13');
    // The other request, sent before, has already had its comments.
    const { ended } = await untilComment(raw);
    answer(exchange);
    answer(await first.received('patience-12'));
    await ended;
    expect((await text).join('')).toBe('At last');
  });
});

describe('in the Responses format', () => {
  const ask = (model: string, text: string) =>
    fetch(`${fixture.gateway.origin}/v1/responses`, {
      method: 'POST',
      body: JSON.stringify({ model, stream: true, input: text }),
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    });

  test('comments come before the first event, which begins a whole stream', async () => {
    const response = await ask('silent', 'patient-response');
    const { ended } = await untilComment(response);
    answer(await first.received('patient-response'));
    expect(textOf(assembled(readEvents(await ended)))).toBe('At last');
  });

  test.each([
    [400, 'invalid_prompt', 'provider_stream_error'],
    [429, 'rate_limit_exceeded', 'provider_stream_error'],
    [500, 'server_error', 'provider_stream_error'],
    [504, 'server_error', 'provider_timeout'],
  ])('a failure with status %d tells clients whether to try again', async (status, code, own) => {
    const text = `refused-response-${status}`;
    const { ended } = await untilComment(await ask('silent', text));
    (await first.received(text)).open(status);
    const events = readEvents(await ended);
    expect(events.map(({ type }) => type)).toEqual(['response.created', 'response.failed']);
    expect(events[1]?.response?.error).toMatchObject({ code, gateway_code: own });
  });
});
