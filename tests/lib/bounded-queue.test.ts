import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { BoundedQueue, OverloadError, type Ticket } from '../../src/lib/bounded-queue.ts';

test('never more run than allowed, everyone admitted gets a turn, and the rest are refused at once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 0, max: 6 }),
      fc.array(fc.boolean(), { maxLength: 20 }),
      async (maxRunning, maxWaiting, fates) => {
        const queue = new BoundedQueue({ maxRunning, maxWaiting });
        const take = <Result>(task: () => Promise<Result>) => queue.run({ origin: 'a' }, task);
        let running = 0;
        let most = 0;
        const outcomes = await Promise.allSettled(
          fates.map((succeeds) =>
            take(async () => {
              running += 1;
              most = Math.max(most, running);
              await Bun.sleep(0);
              running -= 1;
              if (!succeeds) throw new Error('failed');
            }),
          ),
        );
        const refused = outcomes.filter(
          (outcome) => outcome.status === 'rejected' && outcome.reason instanceof OverloadError,
        );
        expect(most).toBe(Math.min(maxRunning, fates.length));
        expect(refused).toHaveLength(Math.max(0, fates.length - maxRunning - maxWaiting));
        // The slots are free again, even after failures.
        expect(await Promise.all(Array.from({ length: maxRunning }, () => take(async () => 'done')))).toEqual(
          Array.from({ length: maxRunning }, () => 'done'),
        );
      },
    ),
    { numRuns: 50 },
  );
});

test('turns come in the order of arrival', async () => {
  const queue = new BoundedQueue({ maxRunning: 1, maxWaiting: 10 });
  const order: number[] = [];
  await Promise.all(
    [0, 1, 2, 3].map((place) =>
      queue.run({ origin: 'a' }, async () => {
        await Bun.sleep(3 - place);
        order.push(place);
      }),
    ),
  );
  expect(order).toEqual([0, 1, 2, 3]);
});

test('no origin gets every place, and some are reserved for preferred ones', async () => {
  const tickets: fc.Arbitrary<Ticket[]> = fc.array(
    fc.record({ origin: fc.constantFrom('a', 'b', 'c'), isPreferred: fc.boolean() }),
    {
      maxLength: 20,
    },
  );
  const limits = { maxRunning: 1, maxWaiting: 6, reservedForPreferred: 2, maxWaitingPerOrigin: 3 };
  await fc.assert(
    fc.asyncProperty(tickets, async (asked) => {
      const queue = new BoundedQueue(limits);
      const { promise, resolve } = Promise.withResolvers<void>();
      const running = queue.run({ origin: 'first' }, () => promise);
      const waiting: string[] = [];
      const expected = asked.map(({ origin, isPreferred }) => {
        const isLetIn =
          waiting.length < (isPreferred ? 6 : 4) && waiting.filter((other) => other === origin).length < 3;
        if (isLetIn) waiting.push(origin);
        return isLetIn ? 'fulfilled' : 'rejected';
      });
      const outcomes = Promise.allSettled(asked.map((ticket) => queue.run(ticket, async () => 'done')));
      resolve();
      await running;
      expect((await outcomes).map(({ status }) => status)).toEqual(expected);
    }),
  );
});

test('origins are served in rotation, and those that have left are skipped', async () => {
  const queue = new BoundedQueue({ maxRunning: 1, maxWaiting: 20 });
  const gate = Promise.withResolvers<void>();
  const running = queue.run({ origin: 'a' }, () => gate.promise);
  const order: string[] = [];
  const wait = (name: string, signal?: AbortSignal) =>
    queue.run(
      { origin: name[0] ?? '', ...(signal === undefined ? {} : { signal }) },
      async () => void order.push(name),
    );
  const leaving = new AbortController();
  const stayed = ['a1', 'a2', 'a3'].map((name) => wait(name));
  const left = ['a4', 'c1'].map((name) => wait(name, leaving.signal));
  stayed.push(...['b1', 'b2', 'a5', 'c2'].map((name) => wait(name)));
  const outcomes = Promise.allSettled(left);
  leaving.abort();
  gate.resolve();
  await Promise.all([running, ...stayed]);
  expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(order).toEqual(['a1', 'c2', 'b1', 'a2', 'b2', 'a3', 'a5']);
  await queue.run({ origin: 'a' }, async () => void order.push('later'));
  expect(order).toContain('later');
});

