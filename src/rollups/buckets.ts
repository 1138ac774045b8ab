/** Durations are added up in fixed buckets, so that those of any number of minutes can be added to each other. */

/** Where each bucket but the last ends, in milliseconds. `duration_bounds` in the database has the same. */
export const durationBoundsMs = [
  50, 80, 130, 210, 350, 560, 900, 1_500, 2_400, 3_900, 6_200, 10_000, 16_000, 26_000, 43_000, 70_000,
  110_000, 180_000, 300_000,
] as const;

export const bucketCount = durationBoundsMs.length + 1;

/** How many durations are in each bucket. */
export type BucketCounts = readonly number[];

export const emptyBuckets: BucketCounts = Array.from({ length: bucketCount }, () => 0);

export function addBuckets(one: BucketCounts, other: BucketCounts): BucketCounts {
  return one.map((count, index) => count + (other[index] ?? 0));
}

/**
 * The duration that this share of them, between 0 and 1, does not exceed, as if those of a bucket were spread evenly over it.
 * Of the last bucket only its beginning is known. Null without durations.
 */
export function percentileMs(counts: BucketCounts, share: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const rank = share * total;
  let before = 0;
  for (const [index, count] of counts.entries()) {
    if (count > 0 && before + count >= rank) {
      const from = index === 0 ? 0 : (durationBoundsMs[index - 1] ?? 0);
      const to = durationBoundsMs[index] ?? from;
      return Math.round(from + ((to - from) * (rank - before)) / count);
    }
    before += count;
  }
  return durationBoundsMs.at(-1) ?? null;
}
