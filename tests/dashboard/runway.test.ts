/** How the dashboard says until when money lasts. */
import { expect, test } from 'bun:test';
import { describeRunway, formatEnd } from '../../dashboard/pages/home/runway.ts';
import { describeAvailable } from '../../dashboard/pages/overview/figures.tsx';

const now = new Date('2026-11-17T12:20:00Z');
const inHours = (hours: number) => new Date(now.getTime() + hours * 3_600_000);
const runway = { hours_left: 30.9, hours_used: 4, runs_out_at: inHours(24 * 8).toISOString() };

test.each([
  [0, 'Tue 17 Nov, 12:20'],
  [1.5, 'Tue 17 Nov, 13:50'],
  [5.5, 'Tue 17 Nov, 17:00'],
  [47.9, 'Thu 19 Nov, 12:00'],
  [48, 'Thu 19 Nov'],
  [24 * 360, 'Fri 12 Nov 2027'],
])('what ends in %p hours: %s', (hours, words) => {
  expect(formatEnd(inHours(hours), now, 'UTC')).toBe(words);
});

test.each([
  [
    '5',
    null,
    runway,
    'About Wed 25 Nov',
    'Enough for 30 more hours with requests. The last 7 days had 4 such hours.',
    'plain',
  ],
  [
    '5',
    null,
    { ...runway, hours_used: 1, hours_left: 1 },
    'About',
    'Enough for 1 more hour with requests. The last 7 days had 1 such hour.',
    'plain',
  ],
  ['5', null, { ...runway, hours_left: 0.9 }, 'About', 'Enough for less than an hour with requests', 'plain'],
  ['5', null, { ...runway, runs_out_at: inHours(71).toISOString() }, 'About', '30 more hours', 'warn'],
  [
    '5',
    '5',
    { ...runway, hours_left: 12_345, runs_out_at: null },
    'In more than a year',
    '12,345 more hours',
    'plain',
  ],
  [
    '5',
    null,
    { hours_left: null, hours_used: 0, runs_out_at: null },
    'Unknown',
    'Nothing was spent',
    'plain',
  ],
  ['0.0144', '0.032', runway, 'Out of money', 'holds $0.032, which no longer fits', 'bad'],
  ['0', '0.032', runway, 'Out of money', 'Nothing is left', 'bad'],
  ['-1', null, runway, 'Out of money', 'Nothing is left', 'bad'],
] as const)('with %p, of which a request holds %p: %#', (available, hold, of, words, detail, tone) => {
  const described = describeRunway({ available, typical_hold: hold, runway: of }, now);
  expect(described.words).toStartWith(words);
  expect(described.detail).toContain(detail);
  expect(described.tone).toBe(tone);
});

test('automatic top-ups are not counted, which is said where something is', () => {
  const funds = { available: '5', typical_hold: null, runway, isToppedUp: true };
  expect(describeRunway(funds, now).detail).toEndWith('such hours. Automatic top-up is not counted.');
  expect(describeRunway({ ...funds, available: '0' }, now).detail).toBe('Nothing is left');
});

test('what is available says until when, unless the next request does not fit', () => {
  const account = { balance: '5', held: '0', runway, typical_hold: '0.1' };
  expect(describeAvailable(account, now).sentence).toBe('Lasts until about Wed 25 Nov');
  const long = { ...runway, runs_out_at: null };
  expect(describeAvailable({ ...account, runway: long }, now).sentence).toBe('Lasts for more than a year');
  expect(describeAvailable({ ...account, balance: '0.0144', typical_hold: '0.032' }, now)).toMatchObject({
    sentence: 'A typical request holds $0.032, which no longer fits',
    tone: 'bad',
  });
  expect(describeAvailable({ ...account, held: '5' }, now)).toMatchObject({
    sentence: 'Nothing is left, $5.00 is held',
    tone: 'bad',
  });
});
