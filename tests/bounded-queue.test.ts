import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { createQueue, createSharedQueue, OverloadError } from '../src/lib/bounded-queue.ts';

test('never more run than may, everyone who is let in has a turn, and the rest is refused at once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 0, max: 6 }),
      fc.array(fc.boolean(), { maxLength: 20 }),
      async (mostRunning, mostWaiting, fates) => {
        const take = createQueue(mostRunning, mostWaiting);
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
        expect(most).toBe(Math.min(mostRunning, fates.length));
        expect(refused).toHaveLength(Math.max(0, fates.length - mostRunning - mostWaiting));
        // The places are free again, also after failures.
        expect(
          await Promise.all(Array.from({ length: mostRunning }, () => take(async () => 'done'))),
        ).toEqual(Array.from({ length: mostRunning }, () => 'done'));
      },
    ),
    { numRuns: 50 },
  );
});

test('turns come in the order of asking', async () => {
  const take = createQueue(1, 10);
  const order: number[] = [];
  await Promise.all(
    [0, 1, 2, 3].map((place) =>
      take(async () => {
        await Bun.sleep(3 - place);
        order.push(place);
      }),
    ),
  );
  expect(order).toEqual([0, 1, 2, 3]);
});

test('no origin gets every place, and some are kept for the preferred', async () => {
  const claims = fc.array(fc.record({ origin: fc.constantFrom('a', 'b', 'c'), isPreferred: fc.boolean() }), {
    maxLength: 20,
  });
  const size = { mostRunning: 1, mostWaiting: 6, keptForPreferred: 2, mostWaitingOfOneOrigin: 3 };
  await fc.assert(
    fc.asyncProperty(claims, async (asked) => {
      const take = createSharedQueue(size);
      const { promise, resolve } = Promise.withResolvers<void>();
      const running = take({ origin: 'first', isPreferred: false }, () => promise);
      const waiting: string[] = [];
      const expected = asked.map(({ origin, isPreferred }) => {
        const isLetIn =
          waiting.length < (isPreferred ? 6 : 4) && waiting.filter((other) => other === origin).length < 3;
        if (isLetIn) waiting.push(origin);
        return isLetIn ? 'fulfilled' : 'rejected';
      });
      const outcomes = Promise.allSettled(asked.map((claim) => take(claim, async () => 'done')));
      resolve();
      await running;
      expect((await outcomes).map(({ status }) => status)).toEqual(expected);
    }),
  );
});

test('origins are served in rotation, and whoever has left is passed over', async () => {
  const take = createSharedQueue({
    mostRunning: 1,
    mostWaiting: 20,
    keptForPreferred: 0,
    mostWaitingOfOneOrigin: 20,
  });
  const gate = Promise.withResolvers<void>();
  const running = take({ origin: 'a', isPreferred: false }, () => gate.promise);
  const order: string[] = [];
  const wait = (name: string, signal?: AbortSignal) =>
    take(
      { origin: name[0] ?? '', isPreferred: false, ...(signal === undefined ? {} : { signal }) },
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
  await take({ origin: 'a', isPreferred: false }, async () => void order.push('later'));
  expect(order).toContain('later');
});
