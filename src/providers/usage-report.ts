/**
 * The counts of a usage report, one after the other, and what they can mean together. Vendors differ in names and in what
 * their totals include; a report that contradicts itself is kept as evidence, with every way in which it can be read.
 */
import { type CachedTokens, inputTokensOf, type Meters, withInputUpTo } from '../lib/meters.ts';
import type { ReportedCounts, ReportedUsage } from './chat.ts';
import { type Fields, isCount } from './wire.ts';

export class UsageReport {
  readonly #counts: Record<string, number> = {};
  #isContradictory = false;

  /** A count that may be missing. One that is no count, such as -1, is a contradiction in itself, and is taken for missing. */
  optional(fields: Fields | null, name: string): number | null {
    const value = fields?.[name] ?? null;
    if (value === null) return null;
    if (typeof value === 'number') this.#counts[name] = value;
    if (isCount(value)) return value;
    this.#isContradictory = true;
    return null;
  }

  /** The first of several names that is there: each vendor has its own. */
  firstOf(...places: readonly (readonly [Fields | null, string])[]): number | null {
    for (const [fields, name] of places) {
      const count = this.optional(fields, name);
      if (count !== null) return count;
    }
    return null;
  }

  contradict(): void {
    this.#isContradictory = true;
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
    return total > input ? [output, total - input] : [output];
  }

  /** Null when a sum is too large to be exact. */
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
