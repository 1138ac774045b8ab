/** One call to a decision provider on a real socket: what is sent, what is believed, and what each failure becomes. */
import { afterAll, describe, expect, test } from 'bun:test';
import type { DecisionRequest } from '../../src/decisions/decider.ts';
import { DecisionError } from '../../src/decisions/errors.ts';
import { presentDecision, presentDecisionError } from '../../src/decisions/present.ts';
import { askProvider } from '../../src/decisions/provider.ts';

const good = {
  model: 'v',
  answers: { a: { type: 'noul', noul: 1 } },
  usage: { input_tokens: 1, output_tokens: 1 },
};
const request: DecisionRequest = {
  model: 'm',
  questions: new Map([['a', { type: 'noul', instructions: 'x' }]]),
  text: '{ "model": "m", "state": {"id": 12345678901234567890, "__proto__": {"x": 1}, "2": 0, "1": 0} }',
};

let answer: (incoming: Request) => Response | Promise<Response> = () => Response.json(good);
const received: { path: string; headers: Headers; text: string }[] = [];
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: async (incoming) => {
    const { pathname } = new URL(incoming.url);
    received.push({ path: pathname, headers: incoming.headers, text: await incoming.text() });
    return await answer(incoming);
  },
});
afterAll(() => server.stop(true));

const baseUrl = `http://127.0.0.1:${server.port}/v7`;
const signal = new AbortController().signal;
const source = askProvider({ name: 'Acme', baseUrl, apiKey: 'key-canary', model: 'm' });

const ask = (to = source) => to.ask(request, 'req_1', signal, { userId: 'one', waitedMs: 0 });

/** The error as a client would get it. */
async function errorOf(reply: typeof answer, to = source) {
  answer = reply;
  const thrown = await ask(to).then(
    () => null,
    (error: unknown) => error,
  );
  if (!(thrown instanceof DecisionError)) throw new Error(`Expected a DecisionError, got ${String(thrown)}.`);
  const { error } = presentDecisionError(thrown, 'req_1');
  expect(JSON.stringify(error)).not.toContain('canary');
  return error;
}

test('what the client wrote is sent as it is, with the key of the gateway and nothing else', async () => {
  answer = () => Response.json(good);
  await ask();
  const { path, headers, text } = received.at(-1) ?? { path: '', headers: new Headers(), text: '' };
  expect(path).toBe('/v7/decisions');
  expect(text).toBe(request.text);
  expect(headers.get('authorization')).toBe('Bearer key-canary');
  expect(headers.get('content-type')).toBe('application/json');
  expect(headers.get('cookie')).toBeNull();
  expect(headers.get('accept-encoding')).toBe('identity');
});

const failing =
  (status: number, headers: Record<string, string> = {}) =>
  () =>
    new Response('{"error":"body-canary"}', { status, headers });

describe('a status', () => {
  test.each([
    [400, 502, 'provider_error'],
    [401, 502, 'provider_authentication_error'],
    [402, 502, 'provider_error'],
    [403, 502, 'provider_authentication_error'],
    [404, 502, 'provider_error'],
    [408, 502, 'provider_error'],
    [409, 502, 'provider_error'],
    [413, 502, 'provider_error'],
    [422, 422, 'provider_error'],
    [429, 429, 'rate_limit'],
    [500, 502, 'provider_error'],
    [502, 502, 'provider_error'],
    [503, 502, 'provider_error'],
    [504, 502, 'provider_error'],
    [529, 529, 'provider_overloaded'],
    [301, 502, 'provider_error'],
    [302, 502, 'provider_error'],
    [307, 502, 'provider_error'],
    [308, 502, 'provider_error'],
    [304, 502, 'provider_error'],
  ])('%d is answered %d %s', async (upstreamStatus, status, type) => {
    const reply =
      upstreamStatus === 304
        ? () => new Response(null, { status: 304 })
        : failing(upstreamStatus, { location: `http://127.0.0.1:${server.port}/elsewhere` });
    const error = await errorOf(reply);
    expect(error).toMatchObject({ status, type, upstream_status: upstreamStatus, provider: 'Acme' });
    expect(error).not.toHaveProperty('retry_after_seconds');
    expect(received.at(-1)?.path).toBe('/v7/decisions');
  });

  test('429 passes on how long to wait, in seconds; no other status does', async () => {
    const wait = { 'retry-after': '7' };
    expect(await errorOf(failing(429, wait))).toMatchObject({ retry_after_seconds: 7 });
    const date = new Date(Date.now() + 90_000).toUTCString();
    const { retry_after_seconds: seconds = 0 } = await errorOf(failing(429, { 'retry-after': date }));
    expect(seconds).toBeWithin(80, 91);
    expect(await errorOf(failing(429, { 'retry-after': 'soon' }))).not.toHaveProperty('retry_after_seconds');
    expect(await errorOf(failing(503, wait))).not.toHaveProperty('retry_after_seconds');
    expect(await errorOf(failing(529, wait))).not.toHaveProperty('retry_after_seconds');
  });
});

