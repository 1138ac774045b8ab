/** Looks into JSON that a provider wrote: whatever may be missing or of another kind comes out as null or nothing. */
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

// TypeScript's library does not describe the text that a reviver is given yet.
type Reviver = (name: string, value: unknown, context: { source: string }) => unknown;
const parseWithSource = JSON.parse as (text: string, revive: Reviver) => unknown;

/** Whether there may be a number that JavaScript cannot hold. */
const mayHoldLargeNumber = /\d{16}|[eE]\+?\d{3}/;

/**
 * JSON whose numbers come out as they went in. A tool may be called with an ID of 64 bits, and one that lost its last
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

/** The JSON object in a text; null when it is none. `parse` is to be `parseJson` where calls of tools may stand in it. */
export function parseObject(text: string, parse: (text: string) => unknown = JSON.parse): Fields | null {
  try {
    const value = parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
