/** Clients that read slowly, not at all, or while the gateway is being stopped. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { type ChatFixture, chatCatalog, eventsOf, openChatFixture } from '../support/chat-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { type Gateway, launchGateway, temporaryFolder } from '../support/gateway.ts';
import { heldModel, startHeldProvider } from '../support/held-provider.ts';
import { quickGateway } from '../support/quick-lease.ts';

const held = startHeldProvider();

let fixture: ChatFixture;
/** Gives up clients that have not read for two seconds, and is stopped by the last test. */
let impatient: Gateway;

beforeAll(async () => {
  fixture = await openChatFixture((url) => chatCatalog(url, heldModel(held, url)));
  const environment = { ...fixture.environment, TOLLGATE_DATA: temporaryFolder() };
  impatient = await launchGateway(environment, { command: quickGateway('impatient-with-clients.ts') })
    .listening;
});

afterAll(async () => {
  await impatient.stop('SIGKILL');
  await fixture.close();
  await held.stop();
});

/** A connection that has sent a request for a stream and reads only when told to. */
function rawStream({ origin }: Gateway, key: string, content: string): Promise<Socket> {
  const { hostname, port } = new URL(origin);
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
  return await eventually('the end of the request', async () => {
    const [row] = await fixture.database
      .sql`select status, output_tokens from generations where account_id = ${account}`;
    return row && { ...row };
  });
}

const pieces = 100_000;
const someWords = 40_000;

test('a client that reads slowly gets everything, and the provider is held back meanwhile', async () => {
  const { key, account } = await fixture.customer('100');
  const socket = await rawStream(fixture.gateway, key, `[[long ${pieces}]] [[burst]]`);
  // Clients that read are served in the meantime. Megabytes of the slow one's answer are still with the provider: its
  // Generation is open and nothing has been charged.
  const sentFreely = await fixture.customer('100');
  const free = await rawStream(fixture.gateway, sentFreely.key, `[[long ${someWords}]] [[burst]]`);
  expect(await readToEnd(free)).toContain('[DONE]');
  expect(await ended(sentFreely.account)).toEqual({ status: 'completed', output_tokens: BigInt(someWords) });
  expect([...(await fixture.database.sql`select 1 from generations where account_id = ${account}`)]).toEqual(
    [],
  );
  expect(await readToEnd(socket)).toContain('[DONE]');
  expect(await ended(account)).toEqual({ status: 'completed', output_tokens: BigInt(pieces) });
});

/** The end of the stream. */
function readToEnd(socket: Socket): Promise<string> {
  let text = '';
  return new Promise((resolve) => {
    socket.on('data', (bytes) => {
      text = (text + bytes.toString()).slice(-200);
      if (text.includes('[DONE]')) socket.destroy();
    });
    socket.on('close', () => resolve(text));
    socket.resume();
  });
}

test('a client that stops reading is cut off after a time and still settled', async () => {
  const { key, account } = await fixture.customer('100');
  const socket = await rawStream(impatient, key, `[[long ${pieces}]] [[burst]]`);
  const closed = new Promise((resolve) => socket.on('close', resolve));
  socket.removeAllListeners('error');
  socket.on('error', () => undefined);
  expect(await ended(account)).toEqual({ status: 'cancelled', output_tokens: BigInt(pieces) });
  socket.resume();
  await closed;
});

test('SIGTERM lets a stream finish, refuses new connections, settles, waits for a stream whose client has gone, and exits 0', async () => {
  const [reader, leaver] = [await fixture.customer('100'), await fixture.customer('100')];
  const ask = (key: string, words: number, signal: AbortSignal | null = null) =>
    fetch(`${impatient.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'held',
        stream: true,
        messages: [{ role: 'user', content: `[[long ${words}]] [[chunk-delay 40]]` }],
      }),
      signal,
    });
  const response = await ask(reader.key, 40);
  const controller = new AbortController();
  // The stream that nobody reads ends last.
  const left = await ask(leaver.key, 70, controller.signal);
  await left.body?.getReader().read();
  await held.holds(2);
  controller.abort();
  const stopped = impatient.stop('SIGTERM');
  // A connection that was accepted before may still be answered.
  await eventually('the port to be closed', () =>
    fetch(`${impatient.origin}/healthz`, { keepalive: false }).then(
      () => false,
      () => true,
    ),
  );
  held.release();
  expect(eventsOf(await response.text()).at(-1)).toBe('[DONE]');
  expect(await stopped).toBe(0);
  expect(await ended(reader.account)).toEqual({ status: 'completed', output_tokens: 40n });
  expect(await ended(leaver.account)).toEqual({ status: 'cancelled', output_tokens: 70n });
});
