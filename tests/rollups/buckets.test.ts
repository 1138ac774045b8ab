/** Percentiles from buckets, against those of the durations themselves. */
import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  addBuckets,
  type BucketCounts,
  bucketCount,
  durationBoundsMs,
  emptyBuckets,
  percentileMs,
} from '../../src/rollups/buckets.ts';

const anyDurations = fc.array(fc.integer({ min: 0, max: 500_000 }), { minLength: 1, maxLength: 50 });
const anyShare = fc.double({ min: 0, max: 1, noNaN: true });

function bucketOf(ms: number): number {
  return durationBoundsMs.filter((bound) => bound <= ms).length;
}

function countsOf(durations: readonly number[]): BucketCounts {
  return emptyBuckets.map((_, bucket) => durations.filter((ms) => bucketOf(ms) === bucket).length);
}

test('bounds grow, and there is a bucket beyond the last', () => {
  expect(durationBoundsMs.every((bound, index) => bound > (durationBoundsMs[index - 1] ?? 0))).toBe(true);
  expect(bucketCount).toBe(20);
});

test('a percentile is in the bucket of the duration that it stands for', () => {
  fc.assert(
    fc.property(anyDurations, anyShare, (durations, share) => {
      const sorted = durations.toSorted((one, other) => one - other);
      const exact = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
      const bucket = bucketOf(exact);
      const found = percentileMs(countsOf(durations), share) ?? Number.NaN;
      expect(found).toBeGreaterThanOrEqual(durationBoundsMs[bucket - 1] ?? 0);
      expect(found).toBeLessThanOrEqual(durationBoundsMs[bucket] ?? 300_000);
    }),
  );
});

test('a larger share is not shorter', () => {
  fc.assert(
    fc.property(anyDurations, anyShare, anyShare, (durations, one, other) => {
      const counts = countsOf(durations);
      const [less, more] = [Math.min(one, other), Math.max(one, other)];
      expect(percentileMs(counts, less) ?? 0).toBeLessThanOrEqual(percentileMs(counts, more) ?? 0);
    }),
  );
});

test('buckets of two times add up to those of both', () => {
  fc.assert(
    fc.property(anyDurations, anyDurations, (one, other) => {
      expect(addBuckets(countsOf(one), countsOf(other))).toEqual(countsOf([...one, ...other]));
    }),
  );
});

test('within a bucket durations are spread evenly, and without any there is no percentile', () => {
  const counts = emptyBuckets.with(1, 10);
  expect(percentileMs(counts, 0.5)).toBe(65);
  expect(percentileMs(counts, 1)).toBe(80);
  expect(percentileMs(emptyBuckets.with(19, 3), 0.5)).toBe(300_000);
  expect(percentileMs(emptyBuckets, 0.5)).toBeNull();
});
