import { expect, test } from 'bun:test';
import { Deadlines } from '../src/lib/deadlines.ts';
import { startWallDeadline } from '../src/lib/wall-deadline.ts';

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

test('what has arrived while this process stood still is read first', async () => {
  const arrived = new Int32Array(new SharedArrayBuffer(4));
  const code = `onmessage = ({ data }) => {
    postMessage('arrived');
    Atomics.store(data, 0, 1);
    Atomics.notify(data, 0);
  };
  postMessage('ready');`;
  const worker = new Worker(URL.createObjectURL(new Blob([code])));
  const heard: string[] = [];
  const { promise: ready, resolve } = Promise.withResolvers<void>();
  worker.onmessage = ({ data }) => {
    heard.push(data);
    if (data === 'ready') resolve();
    else deadline.clear();
  };
  await ready;
  const deadline = startWallDeadline(300, () => heard.push('passed'));
  worker.postMessage(arrived);
  Bun.sleepSync(600);
  Atomics.wait(arrived, 0, 0);
  await new Promise<void>((done) => {
    startWallDeadline(300, done);
  });
  worker.terminate();
  expect(heard).toEqual(['ready', 'arrived']);
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
