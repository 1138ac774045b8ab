/**
 * Numbers that JavaScript cannot represent, kept as they are written. A tool may be called with a 64-bit ID, and one that
 * lost its last digits is the ID of something else.
 */
import { rawJson } from './raw.ts';

/** Whether there may be such a number. A reviver takes much longer, and most texts need none. */
const mayHoldLargeNumber = /\d{16}|[eE]\+?\d{3}/;

export const keepsLargeNumbers = (text: string) =>
  mayHoldLargeNumber.test(text)
    ? (_name: string, value: unknown, { source }: { source: string }) => exactNumber(value, source)
    : undefined;

/** The value itself, or for such a number, what prints as `source`. */
export function exactNumber(value: unknown, source: string): unknown {
  const isKept =
    typeof value !== 'number' || Number.isSafeInteger(value) || (value % 1 !== 0 && Number.isFinite(value));
  return isKept ? value : rawJson(source);
}
