/** Providers that fail are not called, then tried again with one call, and never called beyond their limit. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  type ChatFixture,
  type ErrorBody,
  finishedGeneration,
  openChatFixture,
} from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { startHeldProvider } from '../support/held-provider.ts';
import { asHolderOf, openLeavingClient } from '../support/leaving-client.ts';

/** Answers marked requests only when allowed to. */
const held = startHeldProvider('(held)');

const model = (id: string, providers: string) =>
  `  ${id}: { workload: chat, pricing: { billing_type: token, input: "1", output: "2" }, providers: ${providers} }`;

/** A circuit belongs to a provider and a model: each test has its own model. */
const catalog = (url: string) => `
price_version: "2026-11"
providers:
  brittle: { name: Brittle, adapter: openai, base_url: ${url}/v1, api_key_env: MAIN_KEY, circuit: { failures: 3, open_ms: 60000 } }
  quick:   { name: Quick, adapter: openai, base_url: ${held.behind(url)}/v1, api_key_env: MAIN_KEY, circuit: { failures: 3, open_ms: 400 } }
  patient: { name: Patient, adapter: openai, base_url: ${url}/v1, api_key_env: MAIN_KEY, circuit: { failures: 3, open_ms: 2000 } }
  single:  { name: Single, adapter: openai, base_url: ${url}/v1, api_key_env: MAIN_KEY, max_concurrency: 1, circuit: { failures: 1, open_ms: 200 } }
  steady:  { name: Steady, adapter: openai, base_url: ${url}/v1, api_key_env: MAIN_KEY }
  narrow:  { name: Narrow, adapter: openai, base_url: ${held.url}/v1, api_key_env: MAIN_KEY, max_concurrency: 2 }
  slow:    { name: Slow, adapter: openai, base_url: ${held.url}/v1, api_key_env: MAIN_KEY, circuit: { failures: 3, open_ms: 60000 } }
models:
${model('opens', '[brittle]')}
${model('recovers', '[quick]')}
${model('relapses', '[patient]')}
${model('breaks-midway', '[brittle]')}
${model('refuses', '[slow]')}
${model('backed', '[brittle, { provider: steady, upstream_model: backed-by-steady }]')}
${model('left', '[slow, { provider: steady, upstream_model: left-by-steady }]')}
${model('limits', '[brittle]')}
${model('narrow', '[narrow]')}
${model('single', '[single]')}
${model('streams', '[quick]')}
${model('shared', '[{ provider: brittle, weight: 3 }, { provider: steady, upstream_model: shared-by-steady, weight: 1 }]')}
`;

let fixture: ChatFixture;
let key: string;

beforeAll(async () => {
  fixture = await openChatFixture(catalog);
  ({ key } = await fixture.customer('100', '--rpm', '100000', '--max-concurrent', '1000'));
});

afterAll(async () => {
  await fixture.close();
  await held.stop();
});

function chat(model: string, content: string, more = {}, asKey = key): Promise<Response> {
  return fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${asKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }], ...more }),
  });
}

/** Sends a request, and leaves when the provider has been called but has not answered yet, or not in full. */
async function leave(
  model: string,
  content: string,
  variants: readonly object[],
  asKey = key,
): Promise<void> {
  const messages = [{ role: 'user', content: `(held) ${content}` }];
  const clients = variants.map((more) =>
    openLeavingClient(fixture.gateway.origin, '/v1/chat/completions', asHolderOf(asKey), {
      model,
      messages,
      ...more,
    }),
  );
  await held.holds(variants.length);
  for (const { leave: leaves } of clients) await leaves();
  held.release();
}

async function codeOf(response: Response): Promise<string> {
  const body = (await response.json()) as Partial<ErrorBody>;
  return body.error?.code ?? 'completed';
}

const codeOfChat = async (model: string, content: string) => codeOf(await chat(model, content));

/** The results that come first. */
async function firstOf<Result>(promises: readonly Promise<Result>[], count: number): Promise<Result[]> {
  const results: Result[] = [];
  for (const promise of promises) promise.then((result) => results.push(result)).catch(() => undefined);
  return await eventually(`${count} results`, () => (results.length === count ? [...results] : null));
}

