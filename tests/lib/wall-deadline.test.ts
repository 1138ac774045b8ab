import { expect, test } from 'bun:test';
import { Deadlines } from '../../src/lib/deadlines.ts';
import { startWallDeadline } from '../../src/lib/wall-deadline.ts';

test('time that this process lost counts, unlike with other deadlines', async () => {
  const passed: string[] = [];
  const both = Promise.all([
    new Promise<void>((resolve) => {
      new Deadlines().start(500, () => resolve());
    }).then(() => passed.push('other')),
    new Promise<void>((resolve) => {
      startWallDeadline(500, resolve);
    }).then(() => passed.push('wall')),
  ]);
  // Lets the other one notice when it began.
  await Bun.sleep(0);
  Bun.sleepSync(1_500);
  await both;
  expect(passed).toEqual(['wall', 'other']);
});

/** Sends something, and a moment later something else. */
const speaker = `
  import { connect } from 'node:net';
  onmessage = ({ data: { port, isSaid } }) => {
    const socket = connect(port, '127.0.0.1', () => postMessage('connected'));
    onmessage = () => {
      socket.write('first');
      setTimeout(() => socket.write('second', () => {
        Atomics.store(isSaid, 0, 1);
        Atomics.notify(isSaid, 0);
      }), 50);
    };
  };`;

test('what has arrived while this process stood still is read first', async () => {
  const isSaid = new Int32Array(new SharedArrayBuffer(4));
  const { promise: next, resolve } = Promise.withResolvers<string>();
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      data: (_socket, bytes) => {
        if (bytes.toString() !== 'first') return resolve(bytes.toString());
        startWallDeadline(200, () => resolve('passed'));
        // Stands still between reading and the timers, until the rest has been sent, however slow the other thread is.
        Atomics.wait(isSaid, 0, 0);
        Bun.sleepSync(300);
      },
    },
  });
  const worker = new Worker(URL.createObjectURL(new Blob([speaker])));
  worker.onmessage = () => worker.postMessage('speak');
  worker.postMessage({ port: server.port, isSaid });
  expect(await next).toBe('second');
  worker.terminate();
  server.stop(true);
});

test('one that is cleared never passes', async () => {
  let isPassed = false;
  startWallDeadline(150, () => {
    isPassed = true;
  }).clear();
  await new Promise<void>((resolve) => {
    startWallDeadline(300, resolve);
  });
  expect(isPassed).toBe(false);
});
