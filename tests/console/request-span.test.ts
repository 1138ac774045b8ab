/** The time that a query asks for. */
import { expect, test } from 'bun:test';
import { parseSpan } from '../../src/console/request-filter.ts';

const nowMs = Date.parse('2026-11-17T12:34:56.789Z');
const hourMs = 3_600_000;

function spanOf(from: string, to: string) {
  return parseSpan(new URLSearchParams({ from, to }), nowMs);
}

test('what is yet to come is left out', () => {
  expect(spanOf('2026-11-01T00:00:00Z', '2027-11-30T00:00:00Z')).toEqual({
    fromMs: Date.parse('2026-11-01T00:00:00Z'),
    toMs: nowMs + hourMs,
  });
  const { fromMs, toMs } = spanOf('2028-01-01T00:00:00Z', '2028-01-02T00:00:00Z');
  expect(toMs).toBe(nowMs + hourMs);
  expect(fromMs).toBeLessThan(toMs);
});

test('a range is no longer than sums are kept, and does not end before it begins', () => {
  expect(() => spanOf('2025-10-01T00:00:00Z', '2026-11-17T00:00:00Z')).toThrow();
  expect(() => spanOf('2026-11-17T00:00:00Z', '2026-11-16T00:00:00Z')).toThrow();
  expect(() => spanOf('2028-01-02T00:00:00Z', '2028-01-01T00:00:00Z')).toThrow();
});
