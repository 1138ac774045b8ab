/** The clocks of a call to a provider, against a server that writes piece by piece. */
import { afterAll, describe, expect, spyOn, test } from 'bun:test';
import { createServer, type Socket } from 'node:net';
import { Calls, type Timeouts } from '../../src/providers/call.ts';
import { ConnectWatchdog } from '../../src/providers/connect-watchdog.ts';
import { postForJson, postForStream } from '../../src/providers/transport.ts';
import { ProviderError } from '../../src/providers/upstream.ts';

type Written = Readonly<{ pieces: readonly string[]; pieceMs: number }>;

/** What the server writes at each address, and what it waits after each piece. */
const written = new Map<string, Written>();
/** What it answers to a TLS handshake. */
const noHttp: Written = { pieces: ['HTTP/1.1 400 Bad Request\r\n\r\n'], pieceMs: 250 };

async function writePieces(socket: Socket, { pieces, pieceMs }: Written): Promise<void> {
  for (const piece of pieces) {
    socket.write(piece);
    await Bun.sleep(pieceMs);
  }
  socket.end();
}

const server = createServer((socket) => {
  socket.on('error', () => undefined);
  socket.once('data', (head) => {
    const path = /^POST (\S+)/.exec(head.toString())?.[1] ?? '';
    writePieces(socket, written.get(path) ?? noHttp).catch(() => undefined);
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

/** The URL of these pieces. Pauses are far below deadlines that must not pass, and together longer than those that must. */
function writes(pieces: readonly string[], pieceMs = 250): string {
  const path = `/${written.size}`;
  written.set(path, { pieces, pieceMs });
  return `http://127.0.0.1:${port}${path}`;
}

// The server ends each connection itself: a kept one would be gone just when the next test uses it.
const requestTo = (url: string) => ({ url, headers: { connection: 'close' }, body: '{}' });
const patient: Timeouts = { connectMs: 30_000, firstByteMs: 30_000, idleMs: 30_000, totalMs: 50_000 };
const idleMs = 2_000;

function link(url: string, timeouts: Partial<Timeouts>) {
  return {
    calls: new Calls(),
    watchdog: new ConnectWatchdog(url, true),
    timeouts: { ...patient, ...timeouts },
  };
}

const streamHead = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n';
const jsonHead = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';

const asItIs = {
  read: (data: string) => [data],
  unreadable: ({ code }: ProviderError) => code,
  tooLong: () => 'too long',
  readCommon: () => 0,
};

/** The data of all events, or the code of the failure. */
async function streamed(url: string, timeouts: Partial<Timeouts>): Promise<string[] | string> {
  const events: string[] = [];
  try {
    const stream = await postForStream(requestTo(url), link(url, timeouts), asItIs);
    for (let next = await stream.next(); next !== null; next = await stream.next()) events.push(...next);
    stream.close();
    return events;
  } catch (error) {
    return codeOf(error);
  }
}

async function whole(url: string, timeouts: Partial<Timeouts>): Promise<unknown> {
  return await postForJson(requestTo(url), link(url, timeouts)).then(({ body }) => body, codeOf);
}

function codeOf(error: unknown): string {
  if (error instanceof ProviderError) return error.code;
  throw error;
}

/** Twice as long as what may be silent. */
const waits = (piece: string) => Array.from({ length: 16 }, () => piece);

test.concurrent('a line that drips in counts as silence: no byte of it gives more time', async () => {
  const url = writes([streamHead, 'data: first\n\n', 'data: ', ...'slowly it comes'.split(''), '\n\n']);
  const answers = await Promise.all([streamed(url, { idleMs }), streamed(url, {})]);
  expect(answers).toEqual(['provider_timeout', ['first', 'slowly it comes']]);
});

test.concurrent('comments are a sign of life', async () => {
  const url = writes([streamHead, ...waits(': wait\n'), 'data: done\n\n']);
  expect(await streamed(url, { idleMs })).toEqual(['done']);
});

test.concurrent('the deadline of the whole call overrides all others', async () => {
  const url = writes([streamHead, ...waits(': wait\n')]);
  expect(await streamed(url, { totalMs: 600 })).toBe('provider_timeout');
});

test.concurrent('time that the client takes is not the provider\u2019s', async () => {
  const url = writes([streamHead, ...Array.from({ length: 5 }, () => 'data: piece\n\n')], 10);
  const stream = await postForStream(requestTo(url), link(url, { totalMs: 3_000 }), asItIs);
  let count = 0;
  for (let next = await stream.next(); next !== null; next = await stream.next()) {
    count += next.length;
    // The pieces may arrive together, and the client still takes longer than the whole call may.
    await Bun.sleep(700 * next.length);
  }
  stream.close();
  expect(count).toBe(5);
});

test.concurrent('the first byte has its own deadline, which ends when the headers arrive', async () => {
  const url = writes(['', '', '', '', '', '', '', streamHead, 'data: late\n\n']);
  const answers = await Promise.all([streamed(url, { firstByteMs: 200 }), streamed(url, {})]);
  expect(answers).toEqual(['provider_timeout', ['late']]);
});

test.concurrent('a non-streamed answer of unknown length may take long as long as it keeps arriving', async () => {
  const url = writes([`${jsonHead}\r\n`, ...waits(' '), '{"a":1}']);
  const answers = await Promise.all([whole(url, { idleMs }), whole(url, { idleMs, totalMs: 400 })]);
  expect(answers).toEqual([{ a: 1 }, 'provider_timeout']);
});

test.concurrent('a non-streamed answer has begun when its length is known', async () => {
  const url = writes([`${jsonHead}content-length: 23\r\n\r\n`, ...waits(' '), '{"a":1}']);
  const answers = await Promise.all([whole(url, { idleMs }), whole(url, {})]);
  expect(answers).toEqual(['provider_timeout', { a: 1 }]);
});

test('time that this process loses is not the provider’s', async () => {
  const url = writes([streamHead, ...Array.from({ length: 8 }, () => 'data: piece\n\n')], 50);
  const stream = await postForStream(requestTo(url), link(url, { totalMs: 3_000 }), asItIs);
  let count = (await stream.next())?.length ?? 0;
  const next = stream.next();
  Bun.sleepSync(3_200);
  count += (await next)?.length ?? 0;
  for (let more = await stream.next(); more !== null; more = await stream.next()) count += more.length;
  stream.close();
  expect(count).toBe(8);
});

test.concurrent('20 MB of brackets are no answer, and are not parsed', async () => {
  using parser = spyOn(JSON, 'parse');
  const url = writes([`${jsonHead}content-length: 20000000\r\n\r\n`, '['.repeat(20_000_000)], 0);
  expect(await whole(url, {})).toBe('provider_unknown_error');
  // The tests of other files, which share the process, parse brackets too.
  expect(parser.mock.calls.some(([text]) => text.startsWith('[[[') && text.length > 1_000_000)).toBe(false);
});

describe('whether there ever was a connection', () => {
  const failureOf = async (to: string, timeouts: Partial<Timeouts> = {}): Promise<ProviderError> => {
    const failed = postForJson(requestTo(to), link(to, timeouts)).then(() => null);
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
    expect(await failureOf(to)).toMatchObject({ code, isUnreached: true });
  });

  test('no: the connection is not accepted in time', async () => {
    const url = writes(waits(''));
    const deaf = new ConnectWatchdog(url, true);
    // Fails at once as if nobody had answered, as it would after `connectMs`.
    deaf.watch = (_connectMs, onSilence) => {
      queueMicrotask(onSilence);
      return () => undefined;
    };
    const failed = postForJson(requestTo(url), { calls: new Calls(), watchdog: deaf, timeouts: patient });
    const error: unknown = await failed.then(() => null).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'provider_timeout', isUnreached: true });
  });

  test.each([
    ['silence', waits(''), 'provider_timeout', { firstByteMs: 200 }],
    ['a connection that breaks off', [], 'provider_unavailable', {}],
    ['an answer that breaks off', [`${jsonHead}content-length: 9\r\n\r\n{`], 'provider_unavailable', {}],
    [
      'an answer with a status',
      ['HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n'],
      'provider_unavailable',
      {},
    ],
  ] as const)('yes: %s', async (_what, pieces, code, timeouts) => {
    expect(await failureOf(writes(pieces), timeouts)).toMatchObject({ code, isUnreached: false });
  });
});