/** A task that runs until it is told to end. */
function held() {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isRunning = false;
  return {
    task: () => {
      isRunning = true;
      return promise;
    },
    end: resolve,
    isRunning: () => isRunning,
  };
}

/** Waits until everything that is ready to run has run. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('an origin runs no more at once than allowed, and does not hold up the others', async () => {
  const queue = new BoundedQueue({ maxRunningPerOrigin: 2 });
  const tasks = Array.from({ length: 4 }, held);
  const other = held();
  const runs = tasks.map(({ task }) => queue.run({ origin: 'a' }, task));
  runs.push(queue.run({ origin: 'b' }, other.task));
  const running = () => [...tasks, other].map((one) => one.isRunning());
  expect(running()).toEqual([true, true, false, false, true]);
  tasks[1]?.end();
  await runs[1];
  await turn();
  expect(running()).toEqual([true, true, true, false, true]);
  // The end of another origin's task is no turn for one that runs enough already.
  other.end();
  await runs[4];
  await turn();
  expect(running()).toEqual([true, true, true, false, true]);
  for (const { end } of tasks) end();
  await Promise.all(runs);
});

test('an origin that may not run yet is skipped', async () => {
  const queue = new BoundedQueue({ maxRunning: 2, maxRunningPerOrigin: 1 });
  const [first, second, third, fourth] = [held(), held(), held(), held()];
  const runs = [
    queue.run({ origin: 'a' }, first.task),
    queue.run({ origin: 'b' }, second.task),
    queue.run({ origin: 'a' }, third.task),
    queue.run({ origin: 'c' }, fourth.task),
  ];
  second.end();
  await runs[1];
  await turn();
  expect([third.isRunning(), fourth.isRunning()]).toEqual([false, true]);
  for (const { end } of [first, third, fourth]) end();
  await Promise.all(runs);
});

describe('a signal', () => {
  test('that is aborted already keeps the task from being started', async () => {
    const queue = new BoundedQueue({});
    const { task, isRunning } = held();
    const reason = new Error('left');
    const run = queue.run({ origin: 'a', signal: AbortSignal.abort(reason) }, task);
    expect(await run.catch((error: unknown) => error)).toBe(reason);
    expect(isRunning()).toBe(false);
  });

  test('that is aborted meanwhile frees its place in the queue, and rejects with its own reason', async () => {
    const queue = new BoundedQueue({ maxRunning: 1, maxWaiting: 1, maxWaitingPerOrigin: 1 });
    const running = held();
    const runs = [queue.run({ origin: 'a' }, running.task)];
    const leaving = new AbortController();
    const left = queue.run({ origin: 'a', signal: leaving.signal }, async () => undefined);
    const refused = queue.run({ origin: 'b' }, async () => undefined);
    expect(await refused.catch((error: unknown) => error)).toBeInstanceOf(OverloadError);
    const reason = new Error('left');
    leaving.abort(reason);
    expect(await left.catch((error: unknown) => error)).toBe(reason);
    const next = held();
    runs.push(queue.run({ origin: 'b' }, next.task));
    expect(next.isRunning()).toBe(false);
    running.end();
    await runs[0];
    await turn();
    expect(next.isRunning()).toBe(true);
    next.end();
    await Promise.all(runs);
  });

  test('does not end a task that has been started, and is no longer listened to', async () => {
    const queue = new BoundedQueue({ maxRunning: 1 });
    const [first, second] = [held(), held()];
    const leaving = new AbortController();
    const run = queue.run({ origin: 'a' }, first.task);
    const listeners = new Set<string>();
    const { signal } = leaving;
    const { addEventListener, removeEventListener } = signal;
    Object.assign(signal, {
      addEventListener: (...given: Parameters<typeof addEventListener>) => {
        listeners.add(given[0]);
        addEventListener.apply(signal, given);
      },
      removeEventListener: (...given: Parameters<typeof removeEventListener>) => {
        listeners.delete(given[0]);
        removeEventListener.apply(signal, given);
      },
    });
    const waited = queue.run({ origin: 'b', signal }, second.task);
    expect([...listeners]).toEqual(['abort']);
    first.end();
    await run;
    leaving.abort();
    second.end();
    await waited;
    expect([...listeners]).toEqual([]);
  });

  test('that is aborted at the moment its task is started takes nobody else out of the queue', async () => {
    const queue = new BoundedQueue({ maxRunning: 1 });
    const [first, second, third] = [held(), held(), held()];
    const leaving = new AbortController();
    const runs = [
      queue.run({ origin: 'a' }, first.task),
      queue.run({ origin: 'a', signal: leaving.signal }, second.task),
      queue.run({ origin: 'a' }, third.task),
    ];
    // After the queue has chosen the second task, and before that task has noticed.
    const aborted = first.task().then(() => leaving.abort());
    first.end();
    await aborted;
    await turn();
    expect([second.isRunning(), third.isRunning()]).toEqual([true, false]);
    second.end();
    await turn();
    expect(third.isRunning()).toBe(true);
    third.end();
    await Promise.all(runs);
  });

  test('that is aborted frees one place, not more', async () => {
    const queue = new BoundedQueue({ maxRunning: 1, maxWaiting: 2 });
    const running = held();
    const leaving = new AbortController();
    const runs = [queue.run({ origin: 'a' }, running.task)];
    const left = queue.run({ origin: 'a', signal: leaving.signal }, async () => undefined);
    runs.push(queue.run({ origin: 'a' }, async () => undefined));
    leaving.abort();
    await left.catch(() => undefined);
    runs.push(queue.run({ origin: 'a' }, async () => undefined));
    const refused = queue.run({ origin: 'a' }, async () => undefined);
    running.end();
    expect(await refused.catch((error: unknown) => error)).toBeInstanceOf(OverloadError);
    await Promise.all(runs);
  });
});

test('a queue without limits lets everything run', async () => {
  const queue = new BoundedQueue({});
  const tasks = Array.from({ length: 50 }, held);
  const runs = tasks.map(({ task }) => queue.run({ origin: 'a' }, task));
  expect(tasks.every(({ isRunning }) => isRunning())).toBe(true);
  for (const { end } of tasks) end();
  await Promise.all(runs);
});

test('a place in the queue is free again once its task has been started', async () => {
  const queue = new BoundedQueue({ maxRunning: 1, maxWaiting: 1 });
  for (let round = 0; round < 3; round += 1) {
    const results = [1, 2].map((result) => queue.run({ origin: 'a' }, async () => result));
    expect(await Promise.all(results)).toEqual([1, 2]);
  }
});

test('a task that ends makes room for one more to run and one more to wait', async () => {
  const queue = new BoundedQueue({ maxRunning: 2, maxWaiting: 2 });
  const tasks = Array.from({ length: 5 }, held);
  const take = ({ task }: ReturnType<typeof held>) => queue.run({ origin: 'a' }, task);
  const runs = tasks.slice(0, 4).map(take);
  tasks[0]?.end();
  await runs[0];
  runs.push(...tasks.slice(4).map(take));
  const refused = take(held()).catch((error: unknown) => error);
  await turn();
  expect(tasks.map(({ isRunning }) => isRunning())).toEqual([true, true, true, false, false]);
  for (const { end } of tasks) end();
  expect(await refused).toMatchObject({ name: 'OverloadError' });
  await Promise.all(runs);
});

test('with nothing waiting, a task that ends frees one slot and not more', async () => {
  const queue = new BoundedQueue({ maxRunning: 2 });
  const tasks = Array.from({ length: 4 }, held);
  const take = ({ task }: ReturnType<typeof held>) => queue.run({ origin: 'a' }, task);
  const runs = tasks.slice(0, 2).map(take);
  tasks[0]?.end();
  await runs[0];
  runs.push(...tasks.slice(2).map(take));
  expect(tasks.map(({ isRunning }) => isRunning())).toEqual([true, true, true, false]);
  for (const { end } of tasks) end();
  await Promise.all(runs);
});

test('a ticket is not preferred unless it says so', async () => {
  const queue = new BoundedQueue({ maxRunning: 1, maxWaiting: 1, reservedForPreferred: 1 });
  const running = held();
  const run = queue.run({ origin: 'a' }, running.task);
  const refused = queue.run({ origin: 'a' }, async () => undefined);
  const preferred = queue.run({ origin: 'a', isPreferred: true }, async () => 'done');
  running.end();
  expect(await refused.catch((error: unknown) => error)).toBeInstanceOf(OverloadError);
  expect(await preferred).toBe('done');
  await run;
});
