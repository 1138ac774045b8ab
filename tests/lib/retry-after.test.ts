import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { readRetryAfter } from '../../src/lib/retry-after.ts';

const now = Date.UTC(2026, 10, 1, 12, 0, 0);

test.each<[string | null, number | null]>([
  [null, null],
  ['', null],
  ['0', 0],
  ['7', 7],
  [' 7 ', 7],
  ['172800', 172_800],
  ['999999999', 999_999_999],
  ['9999999999', null],
  // More than nine digits are not read, even when most of them are zeros.
  ['0000000007', null],
  ['-1', null],
  ['+7', null],
  ['1.5', null],
  ['7s', null],
  ['0x10', null],
  ['7, 8', null],
  ['soon', null],
  ['Sun, 01 Nov 2026 12:00:30 GMT', 30],
  ['Sunday, 01-Nov-26 12:00:30 GMT', 30],
  ['Sun Nov  1 12:00:30 2026', 30],
  ['Sun Nov 15 12:00:00 2026', 1_209_600],
  ['Sun, 01 Nov 2026 12:00:00 GMT', 0],
  ['Sun, 06 Nov 1994 08:49:37 GMT', 0],
  ['Sunday, 06-Nov-94 08:49:37 GMT', 0],
  ['Sun, 01 Nov 2026 12:00:60 GMT', 59],
  ['Sun, 31 Feb 2027 12:00:00 GMT', null],
  ['Sun, 01 Nov 2026 25:00:00 GMT', null],
  ['Sun, 01 Nov 2026 12:61:00 GMT', null],
  ['Sun, 01 Nov 2026 12:00:99 GMT', null],
  ['Sun, 01 Nov 2026 12:00:30 CET', null],
  ['Sun, 01 Nov 9999 12:00:30 GMT', null],
  ['Sun, 01 Nov 2026 24:00:00 GMT', null],
  ['Sun, 01 Nov 2026 12:60:00 GMT', null],
  ['Sun, 01 Nov 2026 12:00:61 GMT', null],
  ['Sun, 00 Nov 2026 12:00:00 GMT', null],
  ['Sun, 31 Nov 2026 12:00:00 GMT', null],
  ['Sun, 31 Dec 2026 23:59:59 GMT', 5_227_199],
  // Two-digit years belong to the previous century if they would be more than fifty years ahead.
  ['Sunday, 01-Nov-76 12:00:00 GMT', null],
  ['Sunday, 01-Nov-77 12:00:00 GMT', 0],
  // 1980 was a leap year, unlike the years next to it.
  ['Friday, 29-Feb-80 12:00:00 GMT', 0],
  ['Sunday, 01-Nov-27 12:00:00 GMT', 31_536_000],
  // A four-digit year is never read as one of two digits.
  ['Sun, 06 Nov 0050 08:49:37 GMT', null],
  ['xSun, 01 Nov 2026 12:00:30 GMT', null],
  ['Sun, 01 Nov 2026 12:00:30 GMTx', null],
  ['xSunday, 01-Nov-26 12:00:30 GMT', null],
  ['Sunday, 01-Nov-26 12:00:30 GMTx', null],
  ['xSun Nov  1 12:00:30 2026', null],
  ['Sun Nov  1 12:00:30 20266', null],
  ['2026-11-01T12:00:30Z', null],
  ['tomorrow, 01 Nov 2026', null],
])('%p is %p seconds', (header, seconds) => {
  expect(readRetryAfter(header, now)).toBe(seconds);
});

test('a wait longer than the caller allows is ignored', () => {
  expect(readRetryAfter('60', now, 60)).toBe(60);
  expect(readRetryAfter('61', now, 60)).toBeNull();
  expect(readRetryAfter('Sun, 01 Nov 2026 12:01:01 GMT', now, 60)).toBeNull();
});

test('without a limit from the caller, a date is ignored beyond nine digits of seconds', () => {
  const dateIn = (seconds: number) => new Date(now + seconds * 1000).toUTCString();
  expect(readRetryAfter(dateIn(999_999_999), now)).toBe(999_999_999);
  expect(readRetryAfter(dateIn(1_000_000_000), now)).toBeNull();
});

test('whole seconds come out as they went in, and a date within a second of its time', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 999_999_999 }), fc.integer({ min: 0, max: 999 }), (seconds, ms) => {
      expect(readRetryAfter(`${seconds}`, now)).toBe(seconds);
      const date = new Date(now + seconds * 1000).toUTCString();
      expect(readRetryAfter(date, now + ms)).toBe(seconds);
    }),
  );
});

test('no text makes it throw', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const seconds = readRetryAfter(text, now);
      expect(seconds === null || (Number.isInteger(seconds) && seconds >= 0)).toBe(true);
    }),
  );
});
