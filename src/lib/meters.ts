/** Tokens by what they are billed as. The counts do not overlap: the first four are all of the input. */
export type Meters = Readonly<{
  freshInput: number;
  /** Input that the provider had in its cache. */
  cacheRead: number;
  /** Input that the provider wrote to its cache, which may cost more than reading it afresh. */
  cacheWrite: number;
  /** The same, to be kept for longer than usual. */
  cacheWriteLong: number;
  /** With reasoning. */
  output: number;
}>;

/** The part of the input that a cache was involved in. */
export type CachedTokens = Readonly<{ read: number; write: number; writeLong: number }>;

/** Without a cache. */
export function plainMeters(inputTokens: number, outputTokens: number): Meters {
  return { freshInput: inputTokens, cacheRead: 0, cacheWrite: 0, cacheWriteLong: 0, output: outputTokens };
}

export function inputTokensOf({ freshInput, cacheRead, cacheWrite, cacheWriteLong }: Meters): number {
  return freshInput + cacheRead + cacheWrite + cacheWriteLong;
}

/** Null when no cache was involved. */
export function cachedTokensOf({ cacheRead, cacheWrite, cacheWriteLong }: Meters): CachedTokens | null {
  return cacheRead === 0 && cacheWrite === 0 && cacheWriteLong === 0
    ? null
    : { read: cacheRead, write: cacheWrite, writeLong: cacheWriteLong };
}

/** At most this much input: what is usually dearest is left out first. */
export function withInputUpTo(meters: Meters, maxInputTokens: number): Meters {
  let left = maxInputTokens;
  const take = (count: number) => {
    const taken = Math.min(count, left);
    left -= taken;
    return taken;
  };
  const cacheRead = take(meters.cacheRead);
  const freshInput = take(meters.freshInput);
  const cacheWrite = take(meters.cacheWrite);
  const cacheWriteLong = take(meters.cacheWriteLong);
  return { freshInput, cacheRead, cacheWrite, cacheWriteLong, output: meters.output };
}
