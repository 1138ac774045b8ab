import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { BoundedQueue, OverloadError, type Ticket } from '../src/lib/bounded-queue.ts';

test('never more run than may, everyone who is let in has a turn, and the rest is refused at once', async () => {
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
        // The places are free again, also after failures.
        expect(await Promise.all(Array.from({ length: maxRunning }, () => take(async () => 'done')))).toEqual(
          Array.from({ length: maxRunning }, () => 'done'),
        );
      },
    ),
    { numRuns: 50 },
  );
});

test('turns come in the order of asking', async () => {
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

test('no origin gets every place, and some are kept for the preferred', async () => {
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

test('origins are served in rotation, and whoever has left is passed over', async () => {
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
