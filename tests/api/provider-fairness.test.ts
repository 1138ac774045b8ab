/** What one account experiences at a provider shuts nobody else out, and no account takes all of a provider's slots. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type ChatFixture, type ErrorBody, eventsOf, openChatFixture } from '../support/chat-fixture.ts';
import { startHeldProvider } from '../support/held-provider.ts';

const model = (id: string, provider: string) =>
  `  ${id}: { workload: chat, pricing: { billing_type: token, input: "1", output: "2" }, providers: [${provider}] }`;

/** Streams wait after their first word; non-streamed requests are answered at once. */
const held = startHeldProvider('"stream":true');

/** A circuit belongs to a provider and a model: each test has its own model. */
const catalog = (url: string) => `
price_version: "2026-11"
providers:
  brittle: { name: Brittle, adapter: openai, base_url: ${url}/v1, api_key_env: MAIN_KEY,
             circuit: { failures: 5, open_ms: 60000 } }
  waited:  { name: Waited, adapter: openai, base_url: ${url}/v1, api_key_env: MAIN_KEY,
             circuit: { failures: 5, open_ms: 60000 }, timeouts: { first_byte_ms: 3000 } }
  quick:   { name: Quick, adapter: openai, base_url: ${url}/v1, api_key_env: MAIN_KEY, circuit: { failures: 2, open_ms: 1 } }
  closed:  { name: Closed, adapter: openai, base_url: http://127.0.0.1:9/v1, api_key_env: MAIN_KEY, circuit: { failures: 2, open_ms: 60000 } }
  locked:  { name: Locked, adapter: openai, base_url: ${url}/v1, api_key_env: BAD_KEY, circuit: { failures: 2, open_ms: 60000 } }
  strait:  { name: Strait, adapter: openai, base_url: ${held.behind(url)}/v1, api_key_env: MAIN_KEY, max_concurrency: 2 }
  narrow:  { name: Narrow, adapter: openai, base_url: ${held.behind(url)}/v1, api_key_env: MAIN_KEY, max_concurrency: 4 }
models:
${model('hangs', 'waited')}
${model('fails', 'brittle')}
${model('fails-for-two', 'brittle')}
${model('recovers', 'quick')}
${model('limits', 'brittle')}
${model('closed', 'closed')}
${model('locked', 'locked')}
${model('narrow', 'narrow')}
${model('strait', 'strait')}
`;

let fixture: ChatFixture;
let keys: readonly string[];

beforeAll(async () => {
  fixture = await openChatFixture(catalog);
  const customers = [1, 2, 3].map(() => fixture.customer('100', '--rpm', '100000'));
  const refused = [fixture.customer('0'), fixture.customer('1', '--monthly-limit', '0.000001')];
  keys = (await Promise.all([...customers, ...refused])).map(({ key }) => key);
}, 60_000);

afterAll(async () => {
  await fixture.close();
  await held.stop();
});

/** As the customer with this number. */
function chat(customer: number, name: string, content: string, more = {}): Promise<Response> {
  return fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[customer]}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: name, messages: [{ role: 'user', content }], ...more }),
  });
}

async function codeOf(response: Response): Promise<string> {
  const body = (await response.json()) as Partial<ErrorBody>;
  return body.error?.code ?? 'completed';
}

const codeOfChat = async (customer: number, name: string, content: string) =>
  codeOf(await chat(customer, name, content));

async function codesOf(count: number, customer: number, name: string, content: string): Promise<string[]> {
  const codes: string[] = [];
  while (codes.length < count) codes.push(await codeOfChat(customer, name, content));
  return codes;
}

const callsOf = (name: string) => fixture.sandbox.entries.filter((entry) => entry.model === name).length;

test('five timeouts of one account shut the provider for that account, and for nobody else', async () => {
  const hanging = Array.from({ length: 5 }, () => codeOfChat(0, 'hangs', '[[hang]]'));
  expect(await Promise.all(hanging)).toEqual(Array(5).fill('provider_timeout'));
  expect(await codeOfChat(0, 'hangs', 'hello')).toBe('all_providers_unavailable');
  expect(await codesOf(3, 1, 'hangs', 'hello')).toEqual(Array(3).fill('completed'));
  // Nothing that others do readmits the first.
  expect(await codeOfChat(0, 'hangs', 'hello')).toBe('all_providers_unavailable');
});

