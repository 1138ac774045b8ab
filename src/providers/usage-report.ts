/**
 * The counts of a usage report, one after the other, and what they can mean together. Vendors differ in names and in what
 * their totals include; a report that contradicts itself is kept as evidence, with every way in which it can be read.
 */
import { type CachedTokens, inputTokensOf, type Meters, withInputUpTo } from '../lib/meters.ts';
import type { ReportedCounts, ReportedUsage } from './chat.ts';
import { type Fields, isCount, isObject } from './wire.ts';

export class UsageReport {
  readonly #counts: Record<string, number | null> = {};
  #isContradictory = false;

  /**
   * A count that may be missing. Its path is the provider's name for it, and ends with the name of the field. What is
   * there and is no count, such as -1, is a contradiction in itself, and is taken for missing.
   */
  optional(fields: Fields | null, path: string): number | null {
    const value = valueAt(fields, path);
    if (value === null) return null;
    this.#keep(path, value);
    if (isCount(value)) return value;
    this.#isContradictory = true;
    return null;
  }

  /** An object with more counts, which may be missing. What is there and is no object may have been any of them. */
  details(fields: Fields | null, path: string): Fields | null {
    const value = valueAt(fields, path);
    if (value === null || isObject(value)) return value;
    this.#keep(path, value);
    this.#isContradictory = true;
    return null;
  }

  #keep(path: string, value: unknown): void {
    this.#counts[path] = Number.isFinite(value) ? (value as number) : null;
  }

  /** One count under several names, of which each vendor has its own: usually one value, or none. */
  anyOf(...places: readonly (readonly [Fields | null, string])[]): readonly number[] {
    const counts = new Set<number>();
    for (const [fields, path] of places) {
      const count = this.optional(fields, path);
      if (count !== null) counts.add(count);
    }
    if (counts.size > 1) this.#isContradictory = true;
    return [...counts];
  }

  contradict(): void {
    this.#isContradictory = true;
  }

  /** What was written to a cache: in all, for a short time and for a long one. What has no time given is for a short one. */
  writes(all: number | null, short: number | null, long: number | null): readonly Written[] {
    const named = { write: short ?? 0, writeLong: long ?? 0 };
    if (all === null || all === named.write + named.writeLong) return [named];
    const byTotal = { write: Math.max(0, all - named.writeLong), writeLong: Math.min(all, named.writeLong) };
    if (short === null && all >= named.writeLong) return [byTotal];
    this.#isContradictory = true;
    return [byTotal, named];
  }

  /** For vendors whose input count includes cached tokens. What does not fit may still be right if it did not. */
  inputIncluding(input: number, cached: CachedTokens): readonly Meters[] {
    const { read, write, writeLong } = cached;
    const fresh = input - read - write - writeLong;
    const parts = { cacheRead: read, cacheWrite: write, cacheWriteLong: writeLong, output: 0 };
    if (fresh >= 0) return [{ freshInput: fresh, ...parts }];
    this.#isContradictory = true;
    return [withInputUpTo({ freshInput: 0, ...parts }, input), { freshInput: input, ...parts }];
  }

  /** The output by its own count, and by the total if the two disagree. */
  outputs(input: number, output: number, total: number | null): readonly number[] {
    if (total === null || total === input + output) return [output];
    this.#isContradictory = true;
    return total >= input ? [output, total - input] : [output];
  }

  /** Null when no reading has a sum that is small enough to be exact. */
  usage(
    inputs: readonly Meters[],
    outputs: readonly number[],
    reasoningTokens: number | null,
  ): ReportedUsage | null {
    const readings = inputs.flatMap((input) => outputs.map((output) => ({ ...input, output })));
    const [first, ...others] = readings.filter((meters) => isCount(inputTokensOf(meters) + meters.output));
    if (first === undefined) return null;
    const contradiction: ReportedCounts | null = this.#isContradictory ? this.#counts : null;
    return { readings: [first, ...others], contradiction, reasoningTokens };
  }
}

/** Null when it is missing. JSON can say -0, but what is kept as evidence is written as JSON again, and comes out as 0. */
function valueAt(fields: Fields | null, path: string): unknown {
  const value = fields?.[path.slice(path.lastIndexOf('.') + 1)] ?? null;
  return value === 0 ? 0 : value;
}

type Written = Omit<CachedTokens, 'read'>;
