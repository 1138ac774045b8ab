/** Prometheus' text format: what was counted is what a scraper reads, whatever the labels contain. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { Counter, Gauge, Histogram, renderMetrics } from '../../src/telemetry/registry.ts';
import { readSamples } from '../support/metrics.ts';

test('a counter adds up by its labels, whatever they contain', () => {
  const entries = fc.array(
    fc.tuple(fc.string({ unit: 'binary' }), fc.constantFrom('a', 'b\n', '\\"'), fc.nat(1_000)),
  );
  fc.assert(
    fc.property(entries, (added) => {
      const counter = new Counter('requests_total', 'Requests.', ['model', 'code']);
      const expected = new Map<string, number>();
      for (const [model, code, amount] of added) {
        counter.add(amount, model, code);
        const key = JSON.stringify(['requests_total', { model, code }]);
        expected.set(key, (expected.get(key) ?? 0) + amount);
      }
      const seen = readSamples(counter.render());
      expect(new Map(seen.map(({ name, labels, value }) => [JSON.stringify([name, labels]), value]))).toEqual(
        expected,
      );
    }),
    { numRuns: 30 },
  );
});

test('the buckets of a histogram are cumulative and end with all observations', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 100 })), (values) => {
      const histogram = new Histogram('seconds', 'Seconds.', [1, 10, 50], ['route']);
      for (const value of values) histogram.observe(value, '/');
      const seen = readSamples(histogram.render());
      if (values.length === 0) return expect(seen).toEqual([]);
      const bucket = (le: string) =>
        seen.find(({ name, labels }) => name === 'seconds_bucket' && labels.le === le)?.value;
      for (const bound of [1, 10, 50])
        expect(bucket(String(bound))).toBe(values.filter((value) => value <= bound).length);
      expect(bucket('+Inf')).toBe(values.length);
      expect(seen.find(({ name }) => name === 'seconds_count')?.value).toBe(values.length);
      expect(seen.find(({ name }) => name === 'seconds_sum')?.value).toBe(
        values.reduce((sum, value) => sum + value, 0),
      );
    }),
  );
});

test('a metric without labels is there before anything happened', () => {
  const text = renderMetrics([
    new Counter('a_total', 'A.'),
    new Histogram('b', 'B.', [1]),
    new Gauge('c', 'C.', () => 3),
    new Gauge('d', 'D.', () => null),
    new Gauge('e', 'E.', () => [['x', 1] as const], { label: 'provider' }),
  ]);
  expect(readSamples(text).map(({ name, labels, value }) => [name, labels, value])).toEqual([
    ['a_total', {}, 0],
    ['b_bucket', { le: '1' }, 0],
    ['b_bucket', { le: '+Inf' }, 0],
    ['b_sum', {}, 0],
    ['b_count', {}, 0],
    ['c', {}, 3],
    ['e', { provider: 'x' }, 1],
  ]);
});

test('labels with too many values are counted together from then on', () => {
  const counter = new Counter('names_total', 'Names.', ['name', 'kind']);
  for (let index = 0; index < 12_000; index += 1) counter.add(1, `n${index}`, 'k');
  const seen = readSamples(counter.render());
  expect(seen).toHaveLength(10_001);
  expect(seen.find(({ labels }) => labels.name === '(other)')?.value).toBe(2_000);
});
