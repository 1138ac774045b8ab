/** What reaches the gateway before anything is known about it: hostile bodies, keys and headers. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { residentBytes } from '../../bench/cpu.ts';
import { generateKey } from '../../src/keys/key-format.ts';
import { type ChatFixture, type ErrorBody, openChatFixture } from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, startGateway, temporaryFolder } from '../support/gateway.ts';
import { openRawClient, type RawClient, writeAll } from '../support/raw-socket.ts';

const megabyte = 1024 * 1024;

let fixture: ChatFixture;
let key: string;

beforeAll(async () => {
  fixture = await openChatFixture();
  ({ key } = await fixture.customer('10'));
});

afterAll(() => fixture.close());

const post = (body: Blob | string, apiKey = key) =>
  fetch(`${fixture.gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body,
  });

const codeOf = async (response: Response) => ((await response.json()) as ErrorBody).error.code;

const askUsage = (apiKey: string) =>
  fetch(`${fixture.gateway.origin}/v1/usage`, { headers: { authorization: `Bearer ${apiKey}` } });

const residentMegabytes = () => residentBytes(fixture.gateway.process.pid) / megabyte;

/** The peak memory of the gateway while something runs. */
async function peakMegabytes(run: () => Promise<unknown>): Promise<number> {
  let peak = 0;
  const look = () => {
    peak = Math.max(peak, residentMegabytes());
  };
  const timer = setInterval(look, 20);
  try {
    await run();
    look();
    return peak;
  } finally {
    clearInterval(timer);
  }
}

const head = (headers: string) =>
  `POST /v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n${headers}\r\n`;

describe('400', () => {
  test('20 MB of brackets are refused for their depth, without being parsed', async () => {
    const peak = await peakMegabytes(async () => {
      const response = await post('['.repeat(20 * megabyte));
      expect(response.status).toBe(400);
      expect(await codeOf(response)).toBe('invalid_parameter');
    });
    expect(peak).toBeLessThan(500);
  });

  test.each([
    ['one after the other', 'Host: gateway\r\nHost: elsewhere\r\n'],
    ['the same twice', 'Host: gateway\r\nAccept: */*\r\nhost: gateway\r\n'],
    ['an empty one first', 'Host:\r\nHost: gateway\r\n'],
  ])('two Host headers, %s', async (_, hosts) => {
    for (const path of ['/v1/models', '/healthz', '/nowhere']) {
      const client = openRawClient(fixture.gateway.origin);
      client.socket.write(`GET ${path} HTTP/1.1\r\n${hosts}Authorization: Bearer ${key}\r\n\r\n`);
      const answer = await client.until((text) => /\r\n\r\n.+/s.test(text));
      client.socket.destroy();
      expect(answer).toStartWith('HTTP/1.1 400');
      expect(answer).toContain('"code":"invalid_request"');
    }
  });
});

describe('503 server_overloaded', () => {
  const lines = (authorization: string) =>
    head(`Authorization: ${authorization}\r\nContent-Length: ${20 * megabyte}\r\n`);
  const chunk = Buffer.alloc(megabyte, 'x');

  let clients: RawClient[] = [];

  // Also after a failure: a gateway does not stop while it waits for bodies.
  afterEach(() => {
    for (const { socket } of clients) socket.destroy();
  });

  /** This many clients announce 20 MB each, send nearly all of it, and then wait. */
  async function sendUnfinished(count: number, authorization: string): Promise<void> {
    clients = Array.from({ length: count }, () => openRawClient(fixture.gateway.origin));
    await Promise.all(
      clients.map(async (client) => {
        client.socket.write(lines(authorization));
        await Promise.race([writeAll(client.socket, chunk, 19), client.until((text) => text !== '')]);
      }),
    );
  }

  test('60 unfinished bodies of a key without a balance take no more than its share of memory', async () => {
    const poor = await fixture.customer('0');
    const peak = await peakMegabytes(() => sendUnfinished(60, `Bearer ${poor.key}`));
    const refusedClients = () => clients.filter((client) => client.received().startsWith('HTTP/1.1 503'));
    // A quarter of 256 MB is room for three of them.
    await eventually('57 refusals', () => refusedClients().length >= 57);
    const refused = refusedClients();
    expect(refused).toHaveLength(57);
    // Less than all of them have. How much less depends on when the garbage collector frees what was read of the refused.
    expect(peak).toBeLessThan(60 * 19);
    // What the clients still send is not kept, so only the room of the three is taken besides an idle gateway's memory.
    await eventually('the memory of three bodies', () => residentMegabytes() < 300);
    expect(refused[0]?.received()).toContain('"code":"server_overloaded"');
    expect(refused[0]?.received()).toMatch(/\r\nRetry-After: \d+\r\n/i);
    // Others are not affected.
    const large = JSON.stringify({
      model: 'full',
      messages: [{ role: 'user', content: 'x'.repeat(megabyte) }],
    });
    expect((await post(large)).status).not.toBe(503);
    expect((await post('{}', poor.key)).status).toBe(400);
    for (const { socket } of clients) socket.destroy();
    // A client that leaves returns the room of its body.
    await eventually('room again', async () => (await post(large, poor.key)).status !== 503);
  });

  test('nothing is kept of requests without a valid key', async () => {
    const peak = await peakMegabytes(() => sendUnfinished(40, `Bearer ${generateKey()}`));
    await eventually('40 responses', () => clients.every((client) => client.received() !== ''));
    for (const client of clients) expect(client.received()).toStartWith('HTTP/1.1 401');
    expect(peak).toBeLessThan(500);
  });
});

