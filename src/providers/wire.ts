/** Looks into JSON that a provider wrote: whatever may be missing or of another kind comes out as null or nothing. */
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

/** The JSON object in the data of an event; null when it is none. */
export function parseObject(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
