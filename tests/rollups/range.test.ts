/** Steps and pieces: every minute of a range is read once, and only from sums that are true. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { hourMs, minuteMs } from '../../src/lib/time-units.ts';
import {
  minutesKeptMs,
  type Piece,
  piecesOf,
  refusalPiecesOf,
  stepCount,
  stepsOf,
  sumPiecesOf,
  withDays,
} from '../../src/rollups/range.ts';

const nowMs = Date.parse('2026-11-17T12:34:56.789Z');
const dayMs = 24 * hourMs;

const anySpan = fc
  .record({
    agoMs: fc.oneof(fc.integer({ min: 0, max: 3 * hourMs }), fc.integer({ min: 0, max: 390 * dayMs })),
    lengthMs: fc.oneof(fc.integer({ min: 1, max: 3 * hourMs }), fc.integer({ min: 1, max: 400 * dayMs })),
  })
  .map(({ agoMs, lengthMs }) => ({ fromMs: nowMs - agoMs - lengthMs, toMs: nowMs - agoMs }));

test('steps cover the range, are few, and are whole minutes or hours', () => {
  fc.assert(
    fc.property(anySpan, (span) => {
      const steps = stepsOf(span, nowMs);
      const unitMs = steps.stepMs < hourMs ? minuteMs : hourMs;
      expect(stepCount(steps)).toBeLessThanOrEqual(100);
      expect(stepCount(steps)).toBeGreaterThan(0);
      expect([steps.fromMs % unitMs, steps.toMs % unitMs, steps.stepMs % unitMs]).toEqual([0, 0, 0]);
      expect(steps.fromMs).toBeLessThanOrEqual(span.fromMs);
      expect(steps.fromMs).toBeGreaterThan(span.fromMs - unitMs);
      expect(steps.toMs).toBeGreaterThanOrEqual(span.toMs);
      expect(steps.toMs).toBeLessThan(span.toMs + unitMs);
      if (span.fromMs < nowMs - minutesKeptMs) expect(unitMs).toBe(hourMs);
    }),
  );
});

/** Each minute of the pieces, with its step. */
function minutesOf(pieces: readonly Piece[]): [timeMs: number, step: number][] {
  return pieces.flatMap(({ step, fromMs, toMs }) =>
    Array.from({ length: (toMs - fromMs) / minuteMs }, (_, index): [number, number] => [
      fromMs + index * minuteMs,
      step,
    ]),
  );
}

/** It may end after now. */
const anyShortSpan = fc
  .record({
    agoMs: fc.integer({ min: -20 * hourMs, max: 20 * hourMs }),
    lengthMs: fc.integer({ min: 1, max: 80 * hourMs }),
  })
  .map(({ agoMs, lengthMs }) => ({ fromMs: nowMs - agoMs - lengthMs, toMs: nowMs - agoMs }));

/** In hours before now, but for the marks. */
const anyProgress = fc.record({
  rolledTo: fc.integer({ min: 0, max: 20 * 60 }),
  minutesFrom: fc.integer({ min: 1, max: 60 }),
  moreHours: fc.integer({ min: 0, max: 60 }),
  dirty: fc.array(fc.integer({ min: 0, max: 80 * 60 }), { maxLength: 5 }),
});

test('every known minute is in one piece of its step, and in none of sums that are not true', () => {
  fc.assert(
    fc.property(anyShortSpan, anyProgress, (span, { rolledTo, minutesFrom, moreHours, dirty }) => {
      const steps = stepsOf(span, nowMs);
      const thisHour = Math.floor(nowMs / hourMs) * hourMs;
      const thisMinute = Math.floor(nowMs / minuteMs) * minuteMs;
      const progress = {
        rolledToMs: thisMinute - rolledTo * minuteMs,
        minutesFromMs: thisHour - minutesFrom * hourMs,
        hoursFromMs: thisHour - (minutesFrom + moreHours) * hourMs,
        dirtyMs: dirty.map((minutes) => thisMinute - minutes * minuteMs),
      };
      const pieces = piecesOf(steps, progress);
      const all = minutesOf([...pieces.hours, ...pieces.minutes, ...pieces.raw]).sort(
        ([one], [other]) => one - other,
      );
      const known = minutesOf([{ step: 0, fromMs: steps.fromMs, toMs: steps.toMs }])
        .filter(([timeMs]) => timeMs >= progress.hoursFromMs)
        .map(([timeMs]) => [timeMs, Math.floor((timeMs - steps.fromMs) / steps.stepMs)]);
      expect(all).toEqual(known as [number, number][]);

      for (const [timeMs] of minutesOf([...pieces.hours, ...pieces.minutes])) {
        expect(timeMs).toBeLessThan(progress.rolledToMs);
        expect(progress.dirtyMs).not.toContain(timeMs);
      }
      for (const [timeMs] of minutesOf(pieces.minutes))
        expect(timeMs).toBeGreaterThanOrEqual(progress.minutesFromMs);
      for (const { fromMs, toMs } of pieces.hours) {
        expect([fromMs % hourMs, toMs % hourMs]).toEqual([0, 0]);
        expect(toMs).toBeLessThanOrEqual(progress.rolledToMs);
        expect(progress.dirtyMs.filter((mark) => mark >= fromMs && mark < toMs)).toEqual([]);
      }
    }),
    { numRuns: 60 },
  );
});

test('refusals of every minute are in one piece', () => {
  fc.assert(
    fc.property(anyShortSpan, (span) => {
      const steps = stepsOf(span, nowMs);
      const { hours, minutes } = refusalPiecesOf(steps);
      const times = minutesOf([...hours, ...minutes]).map(([timeMs]) => timeMs);
      expect(times.length).toBe((steps.toMs - steps.fromMs) / minuteMs);
      expect(new Set(times).size).toBe(times.length);
    }),
    { numRuns: 60 },
  );
});

test('what is wanted of finished and of refused requests is read together, and each once', () => {
  const anyPieces = fc
    .array(
      fc.record({
        step: fc.integer({ min: 0, max: 2 }),
        at: fc.integer({ min: 0, max: 60 }),
        length: fc.integer({ min: 1, max: 40 }),
      }),
    )
    .map((list) => {
      let lastMs = 0;
      return list
        .toSorted((a, b) => a.step - b.step)
        .map(({ step, at, length }): Piece => {
          const fromMs = lastMs + at * hourMs;
          lastMs = fromMs + length * hourMs;
          return { step, fromMs, toMs: lastMs };
        });
    });
  fc.assert(
    fc.property(anyPieces, anyPieces, (finished, refused) => {
      const { days, hours } = withDays(sumPiecesOf(finished, refused));
      const both = [...days, ...hours];
      const wanted = (of: 'finished' | 'refused') =>
        minutesOf(both.filter((piece) => piece.of === 'all' || piece.of === of));
      const inOrder = (minutes: [number, number][]) =>
        minutes.map(([ms, step]) => step * 1e15 + ms).sort((a, b) => a - b);
      expect(inOrder(wanted('finished'))).toEqual(inOrder(minutesOf(finished)));
      expect(inOrder(wanted('refused'))).toEqual(inOrder(minutesOf(refused)));
      for (const { fromMs, toMs } of days) expect([fromMs % dayMs, toMs % dayMs]).toEqual([0, 0]);
      const total = both.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0);
      const all = new Set(
        [...minutesOf(finished), ...minutesOf(refused)].map(([ms, step]) => `${step} ${ms}`),
      );
      expect(total).toBe(all.size * minuteMs);
    }),
    { numRuns: 50 },
  );
});
