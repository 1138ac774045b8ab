/** When a node's clock counts as off from the database's, and that this is logged once. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { createLog } from '../../src/lib/log.ts';
import { DatabaseClock, judgeClock, maxOffsetMs } from '../../src/nodes/database-clock.ts';

const databaseMs = 1_800_000_000_000;

/** The node's clock is ahead by the offset; the database read its own this long after the query was sent. */
const reading = (offsetMs: number, thereMs: number, backMs: number) => ({
  askedAtMs: databaseMs + offsetMs - thereMs,
  answeredAtMs: databaseMs + offsetMs + backMs,
  databaseMs,
});

test('no network delay makes a wrong clock right or a right one wrong', () => {
  const offset = fc.integer({ min: -200_000, max: 200_000 });
  const travel = fc.nat(300_000);
  fc.assert(
    fc.property(offset, travel, travel, (offsetMs, thereMs, backMs) => {
      const truth = Math.abs(offsetMs) > maxOffsetMs ? 'off' : 'right';
      expect([truth, 'uncertain']).toContain(judgeClock(reading(offsetMs, thereMs, backMs)));
    }),
  );
});

test('a quick answer leaves no doubt', () => {
  const offset = fc.integer({ min: -200_000, max: 200_000 });
  fc.assert(
    fc.property(offset, (offsetMs) => {
      expect(judgeClock(reading(offsetMs, 0, 0))).toBe(Math.abs(offsetMs) > maxOffsetMs ? 'off' : 'right');
    }),
  );
});

test('a finding about the clock stays until the contrary is certain, and is logged once', () => {
  const lines: string[] = [];
  const clock = new DatabaseClock(
    'node',
    createLog('info', (line) => lines.push(line)),
  );
  clock.read(reading(0, 5, 5));
  expect(clock.problem()).toBeNull();
  expect(lines).toEqual([]);
  clock.read(reading(93_000, 5, 5));
  clock.read(reading(-93_000, 5, 5));
  // The process stood still for so long that nothing follows from the answer.
  clock.read(reading(0, 200_000, 5));
  expect(clock.isOff()).toBe(true);
  expect(clock.problem()).toBe('off by 93 s');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ level: 'error', offsetMs: 93_000 }]);
  clock.read(reading(1_000, 5, 5));
  clock.read(reading(1_000, 5, 5));
  expect(clock.isOff()).toBe(false);
  expect(lines.slice(1).map((line) => JSON.parse(line))).toMatchObject([{ level: 'info', offsetMs: 1_000 }]);
});
