/** The value below which this share of the others lies; NaN when there are none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  const lower = sorted[Math.ceil(middle) - 1] ?? Number.NaN;
  return (lower + upper) / 2;
}

/** The first quartile, the median and the third, between values where they do not fall on one. */
export function quartiles(values: readonly number[]): readonly [number, number, number] {
  const sorted = Float64Array.from(values).sort();
  const at = (share: number) => {
    const place = (sorted.length - 1) * share;
    const lower = sorted[Math.floor(place)] ?? Number.NaN;
    const upper = sorted[Math.ceil(place)] ?? Number.NaN;
    return lower + (upper - lower) * (place - Math.floor(place));
  };
  return [at(0.25), at(0.5), at(0.75)];
}
