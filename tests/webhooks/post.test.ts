/** What the gateway does with endpoints that mean harm, on real sockets. */
import { afterAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { post, type Surroundings } from '../../src/webhooks/post.ts';
import { resolveLocal } from '../../src/webhooks/resolve.ts';
import { eventually } from '../support/eventually.ts';
import { receiverCertificate } from '../support/webhook-receiver.ts';

const servers: Server[] = [];
const sockets = new Set<Socket>();

afterAll(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers) server.close();
});

type Started = Readonly<{ port: number; requests: string[]; connections: () => number }>;

/** `answer` gets what was sent first. */
function serve(answer: (socket: Socket, text: string) => void, host = '127.0.0.1'): Promise<Started> {
  return listen(createServer, answer, host);
}

function serveTls(answer: (socket: Socket, text: string) => void, host = '127.0.0.1'): Promise<Started> {
  const settings = {
    cert: readFileSync(receiverCertificate),
    key: readFileSync(receiverCertificate.replace(/pem$/, 'key')),
  };
  return listen((handle) => createTlsServer(settings, handle), answer, host);
}

function listen(
  create: (handle: (socket: Socket) => void) => Server,
  answer: (socket: Socket, text: string) => void,
  host: string,
): Promise<Started> {
  const requests: string[] = [];
  let count = 0;
  const server = create((socket) => {
    count += 1;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('data', (bytes) => {
      requests.push(bytes.toString());
      answer(socket, bytes.toString());
    });
  });
  servers.push(server);
  return new Promise((resolve) => {
    server.listen(0, host, () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      resolve({ port, requests, connections: () => count });
    });
  });
}

const anywhere: Surroundings = { mayBeCalled: () => true };

function send(url: string, surroundings: Partial<Surroundings> = {}) {
  const headers = { 'webhook-id': 'evt_1', 'webhook-signature': 'v1,secret' };
  return post({ url: new URL(url), headers, body: '{"é":1}' }, { ...anywhere, ...surroundings });
}

