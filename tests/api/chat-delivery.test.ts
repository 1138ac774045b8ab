/** Clients that read slowly, not at all, or while the gateway is being stopped. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { type ChatFixture, eventsOf, openChatFixture } from '../support/chat-fixture.ts';
import { startGateway } from '../support/gateway.ts';

let fixture: ChatFixture;

beforeAll(async () => {
  fixture = await openChatFixture();
});

afterAll(() => fixture.close());

/** A connection that has sent a request for a stream and reads only when told to. */
function rawStream(key: string, content: string): Promise<Socket> {
  const { hostname, port } = new URL(fixture.gateway.origin);
  const messages = [{ role: 'user', content }];
  const body = JSON.stringify({ model: 'twofold', stream: true, max_tokens: pieces, messages });
  const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(head + body, () => resolve(socket)));
    socket.pause();
    socket.on('error', reject);
  });
}

async function ended(account: string): Promise<{ status: string; output_tokens: bigint | null }> {
  for (;;) {
    const [row] = await fixture.database
      .sql`select status, output_tokens from generations where account_id = ${account}`;
    if (row) return { ...row };
    await Bun.sleep(50);
  }
}

const pieces = 100_000;

test('a client that reads slowly gets everything, and the provider is held back meanwhile', async () => {
  const { key, account } = await fixture.customer('100');
  const socket = await rawStream(key, `[[long ${pieces}]] [[burst]]`);
  await Bun.sleep(1_500);
  // Tens of megabytes are still with the provider: the Generation is open and nothing has been charged.
  expect([...(await fixture.database.sql`select 1 from generations where account_id = ${account}`)]).toEqual(
    [],
  );
  let text = '';
  await new Promise<void>((resolve) => {
    socket.on('data', (bytes) => {
      text = (text + bytes.toString()).slice(-200);
      if (text.includes('[DONE]')) resolve();
    });
    socket.resume();
  });
  socket.destroy();
  expect(await ended(account)).toEqual({ status: 'completed', output_tokens: BigInt(pieces) });
}, 60_000);

test('a client that stops reading is cut off after a time and still settled', async () => {
  const { key, account } = await fixture.customer('100');
  const socket = await rawStream(key, `[[long ${pieces}]] [[burst]]`);
  const closed = new Promise((resolve) => socket.on('close', resolve));
  socket.removeAllListeners('error');
  socket.on('error', () => undefined);
  expect(await ended(account)).toEqual({ status: 'cancelled', output_tokens: BigInt(pieces) });
  socket.resume();
  await closed;
}, 90_000);

test('SIGTERM lets a stream finish, refuses new connections, settles, and exits 0', async () => {
  const { key, account } = await fixture.customer('100');
  const gateway = await startGateway(fixture.environment);
  const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'full',
      stream: true,
      messages: [{ role: 'user', content: '[[long 40]] [[chunk-delay 40]]' }],
    }),
  });
  const stopped = gateway.stop('SIGTERM');
  await Bun.sleep(300);
  expect(await fetch(`${gateway.origin}/healthz`).catch(() => 'refused')).toBe('refused');
  expect(eventsOf(await response.text()).at(-1)).toBe('[DONE]');
  expect(await stopped).toBe(0);
  expect(await ended(account)).toEqual({ status: 'completed', output_tokens: 40n });
}, 60_000);

test('SIGTERM waits for a stream whose client has gone, and charges it', async () => {
  const { key, account } = await fixture.customer('100');
  const gateway = await startGateway(fixture.environment);
  const controller = new AbortController();
  const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'full',
      stream: true,
      messages: [{ role: 'user', content: '[[long 40]] [[chunk-delay 40]]' }],
    }),
    signal: controller.signal,
  });
  await response.body?.getReader().read();
  controller.abort();
  await Bun.sleep(100);
  expect(await gateway.stop('SIGTERM')).toBe(0);
  expect(await ended(account)).toEqual({ status: 'cancelled', output_tokens: 40n });
}, 60_000);
