/** Reads JSON from a provider defensively: what is missing or of another type comes out as null or empty. */
import { rawJson } from '../lib/raw-json.ts';

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

// TypeScript's library does not describe the source text that a reviver gets yet.
type Reviver = (name: string, value: unknown, context: { source: string }) => unknown;
const parseWithSource = JSON.parse as (text: string, revive: Reviver) => unknown;

/** Whether there may be a number that JavaScript cannot represent. */
const mayHoldLargeNumber = /\d{16}|[eE]\+?\d{3}/;

/**
 * Parses JSON without losing digits of large numbers. A tool may be called with a 64-bit ID, and one that lost its last
 * digits is the ID of something else.
 */
export function parseJson(text: string): unknown {
  return mayHoldLargeNumber.test(text) ? parseWithSource(text, keepLargeNumber) : JSON.parse(text);
}

function keepLargeNumber(_name: string, value: unknown, { source }: { source: string }): unknown {
  const isKept =
    typeof value !== 'number' || Number.isSafeInteger(value) || (value % 1 !== 0 && Number.isFinite(value));
  return isKept ? value : rawJson(source);
}

/** The JSON object in a text; null when it is not one. Pass `parseJson` where the text may hold tool calls. */
export function parseObject(text: string, parse: (text: string) => unknown = JSON.parse): Fields | null {
  try {
    const value = parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