function callsOf(upstreamModel: string): number {
  return fixture.sandbox.entries.filter((entry) => entry.model === upstreamModel).length;
}

async function open(model: string): Promise<void> {
  for (let count = 0; count < 3; count += 1)
    expect(await codeOfChat(model, '[[status 503]]')).toBe('provider_unavailable');
}

test('503 all_providers_unavailable while OPEN: no call reaches the provider, nothing is charged', async () => {
  await open('opens');
  const responses = await Promise.all(Array.from({ length: 20 }, () => chat('opens', 'hello')));
  for (const response of responses) {
    expect(response.status).toBe(503);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(response.headers.get('x-should-retry')).toBeNull();
    expect(await response.clone().json()).toMatchObject({
      error: { type: 'provider_error', code: 'all_providers_unavailable' },
    });
  }
  expect(callsOf('opens')).toBe(3);
  const id = responses[0]?.headers.get('x-service-request-id') ?? '';
  expect(await finishedGeneration(fixture.gateway.origin, key, id)).toMatchObject({
    status: 'failed',
    provider: 'Brittle',
    usage: null,
    cost: null,
    fallback: false,
    routing: null,
    attempts: [],
    error: { code: 'all_providers_unavailable' },
  });
  expect((await chat('opens', 'hello', { stream: true })).status).toBe(503);
});

test('after its time exactly one probe goes out, and nothing else while it is in progress', async () => {
  await open('recovers');
  await Bun.sleep(450);
  const before = callsOf('recovers');
  const asked = Array.from({ length: 20 }, () => codeOfChat('recovers', '(held) hello'));
  expect(new Set(await firstOf(asked, 19))).toEqual(new Set(['all_providers_unavailable']));
  held.release();
  const codes = await Promise.all(asked);
  expect(codes.filter((code) => code === 'completed')).toHaveLength(1);
  expect(codes.filter((code) => code === 'all_providers_unavailable')).toHaveLength(19);
  expect(callsOf('recovers') - before).toBe(1);
  const after = await Promise.all(Array.from({ length: 20 }, () => codeOfChat('recovers', 'hello')));
  expect(new Set(after)).toEqual(new Set(['completed']));
});

test.concurrent('a probe that fails keeps it open for twice as long', async () => {
  await open('relapses');
  await Bun.sleep(2_050);
  const probedAtMs = performance.now();
  expect(await codeOfChat('relapses', '[[status 500]]')).toBe('provider_unavailable');
  const refused = await chat('relapses', 'hello');
  expect(await codeOf(refused)).toBe('all_providers_unavailable');
  // Twice the two seconds of the first time, less what has passed since.
  const passedSeconds = (performance.now() - probedAtMs) / 1000;
  expect(Number(refused.headers.get('retry-after')) + passedSeconds).toBeGreaterThanOrEqual(4);
  await Bun.sleep(4_050);
  expect(await codeOfChat('relapses', 'hello')).toBe('completed');
  expect(callsOf('relapses')).toBe(5);
});

test.concurrent('Retry-After of the provider is a pause: no call before it is over', async () => {
  const refused = await chat('limits', '[[status 429]] [[retry-after 5]]');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
  expect(await codeOf(refused)).toBe('provider_rate_limit');
  const paused = await chat('limits', 'hello');
  expect(paused.status).toBe(503);
  expect(Number(paused.headers.get('retry-after'))).toBeWithin(1, 6);
  expect(callsOf('limits')).toBe(1);
  await Bun.sleep(5_050);
  expect(await codeOfChat('limits', 'hello')).toBe('completed');
});

test('streams that break off count as failures', async () => {
  for (let count = 0; count < 3; count += 1) {
    const response = await chat('breaks-midway', '[[cut 2]] a b c d', { stream: true });
    expect(await response.text()).toContain('provider_stream_error');
  }
  expect(await codeOfChat('breaks-midway', 'hello')).toBe('all_providers_unavailable');
  expect(callsOf('breaks-midway')).toBe(3);
});

