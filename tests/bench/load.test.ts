/** The load generator with several targets, and load that runs beside what is measured. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { startChild } from '../../bench/child.ts';
import type { LoadQuestion, LoadResult } from '../../bench/load.ts';
import { localTarget, models } from '../../bench/scenarios.ts';
import { drawn, spread } from '../../bench/spread.ts';
import { withWorkshop } from '../../bench/workshop.ts';
import { eventually } from '../support/eventually.ts';

test('connections are spread evenly', () => {
  fc.assert(
    fc.property(
      fc.nat(100),
      fc.uniqueArray(fc.integer(), { minLength: 1, maxLength: 10 }),
      (count, items) => {
        const all = spread(count, items);
        expect(all.length).toBe(count);
        const counts = items.map((item) => all.filter((one) => one === item).length);
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      },
    ),
  );
});

test('each item may be drawn, and nothing else', () => {
  const numbers = fc.infiniteStream(fc.double({ min: 0, max: 0.999_999, noNaN: true }));
  fc.assert(
    fc.property(fc.nat(50), fc.array(fc.integer(), { minLength: 1 }), numbers, (count, items, random) => {
      const all = drawn(count, items, () => random.next().value ?? 0);
      expect(all.length).toBe(count);
      for (const item of all) expect(items).toContain(item);
    }),
  );
  const inTurn = [0.9, 0.5, 0.1];
  expect(drawn(3, ['a', 'b', 'c'], () => inTurn.shift() ?? 0)).toEqual(['c', 'b', 'a']);
});

test('each target gets its own keys, until the load is stopped', async () => {
  const seen = new Map<string, number>();
  const serve = (name: string) =>
    Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: (request) => {
        const caller = `${name}: ${request.headers.get('authorization')}`;
        seen.set(caller, (seen.get(caller) ?? 0) + 1);
        return Response.json({});
      },
    });
  const servers = ['one', 'two'].map(serve);
  try {
    await withWorkshop(async (workshop) => {
      const load = await startChild<LoadQuestion, LoadResult>('load.ts', [], workshop);
      const targets = servers.map(({ port }, index) => localTarget(port ?? 0, [`key-${index}`]));
      await load.ask({ type: 'prepare', targets, model: models.json, connections: 3, warmUpMs: 0 });
      expect((await load.ask({ type: 'start' })).completed).toBe(0);
      const countOf = (caller: string) => seen.get(caller) ?? 0;
      await eventually(
        'both are called again and again',
        () => countOf('one: Bearer key-0') > 10 && countOf('two: Bearer key-1') > 10,
      );
      const { completed, errors } = await load.ask({ type: 'stop' });
      expect([...seen.keys()].toSorted()).toEqual(['one: Bearer key-0', 'two: Bearer key-1']);
      expect(completed).toBe([...seen.values()].reduce((sum, count) => sum + count, 0));
      expect(errors).toEqual({});
      // It can be used again.
      await load.ask({ type: 'start' });
      expect((await load.ask({ type: 'stop' })).completed).toBeGreaterThanOrEqual(3);
    });
  } finally {
    await Promise.all(servers.map((server) => server.stop(true)));
  }
});