describe('the provider’s own request ID', () => {
  test.each<[string, Record<string, string>, string | undefined]>([
    ['x-request-id', { 'x-request-id': 'req_7-a.b:c/d+e=@' }, 'req_7-a.b:c/d+e=@'],
    ['request-id', { 'request-id': 'req_8' }, 'req_8'],
    ['both', { 'x-request-id': 'x', 'request-id': 'y' }, 'x'],
    ['of 200 characters', { 'x-request-id': 'x'.repeat(200) }, 'x'.repeat(200)],
    ['of 201', { 'x-request-id': 'x'.repeat(201) }, undefined],
    ['with markup', { 'x-request-id': '<b>hi</b>' }, undefined],
    ['with spaces', { 'x-request-id': 'a b' }, undefined],
    ['with other letters', { 'x-request-id': 'é' }, undefined],
    ['empty', { 'x-request-id': '' }, undefined],
    ['none', {}, undefined],
  ])('%s', async (_, headers, id) => {
    answer = () => Response.json(good, { headers });
    const decision = await ask();
    const shown = presentDecision({ ...decision, latencyMs: 1 }, 'req_1').service;
    expect(shown.upstream_request_id).toBe(id as string);
    expect('upstream_request_id' in shown).toBe(id !== undefined);
    const error = await errorOf(failing(500, headers));
    expect(error.upstream_request_id).toBe(id as string);
  });
});

const long = (megabytes: number) => JSON.stringify({ ...good, padding: 'x'.repeat(megabytes * 1024 * 1024) });

describe('a success status with a bad body', () => {
  test.each<[string, () => Response]>([
    ['no JSON', () => new Response('body-canary')],
    ['nothing', () => new Response(null, { status: 204 })],
    ['an error', () => Response.json({ error: { message: 'body-canary' } })],
    ['bytes that are no text', () => new Response(Buffer.from([0x7b, 0xff, 0x7d]))],
    ['too much', () => new Response(long(4))],
    [
      'too much in pieces',
      () =>
        new Response(
          new ReadableStream({
            start: (controller) => {
              for (let piece = 0; piece < 5; piece++) controller.enqueue(Buffer.alloc(1024 * 1024, ' '));
              controller.close();
            },
          }),
        ),
    ],
    [
      'something compressed',
      () =>
        new Response(Bun.gzipSync(JSON.stringify(good)), {
          headers: { 'content-encoding': 'gzip' },
        }),
    ],
    ['other answers', () => Response.json({ ...good, answers: {} })],
  ])('%s is 502 invalid_response', async (_, reply) => {
    expect(await errorOf(reply)).toMatchObject({ status: 502, type: 'invalid_response', provider: 'Acme' });
  });

  test('a body of the maximum size is read', async () => {
    answer = () => new Response(long(3));
    expect((await ask()).model).toBe('v');
  });
});

describe('a connection', () => {
  test('that is refused is 502 connection_error, without a status', async () => {
    const nobody = askProvider({ name: 'Acme', baseUrl: 'http://127.0.0.1:9', apiKey: 'k', model: 'm' });
    const error = await errorOf(() => Response.json(good), nobody);
    expect(error).toMatchObject({ status: 502, type: 'connection_error', provider: 'Acme' });
    expect(error).not.toHaveProperty('upstream_status');
  });

  test('that breaks in mid-answer is one too, with its status', async () => {
    const broken = () =>
      new Response(
        new ReadableStream({
          type: 'direct',
          pull: async (controller) => {
            await controller.write('{"model":');
            await controller.flush();
            // Twice: after a pause of the process, the first may pass before what was written has been read.
            for (let times = 0; times < 2; times++) await Bun.sleep(20);
            return Promise.reject();
          },
        }),
      );
    expect(await errorOf(broken)).toMatchObject({ type: 'connection_error', upstream_status: 200 });
  });
});