test('requests that the provider refuses, and clients that leave, do not open it', async () => {
  for (let count = 0; count < 5; count += 1)
    expect(await codeOfChat('refuses', '[[status 400]]')).toBe('provider_bad_request');
  await leave('refuses', 'x', [{}, {}, {}, {}]);
  const streams = Array.from({ length: 4 }, () => ({ stream: true }));
  await leave('refuses', '[[chunk-delay 100]] a b c d e f g h', streams);
  expect(await codeOfChat('refuses', 'hello')).toBe('completed');
});

test('a request that is not admitted returns its slot, and the probe too', async () => {
  const poor = await fixture.customer('0.000001');
  const asPoor = () => chat('single', 'too dear', {}, poor.key);
  for (let count = 0; count < 3; count += 1) expect((await asPoor()).status).toBe(402);
  expect(await codeOfChat('single', 'hello')).toBe('completed');
  expect(await codeOfChat('single', '[[status 503]]')).toBe('provider_unavailable');
  await Bun.sleep(250);
  for (let count = 0; count < 3; count += 1) expect((await asPoor()).status).toBe(402);
  expect(await codeOfChat('single', 'hello')).toBe('completed');
});

test('a stream that answers a probe lets the others in at once', async () => {
  await open('streams');
  await Bun.sleep(450);
  const probe = await chat('streams', '(held) [[long 40]]', { stream: true });
  await held.holds(1);
  expect(await codeOfChat('streams', 'hello')).toBe('completed');
  held.release();
  await probe.text();
});

test('no other provider is called for a client that has gone', async () => {
  const { key: own, account } = await fixture.customer('1');
  await leave('left', '[[status 503]]', [{}], own);
  await eventually('the end of the request', async () => {
    const ended = await fixture.database.sql`select 1 from generations where account_id = ${account}`;
    return ended.length > 0;
  });
  expect(callsOf('left')).toBe(1);
  expect(callsOf('left-by-steady')).toBe(0);
});

test('with another provider behind it, an OPEN circuit costs one call and no attempt', async () => {
  for (let count = 0; count < 3; count += 1) {
    // The directive is for both; only the first attempt must fail.
    expect(await codeOfChat('backed', `[[flaky 1 503 backed-${count}]]`)).toBe('completed');
  }
  expect(callsOf('backed')).toBe(3);
  const response = await chat('backed', 'hello');
  const id = response.headers.get('x-service-request-id') ?? '';
  expect(await codeOf(response)).toBe('completed');
  expect(callsOf('backed')).toBe(3);
  expect(await finishedGeneration(fixture.gateway.origin, key, id)).toMatchObject({
    provider: 'Steady',
    fallback: false,
    routing: { selected_provider: 'Steady', attempt_count: 1 },
  });
});

test('no more calls at once than the provider allows', async () => {
  const asked = Array.from({ length: 6 }, () => codeOfChat('narrow', '(held) hello'));
  await firstOf(asked, 4);
  await held.holds(2);
  held.release();
  const codes = await Promise.all(asked);
  expect(codes.filter((code) => code === 'completed')).toHaveLength(2);
  expect(codes.filter((code) => code === 'all_providers_unavailable')).toHaveLength(4);
  expect(await codeOfChat('narrow', 'hello')).toBe('completed');
  // A stream keeps its slot until it has ended.
  const streams = await Promise.all([1, 2].map(() => chat('narrow', '(held) [[long 20]]', { stream: true })));
  await held.holds(2);
  expect(await codeOfChat('narrow', 'hello')).toBe('all_providers_unavailable');
  held.release();
  await Promise.all(streams.map((stream) => stream.text()));
  expect(await codeOfChat('narrow', 'hello')).toBe('completed');
});

test('weights distribute the calls', async () => {
  await Promise.all(Array.from({ length: 200 }, () => chat('shared', 'hello')));
  const [first, second] = [callsOf('shared'), callsOf('shared-by-steady')];
  expect(first + second).toBe(200);
  // 150 and 50 are expected; beyond these bounds by chance once in more than a million runs.
  expect(first).toBeWithin(115, 185);
});