test('an account that fails all the time never shuts out the others', async () => {
  for (let round = 0; round < 10; round += 1) {
    await codesOf(5, 0, 'recovers', '[[status 500]]');
    expect(await codeOfChat(1, 'recovers', 'hello')).toBe('completed');
  }
});

test('two accounts that fail in turn, sixty times, shut the provider for themselves and for nobody else', async () => {
  for (let count = 0; count < 30; count += 1) {
    await codeOfChat(0, 'fails-for-two', '[[status 500]]');
    await codeOfChat(1, 'fails-for-two', '[[status 500]]');
    expect(await codeOfChat(2, 'fails-for-two', 'hello')).toBe('completed');
  }
  for (const customer of [0, 1])
    expect(await codeOfChat(customer, 'fails-for-two', 'hello')).toBe('all_providers_unavailable');
  // The five failures of each, and the requests of the third account.
  expect(callsOf('fails-for-two')).toBe(5 + 5 + 30);
});

test('a refused connection, which no request can cause, shuts it for everyone on the word of one account', async () => {
  expect(await codesOf(2, 0, 'closed', 'hello')).toEqual(Array(2).fill('provider_unavailable'));
  expect(await codeOfChat(1, 'closed', 'hello')).toBe('all_providers_unavailable');
});

test('so does a key that the provider does not know', async () => {
  expect(await codesOf(2, 0, 'locked', 'hello')).toEqual(Array(2).fill('provider_authentication_error'));
  expect(await codeOfChat(1, 'locked', 'hello')).toBe('all_providers_unavailable');
});

test('a pause that one account was told of lasts ten seconds for the others, and in full for itself', async () => {
  const limited = await chat(0, 'limits', '[[status 429]] [[retry-after 600]]');
  expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '600']);
  await limited.text();
  const wait = async (customer: number) => {
    const response = await chat(customer, 'limits', 'hello');
    expect(await codeOf(response)).toBe('all_providers_unavailable');
    return Number(response.headers.get('retry-after'));
  };
  const [own, other] = await Promise.all([wait(0), wait(1)]);
  expect(own).toBeWithin(500, 601);
  expect(other).toBeWithin(1, 11);
});

const streamOf = (customer: number, name: string, words: string) =>
  chat(customer, name, words, { stream: true });

/** Lets the provider end this stream, and waits until the client has all of it. */
async function end(stream: Response | undefined, words: string): Promise<void> {
  await held.releaseOnly(`"${words}"`);
  expect(eventsOf((await stream?.text()) ?? '').at(-1)).toBe('[DONE]');
}

test('an account that has all slots makes room for another as soon as one of its calls ends', async () => {
  const names = ['first', 'second', 'third', 'fourth'];
  const [first, ...others] = await Promise.all(names.map((words) => streamOf(0, 'narrow', words)));
  expect([first, ...others].map((response) => response?.status)).toEqual([200, 200, 200, 200]);
  const refused = await chat(1, 'narrow', 'hello');
  expect([await codeOf(refused), refused.headers.get('retry-after')]).toEqual([
    'all_providers_unavailable',
    '1',
  ]);
  await end(first, 'first');
  // One slot is free now. The account that has three leaves it to the other.
  expect(await codeOfChat(0, 'narrow', 'hello')).toBe('all_providers_unavailable');
  const newcomer = await streamOf(1, 'narrow', 'newcomer');
  expect(newcomer.status).toBe(200);
  expect(await codeOfChat(0, 'narrow', 'hello')).toBe('all_providers_unavailable');
  await end(newcomer, 'newcomer');
  // No others are waiting now.
  expect(await codeOfChat(0, 'narrow', 'hello')).toBe('completed');
  await Promise.all(others.map((stream, index) => end(stream, names[index + 1] ?? '')));
});

test('no slot is kept for an account that is not admitted', async () => {
  const [one, other] = await Promise.all(['one', 'other'].map((words) => streamOf(0, 'strait', words)));
  expect([one?.status, other?.status]).toEqual([200, 200]);
  const [poor, limited] = [3, 4];
  expect(await codeOfChat(poor, 'strait', 'hello')).toBe('insufficient_balance');
  expect(await codeOfChat(limited, 'strait', 'hello')).toBe('monthly_spend_limit_exceeded');
  await end(one, 'one');
  expect(await codeOfChat(0, 'strait', 'hello')).toBe('completed');
  await end(other, 'other');
});
