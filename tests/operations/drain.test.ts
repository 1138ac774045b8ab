/** What SIGTERM does to the requests of a gateway: those that arrive while it drains, and those that outlast the drain. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readConfig } from '../../src/config.ts';
import { type ChatFixture, type ErrorBody, eventsOf, openChatFixture } from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { type Environment, type Gateway, startGateway, temporaryFolder } from '../support/gateway.ts';
import { openRawClient } from '../support/raw-socket.ts';

/** One failure that counted against the provider would open the circuit, and the log would report it. */
const catalog = (url: string) => `
price_version: "1"
providers:
  strict: { name: Strict, adapter: openai, base_url: ${url}/v1, api_key_env: MAIN_KEY, circuit: { failures: 1 } }
  second: { name: Second, adapter: openai, base_url: ${url}/v1, api_key_env: MAIN_KEY, circuit: { failures: 1 } }
models:
  chat: { workload: chat, max_output_tokens: 1000, pricing: { billing_type: token, input: "1", output: "2" }, providers: [strict, second] }
`;

let fixture: ChatFixture;

beforeAll(async () => {
  fixture = await openChatFixture(catalog);
});

afterAll(() => fixture.close());

function start(settings: Environment): Promise<Gateway> {
  return startGateway({ ...fixture.environment, TOLLGATE_DATA: temporaryFolder(), ...settings });
}

function ask({ origin }: Gateway, key: string, content: string, stream: boolean, signal?: AbortSignal) {
  return fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'chat', stream, messages: [{ role: 'user', content }] }),
    signal: signal ?? null,
  });
}

type Ended = Readonly<{
  status: string;
  error_code: string | null;
  output_tokens: bigint | null;
  attempts: string[];
  is_estimated: boolean | null;
}>;

async function endOf(account: string): Promise<Ended> {
  return await eventually('the end of the Generation', async () => {
    const [row] = await fixture.database.sql`
      select status, error_code, output_tokens,
             (select array_agg(attempts.status::text || ' ' || coalesce(attempts.error_code, '')) from attempts
              where generation_id = generations.id) as attempts,
             (select is_estimated from ledger_entries where generation_id = generations.id) as is_estimated
      from generations where account_id = ${account}`;
    return row && { ...row };
  });
}

async function openCount(count: number): Promise<void> {
  await eventually(`${count} open requests`, async () => {
    const [row] = await fixture.database.sql`select count(*)::int as count from open_generations`;
    return row.count === count;
  });
}

const isDraining = (gateway: Gateway) => gateway.output().includes('"event":"draining"');

function isRefused({ origin }: Gateway): Promise<boolean> {
  return fetch(`${origin}/healthz`, { keepalive: false }).then(
    () => false,
    () => true,
  );
}

function lastEventOf(gateway: Gateway): string {
  return JSON.parse(gateway.output().trim().split('\n').at(-1) ?? '').event;
}