describe('a large body', () => {
  let small: Gateway;

  beforeAll(async () => {
    // A quarter of it is room for one body of 11 MB.
    small = await startGateway({
      ...fixture.environment,
      TOLLGATE_DATA: temporaryFolder(),
      BODY_BUDGET_MB: '80',
    });
  });
  afterAll(() => small.stop());

  const image = `data:image/png;base64,${'A'.repeat(11 * megabyte)}`;
  const send = (stream: boolean, text = '') =>
    fetch(`${small.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'full',
        stream,
        max_tokens: 100,
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: `x ${text}` },
              { type: 'image_url', image_url: { url: image } },
            ],
          },
        ],
      }),
    });

  test('takes its room until its response begins, streamed or not', async () => {
    for (let round = 0; round < 3; round++) expect((await send(false)).status).toBe(200);
    let isRefused = false;
    const keepTaking = async () => {
      while (!isRefused) await (await send(true, '[[delay 500]]')).body?.cancel();
    };
    const taking = keepTaking();
    let refused = await send(false);
    while (refused.status !== 503) refused = await send(false);
    isRefused = true;
    expect(refused.headers.get('retry-after')).toBe('2');
    expect(await codeOf(refused)).toBe('server_overloaded');
    await taking;
    let open = await send(true, '[[chunk-delay 100]] [[long 100]]');
    while (open.status === 503) open = await send(true, '[[chunk-delay 100]] [[long 100]]');
    expect(open.status).toBe(200);
    // Its reader may take days, which nobody else has to wait for.
    expect((await send(false)).status).toBe(200);
    await open.body?.cancel();
  });

  test.each([
    ['Transfer-Encoding: chunked\r\n', '5\r\nhello\r\n'],
    [`Content-Length: ${100 * megabyte}\r\n`, 'hello'],
  ])('is not waited for when it is refused unread: %s', async (header, start) => {
    const client = openRawClient(small.origin);
    client.socket.write(head(`Authorization: Bearer ${generateKey()}\r\n${header}`) + start);
    expect(await client.ended).toStartWith('HTTP/1.1 401');
  });
});

describe('401', () => {
  test('a flood of unknown keys takes neither the connections to the database nor the place of known keys', async () => {
    const { sql } = fixture.database;
    const waitingLookups = async () =>
      Number(
        (
          await sql`select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%api_keys%'`
        )[0].count,
      );
    await sql.begin(async (transaction) => {
      expect((await askUsage(key)).status).toBe(200);
      await transaction`lock table api_keys in access exclusive mode`;
      const flood = Array.from({ length: 100 }, () => askUsage(generateKey()));
      await eventually('lookups that wait', async () => (await waitingLookups()) > 0);
      // It would wait forever if the flood had every connection.
      expect((await askUsage(key)).status).toBe(200);
      expect(await waitingLookups()).toBeLessThanOrEqual(2);
      await transaction`commit`;
      const statuses = (await Promise.all(flood)).map(({ status }) => status);
      expect(new Set(statuses)).toEqual(new Set([401]));
    });
  });
});