const ok = (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\nX-Secret: no\r\n\r\nbody');

test('a request arrives as it was meant, and only heads are kept', async () => {
  const server = await serve(ok);
  const url = `http://127.0.0.1:${server.port}/a%20b?c=d`;
  const posted = await send(url);
  expect(posted).toMatchObject({ status: 200, problem: null, responseHead: 'HTTP/1.1 200 OK\nX-Secret: no' });
  expect(posted.requestHead).toContain('webhook-signature: …');
  expect(posted.requestHead).not.toContain('v1,secret');
  const [request = ''] = server.requests;
  expect(request).toStartWith(`POST /a%20b?c=d HTTP/1.1\r\nhost: 127.0.0.1:${server.port}\r\n`);
  expect(request).toContain('content-length: 8\r\n');
  expect(request).toEndWith('webhook-signature: v1,secret\r\n\r\n{"é":1}');
});

test('a redirect is an answer, and is not followed', async () => {
  const inner = await serve(ok);
  const outer = await serve((socket) =>
    socket.end(`HTTP/1.1 307 Elsewhere\r\nLocation: http://127.0.0.1:${inner.port}/\r\n\r\n`),
  );
  expect((await send(`http://127.0.0.1:${outer.port}/`)).status).toBe(307);
  expect(inner.connections()).toBe(0);
});

test('what never answers, drips or never ends is cut off', async () => {
  const silent = await serve(() => undefined);
  const dripping = await serve((socket) => {
    const timer = setInterval(() => socket.write('x'), 20);
    socket.on('close', () => clearInterval(timer));
  });
  const timeoutMs = 300;
  for (const { port } of [silent, dripping])
    expect((await send(`http://127.0.0.1:${port}/`, { timeoutMs })).problem).toBe('timeout');
  const endlessHead = await serve((socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    socket.write(`x: ${'y'.repeat(100_000)}`);
  });
  expect((await send(`http://127.0.0.1:${endlessHead.port}/`)).problem).toBe('no_response');
  const longHead = await serve((socket) =>
    socket.write(`HTTP/1.1 503 Busy\r\nretry-after:${' '.repeat(60_000)}x\r\n\r\n`),
  );
  expect((await send(`http://127.0.0.1:${longHead.port}/`)).problem).toBe('no_response');
  let isClosed = false;
  const endlessBody = await serve((socket) => {
    socket.on('close', () => {
      isClosed = true;
    });
    const pour = () => {
      if (!socket.destroyed) socket.write(Buffer.alloc(65_536), pour);
    };
    socket.write('HTTP/1.1 200 OK\r\n\r\n', pour);
  });
  expect((await send(`http://127.0.0.1:${endlessBody.port}/`)).status).toBe(200);
  await eventually('the end of the connection', () => isClosed);
});

test('an answer that announces another one is not the answer, and nonsense is none', async () => {
  const patient = await serve((socket) =>
    socket.end('HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 503 Busy\r\nretry-after: 7\r\n\r\n'),
  );
  expect(await send(`http://127.0.0.1:${patient.port}/`)).toMatchObject({ status: 503, retryAfter: '7' });
  for (const text of ['SSH-2.0-OpenSSH\r\n\r\n', 'HTTP/1.1 999 Odd\r\n\r\n', '']) {
    const odd = await serve((socket) => socket.end(text));
    expect(await send(`http://127.0.0.1:${odd.port}/`)).toMatchObject({
      status: null,
      problem: 'no_response',
    });
  }
  const bytes = await serve((socket) => socket.end('HTTP/1.1 200 OK\r\nx: \0\x1b[31m\xff\r\n\r\n'));
  expect((await send(`http://127.0.0.1:${bytes.port}/`)).responseHead).toBe('HTTP/1.1 200 OK\nx: ��[31m��');
});

test('addresses that may not be called are not, in whatever notation, and look like ones that do not answer', async () => {
  const server = await serve(ok);
  const closed = await send('http://127.0.0.1:1/');
  const mayBeCalled = (address: string) =>
    !['127.0.0.1', '::1', '::ffff:7f00:1', '0.0.0.0'].includes(address);
  for (const host of [
    '127.0.0.1',
    '0x7f.1',
    '2130706433',
    '127.1',
    '0',
    '[::1]',
    '[::ffff:127.0.0.1]',
    'localhost',
  ]) {
    const { requestHead, ...posted } = await send(`http://${host}:${server.port}/`, {
      mayBeCalled,
      resolve: resolveLocal,
    });
    const { requestHead: _, ...expected } = closed;
    expect(posted).toEqual(expected);
  }
  expect(server.connections()).toBe(0);
});

test('a name is resolved once: what it means after the check does not matter', async () => {
  const inner = await serve(ok, '127.0.0.1');
  let lookups = 0;
  const resolve = async () => {
    lookups += 1;
    return [lookups === 1 ? '127.0.0.3' : '127.0.0.1'];
  };
  const mayBeCalled = (address: string) => address === '127.0.0.3';
  // Nobody listens there, and the name now means something else.
  const posted = await send(`http://rebinding.test:${inner.port}/`, { resolve, mayBeCalled });
  expect(posted.problem).toBe('unreachable');
  expect([lookups, inner.connections()]).toEqual([1, 0]);
});

test('one address that may not be called is enough to refuse a name', async () => {
  const server = await serve(ok, '127.0.0.3');
  const resolve = async () => ['127.0.0.3', '127.0.0.1'];
  const mayBeCalled = (address: string) => address === '127.0.0.3';
  expect((await send(`http://mixed.test:${server.port}/`, { resolve, mayBeCalled })).problem).toBe(
    'unreachable',
  );
  expect((await send(`http://mixed.test:${server.port}/`, { resolve })).status).toBe(200);
  expect(server.requests[0]).toContain(`host: mixed.test:${server.port}`);
});

test('a certificate has to be valid, and of the name in the address', async () => {
  const server = await serveTls(ok, '127.0.0.2');
  const resolve = async () => ['127.0.0.2'];
  const posted = await send(`https://receiver.test:${server.port}/`, { resolve });
  // The tests of the gateway trust this certificate.
  expect(posted.problem).toBe('tls');
  expect(server.requests).toEqual([]);
});

test('stopping ends what is in progress', async () => {
  const stop = new AbortController();
  const silent = await serve(() => stop.abort());
  expect((await send(`http://127.0.0.1:${silent.port}/`, { stop: stop.signal })).problem).toBe('stopped');
});
