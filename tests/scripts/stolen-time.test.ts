import { expect, test } from 'bun:test';
import { parseProcessorTimes, readProcessorTimes, stolenShare } from '../../scripts/stolen-time.ts';

test('the times of all processors are read from the first line', () => {
  const stat = 'cpu  100 20 30 4000 500 6 7 800 9 10\ncpu0 1 1 1 1 1 1 1 1 1 1\nintr 5\n';
  expect(parseProcessorTimes(stat)).toEqual({ used: 163, stolen: 800 });
});

test('what was taken is a part of what was wanted', () => {
  const before = { used: 100, stolen: 50 };
  expect(stolenShare(before, { used: 130, stolen: 60 })).toBe(0.25);
  expect(stolenShare(before, before)).toBe(0);
});

test('this machine has such times, or none', () => {
  const { used, stolen } = readProcessorTimes();
  expect([used >= 0, stolen >= 0]).toEqual([true, true]);
});