test('for a while it is not ready and still serves everyone, asking them to close; then nobody new, and streams end', async () => {
  const gateway = await start({ DRAIN_DELAY_SECONDS: '3' });
  const { key, account } = await fixture.customer('10');
  const models = { method: 'GET', headers: { authorization: `Bearer ${key}` } };
  const kept = openRawClient(gateway.origin);
  const request = `GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;
  kept.socket.write(request);
  expect(await kept.until((text) => text.includes('"list"'))).not.toContain('onnection: close');
  const stream = await ask(gateway, key, '[[long 50]] [[chunk-delay 80]]', true);
  const stopped = gateway.stop();
  await eventually('the gateway drains', () => isDraining(gateway));

  const readiness = await fetch(`${gateway.origin}/readyz`, { keepalive: false });
  expect(readiness.status).toBe(503);
  expect(await readiness.json()).toMatchObject({ draining: true });
  const answer = await fetch(`${gateway.origin}/v1/models`, { ...models, keepalive: false });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('connection')).toBe('close');
  kept.socket.write(request);
  expect((await kept.ended).match(/200 OK/g)).toHaveLength(2);

  await eventually('the port is closed', () => isRefused(gateway));
  const events = eventsOf(await stream.text());
  expect(events.at(-1)).toBe('[DONE]');
  expect(events.join()).not.toContain('"error"');
  expect(await stopped).toBe(0);
  expect(await endOf(account)).toMatchObject({ status: 'completed', output_tokens: 50n });
  expect(lastEventOf(gateway)).toBe('stopped');
});

test('what outlasts the drain is ended with an error, charged by estimate where something was delivered, and blames no provider', async () => {
  const gateway = await start({ DRAIN_SECONDS: '1' });
  const [talking, silent, whole, left] = await Promise.all(
    Array.from({ length: 4 }, () => fixture.customer('10')),
  );
  if (!talking || !silent || !whole || !left) throw new Error('There are four customers.');
  const stream = await ask(gateway, talking.key, '[[long 900]] [[chunk-delay 100]]', true);
  const controller = new AbortController();
  const abandoned = await ask(gateway, left.key, '[[long 900]] [[chunk-delay 100]]', true, controller.signal);
  await abandoned.body?.getReader().read();
  controller.abort();
  const waiting = ask(gateway, silent.key, '[[delay 60000]]', true);
  const answer = ask(gateway, whole.key, '[[delay 60000]]', false);
  await openCount(4);
  const stopped = gateway.stop();

  const events = eventsOf(await stream.text());
  expect(events.at(-1)).toBe('[DONE]');
  expect((JSON.parse(events.at(-2) ?? '') as ErrorBody).error.code).toBe('streaming_error');
  const unopened = await waiting;
  expect(unopened.status).toBe(200);
  const [only, ...rest] = eventsOf(await unopened.text());
  expect((JSON.parse(only ?? '') as ErrorBody).error.code).toBe('streaming_error');
  expect(rest).toEqual(['[DONE]']);
  const refused = await answer;
  expect(refused.status).toBe(503);
  expect(((await refused.json()) as ErrorBody).error).toMatchObject({
    code: 'server_overloaded',
    message: 'The gateway is shutting down. Try again.',
  });
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(await stopped).toBe(0);

  const delivered = await endOf(talking.account);
  expect(delivered).toMatchObject({
    status: 'failed',
    error_code: 'streaming_error',
    attempts: ['cancelled streaming_error'],
    is_estimated: true,
  });
  expect(delivered.output_tokens).toBeGreaterThan(0n);
  expect(await endOf(left.account)).toMatchObject({ status: 'cancelled', is_estimated: true });
  expect(await endOf(silent.account)).toMatchObject({
    status: 'failed',
    error_code: 'streaming_error',
    attempts: ['cancelled streaming_error'],
    is_estimated: null,
  });
  expect(await endOf(whole.account)).toMatchObject({
    status: 'failed',
    error_code: 'server_overloaded',
    attempts: ['cancelled server_overloaded'],
    is_estimated: null,
  });
  expect(gateway.output()).not.toMatch(/attempt failed|circuit open/);
  expect(lastEventOf(gateway)).toBe('stopped');
});

test('without a balancer it waits for nobody: on the embedded database it stops quickly', () => {
  const database = { DATABASE_URL: 'postgres://tollgate@127.0.0.1/tollgate' };
  expect(readConfig({}).drain).toEqual({ delaySeconds: 0, seconds: 10 });
  expect(readConfig(database).drain.seconds).toBe(600);
  expect(readConfig({ ...database, DRAIN_DELAY_SECONDS: '7' }).drain).toEqual({
    delaySeconds: 7,
    seconds: 600,
  });
  expect(readConfig({ DRAIN_DELAY_SECONDS: '20' }).drain).toEqual({ delaySeconds: 20, seconds: 20 });
  expect(readConfig({ ...database, DRAIN_SECONDS: '2' }).drain.seconds).toBe(2);
});

describe('a second signal', () => {
  test('ends the drain at once', async () => {
    const gateway = await start({ DRAIN_DELAY_SECONDS: '500' });
    const { key, account } = await fixture.customer('10');
    const stream = await ask(gateway, key, '[[long 900]] [[chunk-delay 100]]', true);
    const stopped = gateway.stop();
    await eventually('the gateway drains', () => isDraining(gateway));
    // A signal that follows at once is taken for the copy that npm forwards.
    await Bun.sleep(1_100);
    gateway.process.kill('SIGTERM');
    expect(eventsOf(await stream.text()).at(-2)).toContain('streaming_error');
    expect(await stopped).toBe(0);
    expect((await endOf(account)).status).toBe('failed');
    expect(lastEventOf(gateway)).toBe('stopped');
  });

  test('that follows the first at once is ignored', async () => {
    const gateway = await start({});
    const { key, account } = await fixture.customer('10');
    const stream = await ask(gateway, key, '[[long 30]] [[chunk-delay 50]]', true);
    gateway.process.kill('SIGINT');
    const stopped = gateway.stop('SIGINT');
    expect(eventsOf(await stream.text()).join()).not.toContain('"error"');
    expect(await stopped).toBe(0);
    expect((await endOf(account)).status).toBe('completed');
  });
});
