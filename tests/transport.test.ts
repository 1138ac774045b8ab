/** The clocks of a call to a provider, against a server that writes piece by piece. */
import { afterAll, describe, expect, test } from 'bun:test';
import { createServer, type Socket } from 'node:net';
import { Calls, type Timeouts } from '../src/providers/call.ts';
import { ConnectWatchdog } from '../src/providers/connect-watchdog.ts';
import { postForJson, postForStream } from '../src/providers/transport.ts';
import { ProviderError } from '../src/providers/upstream.ts';

/** What the server writes, and what it waits between two pieces. */
let pieces: readonly string[] = [];
const pieceMs = 50;

async function writePieces(socket: Socket): Promise<void> {
  for (const piece of pieces) {
    socket.write(piece);
    await Bun.sleep(pieceMs);
  }
  socket.end();
}

const server = createServer((socket) => {
  socket.on('error', () => undefined);
  socket.once('data', () => {
    writePieces(socket).catch(() => undefined);
  });
});
const port = await new Promise<number>((resolve) => {
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    resolve(typeof address === 'object' ? (address?.port ?? 0) : 0);
  });
});
afterAll(() => {
  server.close();
});

const url = `http://127.0.0.1:${port}/`;
const request = { url, headers: {}, body: '{}' };
const patient: Timeouts = { connectMs: 5_000, firstByteMs: 5_000, idleMs: 5_000, totalMs: 10_000 };

function link(timeouts: Partial<Timeouts>) {
  return {
    calls: new Calls(),
    watchdog: new ConnectWatchdog(url, true),
    timeouts: { ...patient, ...timeouts },
  };
}

const streamHead = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n';
const jsonHead = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';

const asItIs = { read: (data: string) => [data], tooLong: () => 'too long' };

/** The data of all events, or the code of the failure. */
async function streamed(timeouts: Partial<Timeouts>): Promise<string[] | string> {
  const events: string[] = [];
  try {
    const stream = await postForStream(request, link(timeouts), asItIs);
    for (let next = await stream.next(); next !== null; next = await stream.next()) events.push(...next);
    stream.close();
    return events;
  } catch (error) {
    return codeOf(error);
  }
}

async function whole(timeouts: Partial<Timeouts>): Promise<unknown> {
  return await postForJson(request, link(timeouts)).then(({ body }) => body, codeOf);
}

function codeOf(error: unknown): string {
  if (error instanceof ProviderError) return error.code;
  throw error;
}

test('a line that drips in is as good as silence: no byte of it gives more time', async () => {
  pieces = [streamHead, 'data: first\n\n', 'data: ', ...'slowly it comes'.split(''), '\n\n'];
  expect(await streamed({ idleMs: 300 })).toBe('provider_timeout');
  expect(await streamed({})).toEqual(['first', 'slowly it comes']);
});

test('comments are a sign of life', async () => {
  pieces = [streamHead, ...Array.from({ length: 12 }, () => ': wait\n'), 'data: done\n\n'];
  expect(await streamed({ idleMs: 300 })).toEqual(['done']);
});

test('the time of the whole call is above all others', async () => {
  pieces = [streamHead, ...Array.from({ length: 40 }, () => ': wait\n')];
  expect(await streamed({ idleMs: 300, totalMs: 600 })).toBe('provider_timeout');
});

test('time that the client takes is not the provider\u2019s', async () => {
  pieces = [streamHead, ...Array.from({ length: 5 }, () => 'data: piece\n\n')];
  const stream = await postForStream(request, link({ totalMs: 600 }), asItIs);
  let count = 0;
  for (let next = await stream.next(); next !== null; next = await stream.next()) {
    count += next.length;
    await Bun.sleep(250);
  }
  stream.close();
  expect(count).toBe(5);
});

test('the first byte has a time of its own, and it ends when the headers are there', async () => {
  pieces = ['', '', '', '', '', '', '', streamHead, 'data: late\n\n'];
  expect(await streamed({ firstByteMs: 200 })).toBe('provider_timeout');
  expect(await streamed({})).toEqual(['late']);
});

test('a whole answer of unknown length may take its time as long as it comes on', async () => {
  pieces = [`${jsonHead}\r\n`, ...Array.from({ length: 12 }, () => ' '), '{"a":1}'];
  expect(await whole({ idleMs: 300 })).toEqual({ a: 1 });
  expect(await whole({ idleMs: 300, totalMs: 400 })).toBe('provider_timeout');
});

test('a whole answer of known length is under way when its length is known', async () => {
  pieces = [`${jsonHead}content-length: 19\r\n\r\n`, ...Array.from({ length: 12 }, () => ' '), '{"a":1}'];
  expect(await whole({ idleMs: 300 })).toBe('provider_timeout');
  expect(await whole({})).toEqual({ a: 1 });
});

describe('whether there ever was a connection', () => {
  const failureOf = async (to: string, timeouts: Partial<Timeouts> = {}): Promise<ProviderError> => {
    const way = {
      calls: new Calls(),
      watchdog: new ConnectWatchdog(to, true),
      timeouts: { ...patient, ...timeouts },
    };
    const failed = postForJson({ url: to, headers: {}, body: '{}' }, way).then(() => null);
    const error: unknown = await failed.catch((thrown: unknown) => thrown);
    if (error instanceof ProviderError) return error;
    throw new Error('The call succeeded.');
  };

  test.each([
    ['a refused connection', 'http://127.0.0.1:9/', 'provider_unavailable'],
    ['a refused connection to a name', 'http://localhost:9/', 'provider_unavailable'],
    ['a host that nobody knows', 'http://nobody.invalid/', 'provider_unavailable'],
    ['a server without TLS', `https://127.0.0.1:${port}/`, 'provider_unknown_error'],
  ] as const)('no: %s', async (_what, to, code) => {
    pieces = ['HTTP/1.1 400 Bad Request\r\n\r\n'];
    expect(await failureOf(to)).toMatchObject({ code, isUnreached: true });
  });

  test('no: nobody picks up in time', async () => {
    const deaf = new ConnectWatchdog(url, true);
    // A line that is told at once that nobody is there, as it would be after `connectMs`.
    deaf.watch = (_connectMs, onSilence) => {
      queueMicrotask(onSilence);
      return () => undefined;
    };
    pieces = Array.from({ length: 20 }, () => '');
    const failed = postForJson(request, { calls: new Calls(), watchdog: deaf, timeouts: patient });
    const error: unknown = await failed.then(() => null).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'provider_timeout', isUnreached: true });
  });

  test.each([
    ['silence', ['', '', '', '', '', '', ''], 'provider_timeout'],
    ['a connection that breaks off', [], 'provider_unavailable'],
    ['an answer that breaks off', [`${jsonHead}content-length: 9\r\n\r\n{`], 'provider_unavailable'],
    ['an answer with a status', ['HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n'], 'provider_unavailable'],
  ] as const)('yes: %s', async (_what, written, code) => {
    pieces = written;
    expect(await failureOf(url, { firstByteMs: 200 })).toMatchObject({ code, isUnreached: false });
  });
});
