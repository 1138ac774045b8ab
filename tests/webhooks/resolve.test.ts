/** Names whose servers never answer keep nothing else from being done. */
import { expect, test } from 'bun:test';
import { createSocket, type Socket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { resolveLocal, resolvePublic } from '../../src/webhooks/resolve.ts';
import { eventually } from '../support/eventually.ts';

/** A name server; `answer` returns what to reply to a query, or null for nothing. */
async function serve(answer: (query: Buffer) => Buffer | null) {
  const socket: Socket = createSocket('udp4');
  let queries = 0;
  socket.on('message', (query, { port, address }) => {
    queries += 1;
    const reply = answer(query);
    if (reply !== null) socket.send(reply, port, address);
  });
  await new Promise<void>((resolve) => {
    socket.bind(0, '127.0.0.1', () => resolve());
  });
  return {
    server: `127.0.0.1:${socket.address().port}`,
    queries: () => queries,
    stop: () => socket.close(),
  };
}

/** One A record for whoever asks for one; of other types there is none. */
function reply(query: Buffer): Buffer {
  const question = query.subarray(12, query.indexOf(0, 12) + 5);
  const isA = question.at(-3) === 1;
  const head = Buffer.from([query[0] ?? 0, query[1] ?? 0, 0x81, 0x80, 0, 1, 0, isA ? 1 : 0, 0, 0, 0, 0]);
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7]);
  return Buffer.concat(isA ? [head, question, record] : [head, question]);
}

test('a hundred lookups that hang leave threads to files and other lookups, and end when they are given up', async () => {
  const silent = await serve(() => null);
  const ending = new AbortController();
  // In the order in which they ended.
  const ended: string[] = [];
  const followed = <Value>(what: string, work: Promise<Value>) => work.finally(() => ended.push(what));
  const lookups = Array.from({ length: 100 }, (_, place) =>
    followed('hanging', resolvePublic(`name-${place}.example.com`, ending.signal, [silent.server])),
  );
  await eventually('the queries', () => silent.queries() >= 100);
  const [text, addresses, hash] = await Promise.all([
    followed('file', readFile(import.meta.path, 'utf8')),
    followed('name', lookup('localhost', { all: true })),
    followed('password', Bun.password.hash('password', { algorithm: 'bcrypt', cost: 4 })),
  ]);
  expect(text.length).toBeGreaterThan(0);
  expect(addresses).not.toEqual([]);
  expect(hash).toStartWith('$2');
  expect(ended.slice(0, 3).toSorted()).toEqual(['file', 'name', 'password']);
  ending.abort();
  expect((await Promise.all(lookups)).flat()).toEqual([]);
  silent.stop();
});

test('addresses of both kinds are asked for, and a name without one of them has the other', async () => {
  const server = await serve(reply);
  const { signal } = new AbortController();
  expect(await resolvePublic('receiver.example.com', signal, [server.server])).toEqual(['192.0.2.7']);
  expect(server.queries()).toBe(2);
  server.stop();
});

test('a name of the operator may be in the hosts file', async () => {
  expect(await resolveLocal('localhost')).toContain('127.0.0.1');
});
