/** The open loop of the bench, and requests that take keys in turn. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { Arrivals, pace, timerSlackMs } from '../../bench/arrivals.ts';
import { LoadConnection, newTally } from '../../bench/load-connection.ts';
import { localTarget, models, requestBytes } from '../../bench/scenarios.ts';

test('every request arrives once, none before it is due, and late ones count from when they were', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 3_000 }),
      fc.integer({ min: 1, max: 300 }),
      fc.array(fc.double({ min: 0, max: 50, noNaN: true }), { maxLength: 30 }),
      (perSecond, durationMs, pausesMs) => {
        const arrivals = new Arrivals(1_000, perSecond, durationMs);
        const total = Math.round((perSecond * durationMs) / 1000);
        let nowMs = 1_000;
        let count = 0;
        for (const pauseMs of [...pausesMs, durationMs]) {
          nowMs += pauseMs;
          for (const sinceMs of arrivals.take(nowMs)) {
            const dueAtMs = 1_000 + count * (1000 / perSecond);
            expect(sinceMs).toBeGreaterThanOrEqual(dueAtMs);
            expect(sinceMs).toBeLessThanOrEqual(Math.min(nowMs, dueAtMs + timerSlackMs));
            count += 1;
          }
          const dueUntilNow = Math.floor(((nowMs - 1_000) * perSecond) / 1000 + 1e-6) + 1;
          expect(count).toBeGreaterThanOrEqual(Math.min(total, dueUntilNow - 1));
          expect(count).toBeLessThanOrEqual(Math.min(total, dueUntilNow));
        }
        expect(count).toBe(total);
        expect(arrivals.areOver).toBe(true);
        expect(arrivals.take(nowMs + 1e6)).toEqual([]);
      },
    ),
  );
});

test('requests arrive at their rate although responses are slow, and take the keys in turn', async () => {
  const keys = new Map<string, number>();
  const held: (() => void)[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const key = request.headers.get('authorization') ?? '';
      keys.set(key, (keys.get(key) ?? 0) + 1);
      const { promise, resolve } = Promise.withResolvers<void>();
      held.push(resolve);
      // All connections are busy before the first response, so the rest has to wait.
      if (held.length === 4) for (const release of held) release();
      if (held.length > 4) resolve();
      await promise;
      return Response.json({});
    },
  });
  try {
    const target = localTarget(server.port ?? 0, ['a', 'b', 'c']);
    const requests = requestBytes(target, models.json, 'chat');
    let next = 0;
    const connections = Array.from(
      { length: 4 },
      () =>
        new LoadConnection(target, () => requests[next++ % requests.length] ?? Buffer.alloc(0), {
          format: null,
          events: null,
        }),
    );
    await Promise.all(connections.map((connection) => connection.connect()));
    const tally = newTally();
    await pace(connections, tally, 3_000, 20);
    expect(tally.errors.size).toBe(0);
    expect(tally.completed).toBe(60);
    expect(tally.latenciesMs.length).toBe(60);
    expect(keys).toEqual(
      new Map([
        ['Bearer a', 20],
        ['Bearer b', 20],
        ['Bearer c', 20],
      ]),
    );
    for (const connection of connections) connection.abandon();
  } finally {
    await server.stop(true);
  }
});

test('a request uses its target’s name for the model, and still tells the upstream how to respond', () => {
  const target = {
    ...localTarget(1, ['k']),
    model: 'openai/gpt',
    prefix: '/x',
    headers: ['a: b'],
  };
  const [head = '', body = ''] = (requestBytes(target, models.paced, 'chat')[0]?.toString() ?? '').split(
    '\r\n\r\n',
  );
  expect(head.split('\r\n')[0]).toBe('POST /x/v1/chat/completions HTTP/1.1');
  expect(head.split('\r\n')).toContain('a: b');
  expect(head.split('\r\n')).toContain(`Content-Length: ${body.length}`);
  expect(JSON.parse(body)).toMatchObject({ model: 'openai/gpt', stream: true });
  expect(body).toContain(models.paced);
});
