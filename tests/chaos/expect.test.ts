/** The pure parts of `npm run chaos -- --expect`: the balancers' configurations, its options and its table. */
import { expect, test } from 'bun:test';
import { configurations } from '../../chaos/expect/balancers.ts';
import { formatRows } from '../../chaos/expect/measurement.ts';
import { expectationNames } from '../../chaos/expect/run.ts';
import { readOptions } from '../../chaos/options.ts';

test.each(['haproxy', 'nginx'] as const)('of %s, only addresses are replaced', (name) => {
  const text = configurations[name]([1001, 1002, 1003], 1000, '/tmp/folder');
  for (const port of [1000, 1001, 1002, 1003]) expect(text.split(`127.0.0.1:${port}`)).toHaveLength(2);
  expect(text).not.toContain('10.0.0.');
  expect(text).not.toMatch(/bind :80$|listen 80;/m);
});

test('the options choose what is measured, and refuse unknown names', () => {
  expect(readOptions([]).expectations).toBeNull();
  expect(readOptions(['--expect', 'all']).expectations).toEqual({
    names: expectationNames,
    form: { perSecond: 100, seconds: 30, rounds: 10, streamSeconds: 10 },
  });
  const some = readOptions(['--expect', 'disk,workers', '--seconds', '9', '--rounds', '1', '--rate', '5']);
  expect(some.expectations).toEqual({
    names: ['disk', 'workers'],
    form: { perSecond: 5, seconds: 9, rounds: 1, streamSeconds: 10 },
  });
  expect(() => readOptions(['--expect', 'disc'])).toThrow('"disc"');
});

test('the table has what failed, and how', () => {
  const load = { requests: 1_234, p50Ms: 1.25, p99Ms: 20, longestGapMs: 456 };
  const failures = new Map([
    ['502', 1],
    ['connection lost', 3],
  ]);
  const table = formatRows([
    { what: 'calm', load: { ...load, failures: new Map() }, seen: 'nothing', isSound: true },
    { what: 'storm', load: { ...load, failures }, seen: '', isSound: false },
  ]);
  expect(table.split('\n').slice(2)).toEqual([
    '| calm | 1,234 | 0 | 1.3 | 20.0 | 0.46 | sound | nothing |',
    '| storm | 1,234 | 4 (3 × connection lost, 1 × 502) | 1.3 | 20.0 | 0.46 | BROKEN |  |',
  ]);
});
