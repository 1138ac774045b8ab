/** The clock that decides whether others are late, when this process stands still. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { RunningClock } from '../../src/lib/running-clock.ts';

const tickMs = 100;

/** Ticks with these pauses between them, and what each returned. */
function ticksOf(pausesMs: readonly number[]) {
  const clock = new RunningClock(tickMs);
  let realMs = 5_000;
  clock.start(realMs);
  const ticks = pausesMs.map((pauseMs) => {
    realMs += pauseMs;
    return { lateMs: pauseMs - tickMs, at: clock.tick(realMs), nowMs: clock.nowMs(realMs), realMs };
  });
  return { clock, ticks };
}

const punctual = fc.integer({ min: 1, max: 1_100 });
const standstill = fc.integer({ min: 1_101, max: 100_000_000 });

test('is real time as long as no tick is late by more than a second', () => {
  fc.assert(
    fc.property(fc.array(punctual), (pauses) => {
      for (const { at, nowMs, realMs } of ticksOf(pauses).ticks)
        expect([at, nowMs]).toEqual([realMs, realMs]);
    }),
  );
});

test('a standstill of any length counts as no more than a tick', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(punctual, standstill), { minLength: 1 }), (pauses) => {
      const { ticks } = ticksOf(pauses);
      const lostMs = ticks.reduce((sum, { lateMs }) => sum + (lateMs > 1_000 ? lateMs : 0), 0);
      const last = ticks.at(-1);
      expect(last?.nowMs).toBe((last?.realMs ?? 0) - lostMs);
    }),
  );
});

test('knows of a standstill before the tick that follows it', () => {
  const { clock } = ticksOf([100]);
  expect(clock.nowMs(5_100 + 10_000)).toBe(5_200);
  expect(clock.nowMs(5_100 + 10_050)).toBe(5_250);
  expect(clock.tick(5_100 + 10_060)).toBeNull();
  expect(clock.nowMs(5_100 + 10_100)).toBe(5_300);
});

test('nothing is late after a standstill until what arrived could be read', () => {
  fc.assert(
    fc.property(standstill, (lostMs) => {
      const { ticks } = ticksOf([lostMs, ...Array.from({ length: 25 }, () => tickMs)]);
      const passed = ticks.map(({ at }) => at !== null);
      expect(passed).toEqual([
        ...Array.from({ length: 20 }, () => false),
        ...Array.from({ length: 6 }, () => true),
      ]);
    }),
  );
});

test('a process that stands still again and again still comes to an end', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(standstill, fc.array(punctual, { maxLength: 3 })), {
        minLength: 100,
        maxLength: 100,
      }),
      (rounds) => {
        const { ticks } = ticksOf(rounds.flatMap(([lost, between]) => [lost, ...between]));
        const passed = ticks.flatMap(({ at }) => at ?? []);
        // One round in four at least, whatever happens, and time goes on with each of them.
        expect(passed.length).toBeGreaterThanOrEqual(20);
        expect(passed.toSorted((a, b) => a - b)).toEqual(passed);
      },
    ),
  );
});
