/** A stream from a provider that never ends. */
import { expect, test } from 'bun:test';
import { Call, Calls } from '../../src/providers/call.ts';
import { ConnectWatchdog } from '../../src/providers/connect-watchdog.ts';
import { EventStream, maxStreamBytes } from '../../src/providers/event-stream.ts';
import { EndedByGateway } from '../../src/providers/upstream.ts';

test('is read up to a limit of the gateway, whatever it consists of', async () => {
  const comment = Buffer.alloc(1_048_576, ':');
  comment[comment.length - 1] = 10;
  const body = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(comment) });
  const link = {
    calls: new Calls(),
    watchdog: new ConnectWatchdog('http://127.0.0.1:9', false),
    timeouts: { connectMs: 60_000, firstByteMs: 60_000, idleMs: 60_000, totalMs: 60_000 },
  };
  const call = new Call(link);
  const stream = new EventStream<string>(200, body, call, {
    read: (data) => [data],
    unreadable: ({ code }) => code,
    tooLong: () => 'too long',
    readCommon: () => 0,
  });
  for (let read = 0; read < maxStreamBytes; read += comment.length) expect(await stream.next()).toEqual([]);
  const error = await stream.next().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(EndedByGateway);
  expect(error).toMatchObject({ code: 'malformed_stream_chunk', upstreamStatus: 200, isProvoked: true });
  stream.close();
  expect(call.controller.signal.aborted).toBe(true);
});
