/** Reads JSON from a provider defensively: what is missing or of another type comes out as null or empty. */
import { parseBoundedJson } from '../json/bounded.ts';
import { keepsLargeNumbers } from '../json/exact-numbers.ts';

export type Fields = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A number of tokens: whole, not negative, and small enough to be exact. */
export const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0;

export function objectAt(value: unknown, name: string): Fields | null {
  const inner = isObject(value) ? value[name] : null;
  return isObject(inner) ? inner : null;
}

export function arrayAt(value: unknown, name: string): readonly unknown[] {
  const inner = isObject(value) ? value[name] : null;
  return Array.isArray(inner) ? inner : [];
}

/**
 * What an answer or an event may hold. Tool arguments alone may be 64 levels deep, inside the answer. No real answer has
 * nearly as many values: most of it is text.
 */
const limits = { depth: 128, values: 100_000, keys: 10_000 };

/** Keeps large numbers exact. Throws for what is not JSON, and for more than an answer may hold. */
export function parseJson(text: string): unknown {
  return parseBoundedJson(text, limits, keepsLargeNumbers).value;
}

/** The same where digits do not matter, in less time. */
const parseRounded = (text: string): unknown => parseBoundedJson(text, limits).value;

/** The JSON object in a text; null when it is not one. Pass `parseJson` where the text may hold tool calls. */
export function parseObject(text: string, parse: (text: string) => unknown = parseRounded): Fields | null {
  try {
    const value = parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
